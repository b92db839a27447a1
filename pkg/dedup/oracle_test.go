package dedup_test

// The oracle of the rules: the table, the settle rule, the trust rule, the reservation and the marks as the model
// checker explored them, with its repairs. Small numbers instead of coordinates, rows instead of branches: written
// apart from the code that it judges, and knowing nothing of it.

// Roots. roots 0 and 1 are the two first records of a hash; a replay that is not believed is a root of its own.
const (
	oA = iota
	oB
	oAlias
)

// Positions: where the arriving record was read, another place, or none.
const (
	pNone = iota
	pHere
	pThere
)

// unread is the digest of a message whose amount nobody could read.
const unread = 2

// cell is what the store holds; its st is "" for nothing.
type cell struct {
	st             string
	root, gen, att int
	dig, pos       int
}

// rec is a record that arrives: attempts made so far, digest.
type rec struct{ root, gen, made, dig int }

// row is one line of the table.
type row struct {
	name    string
	when    func(k cell, r rec) bool
	verdict string
	takes   bool
}

func sameRoot(k cell, r rec) bool { return k.root == r.root }
func level(k cell, r rec) bool    { return sameRoot(k, r) && r.gen == k.gen && r.made+1 == k.att }

// table is the table of claims; the first row that fits counts. A taking is "resumed" where the very same claim stands.
var table = []row{
	{"nothing", func(k cell, _ rec) bool { return k.st == "" }, "fresh", true},
	{"same root posted", func(k cell, r rec) bool { return sameRoot(k, r) && k.st == "posted" }, "done", false},
	{"same root settled", func(k cell, r rec) bool { return sameRoot(k, r) && k.st == "settled" }, "closed", false},
	{"older generation", func(k cell, r rec) bool { return sameRoot(k, r) && r.gen < k.gen }, "repeated", false},
	{"older attempt", func(k cell, r rec) bool { return sameRoot(k, r) && r.gen == k.gen && r.made+1 < k.att }, "repeated", false},
	{"attempt has its outcome", func(k cell, r rec) bool { return level(k, r) && (k.st == "waiting" || k.st == "dead") }, "repeated", false},
	{"redelivered", func(k cell, r rec) bool { return level(k, r) && k.st == "claimed" && k.pos == pHere }, "resumed", true},
	{"second copy", func(k cell, r rec) bool { return level(k, r) && k.st == "claimed" }, "busy", false},
	{"ahead", sameRoot, "fresh", true},
	{"other root dead", func(k cell, _ rec) bool { return k.st == "dead" }, "fresh", true},
	{"other root settled unread", func(k cell, _ rec) bool { return k.st == "settled" && k.dig == unread }, "settled_by_hand", false},
	{"other digest", func(k cell, r rec) bool { return k.dig != r.dig }, "conflict", false},
	{"other root posted", func(k cell, _ rec) bool { return k.st == "posted" }, "duplicate", false},
	{"other root settled", func(k cell, _ rec) bool { return k.st == "settled" }, "settled_by_hand", false},
	{"other root at work", func(cell, rec) bool { return true }, "busy", false},
}

// oracleClaim gives the verdict, what the store holds afterwards, and whether that was written.
func oracleClaim(k cell, r rec) (verdict string, after cell, writes bool) {
	for _, row := range table {
		if !row.when(k, r) {
			continue
		}
		if row.takes {
			k = cell{"claimed", r.root, r.gen, r.made + 1, r.dig, pHere}
		}
		return row.verdict, k, row.takes
	}
	panic("no row fits")
}

// oracleTrusted: the letter of (root, generation-1) has its replay key and it names this replay, or the store has
// seen the root that far; and what it knows of the root's content, where it could be read, is what arrives.
func oracleTrusted(k cell, r rec, keyNamesReplay bool) bool {
	if k.st != "" && k.root == r.root && k.dig != unread && k.dig != r.dig {
		return false
	}
	return keyNamesReplay || k.st != "" && k.root == r.root && k.gen >= r.gen
}

// oracleSettle gives what the store holds after `waiting` or `dead` was settled for an attempt, and whether that was
// written.
func oracleSettle(k cell, st string, root, gen, att int) (after cell, writes bool) {
	ended := k.st == "posted" || k.st == "settled"
	foreign := k.st != "" && k.root != root
	higher := k.st != "" && (k.gen > gen || k.gen == gen && k.att > att)
	if ended || foreign || higher {
		return k, false
	}
	return cell{st, root, gen, att, 0, pHere}, true
}

// oracleReserve: may the letter (root, gen) have its replay now?
func oracleReserve(k cell, root, gen int) bool {
	atWork := k.st == "claimed" || k.st == "waiting"
	ended := k.st == "posted" || k.st == "settled"
	seen := k.st == "dead" && k.root == root && k.gen > gen
	return !atWork && !ended && !seen
}

// oracleMark: a person's step. The model refuses while claimed, waiting or posted and else writes; beyond it, `dead`
// neither takes back a later generation nor ends another root's settlement, and a release takes back only its own.
func oracleMark(k cell, act string, root, gen int) (refused bool, after cell, writes bool) {
	if k.st == "claimed" || k.st == "waiting" || k.st == "posted" {
		return true, k, false
	}
	if act == "settled" {
		return false, cell{"settled", root, gen, 0, 0, pNone}, true
	}
	if k.st == "dead" && k.root == root && k.gen > gen {
		return true, k, false
	}
	if k.st == "settled" && act == "release" && (k.root != root || k.gen != gen) {
		return true, k, false
	}
	if k.st == "settled" && k.root != root {
		return false, k, false
	}
	return false, cell{"dead", root, gen, last, 0, pNone}, true
}

// last stands for the attempt that no copy is ahead of.
const last = 9
