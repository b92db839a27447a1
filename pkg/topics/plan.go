package topics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// Step is one change to one topic: it is created, grows, or gets settings.
type Step struct {
	Topic      string
	Create     bool
	Partitions int32             // to create with or to grow to; 0: unchanged
	Replicas   int16             // to create with
	Settings   map[string]string // to create with or to set
}

// String tells the step in one line.
func (s Step) String() string {
	var parts []string
	switch {
	case s.Create:
		parts = append(parts, fmt.Sprintf("create with %d partitions, %d replicas", s.Partitions, s.Replicas))
	case s.Partitions > 0:
		parts = append(parts, fmt.Sprintf("grow to %d partitions", s.Partitions))
	}
	for _, setting := range slices.Sorted(maps.Keys(s.Settings)) {
		parts = append(parts, setting+"="+s.Settings[setting])
	}
	return s.Topic + ": " + strings.Join(parts, ", ")
}

// Plan is what has to change, in the order of Wanted. An empty plan changes nothing.
type Plan []Step

// Plan says what brings the topics to where Verify finds nothing wrong. It never names main or a topic that is not
// wanted, deletes nothing and takes no partitions away. The error says why there is no plan: main is missing, or
// something cannot be seen.
func (f *Found) Plan() (Plan, error) {
	var plan Plan
	var errs []error
	for _, spec := range Wanted(f.names, f.ladder, f.facts()) {
		t, there := f.topics[spec.Topic]
		err, hidden := f.hidden[spec.Topic]
		switch {
		case hidden:
			errs = append(errs, fmt.Errorf("topic %s is not shown to this user (%s): allow DESCRIBE on it", spec.Topic, name(err)))
		case !there && spec.Upstream:
			errs = append(errs, fmt.Errorf("topic %s does not exist: the others take their partitions and sizes from it, and it belongs to upstream: have it created there, or look at topics.prefix (RECON_TOPICS_PREFIX)", spec.Topic))
		case there && t.Err != nil:
			errs = append(errs, fmt.Errorf("settings of topic %s cannot be read (%s): allow DESCRIBE_CONFIGS on it", spec.Topic, name(t.Err)))
		case spec.Upstream:
		case !there:
			plan = append(plan, f.creation(spec))
		default:
			if step := change(spec, t); step.Partitions > 0 || len(step.Settings) > 0 {
				plan = append(plan, step)
			}
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return plan, nil
}

func (f *Found) creation(spec Spec) Step {
	s := Step{Topic: spec.Topic, Create: true, Partitions: spec.Partitions, Settings: map[string]string{}}
	s.Replicas = int16(min(max(f.Brokers, 1), wantReplicas))
	for _, r := range spec.Rules {
		s.Settings[r.Setting] = r.Value
	}
	if s.Replicas == wantReplicas {
		s.Settings[MinInsync] = fmt.Sprint(wantInsync)
	}
	return s
}

func change(spec Spec, t Topic) Step {
	s := Step{Topic: spec.Topic, Settings: map[string]string{}}
	for _, r := range spec.Rules {
		if !r.Met(t.Settings[r.Setting].Value) {
			s.Settings[r.Setting] = r.Value
		}
	}
	insync := Rule{MinInsync, fmt.Sprint(wantInsync), true}
	if t.Replicas >= wantReplicas && !insync.Met(t.Settings[MinInsync].Value) {
		s.Settings[MinInsync] = insync.Value
	}
	if spec.AsMain && t.Partitions < spec.Partitions {
		s.Partitions = spec.Partitions
	}
	return s
}

// Apply carries the plan out and waits until the cluster shows it. A step that fails does not keep the others from
// being tried; the error names each one with Kafka's reason. Applying again continues.
func (p Plan) Apply(ctx context.Context, adm *kadm.Client) error {
	var done Plan
	var errs []error
	for _, step := range p {
		if err := step.apply(ctx, adm); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", step, err))
			continue
		}
		done = append(done, step)
	}
	return errors.Join(append(errs, done.await(ctx, adm))...)
}

func (s Step) apply(ctx context.Context, adm *kadm.Client) error {
	if s.Create {
		settings := make(map[string]*string, len(s.Settings))
		for key, value := range s.Settings {
			settings[key] = &value
		}
		made, err := adm.CreateTopic(ctx, s.Partitions, s.Replicas, settings, s.Topic)
		if errors.Is(err, kerr.TopicAlreadyExists) {
			return nil // somebody else was quicker; the next look tells whether it is as wanted
		}
		return reason(err, made.ErrMessage)
	}
	if s.Partitions > 0 {
		grown, err := adm.UpdatePartitions(ctx, int(s.Partitions), s.Topic)
		if err == nil {
			r := grown[s.Topic]
			err = reason(r.Err, r.ErrMessage)
		}
		if err != nil {
			return err
		}
	}
	if len(s.Settings) == 0 {
		return nil
	}
	var changes []kadm.AlterConfig
	for key, value := range s.Settings {
		changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: key, Value: &value})
	}
	altered, err := adm.AlterTopicConfigs(ctx, changes, s.Topic)
	if err != nil {
		return err
	}
	r, err := altered.On(s.Topic, nil)
	return reason(errors.Join(err, r.Err), r.ErrMessage)
}

// reason adds Kafka's words to its code.
func reason(err error, words string) error {
	if err == nil || words == "" {
		return err
	}
	return fmt.Errorf("%w (%s)", err, words)
}

// await asks until created and grown topics have leaders for all partitions: answers are up to a second old.
func (p Plan) await(ctx context.Context, adm *kadm.Client) error {
	for {
		all, err := adm.Metadata(ctx)
		if err == nil && p.shows(all.Topics) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the changes are made, but the cluster does not show them yet: %w", ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// shows reports whether all that was made has leaders. Of a topic to be created any number of partitions will do: it
// may have been created by somebody else.
func (p Plan) shows(have kadm.TopicDetails) bool {
	for _, step := range p {
		want := int(step.Partitions)
		if step.Create {
			want = 1
		}
		partitions := have[step.Topic].Partitions
		if len(partitions) < want {
			return false
		}
		for _, partition := range partitions {
			if partition.Err != nil || partition.Leader < 0 {
				return false
			}
		}
	}
	return true
}
