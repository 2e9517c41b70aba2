package vault

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// ErasedField says where an erased household stands in what was sent.
func ErasedField(pointer, household string) fault.Field {
	return fault.Field{Pointer: pointer, Code: "erased", Detail: household + " was erased."}
}

// ErasedFault refuses to store something about households that were erased:
// HOUSEHOLD_ERASED.
func ErasedFault(where ...fault.Field) error {
	return fault.New(fault.Conflict, "HOUSEHOLD_ERASED", "A household was erased. Nothing new is stored about it.").With(where...)
}

// NoteErasure notes that a workspace has erased somebody. It is told in the
// transaction that stores the certificate.
func NoteErasure(ctx context.Context, tx *db.Tx, ws, household string) error {
	if _, err := tx.Exec(ctx, insertErased, ws, household); err != nil {
		return fmt.Errorf("note an erasure: %w", err)
	}
	return nil
}

// CheckErased refuses a household that the workspace has erased; pointer is where it
// stands. The fault is HOUSEHOLD_ERASED.
func CheckErased(ctx context.Context, q db.Querier, ws, household, pointer string) error {
	gone, err := isErased(ctx, q, ws, household)
	if err != nil || !gone {
		return err
	}
	return ErasedFault(ErasedField(pointer, household))
}
