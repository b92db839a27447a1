package containers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/wait"
)

// The images, by the names that docker-compose.yml uses too.
const (
	kafkaImage    = "apache/kafka:4.3.1"
	redisImage    = "redis:8-alpine"
	postgresImage = "postgres:17-alpine"
)

// The accounts of the containers, as in deploy/services/lib.sh; loopback only, so no secrets.
const (
	user, password           = "recon", "recon-test"
	admin, adminPassword     = "admin", "admin-test"
	plainPort, securedPort   = "9092/tcp", "9094/tcp"
	redisPort, postgresPort  = "6379/tcp", "5432/tcp"
	startLimit               = 3 * time.Minute
	advertised, entranceWait = "/tmp/start.sh", "while [ ! -f /tmp/start.sh ]; do sleep 0.1; done; exec sh /tmp/start.sh"
)

// startRedis returns the variables that name a Redis with a test user beside the open default one.
func startRedis(ctx context.Context, t *testing.T) []string {
	c := run(ctx, t, redisImage, redisPort, wait.ForListeningPort(redisPort),
		testcontainers.WithCmd(append([]string{"redis-server", "--save", "", "--appendonly", "no"},
			strings.Fields("--user default on nopass ~* &* +@all --user "+user+" on >"+password+" ~* &* +@all")...)...))
	return []string{fmt.Sprintf("RECON_TEST_REDIS=redis://%s:%s@%s/0", user, password, endpoint(ctx, t, c, redisPort))}
}

// startPostgres returns the variables that name a PostgreSQL.
func startPostgres(ctx context.Context, t *testing.T) []string {
	// The image starts the server once to prepare it, and once more to serve.
	ready := wait.ForAll(wait.ForLog("database system is ready to accept connections").WithOccurrence(2), wait.ForListeningPort(postgresPort))
	c := run(ctx, t, postgresImage, postgresPort, ready,
		testcontainers.WithEnv(map[string]string{"POSTGRES_USER": user, "POSTGRES_PASSWORD": password, "POSTGRES_DB": user}),
		testcontainers.WithCmd("postgres", "-c", "max_connections=200", "-c", "fsync=off"))
	return []string{fmt.Sprintf("RECON_TEST_POSTGRES=postgres://%s:%s@%s/%s?sslmode=disable", user, password, endpoint(ctx, t, c, postgresPort), user)}
}

// startKafka returns the variables that name a broker with a plain and a secured listener. Their mapped ports are known only when the
// container runs, so its entrance waits for a script that brings them.
func startKafka(ctx context.Context, t *testing.T) []string {
	env := map[string]string{
		"KAFKA_LISTENERS":                                        "PLAIN://:9092,SECURED://:9094,INTERNAL://:9095,CONTROLLER://:9093",
		"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP":                   "PLAIN:PLAINTEXT,SECURED:SASL_PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"KAFKA_INTER_BROKER_LISTENER_NAME":                       "INTERNAL",
		"KAFKA_CONTROLLER_LISTENER_NAMES":                        "CONTROLLER",
		"KAFKA_CONTROLLER_QUORUM_VOTERS":                         "1@localhost:9093",
		"KAFKA_NODE_ID":                                          "1",
		"KAFKA_PROCESS_ROLES":                                    "broker,controller",
		"KAFKA_AUTHORIZER_CLASS_NAME":                            "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"KAFKA_SUPER_USERS":                                      "User:" + admin + ";User:ANONYMOUS",
		"KAFKA_ALLOW_EVERYONE_IF_NO_ACL_FOUND":                   "false",
		"KAFKA_AUTO_CREATE_TOPICS_ENABLE":                        "false",
		"KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR":                 "1",
		"KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS":                     "1",
		"KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR":         "1",
		"KAFKA_TRANSACTION_STATE_LOG_MIN_ISR":                    "1",
		"KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR": "1",
		"KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR":            "1",
		"KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS":                 "0",
		"KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS":                     "1000",
		"KAFKA_GROUP_CONSUMER_MIN_SESSION_TIMEOUT_MS":            "1000",
		"KAFKA_GROUP_CONSUMER_SESSION_TIMEOUT_MS":                "6000",
		"KAFKA_GROUP_CONSUMER_MIN_HEARTBEAT_INTERVAL_MS":         "200",
		"KAFKA_GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS":             "1000",
		"KAFKA_SASL_ENABLED_MECHANISMS":                          "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
		"KAFKA_LISTENER_NAME_SECURED_PLAIN_SASL_JAAS_CONFIG": fmt.Sprintf(
			"org.apache.kafka.common.security.plain.PlainLoginModule required user_%s=%q user_%s=%q;", admin, adminPassword, user, password),
		"KAFKA_LISTENER_NAME_SECURED_SCRAM___SHA___256_SASL_JAAS_CONFIG": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
		"KAFKA_LISTENER_NAME_SECURED_SCRAM___SHA___512_SASL_JAAS_CONFIG": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
	}
	c := run(ctx, t, kafkaImage, plainPort, wait.ForLog("Kafka Server started"),
		testcontainers.WithExposedPorts(plainPort, securedPort),
		testcontainers.WithEnv(env),
		testcontainers.WithEntrypoint("sh", "-c", entranceWait),
		testcontainers.WithLifecycleHooks(testcontainers.ContainerLifecycleHooks{PostStarts: []testcontainers.ContainerHook{advertise}}))
	plain, secured := endpoint(ctx, t, c, plainPort), endpoint(ctx, t, c, securedPort)
	addScram(ctx, t, plain)
	return []string{
		"RECON_TEST_KAFKA=" + plain, "RECON_TEST_KAFKA_SASL=" + secured,
		"RECON_TEST_KAFKA_USER=" + user, "RECON_TEST_KAFKA_PASSWORD=" + password,
		"RECON_TEST_KAFKA_ADMIN=" + admin, "RECON_TEST_KAFKA_ADMIN_PASSWORD=" + adminPassword,
	}
}

// advertise brings the script that the broker's entrance waits for.
func advertise(ctx context.Context, c testcontainers.Container) error {
	var listeners []string
	for name, port := range map[string]string{"PLAIN": plainPort, "SECURED": securedPort} {
		at, err := c.PortEndpoint(ctx, port, name)
		if err != nil {
			return err
		}
		listeners = append(listeners, at)
	}
	listeners = append(listeners, "INTERNAL://localhost:9095")
	script := "export KAFKA_ADVERTISED_LISTENERS=" + strings.Join(listeners, ",") + "\nexec /etc/kafka/docker/run\n"
	return c.CopyToContainer(ctx, []byte(script), advertised, 0o755)
}

// run starts a container that ends with the test.
func run(ctx context.Context, t *testing.T, image, port string, ready wait.Strategy, opts ...testcontainers.ContainerCustomizer) testcontainers.Container {
	t.Helper()
	began := time.Now()
	opts = append([]testcontainers.ContainerCustomizer{
		testcontainers.WithExposedPorts(port),
		testcontainers.WithWaitStrategyAndDeadline(startLimit, ready),
	}, opts...)
	c, err := testcontainers.Run(ctx, image, opts...)
	testcontainers.CleanupContainer(t, c)
	if err != nil {
		t.Fatalf("a container of %s: %v", image, err)
	}
	t.Logf("%s serves after %s", image, time.Since(began).Round(100*time.Millisecond))
	return c
}

// endpoint returns host:port under which a container's port is reached from here.
func endpoint(ctx context.Context, t *testing.T, c testcontainers.Container, port string) string {
	t.Helper()
	at, err := c.PortEndpoint(ctx, port, "")
	if err != nil {
		t.Fatalf("the mapped port of %s: %v", port, err)
	}
	return at
}
