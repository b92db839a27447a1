// Package schemas holds the JSON Schema (2020-12) of every document that leaves or enters the service.
//
// Its promise: the schemas and the code of pkg/envelope judge alike. Both are held against the same examples
// (testdata/valid, testdata/invalid), and where a schema cannot express a rule its description says so.
package schemas

import "embed"

// The files of Files, one a document and version. A published file is never changed: a new rule is a new version.
const (
	Message     = "recon-message.v1.json" // records of main
	DeadLetter  = "dead-letter.v1.json"   // records of the DLQ
	Disposition = "disposition.v1.json"   // changes of a letter's state
)

// Files are the schemas by the names above. Each is complete in itself: none refers to another.
//
//go:embed *.json
var Files embed.FS
