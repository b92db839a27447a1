package testkit

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Page is one Markdown page of this module.
type Page struct {
	Name string // from the module's root
	Text string
}

// Pages are the module's Markdown pages, CHANGELOG.md left out: it tells of what was.
func Pages(t testing.TB) (pages []Page) {
	t.Helper()
	root := moduleRoot()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(name, ".") && path != root, d.IsDir() && name == "testdata":
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".md" || name == "CHANGELOG.md":
			return nil
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		pages = append(pages, Page{name, string(text)})
		return err
	})
	if err != nil || len(pages) == 0 {
		t.Fatalf("pages of %s: %d, %v", root, len(pages), err)
	}
	return pages
}

var (
	fenced = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	span   = regexp.MustCompile("`([^`\n]+)`")
	word   = regexp.MustCompile(`"[^"]*"|[^\s"]+`)
)

// Commands are the command lines that the page shows of a program, each as its arguments: the lines of its `sh` blocks,
// and the code spans in its sentences. A program stands there by its name, as bin/name, or as go run with its folder.
func (p Page) Commands(name string) (lines [][]string) {
	var shown []string
	for _, block := range fenced.FindAllStringSubmatch(p.Text, -1) {
		shown = append(shown, strings.Split(strings.ReplaceAll(block[1], "\\\n", " "), "\n")...)
	}
	for _, s := range span.FindAllStringSubmatch(fenced.ReplaceAllString(p.Text, ""), -1) {
		shown = append(shown, s[1])
	}
	for _, line := range shown {
		line, _, _ = strings.Cut(line, " # ")
		words := word.FindAllString(line, -1)
		if len(words) > 2 && words[0] == "go" && words[1] == "run" {
			words = words[2:]
		}
		if len(words) == 0 || filepath.Base(words[0]) != name || words[0] != name && !strings.HasPrefix(words[0], "bin/") && !strings.HasPrefix(words[0], "./") {
			continue
		}
		for i := range words {
			words[i] = strings.Trim(words[i], `"`)
		}
		lines = append(lines, words[1:])
	}
	return lines
}

var variable = regexp.MustCompile(`RECON_[A-Z_]*[A-Z]`)

// Variables are the names of environment variables that the page mentions.
func (p Page) Variables() []string { return variable.FindAllString(p.Text, -1) }
