package envelope_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"recon/pkg/envelope"
	"recon/pkg/fault"
	"recon/schemas"
)

// beyondSchema are the examples that the code refuses and that no JSON Schema can, each with the rule that is meant.
var beyondSchema = map[string]string{
	"recon-message.v1/UNDECODABLE.name-twice":                     duplicates,
	"recon-message.v1/UNDECODABLE.name-twice-nested":              duplicates,
	"recon-message.v1/UNDECODABLE.invalid-utf8":                   encoding,
	"recon-message.v1/UNDECODABLE.lone-surrogate":                 encoding,
	"recon-message.v1/NO_IDENTITY.missing":                        "source_hash may stand as a record header, which a schema of the value does not see",
	"recon-message.v1/AMOUNT_INVALID.more-decimals-than-eur":      minorUnits,
	"recon-message.v1/AMOUNT_INVALID.more-decimals-than-jpy":      minorUnits,
	"recon-message.v1/SCHEMA_INVALID.deadline-beyond-9999-in-utc": utcYear,
	"recon-message.v1/SCHEMA_INVALID.deadline-year-0":             utcYear,
	"recon-message.v1/CURRENCY_UNMAPPED.xau":                      inUse,
	"recon-message.v1/CURRENCY_UNMAPPED.xxx":                      inUse,
	"recon-message.v1/CURRENCY_UNMAPPED.dem":                      inUse,
	"recon-message.v1/CURRENCY_UNMAPPED.bgn":                      inUse,
	"recon-message.v1/CURRENCY_UNMAPPED.abc":                      inUse,
	"dead-letter.v1/name-twice":                                   duplicates,
	"dead-letter.v1/invalid-utf8":                                 encoding,
	"dead-letter.v1/integer-with-point":                           plainDigits,
	"dead-letter.v1/integer-with-exponent":                        plainDigits,
	"dead-letter.v1/id-of-another":                                derivedID,
	"dead-letter.v1/root-partition-too-large":                     width,
	"disposition.v1/name-twice":                                   duplicates,
	"disposition.v1/invalid-utf8":                                 encoding,
	"disposition.v1/integer-with-point":                           plainDigits,
	"disposition.v1/id-of-another":                                derivedID,
	"disposition.v1/generation-of-another":                        derivedID,
	"disposition.v1/root-offset-too-large":                        width,
}

const (
	duplicates  = "a schema judges the parsed value, in which a name that stood twice stands once"
	encoding    = "a schema judges the parsed value, in which broken text has been replaced"
	minorUnits  = "the number of decimals follows from ISO 4217's table"
	utcYear     = "the year in UTC is computed from date and zone"
	inUse       = "which currencies are in use and have a minor unit follows from ISO 4217's table, and is a row of its own"
	plainDigits = "to a schema 6.0 and 6e0 are whole numbers"
	derivedID   = "envelope_id is computed from root and generation"
	width       = "that a number inside a text fits 32 or 64 bits is no pattern"
)

// judges are the code's verdicts on each document: nil, or why not.
var judges = map[string]func([]byte) error{
	"recon-message.v1": func(b []byte) error { _, err := envelope.Decode(b, nil); return err },
	"dead-letter.v1":   func(b []byte) error { _, err := envelope.DecodeLetter(b); return err },
	"disposition.v1":   func(b []byte) error { _, err := envelope.DecodeDisposition(b); return err },
}

func compiled(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	b, err := schemas.Files.ReadFile(name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func schemaJudges(s *jsonschema.Schema, b []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

func TestSchemaAndCodeAgreeOnEveryExample(t *testing.T) {
	examples := os.DirFS("../../schemas/testdata")
	beyond, seen := 0, 0
	for name, judge := range judges {
		schema := compiled(t, name)
		for _, kind := range []string{"valid", "invalid"} {
			files, err := fs.Glob(examples, kind+"/"+name+"/*.json")
			if err != nil || len(files) == 0 {
				t.Fatalf("no %s examples of %s: %v", kind, name, err)
			}
			for _, file := range files {
				b, err := fs.ReadFile(examples, file)
				if err != nil {
					t.Fatal(err)
				}
				seen++
				id := strings.TrimSuffix(strings.TrimPrefix(file, kind+"/"), ".json")
				byCode, bySchema := judge(b), schemaJudges(schema, b)
				if got, want := byCode == nil, kind == "valid"; got != want {
					t.Errorf("%s: the code says %v", file, byCode)
				}
				reason, isBeyond := beyondSchema[id]
				if isBeyond {
					beyond++
				}
				if got, want := bySchema == nil, kind == "valid" || isBeyond; got != want {
					t.Errorf("%s: the schema says %v (beyond it: %q)", file, bySchema, reason)
				}
				if want, _, ok := strings.Cut(strings.TrimPrefix(id, name+"/"), "."); ok && kind == "invalid" && code(byCode) != fault.Code(want) {
					t.Errorf("%s: got %v", file, byCode)
				}
			}
		}
	}
	if beyond != len(beyondSchema) {
		t.Errorf("%d of the %d examples beyond the schema are there", beyond, len(beyondSchema))
	}
	t.Logf("%d examples", seen)
}

// Every combination of good and bad members, not only one fault at a time.
func TestSchemaAndCodeAgreeOnRandomMessages(t *testing.T) {
	pools := map[string][]string{ // "" leaves the member out; the currency is one whose decimals the amounts have
		"source_hash":     {`"hash-0001"`, `"hash-0001"`, `"hash{001"`, `7`, `null`},
		"ledger_entity":   {`"DE01"`, `"😀"`, `""`, `null`, `["x"]`, ""},
		"currency":        {`"EUR"`, `"USD"`, `"eur"`, `"EU"`, `1`, ""},
		"amount":          {`"1.50"`, `"-0.5"`, `"0"`, `"-0"`, `"1e3"`, `1.5`, `null`, `{}`, ""},
		"match_decision":  {`"MATCHED"`, `"PARTIAL"`, `"UNMATCHED"`, `"x"`, `true`, ""},
		"booking_date":    {"", `"2026-01-31"`, `"2016-02-30"`, `"0000-01-01"`, `null`},
		"value_date":      {"", `"2024-02-29"`, `"2023-02-29"`, `20240229`},
		"reversal":        {"", `true`, `false`, `"true"`, `null`, `0`},
		"trace_id":        {"", `"t"`, `""`, `"` + strings.Repeat("é", 64) + `"`, `"` + strings.Repeat("é", 65) + `"`},
		"counterpart_ref": {"", `"INV"`, `""`, `1`},
		"match_deadline":  {"", `"2026-04-15T18:00:00+02:00"`, `"2026-04-15T18:00:00"`, `"2026-04-15T18:00:61Z"`, `1`},
		"source_system":   {"", `"camt"`, `""`},
		"message_id":      {"", `"0b0f6c1e-8e0c-4a53-9a3f-0d8a7c1f2e11"`, `"0b0f6c1e"`, `null`},
		"Amount":          {"", "", "", `"1"`},
		"TRACE_id":        {"", "", "", `1`},
		"other":           {"", `{"a":[1]}`},
	}
	schema := compiled(t, "recon-message.v1")
	valid := 0
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var members []string
		for _, name := range sortedKeys(pools) {
			pool := pools[name]
			pick := pool[rng.IntN(len(pool))]
			if rng.IntN(8) > 0 {
				pick = pool[0]
			}
			members = append(members, name, pick)
		}
		b := message(members...)
		_, err := envelope.Decode(b, nil)
		bySchema := schemaJudges(schema, b)
		if (err == nil) != (bySchema == nil) {
			t.Fatalf("seed %d: %s\nthe code says %v\nthe schema says %v", seed, b, err, bySchema)
		}
		if err == nil {
			valid++
		}
	}
	if valid < 400 || valid > 3600 {
		t.Errorf("%d of 4000 are valid: the pools prove little", valid)
	}
}

func sortedKeys(m map[string][]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Every member of every document, at any depth, once missing and once as everything that it may not be: the code and
// the schema say the same.
func TestSchemaAndCodeAgreeOnEveryMember(t *testing.T) {
	derived := map[string]bool{".envelope_id": true, ".lineage.root": true, ".lineage.generation": true, ".root": true, ".generation": true}
	junk := []any{nil, "", "x", "X", "0", 0, -1, 1.5, true, false, []any{}, []any{1}, map[string]any{}, "2026-01-31", strings.Repeat("é", 201), "2026-01-31T09:00:00.000Z"}
	for name, file := range map[string]string{
		"recon-message.v1": "valid/recon-message.v1/full.json", "dead-letter.v1": "valid/dead-letter.v1/full.json", "disposition.v1": "valid/disposition.v1/resolved.json",
	} {
		judge, schema := judges[name], compiled(t, name)
		b, err := os.ReadFile("../../schemas/testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var doc any
		if err := json.Unmarshal(b, &doc); err != nil {
			t.Fatal(err)
		}
		checked := 0
		check := func(path, how string) {
			b, err := json.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			byCode, bySchema := judge(b), schemaJudges(schema, b)
			if (byCode == nil) != (bySchema == nil) && (byCode == nil || !derived[path]) && how+path != "missing.source_hash" {
				t.Errorf("%s%s %s: the code says %v, the schema %v", name, path, how, byCode, bySchema)
			}
			checked++
		}
		var walk func(path string, v any)
		walk = func(path string, v any) {
			switch v := v.(type) {
			case map[string]any:
				for key, was := range v {
					delete(v, key)
					check(path+"."+key, "missing")
					for _, j := range junk {
						v[key] = j
						check(path+"."+key, fmt.Sprintf("as %.20v", j))
					}
					v[key] = was
					walk(path+"."+key, was)
				}
			case []any:
				for i, was := range v {
					for _, j := range junk {
						v[i] = j
						check(path+"[]", fmt.Sprintf("as %.20v", j))
					}
					v[i] = was
					walk(path+"[]", was)
				}
			}
		}
		walk("", doc)
		t.Logf("%s: %d variants", name, checked)
	}
}

// What the service writes is valid by its own schema, at the limits too.
func TestWhatIsWrittenIsValidBySchema(t *testing.T) {
	letters := compiled(t, "dead-letter.v1")
	extreme := fullLetter()
	extreme.ErrorDetail = strings.Repeat("é\x01", 5000)
	extreme.History = append(extreme.History, envelope.Attempt{ErrorDetail: strings.Repeat("\u2028", 500), Instance: strings.Repeat("x", 500), Waited: -1})
	extreme.Fingerprint = envelope.NewFingerprint(fault.Unclassified, fault.StagePost, strings.Repeat("é ", 9000))
	extreme.Producer.Instance = strings.Repeat("😀", 500)
	for i, l := range []*envelope.Letter{fullLetter(), smallLetter(), extreme, extreme.Compact()} {
		if err := schemaJudges(letters, encode(t, l)); err != nil {
			t.Errorf("letter %d: %v", i, err)
		}
	}
	dispositions := compiled(t, "disposition.v1")
	for _, state := range envelope.States() {
		d := disposition(state)
		d.Reason, d.Note = strings.Repeat("é", 9000), strings.Repeat("\x01", 9000)
		b, err := d.Encode()
		if err == nil {
			err = schemaJudges(dispositions, b)
		}
		if err != nil {
			t.Errorf("%s: %v", state, err)
		}
	}
}

func ExampleDecode() {
	_, err := envelope.Decode([]byte(`{"source_hash":"hash-0001","ledger_entity":"DE01","currency":"EUR","amount":"1","match_decision":"MATCHED","booking_date":"2016-02-30"}`), nil)
	v := fault.Of(err)
	fmt.Println(v.Code, v.Stage, v.Detail)
	// Output: SCHEMA_INVALID decode booking_date 2016-02-30 is not a day that exists, YYYY-MM-DD
}
