// Package testkit gives tests what they stand on: real services that are found rather than assumed, a virtual Kafka for synctest bubbles,
// servers and child processes that may be killed, and names that no other test uses. Only external test packages import it.
package testkit

import (
	"crypto/rand"
	"encoding/base32"
	"strings"
	"testing"
)

// maxName leaves room for what a test appends to a name: Kafka takes 249 characters, PostgreSQL 63.
const maxName = 32

// Prefix returns a name that no other test, process or run uses: lower-case letters, digits and dashes, at most 41 characters, starting with
// a letter. It serves as prefix of topics, groups and Redis keys.
func Prefix(t testing.TB) string {
	t.Helper()
	return "t-" + readable(t.Name()) + "-" + nonce()
}

// readable keeps what names in Kafka, Redis and PostgreSQL may hold.
func readable(name string) string {
	name = strings.TrimPrefix(strings.ToLower(name), "test")
	var b strings.Builder
	for _, r := range name {
		if r < 'a' || r > 'z' {
			if r < '0' || r > '9' {
				r = '-'
			}
		}
		b.WriteRune(r)
	}
	name = strings.Trim(b.String(), "-")
	if len(name) > maxName {
		name = name[:maxName]
	}
	return name
}

// nonce returns 40 random bits as six letters and digits (30 of them are used).
func nonce() string {
	var b [5]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead
	return strings.ToLower(base32.StdEncoding.EncodeToString(b[:]))[:6]
}
