package plan

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/link"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Once refuses an edge by which a claim becomes a credential while it has become
// another that is not deactivated: what a claim says counts once. The claim is
// locked. sees reports whether the caller may know of the twins of a project.
// Fault: CLAIM_ALREADY_CREDENTIAL.
func Once(ctx context.Context, q db.Querier, l *link.Link, pointer string, sees func(project string) bool) error {
	other, err := link.OtherCredential(ctx, q, l.Src, l.Dst)
	if err != nil || other == nil {
		return err
	}
	who := "Another credential"
	if sees(other.Project) {
		who = other.DID
	}
	return fault.New(fault.Conflict, "CLAIM_ALREADY_CREDENTIAL", "The claim has become a credential already. Deactivate that one first.").
		With(fault.Field{Pointer: pointer, Code: "exists", Detail: who + " rests on this claim and is not deactivated."})
}
