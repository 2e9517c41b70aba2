package flag

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
)

// What came of looking into a flag.
const (
	Explained = "explained" // there is a reason, nothing is wrong
	Confirmed = "confirmed" // something is wrong
	Reopened  = "open"      // it is not settled any more
)

// Settlement is that of package api.
type Settlement = api.FlagSettlement

// SettledColumns and SettledJoin add to a statement over flags, named f, what
// people have found out about them.
const (
	SettledColumns = `coalesce(t.outcome, ''), coalesce(t.note, ''), coalesce(t.actor, ''), coalesce(t.at, 0), coalesce(t.revision, 0)`
	SettledJoin    = ` LEFT JOIN flag_settlements t ON t.response = f.response AND t.rule = f.rule AND t.question = f.question AND t.data = f.data`
)

const (
	selectOne        = `SELECT f.data, ` + SettledColumns + ` FROM response_flags f` + SettledJoin + ` WHERE f.response = $1 AND f.rule = $2 AND f.question = $3`
	upsertSettlement = `INSERT INTO flag_settlements (response, rule, question, data, outcome, note, actor, at, revision) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (response, rule, question) DO UPDATE SET data = excluded.data, outcome = excluded.outcome, note = excluded.note,
			actor = excluded.actor, at = excluded.at, revision = excluded.revision`
	deleteSettlement  = `DELETE FROM flag_settlements WHERE response = $1 AND rule = $2 AND question = $3`
	deleteSettlements = `DELETE FROM flag_settlements WHERE response = $1`
	blankSettlements  = `UPDATE flag_settlements SET note = '' WHERE response = $1 AND note <> ''`
)

// Settled reads the columns of SettledColumns.
type Settled struct {
	outcome, note, actor string
	at, revision         int64
}

// To are the places to scan into.
func (s *Settled) To() []any { return []any{&s.outcome, &s.note, &s.actor, &s.at, &s.revision} }

// Settlement is what was found out, nil when nothing was.
func (s *Settled) Settlement() *Settlement {
	if s.outcome == "" {
		return nil
	}
	return &Settlement{Outcome: s.outcome, Note: s.note, By: s.actor, At: time.UnixMilli(s.at).UTC(), Revision: s.revision}
}

// Standing is a flag that is there. Revision is that of its settlement, 0 when it
// has none.
type Standing struct {
	Name
	Response int64
	Revision int64
	data     string
}

// Find finds a flag of a response; nil when there is no such flag.
func Find(ctx context.Context, q db.Querier, response int64, n Name) (*Standing, error) {
	f, s := &Standing{Name: n, Response: response}, Settled{}
	err := q.QueryRow(ctx, selectOne, response, n.Rule, n.Question).Scan(append([]any{&f.data}, s.To()...)...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	f.Revision = s.revision
	return f, db.Wrap("find flag", err)
}

// Settle stores what was found out about a flag, in the place of what was known
// before.
func (f *Standing) Settle(ctx context.Context, tx *db.Tx, s Settlement) error {
	if s.Outcome == Reopened {
		_, err := tx.Exec(ctx, deleteSettlement, f.Response, f.Rule, f.Question)
		return db.Wrap("reopen flag", err)
	}
	_, err := tx.Exec(ctx, upsertSettlement, f.Response, f.Rule, f.Question, f.data, s.Outcome, s.Note, s.By, s.At.UnixMilli(), s.Revision)
	return db.Wrap("settle flag", err)
}

// DropSettlements forgets what was found out about the flags of a response.
func DropSettlements(ctx context.Context, tx *db.Tx, response int64) error {
	_, err := tx.Exec(ctx, deleteSettlements, response)
	return db.Wrap("remove settlements", err)
}

// BlankSettlements takes what people have noted out of them, and tells of how many.
func BlankSettlements(ctx context.Context, tx *db.Tx, response int64) (int64, error) {
	return tx.Exec(ctx, blankSettlements, response)
}
