#!/usr/bin/env bash
# Ends the services that up.sh started in DIR and in DIR/bench, by their recorded pids, and removes their data. The cache stays.
set -euo pipefail
# shellcheck source=deploy/services/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# down DIR ends the services of DIR.
down() {
  local dir=$1 name
  [ -d "$dir" ] || return 0
  exec 9> "$dir/lock"
  if command -v flock > /dev/null; then flock 9; fi
  rm -f "$dir/env"
  for name in kafka redis postgres; do
    [ -d "$dir/$name" ] || continue
    "$here/$name.sh" stop "$dir/$name"
    [ ! -f "$dir/$name/home" ] || rm -rf "$(cat "$dir/$name/home")"
    rm -rf "${dir:?}/$name"
  done
}

dir=${1:-$here/../../.services}
down "$dir/bench"
down "$dir"
echo "services: stopped"
