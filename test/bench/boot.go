package main

import (
	"context"
	"fmt"
	"time"
)

// The bars of a start on an empty folder and of the memory at rest. Judged is
// what belongs to the process alone: the rest are pages of the program file,
// which the kernel shares and may drop.
const (
	bootBar = 200 * time.Millisecond
	restBar = 24.0 // MB
)

// boots starts the server on empty folders.
func (b *bench) boots(ctx context.Context) error {
	var took []time.Duration
	var own, all []float64
	for range max(b.rounds, 5) {
		s, err := b.start()
		if err != nil {
			return err
		}
		took = append(took, s.ReadyIn)
		// A moment for what runs after the boot, then its memory.
		select {
		case <-ctx.Done():
		case <-time.After(b.cell):
		}
		private, err := s.OwnMemory()
		if err != nil {
			return err
		}
		rss, err := s.RSS()
		if err != nil {
			return err
		}
		own, all = append(own, megabytes(private)), append(all, megabytes(rss))
		if err := s.Stop(20 * time.Second); err != nil {
			return err
		}
	}
	ready, idle := median(took), median(own)
	fmt.Printf("ready after %.0f ms, bar %.0f ms   %s\n", float64(ready.Microseconds())/1e3, float64(bootBar.Milliseconds()), b.verdict("start", ready < bootBar))
	fmt.Printf("at rest %.1f MB of its own, bar %.0f MB   %s; %.1f MB with pages of files\n", idle, restBar, b.verdict("memory at rest", idle <= restBar), median(all))
	return ctx.Err()
}
