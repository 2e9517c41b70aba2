package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// syncs measures a 4 KiB append with its sync. Every durable figure below depends
// on it, and it shows readers that the disk is real.
func (b *bench) syncs(ctx context.Context) (err error) {
	f, err := os.Create(filepath.Join(b.dir, "sync"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	var s sample
	page := make([]byte, 4096)
	for end := time.Now().Add(b.cell); time.Now().Before(end) && ctx.Err() == nil; {
		start := time.Now()
		if _, err := f.Write(page); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		s.each = append(s.each, time.Since(start))
	}
	fmt.Printf("4 KiB append and sync: p50 %.0f µs, p99 %.0f µs\n", s.p50(), s.p99())
	return ctx.Err()
}
