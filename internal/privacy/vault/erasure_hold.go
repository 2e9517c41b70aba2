package vault

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// doors is how many locks the households of a workspace share. An erasure takes
// one of them exclusively; a list of households needs no more than all of them.
const doors = 64

// Door is the lock of a household.
func Door(ws, household string) int64 {
	space, home := fnv.New64a(), fnv.New64a()
	space.Write([]byte("survey household\n" + ws))
	home.Write([]byte(household))
	return int64(space.Sum64() - space.Sum64()%doors + home.Sum64()%doors)
}

// HoldErasures keeps erasures of households waiting until tx has ended. A transaction
// that stores anything new about a household calls it first, and only then checks
// whether the household was erased, so that an erasure finds everything that was
// stored before it. On SQLite there is one writer, and nothing to wait for.
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

// HoldDoors is HoldErasures with the locks themselves, and other locks among
// them.
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

// BeginErasure waits for all transactions that store something about a household,
// and keeps others waiting until tx has ended, when they find that it was erased.
// Every part of an erasure calls it before it reads.
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
