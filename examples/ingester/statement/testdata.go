package statement

import "embed"

// Testdata holds the small bank files of one trading company that the demo feeds and the tests read, under testdata/:
// camt053.xml, mt940.sta, card.csv, payroll.ach and bai2.txt, which all foot where their format can, and feed.jsonl,
// messages of its other systems as they go to recon.main, one a line.
//
//go:embed testdata/camt053.xml testdata/mt940.sta testdata/card.csv testdata/payroll.ach testdata/bai2.txt testdata/feed.jsonl
var Testdata embed.FS
