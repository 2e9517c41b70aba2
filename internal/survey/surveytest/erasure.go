package surveytest

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Eraser is the function by which one part of area B forgets a household.
type Eraser func(ctx context.Context, tx *db.Tx, ws, household string) (int64, error)

// Erase forgets a household as area A does: all parts in one transaction, which
// also records the erasure. It returns how many things the parts found.
func Erase(t testing.TB, d *db.DB, ws, household string, parts ...Eraser) int64 {
	t.Helper()
	n, err := erase(t.Context(), d, ws, household, parts)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func erase(ctx context.Context, d *db.DB, ws, household string, parts []Eraser) (sum int64, err error) {
	err = d.InTx(ctx, func(tx *db.Tx) error {
		sum = 0
		for _, forget := range parts {
			n, err := forget(ctx, tx, ws, household)
			if err != nil {
				return fmt.Errorf("forget household: %w", err)
			}
			sum += n
		}
		return vault.NoteErasure(ctx, tx, ws, household)
	})
	return sum, err
}

// Erasures is POST /v1/erasures, for route cases.
func Erasures(d *db.DB, parts ...Eraser) func(*web.API) {
	type draft struct {
		Subject string `json:"subject"`
	}
	return func(a *web.API) {
		web.Post(a, "/v1/erasures", func(ctx context.Context, in *struct{ Body draft }) (draft, error) {
			_, err := erase(ctx, d, web.CallerFrom(ctx).Workspace, in.Body.Subject, parts)
			return in.Body, err
		}, web.Doc{Summary: "Erase", Status: http.StatusCreated, Scope: "erasures:write"})
	}
}
