// Package observe turns what engine and replayer tell into what people and machines look at: log lines, pages and health.
package observe

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"recon/pkg/consumer"
)

// levels says how loud each kind of event is. A wait that goes as planned is no warning.
var levels = map[consumer.Kind]zapcore.Level{
	consumer.Posted: zap.DebugLevel, consumer.Suppressed: zap.InfoLevel, consumer.RetryScheduled: zap.InfoLevel,
	consumer.DeadLettered: zap.WarnLevel, consumer.Repeated: zap.DebugLevel, consumer.Closed: zap.InfoLevel,
	consumer.Abandoned: zap.InfoLevel, consumer.Unclassified: zap.WarnLevel, consumer.Untrusted: zap.WarnLevel,
	consumer.Malformed: zap.WarnLevel, consumer.Redelivered: zap.WarnLevel, consumer.WriteRefused: zap.ErrorLevel,
	consumer.StoreAway: zap.ErrorLevel, consumer.StoreBack: zap.InfoLevel, consumer.PollError: zap.WarnLevel,
	consumer.CommitRefused: zap.WarnLevel, consumer.Expelled: zap.WarnLevel,
	consumer.Assigned: zap.InfoLevel, consumer.Revoked: zap.InfoLevel, consumer.Lost: zap.WarnLevel,
}

// Log tells every event to l: its kind as message, its facts as fields. Payloads are never among them.
func Log(l *zap.Logger) func(consumer.Event) {
	return func(ev consumer.Event) {
		level, ok := levels[ev.Kind]
		if !ok {
			level = zap.WarnLevel
		}
		if entry := l.Check(level, string(ev.Kind)); entry != nil {
			entry.Write(fields(ev)...)
		}
	}
}

func fields(ev consumer.Event) []zap.Field {
	fs := make([]zap.Field, 0, 16)
	text := func(name, value string) {
		if value != "" {
			fs = append(fs, zap.String(name, value))
		}
	}
	if !ev.Record.IsZero() {
		text("record", ev.Record.String())
	}
	if !ev.Root.IsZero() && ev.Root != ev.Record {
		text("root", ev.Root.String())
	}
	if m := ev.Message; m != nil {
		text("message_id", m.MessageID)
		text("source_hash", m.SourceHash)
		text("trace_id", m.TraceID)
		text("ledger_entity", m.LedgerEntity)
	}
	text("error_code", string(ev.Code))
	text("failure_code", string(ev.Failure))
	text("stage", string(ev.Stage))
	text("topic", ev.Topic)
	text("envelope_id", ev.Letter)
	if ev.Attempt > 0 {
		fs = append(fs, zap.Int("attempt", ev.Attempt))
	}
	if !ev.Due.IsZero() {
		fs = append(fs, zap.Time("due", ev.Due))
	}
	if ev.Took > 0 {
		fs = append(fs, zap.Duration("took", ev.Took))
	}
	if ev.Count > 0 {
		fs = append(fs, zap.Int("count", ev.Count))
	}
	if ev.Err != nil {
		fs = append(fs, zap.String("error", ev.Err.Error()))
	}
	return fs
}
