//go:build synctests

package testkit

// tagged says that franz-go was built with the mutexes that a synctest bubble can wait on.
const tagged = true
