package response

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/rule"
)

const (
	insertFlag = `INSERT INTO response_flags (response, rule, question, survey, source, at, data) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (response, rule, question) DO NOTHING`
	deleteFlags = `DELETE FROM response_flags WHERE response = $1 AND source = $2`
	selectFlags = `SELECT data FROM response_flags WHERE response = $1 ORDER BY rule, question LIMIT 200`
)

// addFlags stores what the checks of one response have found.
func addFlags(ctx context.Context, tx *db.Tx, r *Row, flags []rule.Flag) error {
	for _, f := range flags {
		data, err := json.Marshal(f)
		if err != nil {
			return fmt.Errorf("encode flag: %w", err)
		}
		if _, err := tx.Exec(ctx, insertFlag, r.NID, f.Rule, f.Question, r.Survey, submitSource, r.UpdatedAt, string(data)); err != nil {
			return fmt.Errorf("insert flag: %w", err)
		}
	}
	return nil
}

func removeFlags(ctx context.Context, tx *db.Tx, nid int64, source string) error {
	if _, err := tx.Exec(ctx, deleteFlags, nid, source); err != nil {
		return fmt.Errorf("remove flags: %w", err)
	}
	return nil
}

func listFlags(ctx context.Context, q db.Querier, nid int64) ([]rule.Flag, error) {
	rows, err := q.Query(ctx, selectFlags, nid)
	if err != nil {
		return nil, fmt.Errorf("list flags: %w", err)
	}
	defer rows.Close()
	var out []rule.Flag
	for rows.Next() {
		var data string
		var f rule.Flag
		if err := rows.Scan(&data); err != nil {
			return nil, fmt.Errorf("list flags: %w", err)
		}
		if err := json.Unmarshal([]byte(data), &f); err != nil {
			return nil, fmt.Errorf("read flag: %w", err)
		}
		out = append(out, f)
	}
	return out, rows.Err()
}

const (
	selectFlagged = `SELECT ws, response_id, round, stratum, grp, status, vstatus, flags, revision, updated_at FROM responses WHERE nid = $1 AND survey = $2`

	selectFlaggedForUpdatePostgres = `SELECT ws, response_id, round, stratum, grp, status, vstatus, flags, revision, updated_at
		FROM responses WHERE nid = $1 AND survey = $2 FOR UPDATE`

	selectFlagNames = `SELECT rule, question, source FROM response_flags WHERE response = $1`
	upsertFlag      = `INSERT INTO response_flags (response, rule, question, survey, source, at, data) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (response, rule, question) DO UPDATE SET source = excluded.source, at = excluded.at, data = excluded.data
		WHERE response_flags.source <> '` + submitSource + `'`
	updateFlags = `UPDATE responses SET flags = $2 WHERE nid = $1`
)

// flagName is the key of a flag among those of one response.
type flagName struct{ rule, question string }

// lockFlagged reads what flags change of a response, and keeps others from
// changing it; nil when it is gone.
func (s *Service) lockFlagged(ctx context.Context, tx *db.Tx, o *survey.Open, nid int64) (*Row, error) {
	r := &Row{NID: nid, Survey: o.NID}
	var row db.Row
	if s.db.Dialect() == db.Postgres {
		row = tx.QueryRow(ctx, selectFlaggedForUpdatePostgres, nid, o.NID)
	} else {
		row = tx.QueryRow(ctx, selectFlagged, nid, o.NID)
	}
	err := row.Scan(&r.Workspace, &r.ResponseID, &r.Round, &r.Stratum, &r.Group, &r.Status, &r.VStatus, &r.Flags, &r.Revision, &r.UpdatedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("find flagged response: %w", err)
	}
	return r, nil
}

func flagNames(ctx context.Context, q db.Querier, nid int64) (map[flagName]string, error) {
	rows, err := q.Query(ctx, selectFlagNames, nid)
	if err != nil {
		return nil, fmt.Errorf("list flags: %w", err)
	}
	defer rows.Close()
	out := map[flagName]string{}
	for rows.Next() {
		var n flagName
		var source string
		if err := rows.Scan(&n.rule, &n.question, &source); err != nil {
			return nil, fmt.Errorf("list flags: %w", err)
		}
		out[n] = source
	}
	return out, rows.Err()
}

const (
	// Earlier revisions keep who, when and why, and nothing of what was said.
	blankHistory   = `UPDATE response_history SET body = $2, answers = '{}', masked = '', sealed = NULL WHERE response = $1`
	deleteAllFlags = `DELETE FROM response_flags WHERE response = $1`
	// Contents that clashed with it go too.
	deleteConflicts = `DELETE FROM response_conflicts WHERE response = $1`
)

// wipe takes what was said out of everything beside the response itself.
func wipe(ctx context.Context, tx *db.Tx, r *Row) error {
	if _, err := tx.Exec(ctx, blankHistory, r.NID, string(r.Body)); err != nil {
		return fmt.Errorf("blank history of response: %w", err)
	}
	if _, err := tx.Exec(ctx, deleteAllFlags, r.NID); err != nil {
		return fmt.Errorf("remove flags: %w", err)
	}
	if _, err := tx.Exec(ctx, deleteConflicts, r.NID); err != nil {
		return fmt.Errorf("remove conflicts: %w", err)
	}
	_, err := media.Release(ctx, tx, r.Workspace, r.NID)
	return err
}

// The columns of an earlier revision, in the order scanPast reads them.
const (
	selectPast = `SELECT revision, at, action, actor, request, reason, status, vstatus, verifier, verified_at, reviews, body, answers, masked, sealed, imported_by
		FROM response_history WHERE response = $1 AND revision < $2 ORDER BY revision DESC LIMIT $3`
	selectPastAt = `SELECT revision, at, action, actor, request, reason, status, vstatus, verifier, verified_at, reviews, body, answers, masked, sealed, imported_by
		FROM response_history WHERE response = $1 AND at <= $2 ORDER BY revision DESC LIMIT 1`
)

// scanPast reads an earlier revision of r. What checks found then is not kept.
func scanPast(row db.Row, r *Row) (*Row, error) {
	p := *r
	var body, answers, masked string
	p.Masked, p.Sealed, p.Flags, p.Files = nil, nil, 0, 0
	err := row.Scan(&p.Revision, &p.UpdatedAt, &p.Action, &p.Actor, &p.RequestID, &p.Reason, &p.Status, &p.VStatus, &p.Verifier, &p.VerifiedAt, &p.Reviews,
		&body, &answers, &masked, &p.Sealed, &p.ImportedBy)
	if err != nil {
		return nil, err
	}
	p.Body, p.Answers = []byte(body), []byte(answers)
	if masked != "" {
		p.Masked = []byte(masked)
	}
	return &p, nil
}

// past lists revisions of r before one, newest first.
func past(ctx context.Context, q db.Querier, r *Row, before int64, limit int) ([]*Row, error) {
	rows, err := q.Query(ctx, selectPast, r.NID, before, limit)
	if err != nil {
		return nil, fmt.Errorf("list revisions: %w", err)
	}
	defer rows.Close()
	var out []*Row
	for rows.Next() {
		p, err := scanPast(rows, r)
		if err != nil {
			return nil, fmt.Errorf("list revisions: %w", err)
		}
		out = append(out, p)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list revisions: %w", err)
	}
	return out, nil
}
