package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/test/server"
)

// The bars of an import: its share of bare multi-row inserts of the same rows,
// and how much slower than undisturbed other writers may get meanwhile.
const (
	importBar  = 0.25
	disturbBar = 10.0
)

const (
	importRows   = 20_000
	importWrites = 4 // connections that write meanwhile
)

// imports measures an import with other writers beside it.
func (b *bench) imports(ctx context.Context) error {
	rows := importRows
	if b.quick {
		rows = 500
	}
	var rates, bare, calm, busy []float64
	for range min(b.rounds, 3) {
		rate, quiet, loud, err := b.importOnce(ctx, rows)
		if err != nil {
			return err
		}
		bound, err := b.bareImport(ctx, rows)
		if err != nil {
			return err
		}
		rates, bare, calm, busy = append(rates, rate), append(bare, bound), append(calm, quiet), append(busy, loud)
	}
	ratio, slower := median(rates)/median(bare), median(busy)/median(calm)
	fmt.Printf("%-26s %9.0f rows/s, bare %9.0f, ratio %.2f   bar %.2f %s\n", "import", median(rates), median(bare), ratio, importBar,
		b.verdict("import", ratio >= importBar))
	fmt.Printf("%-26s p99 %.0f µs, undisturbed p50 %.0f, ratio %.1f   bar %.0f %s\n", "other writers meanwhile", median(busy), median(calm), slower,
		disturbBar, b.verdict("writers beside an import", slower < disturbBar))
	return nil
}

// importOnce imports rows on a fresh server. It returns rows a second, the p50
// of other writers before and their p99 meanwhile, in µs.
func (b *bench) importOnce(ctx context.Context, rows int) (rate, calm, busy float64, err error) {
	s, err := b.startStoves(ctx)
	if err != nil {
		return 0, 0, 0, err
	}
	var count atomic.Int64
	l, err := hearthLoad(s, importWrites, func(int) []byte {
		return request("POST", "/v1/entities", s.Key, stoveDraft(10_000_000+int(count.Add(1))))
	})
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	before, err := l.run(ctx, time.Second)
	if err != nil {
		return 0, 0, 0, err
	}
	job, start, err := startImport(ctx, s, rows)
	if err != nil {
		return 0, 0, 0, err
	}
	var during sample
	for {
		part, err := l.run(ctx, 100*time.Millisecond)
		if err != nil {
			return 0, 0, 0, err
		}
		during = during.add(part)
		done, err := jobDone(ctx, s, job)
		if err != nil {
			return 0, 0, 0, err
		}
		if done {
			return float64(rows) / time.Since(start).Seconds(), before.p50(), during.p99(), nil
		}
	}
}

// startImport sends the file and returns the address of its job.
func startImport(ctx context.Context, s *server.Server, rows int) (string, time.Time, error) {
	var file strings.Builder
	for i := range rows {
		file.WriteString(stoveDraft(i) + "\n")
	}
	c := s.Client(1)
	defer c.Close()
	start := time.Now()
	a, err := c.Do(ctx, "POST", "/v1/imports?format=ndjson", []byte(file.String()), "Content-Type", "application/x-ndjson")
	if err != nil {
		return "", start, err
	}
	if a.Status != 202 {
		return "", start, fmt.Errorf("import: status %d: %s", a.Status, a.Body)
	}
	return a.Header.Get("Location"), start, nil
}

func jobDone(ctx context.Context, s *server.Server, path string) (bool, error) {
	c := s.Client(1)
	defer c.Close()
	a, err := c.Do(ctx, "GET", path, nil)
	if err != nil {
		return false, err
	}
	var job struct {
		Status string `json:"status"`
	}
	if err := a.JSON(&job); err != nil {
		return false, err
	}
	if job.Status == "failed" || job.Status == "cancelled" {
		return false, fmt.Errorf("the job has %s: %s", job.Status, a.Body)
	}
	return job.Status == "succeeded", nil
}

// bareRows is the statement of the bound.
const bareRows = `INSERT INTO rows (id, body) VALUES ($1, $2), ($3, $4), ($5, $6), ($7, $8), ($9, $10), ($11, $12), ($13, $14), ($15, $16), ($17, $18), ($19, $20)`

// bareImport stores the same rows with multi-row inserts, a hundred rows to a
// synced transaction, and nothing else going on. It returns rows a second.
func (b *bench) bareImport(ctx context.Context, rows int) (float64, error) {
	dir, err := os.MkdirTemp(b.dir, "bare-")
	if err != nil {
		return 0, err
	}
	d, err := db.Open(ctx, db.Config{Path: filepath.Join(dir, "rows.db")})
	if err != nil {
		return 0, err
	}
	if _, err := d.Exec(ctx, createRows); err != nil {
		return 0, errors.Join(err, d.Close())
	}
	start := time.Now()
	for i := 0; i < rows; i += 100 {
		err := d.InTx(ctx, func(tx *db.Tx) error {
			for j := 0; j < 100; j += 10 {
				args := make([]any, 0, 20)
				for k := range 10 {
					args = append(args, db.NewID(), stoveDraft(i+j+k))
				}
				if _, err := tx.Exec(ctx, bareRows, args...); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return 0, errors.Join(err, d.Close())
		}
	}
	return float64(rows) / time.Since(start).Seconds(), d.Close()
}
