package containers_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// commandLine names the variable with the command to run, quoted for bash.
const commandLine = "RECON_CONTAINERS_RUN"

// TestCommandOnContainers runs a command, such as the real suite, on one Kafka, one Redis and one PostgreSQL in containers, and fails when the
// command does or when no engine answers. Its caller is deploy/services/with.sh.
func TestCommandOnContainers(t *testing.T) {
	command := os.Getenv(commandLine)
	if command == "" {
		t.Skip("nothing to run: this is the entrance of 'make test-containers'")
	}
	ctx := t.Context()
	env := append(os.Environ(), "RECON_TEST_WAY=containers")
	env = append(env, startRedis(ctx, t)...)
	env = append(env, startPostgres(ctx, t)...)
	env = append(env, startKafka(ctx, t)...)
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		t.Errorf("%s: %v", command, err)
	}
}

// addScram gives the broker's users their SCRAM passwords; the image's format step cannot.
func addScram(ctx context.Context, t *testing.T, address string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	if err != nil {
		t.Fatalf("a client for %s: %v", address, err)
	}
	defer client.Close()
	for _, mechanism := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} {
		answers, err := kadm.NewClient(client).AlterUserSCRAMs(ctx, nil, []kadm.UpsertSCRAM{
			{User: user, Mechanism: mechanism, Iterations: 4096, Password: password},
			{User: admin, Mechanism: mechanism, Iterations: 4096, Password: adminPassword},
		})
		if err == nil {
			err = answers.Error()
		}
		if err != nil {
			t.Fatalf("SCRAM users at %s: %v", address, err)
		}
	}
}
