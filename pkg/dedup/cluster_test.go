package dedup_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"recon/internal/testkit"
)

// startCluster starts a Redis Cluster of three masters and gives its URL.
func startCluster(t testing.TB) (string, redis.UniversalClient) {
	t.Helper()
	ctx := context.Background()
	var urls []string
	for range 3 {
		bus := freePort(t)
		urls = append(urls, testkit.StartRedis(t, "cluster-enabled", "yes", "cluster-port", bus, "cluster-node-timeout", "15000").Redis())
	}
	first := rawClient(t, urls[0])
	addrs := make([]string, len(urls))
	for i, url := range urls {
		c := rawClient(t, url)
		addrs[i] = c.Options().Addr
		host, port, _ := net.SplitHostPort(addrs[i])
		bus, err := c.ConfigGet(ctx, "cluster-port").Result()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.ClusterAddSlotsRange(ctx, i*5462, min((i+1)*5462, 16384)-1).Err(); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			if err := first.Do(ctx, "CLUSTER", "MEET", host, port, bus["cluster-port"]).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, url := range urls {
		c := rawClient(t, url)
		eventually(t, "the cluster to agree", func() bool {
			info := c.ClusterInfo(ctx).Val()
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:3")
		})
	}
	url := urls[0] + "?addr=" + addrs[1] + "&addr=" + addrs[2]
	url = strings.Replace(url, "/0?", "?", 1)
	o, err := redis.ParseClusterURL(url)
	if err != nil {
		t.Fatal(err)
	}
	raw := redis.NewClusterClient(o)
	t.Cleanup(func() { _ = raw.Close() })
	return url, raw
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
