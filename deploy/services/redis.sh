#!/usr/bin/env bash
# One Redis in DIR, on a loopback port that it keeps. Nothing is saved unless told: `redis.sh start DIR appendonly yes appendfsync always`
# keeps every write over a kill. Settings count at the first start in DIR. The default user needs no password, the test user has one.
set -euo pipefail
# shellcheck source=deploy/services/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

begin() {
  local dir=$1 port
  shift
  command -v redis-server >/dev/null || absent "no redis-server on this machine: install Redis 7 or newer (Debian: apt-get install redis-server)"
  read -r port < <(ports "$dir" 1)
  if [ ! -f "$dir/redis.conf" ]; then
    printf '%s\n' "port $port" "bind 127.0.0.1" "dir $dir" 'save ""' "appendonly no" "maxmemory-policy noeviction" \
      "user default on nopass ~* &* +@all" "user $test_user on >$test_password ~* &* +@all" > "$dir/redis.conf.new"
    while [ $# -gt 1 ]; do echo "$1 $2" >> "$dir/redis.conf.new"; shift 2; done
    mv "$dir/redis.conf.new" "$dir/redis.conf"
  fi
  detach redis-server "$dir/redis.conf" >> "$dir/log" 2>&1 < /dev/null 9>&- &
  record "$dir" $!
  await "$dir" 30 pong "$port"
}

pong() {
  local answer
  exec 3<>"/dev/tcp/127.0.0.1/$1" || return 1
  printf 'PING\r\n' >&3
  read -r -t 2 answer <&3 || true
  exec 3<&-
  [[ ${answer:-} == +PONG* ]]
}

address() {
  local port
  read -r port < <(ports "$1" 1)
  echo "RECON_TEST_REDIS=redis://$test_user:$test_password@127.0.0.1:$port/0"
}

serve "$@"
