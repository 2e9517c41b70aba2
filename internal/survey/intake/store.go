package intake

import (
	"context"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

const (
	insertConflict = `INSERT INTO response_conflicts (nid, ws, survey, response, response_id, sent_id, household, code, sender, at, hash, resolved_at, resolved_by,
			resolution, reason, sealed)
		SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 0, '', '', '', $12
		WHERE NOT EXISTS (SELECT 1 FROM survey_erased e WHERE e.ws = $2 AND e.household = $7)
		ON CONFLICT (response, hash) DO NOTHING`
	selectConflict = `SELECT nid, ws, survey, response, response_id, sent_id, household, code, sender, at, hash, resolved_at, resolved_by, resolution, reason, sealed
		FROM response_conflicts WHERE nid = $1 AND survey = $2`
	selectSame = `SELECT nid, ws, survey, response, response_id, sent_id, household, code, sender, at, hash, resolved_at, resolved_by, resolution, reason, sealed
		FROM response_conflicts WHERE response = $1 AND hash = $2`
	selectOpen = `SELECT nid, ws, survey, response, response_id, sent_id, household, code, sender, at, hash, resolved_at, resolved_by, resolution, reason, sealed
		FROM response_conflicts WHERE survey = $1 AND resolved_at = 0 AND nid > $2 ORDER BY nid LIMIT $3`
	selectResolved = `SELECT nid, ws, survey, response, response_id, sent_id, household, code, sender, at, hash, resolved_at, resolved_by, resolution, reason, sealed
		FROM response_conflicts WHERE survey = $1 AND resolved_at > 0 AND (resolved_at, nid) > ($2, $3) ORDER BY resolved_at, nid LIMIT $4`
	countConflicts = `SELECT count(*), coalesce(sum(CASE WHEN sender = $2 THEN 1 ELSE 0 END), 0)
		FROM (SELECT sender FROM response_conflicts WHERE response = $1 LIMIT $3) AS n`
	selectRevision  = `SELECT body, answers, masked, sealed FROM response_history WHERE response = $1 AND revision = $2`
	selectLate      = `SELECT survey_id FROM surveys WHERE ws = $1 AND template_id = $2 AND (status = 'closed' OR status = 'paused') ORDER BY nid DESC LIMIT 300`
	resolveConflict = `UPDATE response_conflicts SET resolved_at = $2, resolved_by = $3, resolution = $4, reason = $5 WHERE nid = $1 AND resolved_at = 0`
)

// insert keeps a conflict; false when the same content waits already, or its
// household was erased.
func insert(ctx context.Context, tx *db.Tx, c *kept) (bool, error) {
	n, err := tx.Exec(ctx, insertConflict, c.nid, c.ws, c.survey, c.response, c.responseID, c.sentID, c.household, c.code, c.sender, c.at, c.hash, c.sealed)
	return n > 0, db.Wrap("insert conflict", err)
}

func scan(r db.Row) (*kept, error) {
	var c kept
	err := r.Scan(&c.nid, &c.ws, &c.survey, &c.response, &c.responseID, &c.sentID, &c.household, &c.code, &c.sender, &c.at, &c.hash, &c.resolvedAt,
		&c.resolvedBy, &c.resolution, &c.reason, &c.sealed)
	return &c, err
}

// find reads a conflict of a survey. The fault is CONFLICT_NOT_FOUND.
func find(ctx context.Context, q db.Querier, survey, nid int64) (*kept, error) {
	c, err := scan(q.QueryRow(ctx, selectConflict, nid, survey))
	return db.Need(c, err, "find conflict", notFound())
}

// findSame reads the conflict of a content that was sent before; nil for none.
func findSame(ctx context.Context, q db.Querier, response int64, hash []byte) (*kept, error) {
	c, err := scan(q.QueryRow(ctx, selectSame, response, hash))
	return db.Found(c, err, "find conflict")
}

// isFull says why no more contents of a sender are kept for a response; "" when
// they are. One sender must not use up the places of the others.
func isFull(ctx context.Context, q db.Querier, response int64, sender string) (string, error) {
	var all, own int
	if err := q.QueryRow(ctx, countConflicts, response, sender, maxPerResponse).Scan(&all, &own); err != nil {
		return "", fmt.Errorf("count conflicts: %w", err)
	}
	switch {
	case own >= maxPerSender:
		return fmt.Sprintf("The content is not kept: %d that you have sent are kept for this response.", maxPerSender), nil
	case all >= maxPerResponse:
		return fmt.Sprintf("The content is not kept: %d are kept for this response.", maxPerResponse), nil
	}
	return "", nil
}

// findRevision is a response as it was at a revision.
func findRevision(ctx context.Context, q db.Querier, r *response.Row, revision int64) (*response.Row, error) {
	if revision == r.Revision {
		return r, nil
	}
	var body, answers, masked string
	was := *r
	was.Revision, was.Masked, was.Sealed = revision, nil, nil
	if err := q.QueryRow(ctx, selectRevision, r.NID, revision).Scan(&body, &answers, &masked, &was.Sealed); err != nil {
		return nil, fmt.Errorf("find revision: %w", err)
	}
	was.Body, was.Answers = []byte(body), []byte(answers)
	if masked != "" {
		was.Masked = []byte(masked)
	}
	return &was, nil
}

func listOpen(ctx context.Context, q db.Querier, survey int64, after ClashPlace, limit int) ([]*kept, error) {
	return clashesOf(q.Query(ctx, selectOpen, survey, after.NID, limit))
}

func listResolved(ctx context.Context, q db.Querier, survey int64, after ClashPlace, limit int) ([]*kept, error) {
	return clashesOf(q.Query(ctx, selectResolved, survey, after.At, after.NID, limit))
}

func clashesOf(rows db.Rows, err error) ([]*kept, error) {
	return db.Collect(rows, err, "list conflicts", func(c **kept, from db.Row) (err error) {
		*c, err = scan(from)
		return err
	})
}

// listLate lists surveys of a template that have ended or pause, the newest
// first. The caller may not see all of them: of other projects there may be many.
func listLate(ctx context.Context, q db.Querier, ws, template string) ([]string, error) {
	rows, err := q.Query(ctx, selectLate, ws, template)
	return db.Collect(rows, err, "list ended surveys", db.Column[string])
}

// resolve ends a conflict; false when somebody else has.
func resolve(ctx context.Context, tx *db.Tx, c *kept) (bool, error) {
	n, err := tx.Exec(ctx, resolveConflict, c.nid, c.resolvedAt, c.resolvedBy, c.resolution, c.reason)
	return n > 0, db.Wrap("resolve conflict", err)
}

func isDestroyed(err error) bool { return errors.Is(err, vault.ErrDestroyed) }
