package main

import "context"

// Execute is the command line for the tests, which are external.
var Execute = execute

// Site is a run's place, as far as its tests look at it.
type Site struct{ s *site }

// OpenSite makes one on these services.
func OpenSite(ctx context.Context, kafka, redis, postgres string) (*Site, error) {
	s, err := openSite(ctx, options{kafka: kafka, redis: redis, postgres: postgres})
	return &Site{s}, err
}

// Name is the prefix of all its topics, Schema its schema, Folder its scratch folder.
func (x *Site) Name() string   { return x.s.name }
func (x *Site) Schema() string { return x.s.schema() }
func (x *Site) Folder() string { return x.s.folder }

// Env is what its programs are told.
func (x *Site) Env() []string { return x.s.env }

// SQL runs a statement on the server, outside of the run's schema.
func (x *Site) SQL(ctx context.Context, statement string) error { return x.s.sql(ctx, statement) }

// PutCurrency writes to the run's ledger.
func (x *Site) PutCurrency(ctx context.Context, code string) error {
	return x.s.ledger.PutCurrency(ctx, code)
}

// Close takes it away.
func (x *Site) Close(ctx context.Context) error { return x.s.close(ctx) }

// Paths are the files that a folder of samples must have.
func Paths() []string {
	paths := append([]string(nil), others...)
	for i := range samples {
		paths = append(paths, samples[i].path)
	}
	return paths
}
