package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// insertBar is the share of the bound's rate that InTx must reach.
const insertBar = 0.80

// store is a place for rows: Hearth's or the bound's.
type store interface {
	// writer returns a function with which one goroutine stores rows durably.
	writer() func(id, body string) error
	close() error
}

// rowBody makes a row of about 400 bytes with its key.
func rowBody() string {
	return `{"type":"device","status":"active","note":"` + strings.Repeat("a household stove ", 18) + `"}`
}

// inserts compares InTx with the hand-written group commit.
func (b *bench) inserts(ctx context.Context) error {
	fmt.Printf("%9s %12s %12s %7s %9s %9s   %s\n", "writers", "InTx/s", "bound/s", "ratio", "CPU µs", "bound", fmt.Sprintf("bar %.2f", insertBar))
	for _, writers := range []int{1, 64, 256} {
		p, err := b.pair(ctx, b.insertSide(writers, openHearth), b.insertSide(writers, openBound))
		if err != nil {
			return err
		}
		ratio := p.ratio(sample.rate)
		fmt.Printf("%9d %12.0f %12.0f %7.2f %9.1f %9.1f   %s\n", writers,
			medianOf(p.ours, sample.rate), medianOf(p.bound, sample.rate), ratio,
			medianOf(p.ours, sample.cost), medianOf(p.bound, sample.cost),
			b.verdict(fmt.Sprintf("inserts at %d writers", writers), ratio >= insertBar))
	}
	return nil
}

// insertSide opens one side on a fresh file.
func (b *bench) insertSide(writers int, open func(context.Context, string) (store, error)) opener {
	return func(ctx context.Context) (side, error) {
		dir, err := os.MkdirTemp(b.dir, "rows-")
		if err != nil {
			return nil, err
		}
		st, err := open(ctx, filepath.Join(dir, "rows.db"))
		if err != nil {
			return nil, err
		}
		return &inserter{st: st, dir: dir, writers: writers}, nil
	}
}

// inserter is a store with its writers.
type inserter struct {
	st      store
	dir     string
	writers int
}

func (in *inserter) close() error {
	return errors.Join(in.st.close(), os.RemoveAll(in.dir))
}

// run lets all writers store rows until d is over.
func (in *inserter) run(ctx context.Context, d time.Duration) (sample, error) {
	body := rowBody()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var total int
	var failed error
	cpu, start := cpuTime(), time.Now()
	end := start.Add(d)
	for range in.writers {
		wg.Go(func() {
			put, n := in.st.writer(), 0
			var err error
			for err == nil && ctx.Err() == nil && time.Now().Before(end) {
				if err = put(db.NewID(), body); err == nil {
					n++
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total += n
			failed = errors.Join(failed, err)
		})
	}
	wg.Wait()
	return sample{ops: total, took: time.Since(start), cpu: cpuTime() - cpu}, failed
}

func openBound(ctx context.Context, path string) (store, error) { return openGroup(ctx, path) }

// hearth stores rows through internal/db.
type hearth struct{ d *db.DB }

func openHearth(ctx context.Context, path string) (store, error) {
	d, err := db.Open(ctx, db.Config{Path: path})
	if err != nil {
		return nil, err
	}
	if _, err := d.Exec(ctx, createRows); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return hearth{d}, nil
}

// writer passes a context that can be cancelled, as a request has one.
func (h hearth) writer() func(id, body string) error {
	ctx, cancel := context.WithCancel(context.Background())
	context.AfterFunc(ctx, cancel)
	return func(id, body string) error {
		return h.d.InTx(ctx, func(tx *db.Tx) error {
			_, err := tx.Exec(ctx, insertRow, id, body)
			return err
		})
	}
}

func (h hearth) close() error { return h.d.Close() }
