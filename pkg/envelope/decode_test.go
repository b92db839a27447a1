package envelope_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"recon/pkg/envelope"
	"recon/pkg/fault"
)

func header(pairs ...string) (hs []kgo.RecordHeader) {
	for i := 0; i < len(pairs); i += 2 {
		hs = append(hs, kgo.RecordHeader{Key: pairs[i], Value: []byte(pairs[i+1])})
	}
	return hs
}

func TestValidMessageIsReadWhole(t *testing.T) {
	m, err := envelope.Decode(typical, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join([]string{
		m.MessageID, m.SourceHash, m.LedgerEntity, m.Currency, envelope.CanonicalAmount(m.Amount), m.MatchDecision,
		m.BookingDate, m.ValueDate, m.TraceID, m.CounterpartRef, m.SourceSystem, envelope.FormatTime(m.MatchDeadline),
	}, "|")
	want := "0b0f6c1e-8e0c-4a53-9a3f-0d8a7c1f2e11|v1:sha256:4f0a6b1e9d3c8f7a2b5d6e1f0a9c8b7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a1b|" +
		"DE-4711-GIRO|EUR|-12345.67|UNMATCHED|2026-03-31|2026-04-01|4bf92f3577b34da6a3ce929d0e0e4736|INV-2026-000123|camt053|" +
		"2026-04-15T16:00:00.000Z"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if !m.HasAmount || m.Reversal || len(m.Digest) != 16 || !bytes.Equal(m.Value, typical) {
		t.Errorf("amount %v, reversal %v, digest %q, value kept %v", m.HasAmount, m.Reversal, m.Digest, bytes.Equal(m.Value, typical))
	}
}

// One row for each way of each line of the bad-input table in CONTRACT 2. The second column is the record's headers.
func TestBadInputGetsItsRow(t *testing.T) {
	hash := header("source_hash", "hash-0001")
	ok := string(message())
	rows := []struct {
		name    string
		value   []byte
		headers []kgo.RecordHeader
		want    fault.Code
	}{
		{"null value", nil, hash, fault.Undecodable}, // Pitfall S9
		{"empty value", []byte{}, hash, fault.Undecodable},
		{"blanks", []byte(" \n"), hash, fault.Undecodable},
		{"no JSON", []byte(":61:2604010401D75,00NTRF"), hash, fault.Undecodable},
		{"a string", []byte(`"x"`), hash, fault.Undecodable},
		{"null", []byte(`null`), hash, fault.Undecodable},
		{"an array", []byte(`[` + ok + `]`), hash, fault.Undecodable},
		{"a number", []byte(`1`), hash, fault.Undecodable},
		{"cut off", []byte(ok[:len(ok)-1]), hash, fault.Undecodable},
		{"cut off in a string", []byte(ok[:len(ok)-3]), hash, fault.Undecodable},
		{"trailing data", []byte(ok + "x"), hash, fault.Undecodable},
		{"two objects", []byte(ok + ok), hash, fault.Undecodable},
		{"trailing comma", []byte(strings.TrimSuffix(ok, "}") + ",}"), hash, fault.Undecodable},
		{"missing comma", []byte(strings.Replace(ok, ",", " ", 1)), hash, fault.Undecodable},
		{"byte order mark", []byte("\uFEFF" + ok), hash, fault.Undecodable},
		{"comment", []byte("/*x*/" + ok), hash, fault.Undecodable},
		{"single quotes", []byte(`{'a':1}`), hash, fault.Undecodable},
		{"name twice", []byte(strings.Replace(ok, "{", `{"amount":"1",`, 1)), hash, fault.Undecodable},
		{"name twice, escaped", []byte(strings.Replace(ok, "{", `{"amo\u0075nt":"1",`, 1)), hash, fault.Undecodable},
		{"unknown name twice", message("x", "1", "x2", `1,"x":2`), hash, fault.Undecodable},
		{"name twice within", message("x", `{"a":[{"b":1,"b":2}]}`), hash, fault.Undecodable},
		{"invalid UTF-8 in a value", []byte(strings.Replace(ok, "DE01", "DE\xff", 1)), hash, fault.Undecodable},
		{"invalid UTF-8 in a name", message("x\xff", "1"), hash, fault.Undecodable},
		{"lone surrogate", message("ledger_entity", `"\ud800"`), hash, fault.Undecodable},
		{"surrogates swapped", message("ledger_entity", `"\udc00\ud800"`), hash, fault.Undecodable},
		{"bad escape", message("ledger_entity", `"\x41"`), hash, fault.Undecodable},
		{"control character", message("ledger_entity", "\"a\nb\""), hash, fault.Undecodable},
		{"bad number", message("x", "01"), hash, fault.Undecodable},
		{"NaN", message("x", "NaN"), hash, fault.Undecodable},
		{"True", message("reversal", "True"), hash, fault.Undecodable},

		{"no hash", message("source_hash", ""), nil, fault.NoIdentity},
		{"hash null", message("source_hash", "null"), nil, fault.NoIdentity},
		{"hash null, header good", message("source_hash", "null"), hash, fault.NoIdentity},
		{"hash a number", message("source_hash", "12345678"), nil, fault.NoIdentity},
		{"hash empty", message("source_hash", `""`), nil, fault.NoIdentity},
		{"hash of 7", message("source_hash", `"1234567"`), nil, fault.NoIdentity},
		{"hash of 129", message("source_hash", `"`+strings.Repeat("h", 129)+`"`), nil, fault.NoIdentity},
		{"hash with a brace", message("source_hash", `"hash{0001"`), nil, fault.NoIdentity},
		{"hash with a closing brace", message("source_hash", `"hash}0001"`), nil, fault.NoIdentity},
		{"hash with a blank", message("source_hash", `"hash 0001"`), nil, fault.NoIdentity},
		{"hash with é", message("source_hash", `"hash-é001"`), nil, fault.NoIdentity},
		{"hash with DEL", message("source_hash", "\"hash-\x7f001\""), nil, fault.NoIdentity},
		{"header malformed", message("source_hash", ""), header("source_hash", "short"), fault.NoIdentity},
		{"header null", message("source_hash", ""), []kgo.RecordHeader{{Key: "source_hash"}}, fault.NoIdentity},
		{"header empty, body good", message(), header("source_hash", ""), fault.NoIdentity},
		{"body and header differ", message(), header("source_hash", "hash-0002"), fault.NoIdentity},
		{"two headers differ", message(), header("source_hash", "hash-0001", "source_hash", "hash-0002"), fault.NoIdentity},
		{"two headers differ, no body", message("source_hash", ""), header("source_hash", "hash-0001", "source_hash", "hash-0002"), fault.NoIdentity},
		{"two headers differ, the last is right", message(), header("source_hash", "hash-0002", "source_hash", "hash-0001"), fault.NoIdentity},
		{"hash in wrong case alone", message("source_hash", "", "Source_Hash", `"hash-0001"`), nil, fault.NoIdentity},

		{"amount -0", message("amount", `"-0"`), nil, fault.AmountInvalid},
		{"amount -0.00", message("amount", `"-0.00"`), nil, fault.AmountInvalid},
		{"amount empty", message("amount", `""`), nil, fault.AmountInvalid},
		{"amount $120", message("amount", `"$120"`), nil, fault.AmountInvalid},
		{"amount 1e3", message("amount", `"1e3"`), nil, fault.AmountInvalid},
		{"amount 1,50", message("amount", `"1,50"`), nil, fault.AmountInvalid},
		{"amount of 19 digits", message("amount", `"1000000000000000000"`), nil, fault.AmountInvalid},
		{"amount of 10 decimals", message("amount", `"1.0000000000"`), nil, fault.AmountInvalid},
		{"EUR with 3 decimals", message("amount", `"10.505"`), nil, fault.AmountInvalid},
		{"JPY with 1 decimal", message("currency", `"JPY"`, "amount", `"10.5"`), nil, fault.AmountInvalid},

		{"amount missing", message("amount", ""), nil, fault.SchemaInvalid},
		{"amount a number", message("amount", "10.5"), nil, fault.SchemaInvalid},
		{"amount null", message("amount", "null"), nil, fault.SchemaInvalid},
		{"amount an object", message("amount", "{}"), nil, fault.SchemaInvalid},
		{"Amount", message("amount", "", "Amount", `"1"`), nil, fault.SchemaInvalid},
		{"Amount too", message("Amount", `"1"`), nil, fault.SchemaInvalid},
		{"BOOKING_DATE", message("BOOKING_DATE", `"2026-01-31"`), nil, fault.SchemaInvalid},
		{"Counterpart_Ref", message("Counterpart_Ref", `"x"`), nil, fault.SchemaInvalid},
		{"entity missing", message("ledger_entity", ""), nil, fault.SchemaInvalid},
		{"entity empty", message("ledger_entity", `""`), nil, fault.SchemaInvalid},
		{"entity null", message("ledger_entity", "null"), nil, fault.SchemaInvalid},
		{"entity of 65", message("ledger_entity", `"`+strings.Repeat("é", 65)+`"`), nil, fault.SchemaInvalid},
		{"currency missing", message("currency", ""), nil, fault.SchemaInvalid},
		{"currency lower-case", message("currency", `"eur"`), nil, fault.SchemaInvalid},
		{"currency of 4", message("currency", `"EURO"`), nil, fault.SchemaInvalid},
		{"currency a number", message("currency", "978"), nil, fault.SchemaInvalid},
		{"decision missing", message("match_decision", ""), nil, fault.SchemaInvalid},
		{"decision lower-case", message("match_decision", `"matched"`), nil, fault.SchemaInvalid},
		{"decision null", message("match_decision", "null"), nil, fault.SchemaInvalid},
		{"30 February", message("booking_date", `"2016-02-30"`), nil, fault.SchemaInvalid},
		{"date null", message("value_date", "null"), nil, fault.SchemaInvalid},
		{"reversal a string", message("reversal", `"true"`), nil, fault.SchemaInvalid},
		{"reversal null", message("reversal", "null"), nil, fault.SchemaInvalid},
		{"trace_id empty", message("trace_id", `""`), nil, fault.SchemaInvalid},
		{"trace_id of 65", message("trace_id", `"`+strings.Repeat("t", 65)+`"`), nil, fault.SchemaInvalid},
		{"counterpart empty", message("counterpart_ref", `""`), nil, fault.SchemaInvalid},
		{"counterpart a list", message("counterpart_ref", `["x"]`), nil, fault.SchemaInvalid},
		{"deadline without zone", message("match_deadline", `"2026-04-15T18:00:00"`), nil, fault.SchemaInvalid},
		{"source_system of 65", message("source_system", `"`+strings.Repeat("s", 65)+`"`), nil, fault.SchemaInvalid},
		{"message_id no UUID", message("message_id", `"42"`), nil, fault.SchemaInvalid},
		{"message_id in braces", message("message_id", `"{0b0f6c1e-8e0c-4a53-9a3f-0d8a7c1f2e}"`), nil, fault.SchemaInvalid},

		{"currency unknown", message("currency", `"ABC"`), nil, fault.CurrencyUnmapped},
		{"currency withdrawn", message("currency", `"DEM"`), nil, fault.CurrencyUnmapped},
		{"gold", message("currency", `"XAU"`), nil, fault.CurrencyUnmapped},
		{"no currency", message("currency", `"XXX"`), nil, fault.CurrencyUnmapped},
	}
	stages := map[fault.Code]fault.Stage{fault.CurrencyUnmapped: fault.StageCurrency}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			m, err := envelope.Decode(r.value, r.headers)
			v := fault.Of(err)
			if err == nil || v.Code != r.want {
				t.Fatalf("got %v (%s), want %s", err, v.Code, r.want)
			}
			stage := stages[r.want]
			if stage == "" {
				stage = fault.StageDecode
			}
			if v.Stage != stage || m == nil || m.Digest != "" {
				t.Errorf("got stage %s, message %v, want stage %s and a message without digest", v.Stage, m, stage)
			}
		})
	}
}

// A message with several faults gets the row that stands highest.
func TestFirstRowOfTheTableWins(t *testing.T) {
	all := []string{
		"source_hash", `"x"`, "amount", `"-0"`, "booking_date", `"2016-02-30"`, "currency", `"XAU"`,
	}
	broken := message(all...)
	rows := []struct {
		value []byte
		want  fault.Code
	}{
		{append(bytes.Clone(broken), '!'), fault.Undecodable},
		{broken, fault.NoIdentity},
		{message(all[2:]...), fault.AmountInvalid},
		{message(all[4:]...), fault.SchemaInvalid},
		{message(all[6:]...), fault.CurrencyUnmapped},
		{message("amount", `"1.001"`, "ledger_entity", ""), fault.AmountInvalid},
		{message("amount", `1.001`, "currency", `"XAU"`), fault.SchemaInvalid},
		{message("amount", `"1.001"`, "currency", `"eur"`), fault.SchemaInvalid},
	}
	for _, r := range rows {
		if _, err := envelope.Decode(r.value, nil); code(err) != r.want {
			t.Errorf("%s: got %v, want %s", r.value, err, r.want)
		}
	}
}

// What is wrong with a message takes nothing away from what is right with it.
func TestFieldsThatCouldBeReadStayReadable(t *testing.T) {
	all := envelope.Facts{
		SourceHash: "hash-0001", LedgerEntity: "DE01", Currency: "EUR", Amount: "10.5", MatchDecision: "MATCHED",
	}
	but := func(change func(f *envelope.Facts)) envelope.Facts {
		f := all
		change(&f)
		return f
	}
	rows := []struct {
		name  string
		value []byte
		want  envelope.Facts
	}{
		{"30 February", message("booking_date", `"2016-02-30"`), all},
		{"no hash", message("source_hash", ""), but(func(f *envelope.Facts) { f.SourceHash = "" })},
		{"amount", message("amount", `"-0"`), but(func(f *envelope.Facts) { f.Amount = "" })},
		{"amount as a number", message("amount", `10.5`), but(func(f *envelope.Facts) { f.Amount = "" })},
		{"decimals", message("amount", `"10.505"`), but(func(f *envelope.Facts) { f.Amount = "" })},
		{"currency without minor unit", message("currency", `"XAU"`), but(func(f *envelope.Facts) { f.Currency = "XAU" })},
		{"currency malformed", message("currency", `"eur"`), but(func(f *envelope.Facts) { f.Currency = "" })},
		{"entity too long", message("ledger_entity", `"`+strings.Repeat("e", 1<<20)+`"`), but(func(f *envelope.Facts) { f.LedgerEntity = "" })},
		{"decision", message("match_decision", `"MAYBE"`), but(func(f *envelope.Facts) { f.MatchDecision = "" })},
		{"dates", message("value_date", `"2026-01-31"`, "booking_date", "7"), but(func(f *envelope.Facts) { f.ValueDate = "2026-01-31" })},
		{"message id", message("message_id", `"0B0F6C1E-8E0C-4A53-9A3F-0D8A7C1F2E11"`, "reversal", "0"), but(func(f *envelope.Facts) { f.MessageID = "0b0f6c1e-8e0c-4a53-9a3f-0d8a7c1f2e11" })},
		// Of a damaged value nothing is believed: what was not read yet may contradict it.
		{"damaged", append(message(), '!'), envelope.Facts{}},
		{"amount twice", message("x", `1,"amount":"99"`), envelope.Facts{}},
	}
	for _, r := range rows {
		m, err := envelope.Decode(r.value, nil)
		if err == nil {
			t.Errorf("%s: accepted", r.name)
		}
		if got := m.Facts(); got != r.want {
			t.Errorf("%s: got %+v, want %+v", r.name, got, r.want)
		}
		if m.HasAmount != (r.want.Amount != "") {
			t.Errorf("%s: HasAmount %v", r.name, m.HasAmount)
		}
	}
}

func TestHeadersNameADamagedRecord(t *testing.T) {
	m, err := envelope.Decode([]byte("not JSON"), header("source_hash", "hash-0001",
		"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"))
	if code(err) != fault.Undecodable || m.SourceHash != "hash-0001" || m.TraceID != "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Errorf("got %v, %q, %q", err, m.SourceHash, m.TraceID)
	}
}

func TestSourceHashMayComeAsHeader(t *testing.T) {
	for name, hs := range map[string][]kgo.RecordHeader{
		"once": header("source_hash", "hash-0001"), "twice the same": header("source_hash", "hash-0001", "x", "y", "source_hash", "hash-0001"),
	} {
		for _, value := range [][]byte{message(), message("source_hash", "")} {
			m, err := envelope.Decode(value, hs)
			if err != nil || m.SourceHash != "hash-0001" {
				t.Errorf("%s, %s: got %q, %v", name, value, m.SourceHash, err)
			}
		}
	}
	for _, edge := range []string{"12345678", strings.Repeat("~", 128), "!#$|%&-9", "v1:sha256:ab"} {
		if _, err := envelope.Decode(message("source_hash", `"`+edge+`"`), nil); err != nil {
			t.Errorf("%q: %v", edge, err)
		}
	}
}

func TestUnknownMembersAreAllowedAndTravelOn(t *testing.T) {
	var many strings.Builder // more than the scanner keeps in place
	many.WriteString(`1`)
	for i := range 100 {
		many.WriteString(`,"m` + strings.Repeat("x", i) + `":[{"a":null,"b":[1.5e+3,-0,true]},"\u00e9\ud83d\ude00"]`)
	}
	value := message("x", many.String(), "amounts", `"-0"`, "currency_", "0", "ſource_hash", "1", "", `{}`)
	m, err := envelope.Decode(value, nil)
	if err != nil || !bytes.Equal(m.Value, value) {
		t.Fatalf("got %v", err)
	}
	twice := []byte(strings.Replace(string(value), `"x":`, `"m`+strings.Repeat("x", 99)+`":0,"x":`, 1))
	if _, err := envelope.Decode(twice, nil); code(err) != fault.Undecodable {
		t.Errorf("the hundredth unknown name twice: got %v", err)
	}
}

func TestEscapesMeanWhatTheySay(t *testing.T) {
	m, err := envelope.Decode(message("ledger_entity", `"\u0044E\u0030\/\\\"\u00e9\ud83d\ude00"`, "amo\\u0075nts", "1"), nil)
	if want := "DE0/\\\"é😀"; err != nil || m.LedgerEntity != want {
		t.Errorf("got %q, %v, want %q", m.LedgerEntity, err, want)
	}
	value := bytes.Replace(message("amount", ""), []byte("{"), []byte(`{"\u0061moun\u0074":"7",`), 1)
	if m, err = envelope.Decode(value, nil); err != nil || m.Facts().Amount != "7" {
		t.Errorf("escaped name: got %q, %v", m.Facts().Amount, err)
	}
}

// Pitfall H6: a handler that changes the record does not change what evidence says of it.
func TestMessageDoesNotAliasTheRecord(t *testing.T) {
	value, hs := bytes.Clone(typical), header("source_hash", "v1:sha256:4f0a6b1e9d3c8f7a2b5d6e1f0a9c8b7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a1b")
	m, err := envelope.Decode(value, hs)
	if err != nil {
		t.Fatal(err)
	}
	seen := func() string {
		return fmt.Sprint(m.Facts(), m.Digest, m.CounterpartRef, m.SourceSystem, m.MatchDeadline, m.Amount)
	}
	before := seen() // a copy: the fields themselves might alias what is overwritten next
	for i := range value {
		value[i] = 'x'
	}
	for i := range hs[0].Value {
		hs[0].Value[i] = 'x'
	}
	if got := seen(); got != before {
		t.Errorf("got %s, want %s", got, before)
	}
}

func TestEveryRedeliveryIsIdentifiedAlike(t *testing.T) {
	const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	rows := []struct {
		name               string
		value              []byte
		headers            []kgo.RecordHeader
		message, traceWant string
	}{
		{"nothing brought", message(), nil, envelope.MessageID(root), strings.ReplaceAll(envelope.MessageID(root), "-", "")},
		{"body", message("message_id", `"0b0f6c1e-8e0c-4a53-9a3f-0d8a7c1f2e11"`, "trace_id", `"mine"`), header("traceparent", traceparent), "0b0f6c1e-8e0c-4a53-9a3f-0d8a7c1f2e11", "mine"},
		{"traceparent", message(), header("traceparent", traceparent), envelope.MessageID(root), "4bf92f3577b34da6a3ce929d0e0e4736"},
		{"later version of traceparent", message(), header("traceparent", "cc"+traceparent[2:]+"-what-follows"), envelope.MessageID(root), "4bf92f3577b34da6a3ce929d0e0e4736"},
		{"the first good traceparent", message(), header("traceparent", "x", "traceparent", traceparent), envelope.MessageID(root), "4bf92f3577b34da6a3ce929d0e0e4736"},
	}
	for _, bad := range []string{
		"", "x", traceparent + "-x", strings.ToUpper(traceparent), "ff" + traceparent[2:], traceparent[:54], "cc" + traceparent[2:] + "x",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
		strings.Replace(traceparent, "-", "_", 1),
	} {
		rows = append(rows, rows[0])
		rows[len(rows)-1].name, rows[len(rows)-1].headers = "traceparent "+bad, header("traceparent", bad)
	}
	for _, r := range rows {
		for range 2 {
			m, err := envelope.Decode(r.value, r.headers)
			if err != nil {
				t.Fatalf("%s: %v", r.name, err)
			}
			m.Identify(root)
			if m.MessageID != r.message || m.TraceID != r.traceWant || m.Root != root {
				t.Errorf("%s: got %s, %s, want %s, %s", r.name, m.MessageID, m.TraceID, r.message, r.traceWant)
			}
		}
	}
}

// An error says what is wrong and where, and repeats no free text of the message: it may be anybody's data.
func TestDecodeErrorsNameTheFaultNotTheData(t *testing.T) {
	rows := []struct {
		value []byte
		want  []string
	}{
		{nil, []string{"null"}},
		{message("booking_date", `"2016-02-30"`, "reversal", "1"), []string{"booking_date", "2016-02-30", "reversal", "number"}},
		{message("amount", `"10.505"`), []string{"10.505", "3 decimals", "EUR has 2"}},
		{message("currency", `"XAU"`), []string{"XAU"}},
		{message("Amount", `"1"`), []string{"Amount", "letter case"}},
		{message("ledger_entity", `"secret secret secret secret secret secret secret secret secret secret"`, "amount", `"secret"`), []string{"amount"}},
		{append(message(), "secret"...), []string{"after the object"}},
		{message("secret", `1,"secret":2`), []string{"twice"}},
	}
	for _, r := range rows {
		_, err := envelope.Decode(r.value, nil)
		detail := fault.Of(err).Detail
		for _, want := range r.want {
			if !strings.Contains(detail, want) {
				t.Errorf("%s: got %q, want %q in it", r.value, detail, want)
			}
		}
		if strings.Contains(detail, "secret") || strings.Contains(detail, "failed to") {
			t.Errorf("%s: the error repeats data: %q", r.value, detail)
		}
	}
}

func TestDecodeCostsFewAllocations(t *testing.T) {
	got := testing.AllocsPerRun(100, func() {
		if _, err := envelope.Decode(typical, nil); err != nil {
			t.Fatal(err)
		}
	})
	if got > 5 {
		t.Errorf("got %v allocations, want at most 5: message, texts, and the amount's own", got)
	}
}
