package main

import (
	"recon/internal/config"
	"recon/internal/demo"
)

// demoCmd is `consumer demo`.
type demoCmd struct {
	Keep bool `help:"Leave the ledger and say where it is."`
}

// Run plays the demo; it needs no service and ends by itself.
func (d *demoCmd) Run(j *job) error {
	return demo.Run(j.ctx, j.out, demo.Options{Keep: d.Keep, Version: config.Version()})
}
