package bulk

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// repeat is the step of a dry run for a row whose twin is in earlier rows.
func (ca *carrier) repeat(ctx context.Context, row *row) (step, error) {
	made, unmade := ca.make(ctx, row) // if those before are refused
	if unmade != nil && exchange.Refusal(unmade) == nil {
		return step{}, unmade
	}
	st := step{Run: func(ctx context.Context, tx *db.Tx) (outcome, error) {
		return ca.upsert(ctx, tx, row, made, unmade)
	}}
	return ca.rehearse(st, row, func(ctx context.Context, tx *db.Tx, same bool) (outcome, error) {
		return ca.again(ctx, tx, row, same)
	})
}

// rehearse makes a step record for later rows what it does to its twin.
func (ca *carrier) rehearse(st step, r *row, again func(context.Context, *db.Tx, bool) (outcome, error)) (step, error) {
	edges, err := web.Encode(r.relations())
	return ca.seen.rehearse(rehearsal{Draft: &r.draft, Says: append(edges, r.merge...), Again: again}, st), err
}

// again says what becomes of a row that changes the twin of an earlier one,
// which is stored only where that found it. same means that the last one said
// the same.
func (ca *carrier) again(ctx context.Context, tx *db.Tx, row *row, same bool) (outcome, error) {
	o := outcome{DID: row.draft.DID, Action: updated}
	if same {
		o.Action = unchanged
	}
	held, err := ca.held(ctx, tx, &row.draft)
	if held == nil {
		held = ca.seen.twin(&row.draft)
	}
	if held != nil {
		o.Warnings = row.warnHeld(held)
	}
	return o, err
}
