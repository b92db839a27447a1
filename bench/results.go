package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// result is one line of results.jsonl.
type result struct {
	Measure string  `json:"measure"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
	Ours    float64 `json:"ours"`
	Theirs  float64 `json:"theirs"`
}

// write puts the results down for programs and for people.
func write(o options, rs []result) error {
	var lines, page bytes.Buffer
	enc := json.NewEncoder(&lines)
	fmt.Fprintf(&page, "# Results\n\nWritten by `make bench` on %s: %s, %d cores, franz-go %s, one broker of Apache Kafka, %d partitions, records of 500 bytes, %d records a round, median of %d rounds in turn.\n\n",
		time.Now().UTC().Format("2006-01-02 15:04 MST"), runtime.Version(), runtime.NumCPU(), moduleVersion("github.com/twmb/franz-go"), partitions, o.records, o.rounds)
	page.WriteString("Ratios of one run count; absolute rates belong to the machine. *Bare* is a hand-written loop: poll, the same strict decoder, failing records produced without waiting, autocommit.\n\n")
	page.WriteString("| measure | value | unit | ours | bare |\n|---|---|---|---|---|\n")
	for _, r := range rs {
		if err := enc.Encode(r); err != nil {
			return err
		}
		fmt.Fprintf(&page, "| `%s` | %.2f | %s | %.1f | %.1f |\n", r.Measure, r.Value, r.Unit, r.Ours, r.Theirs)
	}
	page.WriteString("\n`noop_N`: no-op handler, N % of the records failing, in-process claims, no audit trail (`_audit`: with it). `cpu_ratio_N`: CPU of the process per record. `late_first_*`: the second attempt's begin after its due time, fixed wait of 2 s on the first tier. `early`: attempts before their due time.\n")
	if err := os.WriteFile(filepath.Join(o.out, "results.jsonl"), lines.Bytes(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "RESULTS.md"), page.Bytes(), 0o644)
}

func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, m := range info.Deps {
		if strings.EqualFold(m.Path, path) {
			return m.Version
		}
	}
	return "unknown"
}
