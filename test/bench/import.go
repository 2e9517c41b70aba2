package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

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
		one, err := b.importOnce(ctx, rows)
		if err != nil {
			return err
		}
		bound, err := b.bareImport(ctx, one.dir, rows)
		if err != nil {
			return err
		}
		rates, bare, calm, busy = append(rates, one.rate), append(bare, bound), append(calm, one.before.p50()), append(busy, one.during.p99())
		fmt.Printf("%-26s %9.0f rows/s, bare %9.0f; others %.0f a second, p50 %.0f µs, p99 %.0f; meanwhile %.0f, p50 %.0f, p99 %.0f\n", "  round", one.rate, bound,
			one.before.rate(), one.before.p50(), one.before.p99(), one.during.rate(), one.during.p50(), one.during.p99())
	}
	ratio, slower := median(rates)/median(bare), median(busy)/median(calm)
	fmt.Printf("%-26s %9.0f rows/s, bare %9.0f, ratio %.2f   bar %.2f %s\n", "import", median(rates), median(bare), ratio, importBar,
		b.verdict("import", ratio >= importBar))
	fmt.Printf("%-26s p99 %.0f µs, undisturbed p50 %.0f, ratio %.1f   bar %.0f %s\n", "other writers meanwhile", median(busy), median(calm), slower,
		disturbBar, b.verdict("writers beside an import", slower < disturbBar))
	return nil
}

// calm returns how long the other writers run before the import.
func (b *bench) calm() time.Duration {
	if b.quick {
		return b.cell
	}
	return time.Second
}

// importRun is the result of one import.
type importRun struct {
	rate           float64 // rows a second
	before, during sample  // of other writers
	dir            string  // the store it has left
}

// importOnce imports rows on a fresh server while others write.
func (b *bench) importOnce(ctx context.Context, rows int) (run importRun, err error) {
	s, err := b.startStoves(ctx)
	if err != nil {
		return run, err
	}
	run.dir = s.Dir
	var count atomic.Int64
	l, err := hearthLoad(s, importWrites, func(int) []byte {
		return request("POST", "/v1/entities", s.Key, stoveDraft(10_000_000+int(count.Add(1))))
	})
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	if run.before, err = l.run(ctx, b.calm()); err != nil {
		return run, err
	}
	job, start, err := startImport(ctx, s, rows)
	if err != nil {
		return run, err
	}
	for {
		part, err := l.run(ctx, 100*time.Millisecond)
		if err != nil {
			return run, err
		}
		run.during = run.during.add(part)
		done, err := jobDone(ctx, s, job)
		if err != nil {
			return run, err
		}
		if done {
			run.rate = float64(rows) / time.Since(start).Seconds()
			return run, nil
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
