// Package envelope knows what travels: the message on main, the retry headers, the dead letter, the disposition,
// and the ids that tie them together.
//
// Its promise: what it writes it reads back byte for byte, today and in every later version, and nothing that arrives
// from outside, however malformed, makes it panic, guess, or lose a field that could have been read.
package envelope
