#!/usr/bin/env bash
# Runs COMMAND with real services in its environment, found in this order: RECON_TEST_* addresses; containers, where a Docker engine answers;
# `make services`. RECON_TEST_BY=containers or =services takes that way and no other. Says which way it was.
# What this script starts in containers ends with the command; what `make services` started stays for the next run.
set -euo pipefail
# shellcheck source=deploy/services/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

root=$(cd "$here/../.." && pwd)
by=${RECON_TEST_BY:-}
if [ -z "$by" ]; then
  if [ -n "${RECON_TEST_KAFKA:-}${RECON_TEST_REDIS:-}${RECON_TEST_POSTGRES:-}" ]; then by=environment
  elif command -v docker > /dev/null && timeout 10 docker info > /dev/null 2>&1; then by=containers
  else by=services; fi
fi
case $by in
  environment)
    for name in RECON_TEST_KAFKA RECON_TEST_REDIS RECON_TEST_POSTGRES; do
      [ -n "${!name:-}" ] || die "$name is not set while others of RECON_TEST_* are: set all of them, or none"
    done
    echo "real services: the addresses in RECON_TEST_*"
    export RECON_TEST_WAY=${RECON_TEST_WAY:-the environment} ;;
  services)
    # A Kafka for benches has other settings, so it is another one.
    dir=$root/.services${BENCH:+/bench}
    "$here/up.sh" "$dir"
    echo "real services: by 'make services'"
    set -a
    # shellcheck source=/dev/null
    . "$dir/env"
    set +a
    export RECON_TEST_WAY="make services" ;;
  containers)
    echo "real services: in containers"
    # The servers that kill tests start for themselves need the programs here, in a container or not.
    "$here/install.sh" || echo "without them the tests that kill a server of their own cannot run" >&2
    RECON_CONTAINERS_RUN=$(printf 'cd %q && ' "$PWD"; printf '%q ' "$@") GOFLAGS=${GOFLAGS:-}${GOFLAGS:+ }-tags=synctests \
      exec go -C "$root" test -race -count=1 -timeout 0 -v -run '^TestCommandOnContainers$' ./internal/testkit/containers ;;
  *) die "RECON_TEST_BY=$by: it is containers, services, or empty" ;;
esac
exec "$@"
