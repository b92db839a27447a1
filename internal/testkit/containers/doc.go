// Package containers runs a command with a Kafka, a Redis and a PostgreSQL in containers, one of each for the whole command. It has tests only,
// so that no package of this module has a container client: `make test-containers` is their entrance.
package containers
