package period

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// reader walks the file's tree and collects mistakes in place of stopping at the first one.
type reader struct {
	mistakes []string
	anchors  map[string]ast.Node // filled before the walk: the order in which settings are read is not the file's
}

// Visit collects anchors; it makes reader an ast.Visitor.
func (r *reader) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok {
		r.anchors[a.Name.GetToken().Value] = a.Value
	}
	return r
}

// verdict is nil for a file without a mistake, else one error that lists them in the order of the file.
func (r *reader) verdict(name string) error {
	if len(r.mistakes) == 0 {
		return nil
	}
	plural := "s"
	if len(r.mistakes) == 1 {
		plural = ""
	}
	return fmt.Errorf("calendar %s: %d mistake%s:\n  %s", name, len(r.mistakes), plural, strings.Join(r.mistakes, "\n  "))
}

func (r *reader) mistake(n ast.Node, path, format string, args ...any) {
	said := fmt.Sprintf(format, args...)
	if path != "" {
		said = path + ": " + said
	}
	if n != nil && n.GetToken() != nil {
		said = fmt.Sprintf("line %d: %s", n.GetToken().Position.Line, said)
	}
	r.mistakes = append(r.mistakes, said)
}

// root parses the bytes and returns the one document's body, nil after a mistake. Keys that stand twice are left to
// member, so that they are named beside the other mistakes.
func (r *reader) root(b []byte) ast.Node {
	f, err := parser.ParseBytes(b, 0, parser.AllowDuplicateMapKey())
	var at yaml.Error
	switch {
	case errors.As(err, &at):
		r.mistakes = append(r.mistakes, fmt.Sprintf("line %d: neither YAML nor JSON: %s", at.GetToken().Position.Line, at.GetMessage()))
	case err != nil:
		r.mistakes = append(r.mistakes, "neither YAML nor JSON: "+err.Error())
	case len(f.Docs) == 0 || f.Docs[0].Body == nil:
		r.mistakes = append(r.mistakes, "the file is empty")
	case len(f.Docs) > 1:
		r.mistake(f.Docs[1].Body, "", "a second document begins here; a calendar is one document")
	default:
		ast.Walk(r, f.Docs[0].Body)
		return f.Docs[0].Body
	}
	return nil
}

// member is one key of an object with its value.
type member struct {
	key   string
	value ast.Node
}

// members reads an object whose keys are free, in the order of the file.
func (r *reader) members(n ast.Node, path string) []member {
	n = r.plain(n, path)
	if n == nil {
		return nil
	}
	object, ok := n.(ast.MapNode)
	if !ok {
		r.mistake(n, path, "want an object, got %s", kind(n))
		return nil
	}
	var all []member
	for it := object.MapRange(); it.Next(); {
		key := it.Key().GetToken().Value
		if slices.ContainsFunc(all, func(m member) bool { return m.key == key }) {
			r.mistake(it.Key(), join(path, key), "stands here twice")
			continue
		}
		all = append(all, member{key: key, value: it.Value()})
	}
	return all
}

// fields is an object whose keys are known.
type fields struct {
	r      *reader
	node   ast.Node
	path   string
	values map[string]ast.Node
}

// fields reads an object and reports every key that is not in known. An absent or wrong object has no fields.
func (r *reader) fields(n ast.Node, path string, known ...string) fields {
	f := fields{r: r, node: n, path: path, values: map[string]ast.Node{}}
	for _, m := range r.members(n, path) {
		if !slices.Contains(known, m.key) {
			r.mistake(m.value, join(path, m.key), "no such setting; there are: %s", strings.Join(known, ", "))
			continue
		}
		f.values[m.key] = m.value
	}
	return f
}

// optional returns a text, empty where the key is absent.
func (f fields) optional(key string) string {
	n := f.r.plain(f.values[key], join(f.path, key))
	switch v := n.(type) {
	case nil:
		return ""
	case *ast.StringNode:
		return v.Value
	case *ast.IntegerNode, *ast.FloatNode: // a period called 2026 need not be quoted
		return n.GetToken().Value
	}
	f.r.mistake(n, join(f.path, key), "want a text, got %s", kind(n))
	return ""
}

// text returns a text that must be there and not empty.
func (f fields) text(key string) string {
	before := len(f.r.mistakes)
	s := f.optional(key)
	if s == "" && len(f.r.mistakes) == before {
		f.r.mistake(f.node, join(f.path, key), "is missing")
	}
	return s
}

// day returns a date that exists, written YYYY-MM-DD; empty after a mistake.
func (f fields) day(key string) string {
	s := f.text(key)
	if s != "" && !isDay(s) {
		f.r.mistake(f.values[key], join(f.path, key), "%s is no date that exists; write YYYY-MM-DD", s)
		return ""
	}
	return s
}

// clock returns a local time of the zone, zero where the key is absent or after a mistake.
func (f fields) clock(key string, zone *time.Location) time.Time {
	s := f.optional(key)
	if s == "" {
		return time.Time{}
	}
	for _, form := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05"} {
		if t, err := time.ParseInLocation(form, s, zone); err == nil {
			return t
		}
	}
	f.r.mistake(f.values[key], join(f.path, key), "%s is no local time; write YYYY-MM-DDThh:mm without a zone", s)
	return time.Time{}
}

// flag returns a boolean, false where the key is absent.
func (f fields) flag(key string) bool {
	n := f.r.plain(f.values[key], join(f.path, key))
	switch v := n.(type) {
	case nil:
		return false
	case *ast.BoolNode:
		return v.Value
	}
	f.r.mistake(n, join(f.path, key), "want true or false, got %s", kind(n))
	return false
}

// list returns the elements of a list, none where the key is absent.
func (f fields) list(key string) []ast.Node {
	n := f.r.plain(f.values[key], join(f.path, key))
	switch v := n.(type) {
	case nil:
		return nil
	case *ast.SequenceNode:
		return v.Values
	}
	f.r.mistake(n, join(f.path, key), "want a list, got %s", kind(n))
	return nil
}

// plain resolves an anchor or alias and answers nil for null: an absent value and a null one are the same here.
// It takes one step: an alias cannot stand for another one in YAML, so nothing can lead back to itself.
func (r *reader) plain(n ast.Node, path string) ast.Node {
	if alias, ok := n.(*ast.AliasNode); ok {
		name := alias.Value.GetToken().Value
		if n, ok = r.anchors[name]; !ok {
			r.mistake(alias, path, "there is no anchor &%s", name)
			return nil
		}
	}
	if anchor, ok := n.(*ast.AnchorNode); ok {
		n = anchor.Value
	}
	if _, null := n.(*ast.NullNode); null {
		return nil
	}
	return n
}

func kind(n ast.Node) string { return strings.ToLower(n.Type().String()) }

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// isDay tells whether s is a date that exists, written YYYY-MM-DD.
func isDay(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}
