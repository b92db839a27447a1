# shellcheck shell=bash disable=SC2034
# What the service scripts share. A process is known by its pid and its start time, never by its name.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${RECON_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/recon}
kafka_version=${KAFKA_VERSION:-4.3.1}
kafka_home=$cache/kafka-$kafka_version
# Broker and database accounts of the test services; loopback only, so no secrets.
test_user=recon
test_password=recon-test
admin_user='admin'
admin_password=admin-test

die() { echo "$(basename "$0"): $*" >&2; exit 1; }

# absent says what is not installed, with the exit code that sysexits.h has for it.
absent() { echo "$(basename "$0"): $*" >&2; exit 69; }

# detach COMMAND... runs in a session of its own, so that a Ctrl-C here does not end it.
detach() { if command -v setsid >/dev/null; then exec setsid "$@"; else exec nohup "$@"; fi; }

# birth PID prints what tells this process from a later one with the same pid; fails when it is gone or a zombie.
birth() {
  local pid=$1 stat
  if [ -d /proc/self ]; then
    { read -r stat < "/proc/$pid/stat"; } 2>/dev/null || return 1
    # shellcheck disable=SC2086
    set -- ${stat##*) }
    [ "$1" != Z ] && [ "$1" != X ] && echo "${20}"
  else
    stat=$(ps -o stat=,lstart= -p "$pid" 2>/dev/null) || return 1
    [[ $stat != Z* ]] && echo "${stat#* }" | tr -s ' ' _
  fi
}

# record DIR PID notes the process that serves DIR.
record() { echo "$2 $(birth "$2")" > "$1/pid"; }

# running DIR prints the pid of DIR's process; fails when there is none.
running() {
  local pid born
  [ -f "$1/pid" ] || return 1
  read -r pid born < "$1/pid" || return 1
  [ -n "$born" ] && [ "$(birth "$pid" || true)" = "$born" ] && echo "$pid"
}

# end DIR SECONDS stops DIR's process: SIGTERM, and SIGKILL when it still lives after that long.
end() {
  local pid tries
  pid=$(running "$1") || { rm -f "$1/pid"; return 0; }
  kill -CONT "$pid" 2>/dev/null || true
  if [ "$2" -gt 0 ]; then
    kill -TERM "$pid" 2>/dev/null || true
    for ((tries = $2 * 20; tries > 0; tries--)); do running "$1" >/dev/null || break; sleep 0.05; done
  fi
  if running "$1" >/dev/null; then kill -KILL "$pid" 2>/dev/null || true; fi
  for ((tries = 200; tries > 0; tries--)); do running "$1" >/dev/null || break; sleep 0.05; done
  ! running "$1" >/dev/null || die "process $pid of $1 does not end"
  # Threads that end after their process hold its sockets for a moment more.
  local port
  for port in $(cat "$1/ports" 2>/dev/null || true); do
    for ((tries = 100; tries > 0; tries--)); do listens "$port" || break; sleep 0.02; done
  done
  rm -f "$1/pid"
}

# listens PORT: does something accept connections on that loopback port?
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# free_ports N prints N different loopback ports on which nothing listens, below the range the kernel gives to clients.
# Servers that start side by side choose before any of them listens: a choice is noted where all see it, for ten minutes.
free_ports() {
  local port n noted=${TMPDIR:-/tmp}/recon-ports-$(id -u)
  mkdir -p -m 700 "$noted"
  find "$noted" -mindepth 1 -maxdepth 1 -type d -mmin +10 -exec rmdir {} + 2>/dev/null || true
  for ((n = $1; n > 0; n--)); do
    while port=$((20000 + (RANDOM * 32768 + RANDOM) % 12000)); listens "$port" || ! mkdir "$noted/$port" 2>/dev/null; do :; done
    echo "$port"
  done
}

# ports DIR N prints the ports of DIR: chosen once, kept over restarts.
ports() {
  [ -s "$1/ports" ] || free_ports "$2" > "$1/ports"
  paste -s -d ' ' "$1/ports"
}

# await DIR SECONDS COMMAND... repeats COMMAND until it succeeds; ends the script when DIR's process dies or the time is over.
await() {
  local dir=$1 limit=$((SECONDS + $2))
  shift 2
  until "$@" 2>/dev/null; do
    running "$dir" >/dev/null || { tail -n 20 "$dir/log" >&2; die "the process of $dir ended while it started; its last lines are above, all of them in $dir/log"; }
    [ $SECONDS -lt $limit ] || { tail -n 20 "$dir/log" >&2; end "$dir" 0; die "$dir did not answer in time; the last lines of $dir/log are above"; }
    sleep 0.05
  done
}

# guard DIR OWNER BIRTH ends DIR's process, and removes DIR, as soon as the process OWNER is gone: a server that a test started for itself
# does not outlive a test that was killed or timed out.
guard() {
  while [ "$(birth "$2" || true)" = "$3" ]; do
    running "$1" > /dev/null || return 0
    sleep 1
  done
  end "$1" 0
  rm -rf "$1"
}

# serve VERB DIR [SETTING VALUE]... is the command line of every service script, which defines begin, address and grace.
serve() {
  local verb=${1:-} dir=${2:-} born=
  [ -n "$dir" ] || die "usage: $(basename "$0") start|stop|kill|pause|resume|status|env DIR [SETTING VALUE]..."
  shift 2
  case $verb in
    start)
      if [ -n "${SERVICE_OWNER:-}" ]; then born=$(birth "$SERVICE_OWNER") || die "no process $SERVICE_OWNER to own $dir"; fi
      mkdir -p "$dir"; dir=$(cd "$dir" && pwd)
      if running "$dir" >/dev/null; then echo "$(basename "$0" .sh): already running in $dir"; else begin "$dir" "$@"; fi
      if [ -n "$born" ]; then (detach "$0" guard "$dir" "$SERVICE_OWNER" "$born") > /dev/null 2>&1 < /dev/null 9>&- & fi ;;
    guard) guard "$dir" "$@" ;;
    stop) end "$dir" "${grace:-5}" ;;
    kill) end "$dir" 0 ;;
    pause | resume)
      local pid signal=STOP
      [ "$verb" = pause ] || signal=CONT
      pid=$(running "$dir") || die "nothing runs in $dir"
      kill "-$signal" "$pid" ;;
    status) running "$dir" >/dev/null ;;
    env) address "$dir" ;;
    *) die "unknown verb $verb" ;;
  esac
}
