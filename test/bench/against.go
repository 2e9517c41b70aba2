package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/test/server"
)

// againstBar is the least ratio of the older program's CPU for an operation to
// today's.
const againstBar = 0.95

// versus compares today's program with an older one. It counts CPU for each
// operation, which a busy machine blurs least.
func (b *bench) versus(ctx context.Context, o options) (err error) {
	older := *b
	if older.binary, err = b.olderProgram(o.against); err != nil {
		return err
	}
	if o.store {
		for _, side := range []*bench{b, &older} {
			if side.store, err = startStore(ctx); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, side.store.Stop()) }()
		}
	}
	fmt.Printf("%-26s %9s %9s %7s\n", "CPU µs an operation", "now", shortName(o.against), "old/now")
	for _, cell := range []struct {
		only, name string
		open       func(*bench) opener
	}{
		{"create", "POST /v1/entities", func(b *bench) opener { return b.createSide(false) }},
		{"once", "with an Idempotency-Key", func(b *bench) opener { return b.createSide(true) }},
		{"entity", "GET /v1/entities/{did}", (*bench).readSide},
		{"submit", "POST …/responses", (*bench).submitSide},
		{"dial", "a first dial", func(b *bench) opener { return b.gateway(0, dialAgain) }},
		{"step", "a step", func(b *bench) opener { return b.gateway(b.sessions(), b.stepAgain) }},
	} {
		if o.only != "" && !slices.Contains(strings.Split(o.only, ","), cell.only) {
			continue
		}
		p, err := b.pair(ctx, b.counted(cell.open(b)), older.counted(cell.open(&older)))
		if err != nil {
			return fmt.Errorf("%s: %w", cell.name, err)
		}
		ratio := 1 / p.ratio(sample.cost)
		fmt.Printf("%-26s %9.1f %9.1f %7.2f   bar %.2f %s\n", cell.name, medianOf(p.ours, sample.cost), medianOf(p.bound, sample.cost),
			ratio, againstBar, b.verdict(cell.name, ratio >= againstBar))
	}
	return nil
}

// olderProgram returns the program at a path, or builds the one of a commit.
func (b *bench) olderProgram(old string) (string, error) {
	if info, err := os.Stat(old); err == nil && !info.IsDir() {
		return filepath.Abs(old)
	}
	dir := filepath.Join(b.dir, "older")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	path, err := server.BuildCommit(old, dir)
	if err != nil {
		return "", errors.Join(fmt.Errorf("-against %s: neither a program nor a commit that builds", old), err)
	}
	return path, nil
}

// shortName shortens a name to fit the head of the table.
func shortName(old string) string {
	name := filepath.Base(strings.TrimSpace(old))
	return name[:min(len(name), 9)]
}
