package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// Flags are the settings as flags, for a command line's grammar to embed.
type Flags struct {
	Config string `help:"YAML file with settings." short:"c" placeholder:"FILE" env:"RECON_CONFIG"`
	Settings
}

// UsageError is a mistake in the command line or the configuration: exit code 2.
type UsageError struct{ Err error }

// Error is the mistake, or all of them, a line each.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap gives the mistakes.
func (e *UsageError) Unwrap() error { return e.Err }

// errHelp ends a command line that only asked for help.
var errHelp = errors.New("help was printed")

// Parse reads a command line by the grammar, a pointer to a struct that embeds Flags, which flags points to. It returns
// the chosen command and the settings in force. ok is false when only help was asked for, which is printed to out.
func Parse(name, about string, grammar any, flags *Flags, args []string, out io.Writer, more ...kong.Option) (ctx *kong.Context, e *Effective, ok bool, err error) {
	parser, err := kong.New(grammar, append([]kong.Option{
		kong.Name(name), kong.Description(about), kong.Writers(out, out),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, NoExpandSubcommands: true}),
		kong.Exit(func(int) { panic(errHelp) }),
		kong.PostBuild(tellDefaults),
	}, more...)...)
	if err != nil {
		return nil, nil, false, fmt.Errorf("grammar of %s: %w", name, err)
	}
	defer func() {
		if r := recover(); r != nil {
			if r != errHelp { //nolint:errorlint // what was panicked with, itself
				panic(r)
			}
			ctx, e, ok, err = nil, nil, false, nil
		}
	}()
	ctx, err = parser.Parse(args)
	if err != nil {
		return nil, nil, false, &UsageError{fmt.Errorf("%w; `%s --help` lists commands and flags", err, name)}
	}
	e, err = Load(Source{File: flags.Config, Env: os.LookupEnv, Flags: given(ctx, &flags.Settings)})
	if err != nil {
		return nil, nil, false, &UsageError{err}
	}
	return ctx, e, true, nil
}

// tellDefaults ends the help of each setting with its default, where it has one.
func tellDefaults(k *kong.Kong) error {
	defaults := Defaults()
	for _, l := range leaves(&defaults) {
		if l.field.IsZero() {
			continue
		}
		for _, f := range k.Model.Flags {
			if f.Name == l.flag() {
				f.Help += " Default: " + l.text() + "."
			}
		}
	}
	return nil
}

// given are the settings that the command line names, by path.
func given(ctx *kong.Context, s *Settings) map[string]string {
	said := make(map[string]string)
	for _, p := range ctx.Path {
		if p.Flag == nil {
			continue
		}
		for _, l := range leaves(s) {
			if l.flag() == strings.TrimPrefix(p.Flag.Name, "--") {
				said[l.path] = l.text()
			}
		}
	}
	return said
}
