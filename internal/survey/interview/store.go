package interview

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	selectDraft = `SELECT nid, household, revision, saved_at, sealed FROM response_drafts WHERE survey = $1 AND owner = $2 AND response_id = $3`
	selectOwn   = `SELECT d.nid, d.response_id, d.household, d.revision, d.saved_at, s.survey_id, s.project FROM response_drafts d JOIN surveys s ON s.nid = d.survey
		WHERE d.ws = $1 AND d.owner = $2 AND d.nid < $3 AND d.saved_at > $4 ORDER BY d.nid DESC LIMIT $5`
	countOwn   = `SELECT count(*) FROM (SELECT nid FROM response_drafts WHERE ws = $1 AND owner = $2 LIMIT $3) AS n`
	selectSent = `SELECT nid FROM responses WHERE ws = $1 AND response_id = $2 AND (collector = $3 OR sender = $3)`
	// Who saves it twice at once must have read it: the second finds another
	// revision than the one it is about.
	upsertDraft = `INSERT INTO response_drafts (nid, ws, survey, owner, response_id, household, revision, saved_at, sealed) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (survey, owner, response_id) DO UPDATE SET household = excluded.household, revision = excluded.revision, saved_at = excluded.saved_at, sealed = excluded.sealed
		WHERE response_drafts.revision = excluded.revision - 1`
	deleteDraft  = `DELETE FROM response_drafts WHERE survey = $1 AND owner = $2 AND response_id = $3`
	deletePerson = `DELETE FROM response_drafts WHERE ws = $1 AND (household = $2 OR owner = $2)`
	deleteSurvey = `DELETE FROM response_drafts WHERE survey = $1`
	deleteOld    = `DELETE FROM response_drafts WHERE nid IN (SELECT nid FROM response_drafts WHERE saved_at <= $1 ORDER BY saved_at LIMIT $2)`
)

// stored is the row of a draft.
type stored struct {
	nid                       int64
	ws, owner, id, household  string
	survey, revision, savedAt int64
	sealed                    []byte
}

// bind names what a sealed draft belongs to, so that it opens nowhere else.
func (r *stored) bind() string {
	return fmt.Sprintf("draft\x00%d\x00%s\x00%s", r.survey, r.owner, r.id)
}

// fill reads the draft of an owner; false when there is none.
func (r *stored) fill(ctx context.Context, q db.Querier) (bool, error) {
	err := q.QueryRow(ctx, selectDraft, r.survey, r.owner, r.id).Scan(&r.nid, &r.household, &r.revision, &r.savedAt, &r.sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, db.Wrap("find draft", err)
}

// save stores a draft; false when it was saved by others since it was read.
func (r *stored) save(ctx context.Context, tx *db.Tx) (bool, error) {
	n, err := tx.Exec(ctx, upsertDraft, r.nid, r.ws, r.survey, r.owner, r.id, r.household, r.revision, r.savedAt, r.sealed)
	return n > 0, db.Wrap("save draft", err)
}

// isFull reports whether a collector has as many drafts as one may have.
func isFull(ctx context.Context, q db.Querier, ws, owner string) (bool, error) {
	var n int
	err := q.QueryRow(ctx, countOwn, ws, owner, maxOwn).Scan(&n)
	return n >= maxOwn, db.Wrap("count drafts", err)
}

// isSent reports whether the owner has sent a response with the id of the draft.
func (r *stored) isSent(ctx context.Context, q db.Querier) (bool, error) {
	return db.Exists(q.QueryRow(ctx, selectSent, r.ws, r.id, r.owner), "look for the response of a draft")
}
