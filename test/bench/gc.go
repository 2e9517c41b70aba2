package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hearth-dmrv/hearth/test/server"
)

// gcCell is the result of one collector setting in one round.
type gcCell struct{ read, write, peak, rest float64 }

// collector compares settings of the garbage collector: processor time per
// read and per durable write at 64 connections, against memory.
func (b *bench) collector(ctx context.Context) error {
	fmt.Printf("%-8s %14s %14s %12s %14s\n", "GOGC", "CPU µs a read", "CPU µs a write", "peak MB", "MB afterwards")
	settings := []string{"100", "200", "400"}
	found := map[string][]gcCell{}
	for range max(b.rounds/3, 1) {
		for _, percent := range settings {
			cell, err := b.gcRound(ctx, percent)
			if err != nil {
				return err
			}
			found[percent] = append(found[percent], cell)
		}
	}
	for _, percent := range settings {
		of := func(f func(gcCell) float64) float64 {
			var all []float64
			for _, c := range found[percent] {
				all = append(all, f(c))
			}
			return median(all)
		}
		fmt.Printf("%-8s %14.1f %14.1f %12.1f %14.1f\n", percent,
			of(func(c gcCell) float64 { return c.read }), of(func(c gcCell) float64 { return c.write }),
			of(func(c gcCell) float64 { return c.peak }), of(func(c gcCell) float64 { return c.rest }))
	}
	fmt.Printf("The server sets %d by itself.\n", gcPercent)
	return nil
}

func (b *bench) gcRound(ctx context.Context, percent string) (cell gcCell, err error) {
	s, err := b.start("GOGC=" + percent)
	if err != nil {
		return cell, err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	if cell.read, err = b.gcLoad(ctx, s, request("GET", "/v1/api-keys/current", s.Key, "")); err != nil {
		return cell, err
	}
	if cell.write, err = b.gcLoad(ctx, s, request("POST", "/v1/api-keys", s.Key, keyDraft)); err != nil {
		return cell, err
	}
	peak, err := s.PeakRSS()
	if err != nil {
		return cell, err
	}
	rest, err := s.RSS()
	cell.peak, cell.rest = megabytes(peak), megabytes(rest)
	return cell, err
}

// gcLoad is the CPU cost of one request at 64 connections.
func (b *bench) gcLoad(ctx context.Context, s *server.Server, req []byte) (_ float64, err error) {
	l, err := dial(strings.TrimPrefix(s.URL, "http://"), s.PID, 64, func(int) []byte { return req })
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	got, err := l.run(ctx, 2*b.cell)
	return got.cost(), err
}

func megabytes(n int64) float64 { return float64(n) / (1 << 20) }
