package dedup

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

var (
	// ErrUnavailable: the store cannot answer now (away, slow, loading, out of memory, failing over). It passes by
	// waiting; until then nothing is known, so nothing may be taken, settled or marked.
	ErrUnavailable = errors.New("the dedup store cannot answer now")
	// ErrDenied: the store refuses the user, the password or a permission. Such an error is also ErrUnavailable: a
	// running process waits until the permission is back.
	ErrDenied = errors.New("the dedup store refuses the user, the password or a permission")
)

// Answers by which Redis says that it cannot serve now, or not this user.
var (
	passing = []string{
		"OOM ", "LOADING ", "READONLY ", "MASTERDOWN ", "CLUSTERDOWN ", "TRYAGAIN ", "NOREPLICAS ", "MISCONF ", "BUSY ",
		"UNBLOCKED ", "MOVED ", "ASK ", "ERR max number of clients reached",
	}
	denying = []string{
		"WRONGPASS ", "NOAUTH ", "NOPERM ", "ERR AUTH ", "ERR invalid password", "ERR Client sent AUTH",
		"ERR The user executing the script", "ERR ACL failure in script", // before and since Redis 7.2
	}
)

// explain says what was tried where, and what kind of error it is. A caller that gave up is no matter of the store.
func explain(ctx context.Context, what, where string, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return fmt.Errorf("%s in %s: %w", what, where, context.Cause(ctx))
	}
	if errors.Is(err, redis.ErrClosed) {
		return fmt.Errorf("%s in %s: the store is closed: %w", what, where, err)
	}
	var answer redis.Error
	if !errors.As(err, &answer) {
		return fmt.Errorf("%s in %s: %w: %w", what, where, ErrUnavailable, err)
	}
	for _, prefix := range denying {
		if strings.HasPrefix(answer.Error(), prefix) {
			return fmt.Errorf("%s in %s: %w: %w: %w", what, where, ErrUnavailable, ErrDenied, err)
		}
	}
	for _, prefix := range passing {
		if strings.HasPrefix(answer.Error(), prefix) {
			return fmt.Errorf("%s in %s: %w: %w", what, where, ErrUnavailable, err)
		}
	}
	return fmt.Errorf("%s in %s: %w", what, where, err)
}
