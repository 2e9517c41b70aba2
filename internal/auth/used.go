package auth

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	saveEvery = time.Minute
	saveChunk = 100 // keys in one transaction; others wait for it
	saveLimit = 5 * time.Second
)

// usage remembers when keys were used until it is saved. Its size is bounded
// by the keys there are.
type usage struct {
	db   *db.DB
	log  *slog.Logger
	mu   sync.Mutex
	last map[string]int64 // key id → milliseconds
}

func (u *usage) note(id string, at time.Time) {
	ms := at.UnixMilli()
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last[id] = max(u.last[id], ms)
}

// take empties u.
func (u *usage) take() map[string]int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := u.last
	u.last = map[string]int64{}
	return out
}

// Run saves once a minute when keys were last used, and a last time when ctx
// ends.
func (u *usage) Run(ctx context.Context) {
	tick := time.NewTicker(saveEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			u.trySave(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveLimit)
			defer cancel()
			u.trySave(last)
			return
		}
	}
}

func (u *usage) trySave(ctx context.Context) {
	if err := u.SaveUsed(ctx); err != nil {
		u.log.Warn("last use of keys not saved", "err", err.Error())
	}
}

// SaveUsed stores when keys were last used. What could not be stored is kept
// for the next time.
func (u *usage) SaveUsed(ctx context.Context) error {
	pending := u.take()
	ids := slices.Sorted(maps.Keys(pending)) // one order in every process: no deadlock
	for chunk := range slices.Chunk(ids, saveChunk) {
		err := u.db.InTx(ctx, func(tx *db.Tx) error {
			for _, id := range chunk {
				if err := touchKey(ctx, tx, id, pending[id]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			for id, ms := range pending {
				u.note(id, time.UnixMilli(ms))
			}
			return err
		}
	}
	return nil
}
