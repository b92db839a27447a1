#!/usr/bin/env bash
# One Apache Kafka broker (KRaft, single node) in DIR, on loopback ports that it keeps: a plain listener and a SASL one (PLAIN, SCRAM).
# The SASL users: the admin may everything, the test user only what ACLs grant. Short sessions are allowed, topics are never made by use.
# BENCH=1 leaves threads and heap at Kafka's defaults. install.sh must have fetched the jars; it also makes the formatted template
# and the class archive that bring a start from 6 s to 3 s.
set -euo pipefail
# shellcheck source=deploy/services/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

begin() {
  local dir=$1
  shift
  [ -f "$kafka_home/classpath" ] || absent "no Kafka $kafka_version in $kafka_home: run 'make services', or deploy/services/install.sh, once"
  properties "$dir" "$@"
  [ -d "$dir/data" ] || { rm -rf "$dir/data.new"; cp -R "$kafka_home/template" "$dir/data.new"; mv "$dir/data.new" "$dir/data"; }
  launch "$dir"
}

# launch DIR [JAVA OPTION]... starts the broker of DIR and waits until it serves.
launch() {
  local dir=$1 java=(-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xms128m -Xmx256m) archive from plain sasl
  shift
  [ -z "${BENCH:-}" ] || java=(-Xms512m -Xmx1g)
  archive=$(archive)
  [ ! -f "$archive" ] || java+=("-XX:SharedArchiveFile=$archive")
  touch "$dir/log"
  from=$(wc -c < "$dir/log")
  (
    cd "$dir"
    detach java "${java[@]}" "$@" -cp "$(cat "$kafka_home/classpath")" -Dlog4j2.configurationFile="$here/log4j2.yaml" \
      kafka.Kafka server.properties >> log 2>&1 < /dev/null 9>&-
  ) &
  record "$dir" $!
  read -r plain sasl _ < <(ports "$dir" 3)
  await "$dir" 120 served "$dir" "$from" "$plain" "$sasl"
}

# served DIR FROM PLAIN SASL: has the log said so since byte FROM, and do both listeners accept?
served() { tail -c "+$(($2 + 1))" "$1/log" | grep -q 'Kafka Server started' && listens "$3" && listens "$4"; }

# archive prints the name of the class archive for this very JVM and these jars; a JVM that does not fit ignores it.
archive() { echo "$kafka_home/classes-$({ java -version 2>&1; cat "$kafka_home/classpath"; } | cksum | cut -d ' ' -f 1).jsa"; }

# properties DIR [SETTING VALUE]... writes the broker's settings. One replica of everything, small files, short timeouts.
properties() {
  local dir=$1 plain sasl controller
  shift
  read -r plain sasl controller < <(ports "$dir" 3)
  cat > "$dir/server.properties" <<EOF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$controller
listeners=PLAIN://127.0.0.1:$plain,SECURED://127.0.0.1:$sasl,CONTROLLER://127.0.0.1:$controller
advertised.listeners=PLAIN://127.0.0.1:$plain,SECURED://127.0.0.1:$sasl
listener.security.protocol.map=PLAIN:PLAINTEXT,SECURED:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAIN
log.dirs=$dir/data
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.secured.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_$admin_user="$admin_password" user_$test_user="$test_password";
listener.name.secured.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.secured.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:$admin_user;User:ANONYMOUS
allow.everyone.if.no.acl.found=false
auto.create.topics.enable=false
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
group.consumer.min.session.timeout.ms=1000
group.consumer.session.timeout.ms=6000
group.consumer.min.heartbeat.interval.ms=200
group.consumer.heartbeat.interval.ms=1000
EOF
  [ -n "${BENCH:-}" ] || cat >> "$dir/server.properties" <<EOF
offsets.topic.num.partitions=1
transaction.state.log.num.partitions=1
offsets.topic.segment.bytes=1048576
log.segment.bytes=16777216
log.index.size.max.bytes=1048576
log.cleaner.dedupe.buffer.size=2097152
num.network.threads=1
num.io.threads=2
background.threads=1
broker.session.timeout.ms=1500
broker.heartbeat.interval.ms=250
EOF
  while [ $# -gt 1 ]; do echo "$1=$2" >> "$dir/server.properties"; shift 2; done
}

# prepare makes what every later start uses: the formatted data folder (with the SCRAM users in it) and the class archive.
prepare() {
  local work scram=()
  [ ! -d "$kafka_home/template" ] || [ ! -f "$(archive)" ] || return 0
  work=$(mktemp -d "$kafka_home/prepare.XXXXXX")
  mkdir "$work/data"
  properties "$work"
  if [ ! -d "$kafka_home/template" ]; then
    local mechanism
    for mechanism in SCRAM-SHA-256 SCRAM-SHA-512; do
      scram+=(--add-scram "$mechanism=[name=$admin_user,password=$admin_password]" --add-scram "$mechanism=[name=$test_user,password=$test_password]")
    done
    java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xmx256m -cp "$(cat "$kafka_home/classpath")" -Dlog4j2.configurationFile="$here/log4j2.yaml" \
      kafka.tools.StorageTool format -t "$(cluster_id)" -c "$work/server.properties" "${scram[@]}" > "$work/format.log" 2>&1 ||
      { tail -n 10 "$work/format.log" >&2; die "the broker's data folder was not formatted"; }
    cp -R "$work/data" "$work/template"
    mv "$work/template" "$kafka_home/template" 2>/dev/null || [ -d "$kafka_home/template" ]
  else
    rm -rf "$work/data"; cp -R "$kafka_home/template" "$work/data"
  fi
  if [ ! -f "$(archive)" ]; then
    BENCH='' launch "$work" "-XX:ArchiveClassesAtExit=$work/classes.jsa" -Xlog:cds=off -Xlog:cds+dynamic=off
    end "$work" 120 # the archive is written while the JVM ends
    [ ! -s "$work/classes.jsa" ] || mv "$work/classes.jsa" "$(archive)"
  fi
  rm -rf "$work"
}

cluster_id() { echo AAAAAAAAQACAAAAAAAAAAQ; }

address() {
  local plain sasl
  read -r plain sasl _ < <(ports "$1" 3)
  printf '%s\n' "RECON_TEST_KAFKA=127.0.0.1:$plain" "RECON_TEST_KAFKA_SASL=127.0.0.1:$sasl" \
    "RECON_TEST_KAFKA_USER=$test_user" "RECON_TEST_KAFKA_PASSWORD=$test_password" \
    "RECON_TEST_KAFKA_ADMIN=$admin_user" "RECON_TEST_KAFKA_ADMIN_PASSWORD=$admin_password"
}

if [ "${1:-}" = prepare ]; then prepare; else serve "$@"; fi
