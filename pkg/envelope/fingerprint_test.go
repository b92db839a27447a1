package envelope_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"recon/pkg/envelope"
	"recon/pkg/fault"
)

// The corpus of normaliser version 1. A change of any row needs version 2.
func TestNormaliserTakesOutWhatDiffersFromRecordToRecord(t *testing.T) {
	rows := []struct{ in, want string }{
		{"", ""},
		{"disk full", "disk full"},
		{"amount 12.345 has 3 decimals, EUR has 2", "amount <n> has <n> decimals, EUR has <n>"},
		{"amount -1,234,567.89 on 2026-03-31", "amount -<n> on <date>"},
		{"booking_date 2016-02-30 is not a day", "booking_date <id> is not a day"},
		{"posted at 2026-03-31T12:00:00.123Z by 0b0f6c1e-8e0c-4a53-9a3f-0d8a7c1f2e11", "posted at <date> by <uuid>"},
		{"dial tcp 10.0.0.7:443: connect: connection refused", "dial tcp <id>: connect: connection refused"},
		{"dial tcp ledger.svc:5432: i/o timeout", "dial tcp <id>: i/o timeout"},
		{"hash v1:sha256:4f0a6b1e9d3c8f7a is known", "hash <id> is known"},
		{"trace deadbeef and 4bf92f3577b34da6a3ce929d0e0e4736", "trace <hex> and <hex>"},
		{"record recon.main/3@1234 of DE-4711", "record <id> of <id>"},
		{`column "account 17" of 'x'`, "column <q> of <q>"},
		{"it's the bank's fault", "it's the bank's fault"},
		{"a\tb\n\n  c ", "a b c"},
		{"status=503, code=E42; retry (7)", "status=<n>, code=<id>; retry (<n>)"},
		{"counterpart INV not arrived for ACME", "counterpart <id> not arrived for <id>"},
		{"INVOICE ACME-1 and ACMEs", "INVOICE <id> and ACMEs"},
		{"Überweisung 7 für Zürich", "Überweisung <n> für Zürich"},
		{"\xff broken", "\uFFFD broken"},
		{"...", "..."},
		{"12:30:59 late", "<id> late"},
		{"wait 1m30s", "wait <id>"},
	}
	for _, r := range rows {
		if got := envelope.Normalise(r.in, "ACME", "INV", ""); got != r.want {
			t.Errorf("%q: got %q, want %q", r.in, got, r.want)
		}
		if again := envelope.Normalise(r.want, "ACME", "INV"); again != r.want {
			t.Errorf("%q: normalised twice it is %q", r.want, again)
		}
	}
}

func TestFingerprintGroupsByCauseNotByRecord(t *testing.T) {
	of := func(code fault.Code, stage fault.Stage, text string, known ...string) string {
		return envelope.NewFingerprint(code, stage, text, known...).Hash
	}
	a := of(fault.RateNotPublished, fault.StageFX, "no rate USD to EUR for 2026-03-31, amount 10.50", "DE01")
	if b := of(fault.RateNotPublished, fault.StageFX, "no rate USD to EUR for 2026-04-01, amount 7", "DE02"); a != b {
		t.Error("two days and amounts make two groups")
	}
	for name, other := range map[string]string{
		"code":     of(fault.RateLimited, fault.StageFX, "no rate USD to EUR for 2026-03-31, amount 10.50"),
		"stage":    of(fault.RateNotPublished, fault.StagePost, "no rate USD to EUR for 2026-03-31, amount 10.50"),
		"currency": of(fault.RateNotPublished, fault.StageFX, "no rate GBP to EUR for 2026-03-31, amount 10.50"),
		"framing":  of(fault.RateNotPublished+"f", fault.StageFX[1:], "no rate USD to EUR for 2026-03-31, amount 10.50"),
	} {
		if other == a {
			t.Errorf("another %s is the same group", name)
		}
	}
}

// Groups live on in dispositions and notes of people: the hash of version 1 never changes.
func TestFingerprintOfVersionOneNeverChanges(t *testing.T) {
	f := envelope.NewFingerprint(fault.CurrencyUnmapped, fault.StageCurrency, "currency XAU is not mapped for DE-4711", "DE-4711")
	if want := "36065a2bae3ff065"; f.Version != 1 || f.Hash != want || strings.Join(f.Parts, "|") != "CURRENCY_UNMAPPED|currency|currency XAU is not mapped for <id>" {
		t.Errorf("got %+v, want hash %s", f, want)
	}
}

func TestNormaliserIsBounded(t *testing.T) {
	for _, junk := range []string{"x", "😀", "1 ", `"`, "\xff", "a.", " "} {
		got := envelope.Normalise(strings.Repeat(junk, 1<<20))
		if len(got) > 512 || !utf8.ValidString(got) {
			t.Errorf("%q: got %d bytes", junk, len(got))
		}
	}
}
