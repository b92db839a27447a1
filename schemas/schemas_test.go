package schemas_test

import (
	"bytes"
	"io/fs"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"recon/schemas"
)

// Whoever takes one file has a complete schema: it compiles with nothing else at hand and has a name of its own.
func TestEachSchemaIsCompleteInItself(t *testing.T) {
	names, err := fs.Glob(schemas.Files, "*.json")
	if err != nil || len(names) != 3 {
		t.Fatalf("got %v, %v, want three schemas", names, err)
	}
	ids := map[string]string{}
	for _, name := range []string{schemas.Message, schemas.DeadLetter, schemas.Disposition} {
		b, err := schemas.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c := jsonschema.NewCompiler()
		c.UseLoader(nothingElse{})
		c.AssertFormat()
		if err := c.AddResource(name, doc); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s, err := c.Compile(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		members := doc.(map[string]any)
		id, _ := members["$id"].(string)
		if s.DraftVersion != 2020 || id == "" || ids[id] != "" || members["description"] == nil {
			t.Errorf("%s: draft %d, $id %q (also of %q)", name, s.DraftVersion, id, ids[id])
		}
		ids[id] = name
	}
}

// nothingElse refuses to load what a schema refers to.
type nothingElse struct{}

func (nothingElse) Load(url string) (any, error) {
	return nil, &fs.PathError{Op: "load", Path: url, Err: fs.ErrNotExist}
}
