package vault

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// doors is how many locks the households of a workspace share. An erasure has
// one of them to itself; a list of households needs no more than there are.
const doors = 64

// Door is the lock of a household.
func Door(ws, household string) int64 {
	space, home := fnv.New64a(), fnv.New64a()
	space.Write([]byte("survey household\n" + ws))
	home.Write([]byte(household))
	return int64(space.Sum64() - space.Sum64()%doors + home.Sum64()%doors)
}

// HoldErasures keeps erasures of households waiting until tx has ended. Whoever stores
// something new about a household calls it before all else in tx, and only then
// looks whether the household was erased: what is stored before an erasure, it
// finds. On SQLite there is one writer, and nothing to wait for.
func HoldErasures(ctx context.Context, tx *db.Tx, d db.Dialect, ws string, households ...string) error {
	if d != db.Postgres {
		return nil
	}
	keys := make([]int64, len(households))
	for i, id := range households {
		keys[i] = Door(ws, id)
	}
	return HoldDoors(ctx, tx, d, keys...)
}

// HoldDoors is HoldErasures by the locks themselves, with others among them.
func HoldDoors(ctx context.Context, tx *db.Tx, d db.Dialect, keys ...int64) error {
	if d != db.Postgres {
		return nil
	}
	slices.Sort(keys) // in one order, or two callers and two erasures wait in a ring
	if err := tx.Send(ctx, guardPostgres, slices.Compact(keys)); err != nil {
		return fmt.Errorf("keep an erasure waiting: %w", err)
	}
	return nil
}

// BeginErasure waits for all who store something about a household, and keeps others
// waiting until tx has ended: they find that it was erased then. Every part of an
// erasure calls it before it reads.
func BeginErasure(ctx context.Context, tx *db.Tx, d db.Dialect, ws, household string) error {
	return CloseDoor(ctx, tx, d, Door(ws, household))
}

// CloseDoor waits for all who hold a lock, and keeps others waiting until tx has
// ended.
func CloseDoor(ctx context.Context, tx *db.Tx, d db.Dialect, key int64) error {
	if d != db.Postgres {
		return nil
	}
	if err := tx.Send(ctx, beginPostgres, key); err != nil {
		return fmt.Errorf("wait for a lock: %w", err)
	}
	return nil
}
