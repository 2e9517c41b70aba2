package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/hearth-dmrv/hearth/test/server"
)

// shellBar is the share of the rate of a bare file server at which the pages of
// the console must come: twice its cost at most.
const shellBar = 0.50

// pagesDir is where the pages lie in the repository, in which the bench runs.
const pagesDir = "internal/console/ui"

// shell compares the first page and one of its files with the same from a folder.
func (b *bench) shell(ctx context.Context) error {
	const conns = 64
	fmt.Printf("%-26s %9s %9s %7s %9s %9s\n", "file", "per s", "bare/s", "ratio", "CPU µs", "bound")
	for _, f := range []struct{ name, own, bare string }{
		{"the first page", "", "/"},
		{"a script", "main.js", "/main.js"},
	} {
		ours := func(ctx context.Context) (side, error) {
			s, err := b.start()
			if err != nil {
				return nil, err
			}
			path, err := pathOf(ctx, s, f.own)
			if err != nil {
				return nil, errors.Join(err, s.Kill())
			}
			req := request("GET", path, s.Key, "")
			return hearthLoad(s, conns, func(int) []byte { return req })
		}
		if err := b.rateCell(ctx, f.name, shellBar, ours, b.bareLoad("file", conns, request("GET", f.bare, server.OwnerKey, ""))); err != nil {
			return err
		}
	}
	return nil
}

// pathOf is where a file of the pages is served, under the version of all of
// them; without a name it is the first page.
func pathOf(ctx context.Context, s *server.Server, name string) (string, error) {
	if name == "" {
		return "/console/", nil
	}
	c := s.Client(1)
	defer c.Close()
	a, err := c.Do(ctx, "GET", "/console/", nil)
	if err != nil {
		return "", err
	}
	at := regexp.MustCompile(`/console/a/[^/"]+/`).Find(a.Body)
	if at == nil {
		return "", fmt.Errorf("the first page names no files: %.200s", a.Body)
	}
	return string(at) + name, nil
}
