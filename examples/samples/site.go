package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/broker"
	"recon/pkg/ledger"
	"recon/pkg/topics"
)

// patience is well above what any step takes, so that a fault ends the run and does not hang it.
const patience = 90 * time.Second

const (
	// partitions of main, which here is upstream's and ours to make.
	partitions = 6
	tiers      = "1s,10s,1m"
	// memory is how long the dedup store keeps this run's hashes: their names are never used again.
	memory = "1h"
)

// site is a run's own place on services that others use too: topics, group, keys and tables under one name.
type site struct {
	options
	name   string // prefix of the topics, and the group
	names  topics.Names
	tiers  []string
	opts   []kgo.Opt
	adm    *kadm.Client
	ledger *ledger.SQL
	env    []string // for the binaries
	folder string   // scratch files, the consumer's log among them

	patience time.Duration // with a step that does not get on
}

// openSite makes the place. What was made before an error is taken away again.
func openSite(ctx context.Context, o options) (*site, error) {
	s := &site{options: o, name: "samples-" + strings.ToLower(rand.Text()[:8]), patience: patience}
	s.names = topics.Names{Prefix: s.name}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.close(ctx))
	}
	return s, nil
}

func (s *site) open(ctx context.Context) error {
	var err error
	if s.folder, err = os.MkdirTemp("", "recon-"+s.name+"-"); err != nil {
		return err
	}
	if s.opts, err = (broker.Config{Seeds: strings.Split(s.kafka, ",")}).Options(); err != nil {
		return err
	}
	if err := s.openTopics(ctx); err != nil {
		return err
	}
	tables, err := s.openTables(ctx)
	if err != nil {
		return err
	}
	s.env = append(slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "RECON_") }),
		"RECON_KAFKA_BROKERS="+s.kafka, "RECON_REDIS_URL="+s.redis, "RECON_LEDGER_URL="+tables, "RECON_TOPICS_PREFIX="+s.name,
		"RECON_GROUP="+s.name, "RECON_RETRY_TIERS="+tiers, "RECON_DEDUP_TTL="+memory, "RECON_LISTEN=127.0.0.1:0")
	return nil
}

// openTopics makes main; the others are what `consumer topics --apply` makes.
func (s *site) openTopics(ctx context.Context) error {
	ladder, err := topics.ParseLadder(tiers)
	if err != nil {
		return err
	}
	for _, d := range ladder {
		s.tiers = append(s.tiers, s.names.Tier(d))
	}
	cl, err := kgo.NewClient(s.opts...)
	if err != nil {
		return err
	}
	s.adm = kadm.NewClient(cl)
	if err := broker.Await(ctx, 30*time.Second, cl); err != nil {
		return err
	}
	if _, err := s.adm.CreateTopic(ctx, partitions, -1, nil, s.names.Main()); err != nil {
		return fmt.Errorf("make topic %s: %w", s.names.Main(), err)
	}
	return nil
}

// schema is the run's name as SQL can have it.
func (s *site) schema() string { return strings.ReplaceAll(s.name, "-", "_") }

// openTables makes a schema of the run's own with the ledger's tables in it, and returns the ledger's URL.
func (s *site) openTables(ctx context.Context) (string, error) {
	if err := s.sql(ctx, "CREATE SCHEMA "+s.schema()); err != nil {
		return "", err
	}
	u, err := url.Parse(s.postgres)
	if err != nil {
		return "", errors.New("--postgres (RECON_TEST_POSTGRES) is no URL") // the error's text could hold the password
	}
	query := u.Query()
	query.Set("search_path", s.schema())
	u.RawQuery = query.Encode()
	if s.ledger, err = ledger.Open(u.String(), ledger.Config{}); err != nil { //nolint:contextcheck // Open asks nobody
		return "", err
	}
	return u.String(), s.ledger.Migrate(ctx)
}

// sql runs one statement on a connection of its own.
func (s *site) sql(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, s.postgres)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL for %q: %w", statement, err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("PostgreSQL: %q: %w", statement, err)
	}
	return nil
}

// close takes away what the run made, also when ctx has ended.
func (s *site) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	var errs []error
	if s.ledger != nil {
		s.ledger.Close()
		if !s.keep {
			errs = append(errs, s.sql(ctx, "DROP SCHEMA IF EXISTS "+s.schema()+" CASCADE"))
		}
	}
	if s.adm != nil {
		defer s.adm.Close()
		if !s.keep {
			errs = append(errs, s.deleteTopics(ctx))
		}
	}
	if s.folder != "" && !s.keep {
		errs = append(errs, os.RemoveAll(s.folder))
	}
	return errors.Join(errs...)
}

func (s *site) deleteTopics(ctx context.Context) error {
	all, err := s.adm.ListTopics(ctx)
	if err != nil {
		return err
	}
	own := slices.DeleteFunc(all.Names(), func(n string) bool { return !strings.HasPrefix(n, s.name+".") })
	if len(own) == 0 {
		return nil
	}
	_, err = s.adm.DeleteTopics(ctx, own...)
	return err
}

// ends are where the partitions of main end.
func (s *site) ends(ctx context.Context) (map[int32]int64, error) {
	listed, err := s.adm.ListEndOffsets(ctx, s.names.Main())
	if err = cmp.Or(err, listed.Error()); err != nil {
		return nil, fmt.Errorf("where %s ends: %w", s.names.Main(), err)
	}
	ends := make(map[int32]int64)
	listed.Each(func(l kadm.ListedOffset) { ends[l.Partition] = l.Offset })
	return ends, nil
}

// left is how many records have no outcome yet: main and tiers beyond the group's committed positions. Those are read
// first: whoever left main or a tier before has been written to the next tier by then, and is seen at its end.
func (s *site) left(ctx context.Context) (int64, error) {
	committed, err := broker.Committed(ctx, patience, s.adm, s.name)
	if err != nil {
		return 0, err
	}
	ends, err := s.adm.ListEndOffsets(ctx, append([]string{s.names.Main()}, s.tiers...)...)
	if err = cmp.Or(err, ends.Error()); err != nil {
		return 0, fmt.Errorf("where main and tiers end: %w", err)
	}
	n := int64(0)
	ends.Each(func(l kadm.ListedOffset) {
		at, _ := committed.Lookup(l.Topic, l.Partition)
		n += max(0, l.Offset-at.At)
	})
	return n, nil
}
