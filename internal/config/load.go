package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// Source says what a setting is taken from.
type Source struct {
	File string                      // YAML file; empty: none
	YAML []byte                      // in place of File: the content itself
	Env  func(string) (string, bool) // os.LookupEnv
	// Flags holds the settings given on the command line, by path, as text.
	Flags map[string]string
}

// Effective is a set of settings with where each came from.
type Effective struct {
	Settings
	from map[string]string // path → default, file, environment, flag
}

// Load puts the settings together: flags over environment over file over defaults. The error names every mistake: a
// key that does not exist, a value that is none.
func Load(src Source) (*Effective, error) {
	e := &Effective{Settings: Defaults(), from: make(map[string]string)}
	all := leaves(&e.Settings)
	var errs []error
	give := func(l leaf, text, from string) {
		if err := l.set(text); err != nil {
			errs = append(errs, fmt.Errorf("%s (%s): %w", l.path, from, err))
			return
		}
		e.from[l.path] = from
	}
	file, err := src.file()
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		if text, ok := file[l.path]; ok {
			give(l, text, "file")
			delete(file, l.path)
		}
		if text, ok := src.env(l.env()); ok {
			give(l, text, "environment")
		}
		if text, ok := src.Flags[l.path]; ok {
			give(l, text, "flag")
		}
	}
	e.policies(file)
	for _, path := range slices.Sorted(maps.Keys(file)) {
		errs = append(errs, fmt.Errorf("%s (file): no such setting", path))
	}
	errs = append(errs, e.unknownEnv(src, all)...)
	errs = append(errs, e.readFiles()...)
	return e, errors.Join(errs...)
}

func (s Source) env(name string) (string, bool) {
	if s.Env == nil {
		return "", false
	}
	return s.Env(name)
}

// file flattens the YAML into texts by path. Lists are joined with commas, as in the environment.
func (s Source) file() (map[string]string, error) {
	content := s.YAML
	if s.File != "" {
		var err error
		if content, err = os.ReadFile(s.File); err != nil {
			return nil, fmt.Errorf("configuration file: %w", err)
		}
	}
	var tree map[string]any
	if err := yaml.UnmarshalWithOptions(content, &tree, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("configuration file %s: %w", s.File, err)
	}
	flat := make(map[string]string)
	flatten(flat, "", tree)
	return flat, nil
}

func flatten(flat map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, below := range v {
			flatten(flat, strings.TrimPrefix(path+"."+key, "."), below)
		}
	case []any:
		texts := make([]string, len(v))
		for i := range v {
			texts[i] = fmt.Sprint(v[i])
		}
		flat[path] = strings.Join(texts, ",")
	case nil:
		flat[path] = ""
	case time.Duration:
		flat[path] = v.String()
	default:
		flat[path] = fmt.Sprint(v)
	}
}

// policies takes retry.policies.<CODE>.<field> out of the file. Whether the code exists and the values make sense,
// Consumer says.
func (e *Effective) policies(file map[string]string) {
	for path, text := range file {
		rest, ok := strings.CutPrefix(path, "retry.policies.")
		code, field, ok2 := strings.Cut(rest, ".")
		if !ok || !ok2 {
			continue
		}
		p := e.Retry.Policies[code]
		switch field {
		case "max_attempts":
			p.MaxAttempts = text
		case "base_delay":
			p.BaseDelay = text
		case "cap":
			p.Cap = text
		case "spacing":
			p.Spacing = text
		default:
			continue
		}
		if e.Retry.Policies == nil {
			e.Retry.Policies = make(map[string]Policy)
		}
		e.Retry.Policies[code] = p
		e.from[path] = "file"
		delete(file, path)
	}
}

// notSetting tells of a variable with our prefix that is no setting: those of tests and of the services script.
func notSetting(name string) bool {
	return strings.HasPrefix(name, "RECON_TEST_") || slices.Contains([]string{"RECON_REQUIRE_SERVICES", "RECON_CACHE", "RECON_CONFIG"}, name)
}

// unknownEnv reports variables that look like ours and name nothing: a typing mistake would otherwise be a default.
func (e *Effective) unknownEnv(src Source, all []leaf) []error {
	if src.Env == nil {
		return nil
	}
	known := make(map[string]bool)
	for _, l := range all {
		known[l.env()] = true
	}
	var errs []error
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		ours := strings.HasPrefix(name, "RECON_") && !notSetting(name)
		if _, set := src.env(name); ours && set && !known[name] {
			errs = append(errs, fmt.Errorf("%s (environment): no such setting", name))
		}
	}
	return errs
}

// readFiles takes the URLs that were given as files.
func (e *Effective) readFiles() []error {
	var errs []error
	for _, f := range []struct {
		path string
		file string
		url  *string
	}{{"redis.url", e.Redis.URLFile, &e.Redis.URL}, {"ledger.url", e.Ledger.URLFile, &e.Ledger.URL}} {
		switch {
		case f.file == "":
		case *f.url != "":
			errs = append(errs, fmt.Errorf("%s and %s_file are both given: give one", f.path, f.path))
		default:
			content, err := os.ReadFile(f.file)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s_file: %w", f.path, err))
			}
			*f.url = strings.TrimSpace(string(content))
		}
	}
	return errs
}

// From tells where a setting came from, by its path: `default`, `file`, `environment` or `flag`.
func (e *Effective) From(path string) string {
	if from := e.from[path]; from != "" {
		return from
	}
	return "default"
}

// Line is one setting as a person reads it.
type Line struct {
	Path, Env, Value, From string
}

// Lines lists every setting with its value, secrets hidden, and where it came from.
func (e *Effective) Lines() []Line {
	var lines []Line
	for _, l := range leaves(&e.Settings) {
		lines = append(lines, Line{l.path, l.env(), l.shown(), e.From(l.path)})
	}
	for _, code := range slices.Sorted(maps.Keys(e.Retry.Policies)) {
		p := e.Retry.Policies[code]
		for _, f := range [][2]string{{"max_attempts", p.MaxAttempts}, {"base_delay", p.BaseDelay}, {"cap", p.Cap}, {"spacing", p.Spacing}} {
			if f[1] != "" {
				lines = append(lines, Line{"retry.policies." + code + "." + f[0], "", f[1], "file"})
			}
		}
	}
	return lines
}

// Digest is the SHA-256 of the effective settings without secrets, in hex: evidence of what was in force.
func (e *Effective) Digest() string {
	h := sha256.New()
	for _, l := range e.Lines() {
		fmt.Fprintf(h, "%d:%s%d:%s", len(l.Path), l.Path, len(l.Value), l.Value)
	}
	return hex.EncodeToString(h.Sum(nil))
}
