package chat

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

const (
	questionColumns      = `run, call, user_did, session, tool, about, args, hash, seal, state, created_at, expires_at`
	putQuestionText      = `INSERT INTO oracle_confirmations (` + questionColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`
	findQuestionText     = `SELECT ` + questionColumns + ` FROM oracle_confirmations WHERE run = $1 AND call = $2 AND user_did = $3`
	waitingQuestionsText = `SELECT ` + questionColumns + ` FROM oracle_confirmations WHERE run = $1 AND user_did = $2 AND state = 'waiting' AND expires_at > $3 ORDER BY call LIMIT 100`
	decideQuestionText   = `UPDATE oracle_confirmations SET state = $3 WHERE run = $1 AND call = $2 AND state = 'waiting' AND expires_at > $4`
	dropQuestionText     = `UPDATE oracle_confirmations SET state = 'refused' WHERE run = $1 AND call = $2 AND state IN ('waiting', 'confirmed')`
	closeQuestionsText   = `UPDATE oracle_confirmations SET state = 'refused' WHERE session = $1 AND user_did = $2 AND state IN ('waiting', 'confirmed')`
	useQuestionText      = `UPDATE oracle_confirmations SET state = 'used' WHERE run = $1 AND call = $2 AND state = 'confirmed' AND expires_at > $3`
	earlierQuestionText  = `SELECT run, call FROM oracle_confirmations WHERE session = $1 AND hash = $2 AND state = 'confirmed' AND user_did = $3 AND expires_at > $4 LIMIT 1`
	sweepQuestionsText   = `DELETE FROM oracle_confirmations WHERE (run, call) IN (SELECT run, call FROM oracle_confirmations WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`

	grantedText = `SELECT 1 FROM oracle_grants WHERE user_did = $1 AND tool = $2 AND session IN (0, $3) AND (expires_at = 0 OR expires_at > $4) AND hash = $5 LIMIT 1`
	sealsText   = `SELECT tool, hash FROM oracle_grants WHERE session = $1 AND user_did = $2 AND (expires_at = 0 OR expires_at > $3) LIMIT $4`
	grantsText  = `SELECT g.tool, s.id, g.hash, g.created_at, g.expires_at FROM oracle_grants g LEFT JOIN chat_sessions s ON s.nid = g.session
		WHERE g.user_did = $1 AND (g.expires_at = 0 OR g.expires_at > $2) ORDER BY g.user_did, g.tool, g.session LIMIT $3`
	countGrantsText = `SELECT count(*) FROM (SELECT 1 FROM oracle_grants WHERE user_did = $1 AND (tool <> $3 OR session <> $4) LIMIT $2) AS few`
	endedGrantsText = `DELETE FROM oracle_grants WHERE user_did = $1 AND expires_at > 0 AND expires_at <= $2`
	putGrantText    = `INSERT INTO oracle_grants (user_did, tool, session, hash, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (user_did, tool, session) DO UPDATE SET hash = excluded.hash, created_at = excluded.created_at, expires_at = excluded.expires_at`
	dropGrantText   = `DELETE FROM oracle_grants WHERE user_did = $1 AND tool = $2 AND session = $3`

	shrinkQuestionsText = `DELETE FROM oracle_confirmations WHERE (run, call) IN (SELECT run, call FROM oracle_confirmations WHERE session = $1 LIMIT $2)`
	shrinkGrantsText    = `DELETE FROM oracle_grants WHERE (user_did, tool, session) IN (SELECT user_did, tool, session FROM oracle_grants WHERE session = $1 LIMIT $2)`
	dropGrantsText      = `DELETE FROM oracle_grants WHERE user_did = $1`
	blankQuestionsText  = `DELETE FROM oracle_confirmations WHERE session = $1`
)

// place is where a question was asked: in a call of a tool, of a run.
type place struct{ run, call string }

// question is a question as stored.
type question struct {
	place
	user              string
	session           int64
	tool, about, args string
	hash, seal, state string
	created, expires  int64
}

// show is the question as its user sees it at a time.
func (r *question) show(now int64) tool.Question {
	q := tool.Question{
		RunID: r.run, CallID: r.call, Tool: r.tool, Description: r.about, Arguments: jsontext.Value(r.args), Status: r.state,
		ExpiresAt: time.UnixMilli(r.expires).UTC(),
	}
	if now >= r.expires && (r.state == tool.QuestionWaiting || r.state == tool.QuestionConfirmed) {
		q.Status = tool.QuestionExpired
	}
	return q
}

func (r *question) fields() []any {
	return []any{&r.run, &r.call, &r.user, &r.session, &r.tool, &r.about, &r.args, &r.hash, &r.seal, &r.state, &r.created, &r.expires}
}

// putQuestion stores a question, and removes some that have long ended.
func putQuestion(ctx context.Context, d *db.DB, r *question) error {
	return d.InTx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, sweepQuestionsText, r.created-keptQuestion.Milliseconds(), sweptQuestions); err != nil {
			return fmt.Errorf("remove old questions: %w", err)
		}
		_, err := tx.Exec(ctx, putQuestionText, r.run, r.call, r.user, r.session, r.tool, r.about, r.args, r.hash, r.seal, r.state, r.created, r.expires)
		return db.Wrap("store question", err)
	})
}

// findQuestion reads a question of a user. The fault is CONFIRMATION_NOT_FOUND.
func findQuestion(ctx context.Context, d *db.DB, user string, at place) (*question, error) {
	r := &question{}
	err := d.QueryRow(ctx, findQuestionText, at.run, at.call, user).Scan(r.fields()...)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, noQuestion()
	}
	return r, db.Wrap("read question", err)
}

// waitingQuestions lists the questions of a run that wait.
func waitingQuestions(ctx context.Context, d *db.DB, user, run string, now int64) ([]question, error) {
	rows, err := d.Query(ctx, waitingQuestionsText, run, user, now)
	return db.Collect(rows, err, "list questions", func(r *question, from db.Row) error { return from.Scan(r.fields()...) })
}

// decideQuestion answers a question that waits. It reports whether it did.
func decideQuestion(ctx context.Context, d *db.DB, at place, state string, now int64) (bool, error) {
	n, err := d.Exec(ctx, decideQuestionText, at.run, at.call, state, now)
	return n == 1, db.Wrap("answer question", err)
}

// dropQuestion closes a question that was not used.
func dropQuestion(ctx context.Context, d *db.DB, at place) error {
	_, err := d.Exec(ctx, dropQuestionText, at.run, at.call)
	return db.Wrap("close question", err)
}

// closeQuestions closes the questions of a conversation that were not used.
func closeQuestions(ctx context.Context, d *db.DB, user string, session int64) error {
	_, err := d.Exec(ctx, closeQuestionsText, session, user)
	return db.Wrap("close questions", err)
}

// useQuestion spends a confirmation. It reports whether there was one.
func useQuestion(ctx context.Context, d *db.DB, at place, now int64) (bool, error) {
	n, err := d.Exec(ctx, useQuestionText, at.run, at.call, now)
	return n == 1, db.Wrap("use confirmation", err)
}

// useEarlierQuestion spends a confirmation of the same call that an earlier run of the
// conversation did not come to use.
func useEarlierQuestion(ctx context.Context, d *db.DB, a tool.Asker, hash string, now int64) (bool, error) {
	var at place
	err := d.QueryRow(ctx, earlierQuestionText, a.Session, hash, a.User, now).Scan(&at.run, &at.call)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("find confirmation: %w", err)
	}
	return useQuestion(ctx, d, at, now)
}

// granted reports whether a tool may run without a question.
func granted(ctx context.Context, d *db.DB, a tool.Asker, g tool.Grant, now int64) (bool, error) {
	return db.Exists(d.QueryRow(ctx, grantedText, a.User, g.Tool, a.Session, now, g.Hash), "look for a grant")
}

func grants(ctx context.Context, d *db.DB, user string, now int64) ([]tool.Grant, error) {
	rows, err := d.Query(ctx, grantsText, user, now, maxGrants)
	return db.Collect(rows, err, "list grants", func(g *tool.Grant, from db.Row) error {
		var session *string
		var created, expires int64
		if err := from.Scan(&g.Tool, &session, &g.Hash, &created, &expires); err != nil {
			return err
		}
		if g.CreatedAt = time.UnixMilli(created).UTC(); expires > 0 {
			g.ExpiresAt = time.UnixMilli(expires).UTC()
		}
		if session != nil {
			g.SessionID = *session
		}
		return nil
	})
}

// seals returns the seals of what is granted for a conversation alone, by tool.
func seals(ctx context.Context, d *db.DB, user string, session, now int64) (map[string]string, error) {
	rows, err := d.Query(ctx, sealsText, session, user, now, maxGrants)
	list, err := db.Collect(rows, err, "list grants", func(g *tool.Grant, from db.Row) error { return from.Scan(&g.Tool, &g.Hash) })
	out := make(map[string]string, len(list))
	for _, g := range list {
		out[g.Tool] = g.Hash
	}
	return out, err
}

// putGrant stores a grant; full is true when the user has too many.
func putGrant(ctx context.Context, d *db.DB, user string, session int64, g tool.Grant) (full bool, err error) {
	expires := int64(0)
	if !g.ExpiresAt.IsZero() {
		expires = g.ExpiresAt.UnixMilli()
	}
	err = d.InTx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, endedGrantsText, user, g.CreatedAt.UnixMilli()); err != nil {
			return fmt.Errorf("remove grants that have ended: %w", err)
		}
		var n int
		if err := tx.QueryRow(ctx, countGrantsText, user, maxGrants, g.Tool, session).Scan(&n); err != nil {
			return fmt.Errorf("count grants: %w", err)
		}
		if full = n >= maxGrants; full {
			return nil
		}
		if err := Meet(ctx, tx, user); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, putGrantText, user, g.Tool, session, g.Hash, g.CreatedAt.UnixMilli(), expires)
		return db.Wrap("store grant", err)
	})
	return full, err
}

func dropGrant(ctx context.Context, d *db.DB, user string, session int64, name string) (bool, error) {
	n, err := d.Exec(ctx, dropGrantText, user, name, session)
	return n == 1, db.Wrap("remove grant", err)
}

// shrinkQuestions removes the rows of a deleted conversation.
func shrinkQuestions(ctx context.Context, tx *db.Tx, session int64, limit int) (int64, error) {
	n, err := tx.Exec(ctx, shrinkQuestionsText, session, limit)
	if err != nil {
		return 0, fmt.Errorf("remove questions: %w", err)
	}
	more, err := tx.Exec(ctx, shrinkGrantsText, session, int64(limit)-n)
	return n + more, db.Wrap("remove grants", err)
}

// blankQuestions removes the questions of a conversation that refers to an erased person,
// because their arguments may name the person.
func blankQuestions(ctx context.Context, tx *db.Tx, from Begun) error {
	_, err := tx.Exec(ctx, blankQuestionsText, from.Session)
	return db.Wrap("remove questions", err)
}

// dropGrants removes the grants of a user who is erased.
func dropGrants(ctx context.Context, tx *db.Tx, user string) error {
	_, err := tx.Exec(ctx, dropGrantsText, user)
	return db.Wrap("remove grants", err)
}
