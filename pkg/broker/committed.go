package broker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Committed gives the offsets that a consumer group has committed: none where the group has committed nothing, or is
// known to nobody. A broker that has just started has no coordinator for the group yet, and says so; that is waited for,
// for at most patience. The error names the group, or is ctx's when the caller cancelled.
func Committed(ctx context.Context, patience time.Duration, adm *kadm.Client, group string) (kadm.Offsets, error) {
	var committed kadm.Offsets
	err := patiently(ctx, patience, func(ctx context.Context) (bool, error) {
		offsets, err := adm.FetchOffsets(ctx, group)
		if err == nil {
			err = offsets.Error()
		}
		if err == nil || errors.Is(err, kerr.GroupIDNotFound) {
			committed = offsets.Offsets()
			committed.KeepFunc(func(o kadm.Offset) bool { return o.At >= 0 }) // -1 stands for none
			return false, nil
		}
		return kerr.IsRetriable(err), fmt.Errorf("committed offsets of group %s: %w", group, err)
	})
	return committed, err
}
