package dedup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

func (s *Redis) generationKey() string { return s.opt.Prefix + ":dedup:generation" }

// Open is Lifetime.Open.
func (s *Redis) Open(ctx context.Context, groupHasCommitted, fromStart bool) error {
	return s.open(ctx, groupHasCommitted, fromStart, true)
}

// Join is Lifetime.Join.
func (s *Redis) Join(ctx context.Context, groupHasCommitted bool) error {
	return s.open(ctx, groupHasCommitted, false, false)
}

func (s *Redis) open(ctx context.Context, groupHasCommitted, fromStart, begins bool) error {
	if err := s.checkServers(ctx); err != nil {
		return err
	}
	if err := s.loadScript(ctx); err != nil {
		return err
	}
	found, err := s.findGeneration(ctx)
	if err != nil {
		return err
	}
	known := ""
	if id := s.opened.Load(); id != nil {
		known = *id
	}
	if err := admit(known, found, groupHasCommitted, fromStart, begins); err != nil {
		return fmt.Errorf("open %s: %w", s.where, err)
	}
	if found.id == "" {
		if found, err = s.makeGeneration(ctx); err != nil {
			return err
		}
	}
	s.opened.Store(&found.id)
	if groupHasCommitted {
		return s.MarkCommitted(ctx)
	}
	return nil
}

// MarkCommitted is Lifetime.MarkCommitted.
func (s *Redis) MarkCommitted(ctx context.Context) error {
	if s.committed.Load() {
		return nil
	}
	what := "note the first commit"
	err := s.change(ctx, what, []string{s.generationKey()}, func(holds []string) (swap, bool, error) {
		g, err := parseGeneration(holds[0])
		if err != nil || g.committed {
			return swap{}, false, err
		}
		g.committed = true
		return swap{value: g.String()}, true, nil
	})
	if err == nil {
		s.committed.Store(true)
	}
	return err
}

// Ping is Lifetime.Ping.
func (s *Redis) Ping(ctx context.Context) error {
	return s.exchange(ctx, "ping", func(redis.Pipeliner) {})
}

func (s *Redis) findGeneration(ctx context.Context) (generation, error) {
	text, err := s.client.Get(ctx, s.generationKey()).Result()
	if errors.Is(err, redis.Nil) {
		return generation{}, nil
	}
	if err != nil {
		return generation{}, explain(ctx, "read the generation", s.where, err)
	}
	g, err := parseGeneration(text)
	if err != nil {
		return generation{}, fmt.Errorf("key %s in %s: %w", s.generationKey(), s.where, err)
	}
	return g, nil
}

// makeGeneration gives the store its name, or finds the one that another process gave it at the same moment.
func (s *Redis) makeGeneration(ctx context.Context) (generation, error) {
	err := s.client.SetArgs(ctx, s.generationKey(), newGeneration(false).String(), redis.SetArgs{Mode: "NX"}).Err()
	if err != nil && !errors.Is(err, redis.Nil) {
		return generation{}, explain(ctx, "make the generation", s.where, err)
	}
	g, err := s.findGeneration(ctx)
	if err == nil && g.id == "" {
		err = fmt.Errorf("open %s: %w: its generation key vanished as soon as it was made", s.where, ErrMemoryLost)
	}
	return g, err
}

// checkServers asks every server that holds keys for its version and its eviction policy.
func (s *Redis) checkServers(ctx context.Context) error {
	check := func(ctx context.Context, c *redis.Client) error {
		where := "Redis at " + c.Options().Addr
		info, err := c.Info(ctx).Result()
		if err != nil {
			return explain(ctx, "read INFO (for maxmemory-policy)", where, err)
		}
		return checkInfo(where, info)
	}
	switch c := s.client.(type) {
	case *redis.Client:
		return check(ctx, c)
	case *redis.ClusterClient:
		found := make(chan error, 1) // the first that a master gave; other errors are of finding the masters
		err := c.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error {
			err := check(ctx, c)
			if err != nil {
				select {
				case found <- err:
				default:
				}
			}
			return err
		})
		select {
		case err := <-found:
			return err
		default:
		}
		if err != nil {
			return explain(ctx, "find the masters", s.where, err)
		}
		return nil
	default:
		return fmt.Errorf("open %s: client of type %T", s.where, c)
	}
}

// checkInfo reads what INFO says of the version and of the eviction policy.
func checkInfo(where, info string) error {
	says := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(info)); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok {
			says[name] = value
		}
	}
	version := says["redis_version"]
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < 7 {
		return fmt.Errorf("%s: version %q, want 7 or later (SET with NX and GET)", where, version)
	}
	switch policy := says["maxmemory_policy"]; policy {
	case "noeviction":
		return nil
	case "":
		return fmt.Errorf("%s: %w: INFO does not tell maxmemory-policy; it must be noeviction", where, ErrEvicting)
	default:
		return fmt.Errorf("%s: %w: maxmemory-policy is %s; set it to noeviction", where, ErrEvicting, policy)
	}
}
