#!/usr/bin/env bash
# Installs what `make services` needs and is not here: Redis, PostgreSQL, a JVM and Maven by apt-get (as root on Debian or Ubuntu),
# Kafka's jars by Maven into the cache, which survives `make services-down`. Elsewhere it says what to install.
# Usage: install.sh [PACKAGE:COMMAND]... installs those packages too whose command is missing.
set -euo pipefail
# shellcheck source=deploy/services/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

packages() { # the missing ones among WORDS of the form package:test
  local word
  for word in "$@"; do
    case ${word#*:} in
      postgres) [ -n "$(find /usr/lib/postgresql -name initdb 2>/dev/null)" ] || command -v initdb >/dev/null || echo "${word%%:*}" ;;
      *) command -v "${word#*:}" >/dev/null || echo "${word%%:*}" ;;
    esac
  done
}

apt_install() {
  [ $# -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    die "install $* (Debian's names) and run it again: this machine lacks them, and only root with apt-get could add them here"
  fi
  echo "services: installing $*"
  # RUNLEVEL=1 keeps the packages from starting services of their own.
  { apt-get -o DPkg::Lock::Timeout=300 update -qq &&
    RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends "$@"; } > "$cache/apt.log" 2>&1 ||
    { tail -n 5 "$cache/apt.log" >&2; die "apt-get did not install $*; its output is in $cache/apt.log"; }
}

jars() {
  [ ! -f "$kafka_home/classpath" ] || return 0
  local work
  echo "services: fetching Kafka $kafka_version by Maven"
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/kafka.XXXXXX")
  mvn -q -B -f "$here/pom.xml" -Dkafka.version="$kafka_version" -DoutputDirectory="$work/lib" -DincludeScope=runtime dependency:copy-dependencies > "$work/mvn.log" 2>&1 < /dev/null ||
    { tail -n 10 "$work/mvn.log" >&2; die "Maven did not fetch Kafka $kafka_version; its output is in $work/mvn.log"; }
  # A fixed order, because the class archive holds for one order only.
  find "$work/lib" -name '*.jar' | sed "s|^$work/|$kafka_home/|" | LC_ALL=C sort | paste -s -d : > "$work/classpath"
  mv "$work" "$kafka_home" 2>/dev/null || [ -f "$kafka_home/classpath" ]
}

mkdir -p "$cache"
# Maven first when it is there, beside apt-get; else after it.
fetched=
if [ -z "$(packages default-jre-headless:java maven:mvn)" ]; then jars & fetched=$!; fi
# shellcheck disable=SC2046
apt_install $(packages default-jre-headless:java maven:mvn redis-server:redis-server postgresql:postgres "$@")
if [ -n "$fetched" ]; then wait "$fetched"; else jars; fi
"$here/kafka.sh" prepare
