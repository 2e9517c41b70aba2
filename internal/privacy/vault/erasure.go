package vault

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// ErasedField points to an erased household in a request.
func ErasedField(pointer, household string) fault.Field {
	return fault.Field{Pointer: pointer, Code: "erased", Detail: household + " was erased."}
}

// ErasedFault refuses to store data about erased households: HOUSEHOLD_ERASED.
func ErasedFault(where ...fault.Field) error {
	return fault.New(fault.Conflict, "HOUSEHOLD_ERASED", "A household was erased. Nothing new is stored about it.").With(where...)
}

// NoteErasure records that a workspace has erased a person or household. Call
// it in the transaction that stores the certificate.
func NoteErasure(ctx context.Context, tx *db.Tx, ws, household string) error {
	if _, err := tx.Exec(ctx, insertErased, ws, household); err != nil {
		return fmt.Errorf("note an erasure: %w", err)
	}
	return nil
}

// CheckErased refuses a household that the workspace has erased; pointer is its
// place in the request. The fault is HOUSEHOLD_ERASED.
func CheckErased(ctx context.Context, q db.Querier, ws, household, pointer string) error {
	gone, err := isErased(ctx, q, ws, household)
	if err != nil || !gone {
		return err
	}
	return ErasedFault(ErasedField(pointer, household))
}
