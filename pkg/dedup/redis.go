package dedup

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Redis is the store that processes share: Redis 7 or later, one server, Sentinel or Cluster.
//
// Every key is read and written by SET NX GET, by GET, or by one compare-and-swap script; the rules are decided here,
// on a value that the script then finds unchanged or not at all. Every batch ends with a look at the generation key,
// after its writes, so that no answer is given out of a memory that was emptied in between.
//
// Its user needs the keys `<prefix>:*` and the commands GET, SET, DEL, MGET, STRLEN, EVALSHA, SCRIPT LOAD and INFO.
type Redis struct {
	opt    Options
	client redis.UniversalClient
	where  string // for error texts: addresses, never credentials

	opened    atomic.Pointer[string] // id of the generation that Open saw
	committed atomic.Bool            // the generation key says so, as far as this handle knows
}

// Open makes a store for a Redis URL and does no I/O; Redis.Open does the first.
//
//	redis://[user:password@]host:port/db      one server (rediss:// with TLS)
//	redis://host:port?addr=host2:port2        Cluster, from two or more seeds
//	redis://host:port?cluster=true            Cluster, from one seed
//	redis://host:26379?master_name=NAME       Sentinel
//
// Timeouts and pool sizes are further parameters of the URL, by go-redis' names. The client library's own log is
// switched off for the process: what goes wrong is in the errors.
func Open(rawURL string, o Options) (*Redis, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	silence()
	client, where, err := dial(rawURL)
	if err != nil {
		return nil, err
	}
	return &Redis{opt: o, client: client, where: "Redis at " + where}, nil
}

// Close is Lifetime.Close.
func (s *Redis) Close() error {
	if err := s.client.Close(); err != nil {
		return fmt.Errorf("close the connections to %s: %w", s.where, err)
	}
	return nil
}

type noLog struct{}

func (noLog) Printf(context.Context, string, ...any) {}

var silence = sync.OnceFunc(func() { redis.SetLogger(noLog{}) })

// timeout bounds one dial, one write, one read, unless the URL says otherwise.
const timeout = 3 * time.Second

// dial chooses the kind of client by the URL. Its errors never show the URL, which may hold a password.
// Nothing is retried by the client: an answer that was lost is an error here, and the caller asks again.
func dial(rawURL string) (redis.UniversalClient, string, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" || u.Scheme != "redis" && u.Scheme != "rediss" || strings.Contains(u.Path, "@") {
		return nil, "", errors.New("redis URL: want redis://[user:password@]host:port or the same with rediss, " +
			"special characters of a password percent-encoded")
	}
	q := u.Query()
	if q.Has("master_name") {
		return dialSentinel(rawURL)
	}
	cluster := q.Get("cluster")
	q.Del("cluster")
	u.RawQuery = q.Encode()
	if cluster == "true" || q.Has("addr") {
		return dialCluster(u.String())
	}
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, "", urlError(err)
	}
	o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = or(o.DialTimeout), or(o.ReadTimeout), or(o.WriteTimeout)
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewClient(o), fmt.Sprintf("%s/%d", o.Addr, o.DB), nil
}

func dialCluster(rawURL string) (redis.UniversalClient, string, error) {
	o, err := redis.ParseClusterURL(rawURL)
	if err != nil {
		return nil, "", urlError(err)
	}
	if o.ReadOnly || o.RouteByLatency || o.RouteRandomly {
		return nil, "", errors.New("redis URL: reading from replicas would answer with what is no longer so; leave it out")
	}
	o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = or(o.DialTimeout), or(o.ReadTimeout), or(o.WriteTimeout)
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return redis.NewClusterClient(o), strings.Join(o.Addrs, ","), nil
}

func dialSentinel(rawURL string) (redis.UniversalClient, string, error) {
	o, err := redis.ParseFailoverURL(rawURL)
	if err != nil {
		return nil, "", urlError(err)
	}
	if o.ReplicaOnly || o.RouteByLatency || o.RouteRandomly {
		return nil, "", errors.New("redis URL: reading from replicas would answer with what is no longer so; leave it out")
	}
	o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = or(o.DialTimeout), or(o.ReadTimeout), or(o.WriteTimeout)
	return redis.NewFailoverClient(o), o.MasterName + " by " + strings.Join(o.SentinelAddrs, ","), nil
}

func or(d time.Duration) time.Duration {
	if d == 0 {
		return timeout
	}
	return d
}

// urlError keeps a parameter's name and hides everything that came with the URL's own text.
func urlError(err error) error {
	var parse *url.Error
	if errors.As(err, &parse) {
		err = parse.Err
	}
	return fmt.Errorf("redis URL: %w", err)
}
