#!/usr/bin/env bash
# One PostgreSQL in DIR, on a loopback port that it keeps. It never runs as root: root hands it to the user postgres.
# fsync is off (what a kill leaves is still there; only the machine's own crash would lose it): `postgres.sh start DIR fsync on` changes that.
set -euo pipefail
# shellcheck source=deploy/services/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# bin prints the folder of the newest server.
bin() {
  local found
  found=$(find /usr/lib/postgresql -mindepth 3 -maxdepth 3 -path '*/bin/initdb' 2>/dev/null | sort -V | tail -n 1)
  if [ -z "$found" ]; then found=$(command -v initdb) || absent "no PostgreSQL server on this machine: install 14 or newer (Debian: apt-get install postgresql)"; fi
  dirname "$found"
}

as_server() { if [ "$(id -u)" = 0 ]; then setpriv --reuid=postgres --regid=postgres --init-groups "$@"; else "$@"; fi; }

# home DIR prints where the data lies: in DIR, or, when the user postgres cannot reach DIR, in a folder of its own.
home() {
  local dir=$1
  [ ! -f "$dir/home" ] || { cat "$dir/home"; return; }
  mkdir -p "$dir/data"
  if [ "$(id -u)" = 0 ]; then
    chown postgres: "$dir/data"
    if ! (cd / && as_server test -w "$dir/data"); then
      rmdir "$dir/data"
      mktemp -d "${TMPDIR:-/tmp}/recon-postgres.XXXXXX" > "$dir/home"
      chown postgres: "$(cat "$dir/home")"
      cat "$dir/home"
      return
    fi
  fi
  echo "$dir/data" | tee "$dir/home"
}

initialise() {
  local dir=$1 bin=$2 data=$3 password
  password=$(mktemp)
  echo "$test_password" > "$password"
  [ "$(id -u)" != 0 ] || chown postgres "$password"
  as_server "$bin/initdb" -D "$data" -U "$test_user" -A scram-sha-256 --pwfile="$password" -E UTF8 --locale=C -N > "$dir/initdb.log" 2>&1 ||
    { rm -f "$password"; tail -n 5 "$dir/initdb.log" >&2; die "PostgreSQL's data folder $data was not made"; }
  rm -f "$password"
}

# forget DATA waits until a killed server and the children that survive it for a moment are gone; else the next one refuses to start. A
# zombie that nobody reaps holds the pid file too, which is then removed.
forget() {
  local pid tries
  [ -f "$1/postmaster.pid" ] || return 0
  read -r pid < "$1/postmaster.pid"
  for ((tries = 100; tries > 0; tries--)); do
    kill -0 "$pid" 2>/dev/null || children "$1" || return 0
    sleep 0.05
  done
  birth "$pid" > /dev/null || rm -f "$1/postmaster.pid"
}

# children DATA: does a process still work in that folder?
children() {
  local cwd
  for cwd in /proc/[0-9]*/cwd; do [ "$(readlink "$cwd" 2>/dev/null)" != "$1" ] || return 0; done
  return 1
}

begin() {
  local dir=$1 port bin data
  shift
  bin=$(bin)
  data=$(home "$dir")
  read -r port < <(ports "$dir" 1)
  cd /
  if [ ! -f "$data/PG_VERSION" ]; then
    initialise "$dir" "$bin" "$data"
    { printf '%s\n' "port = $port" "listen_addresses = '127.0.0.1'" "unix_socket_directories = ''" "max_connections = 200" "fsync = off" \
        "synchronous_commit = on" "shared_buffers = 64MB" "timezone = 'UTC'" "log_timezone = 'UTC'" "logging_collector = off"
      while [ $# -gt 1 ]; do echo "$1 = '$2'"; shift 2; done; } | as_server tee -a "$data/postgresql.conf" > /dev/null
  fi
  forget "$data"
  { if [ "$(id -u)" = 0 ]; then detach setpriv --reuid=postgres --regid=postgres --init-groups "$bin/postgres" -D "$data"
    else detach "$bin/postgres" -D "$data"; fi; } >> "$dir/log" 2>&1 < /dev/null 9>&- &
  record "$dir" $!
  await "$dir" 60 "$bin/pg_isready" -q -h 127.0.0.1 -p "$port" -U "$test_user"
  PGPASSWORD=$test_password "$bin/psql" -q -h 127.0.0.1 -p "$port" -U "$test_user" -d postgres -tAc "select 1 from pg_database where datname = '$test_user'" | grep -q 1 ||
    PGPASSWORD=$test_password "$bin/createdb" -h 127.0.0.1 -p "$port" -U "$test_user" "$test_user"
}

address() {
  local port
  read -r port < <(ports "$1" 1)
  echo "RECON_TEST_POSTGRES=postgres://$test_user:$test_password@127.0.0.1:$port/$test_user?sslmode=disable"
}

serve "$@"
