#!/usr/bin/env bash
# Starts the real services of the tests (Kafka, Redis, PostgreSQL) without containers and writes their addresses to DIR/env.
# Running ones are left as they are. Usage: up.sh [DIR], default .services at the module's root. Ended by down.sh.
# `time make services` on two calm cores, Debian 12, JDK 17: 10 s the first time (jars 6 s, template and class archive 3 s), then 2 s;
# 0.2 s when all run.
set -euo pipefail
# shellcheck source=deploy/services/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

dir=${1:-$here/../../.services}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
exec 9> "$dir/lock"
if command -v flock >/dev/null; then flock 9; fi

up() {
  local name pids=() failed=0 began=$SECONDS
  "$here/install.sh" 9>&-
  for name in kafka redis postgres; do "$here/$name.sh" start "$dir/$name" & pids+=($!); done
  for name in "${pids[@]}"; do wait "$name" || failed=1; done
  [ $failed = 0 ] || { rm -f "$dir/env"; die "not every service started; 'make services-down' and 'make services' begin anew"; }
  for name in kafka redis postgres; do "$here/$name.sh" env "$dir/$name"; done > "$dir/env.new"
  mv "$dir/env.new" "$dir/env"
  echo "services: ready after $((SECONDS - began)) s; addresses in $dir/env, stop them with 'make services-down'"
}

up
