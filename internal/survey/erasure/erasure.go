// Package erasure knows which households a workspace has erased, and refuses to
// store anything new about them.
//
// Whoever erases somebody says so with Record in the same transaction, also of
// those no survey knows.
package erasure

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Field says where an erased household stands in what was sent.
func Field(pointer, household string) fault.Field {
	return fault.Field{Pointer: pointer, Code: "erased", Detail: household + " was erased."}
}

// Fault refuses to store something about households that were erased:
// HOUSEHOLD_ERASED.
func Fault(where ...fault.Field) error {
	return fault.New(fault.Conflict, "HOUSEHOLD_ERASED", "A household was erased. Nothing new is stored about it.").With(where...)
}

// Record notes that a workspace has erased somebody. It is told in the
// transaction that stores the certificate.
func Record(ctx context.Context, tx *db.Tx, ws, household string) error {
	if _, err := tx.Exec(ctx, insertErased, ws, household); err != nil {
		return fmt.Errorf("note an erasure: %w", err)
	}
	return nil
}

// Check refuses a household that the workspace has erased; pointer is where it
// stands. The fault is HOUSEHOLD_ERASED.
func Check(ctx context.Context, q db.Querier, ws, household, pointer string) error {
	gone, err := find(ctx, q, ws, household)
	if err != nil || !gone {
		return err
	}
	return Fault(Field(pointer, household))
}
