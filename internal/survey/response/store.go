package response

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
)

// Row is a stored response.
type Row struct {
	NID         int64
	Workspace   string
	ResponseID  string
	Survey      int64
	Round       int
	Household   string
	Slot        int64 // 0: the one response of the household in the round
	Stratum     string
	Group       string
	Status      Status
	VStatus     string // of the verification
	Verifier    string
	VerifiedAt  int64  // ms; 0 before the first decision
	ImportedBy  string // who sent the decision; "" for one that was made here
	Reviews     int64  // how many have approved
	Flags       int64  // how many
	Files       int64  // how many attachments
	Collector   string
	Sender      string
	SubmittedAt int64 // ms
	ReceivedAt  int64
	UpdatedAt   int64
	Revision    int64
	Action      string // of the newest revision, as those below
	Actor       string
	RequestID   string
	Reason      string
	FirstHash   []byte // of the content as it was sent first
	Hash        []byte
	Body        []byte // Head
	Answers     []byte // those anybody may read
	Masked      []byte // JSON list of pointers, nil when nothing is sealed
	Sealed      []byte
	Stated      int64 // the last revision that changed the content, and no decision about it
	Typed       int64 // whether the answers stand as rows too

	rows   answer.Ready // of the answers, where these have changed
	veiled bool         // pseudonyms replace households and people
}

// Whether the answers of a response stand as rows of package answer.
const (
	Untyped = 0 // not yet: it is from before there were such rows
	Typed   = 1
	Rowless = 2 // no longer: it was replaced, or its household was erased
)

// insertResponse stores nothing about a household that was erased since the
// response was checked, nor for a survey that was paused or closed since. It
// returns whether anything of the survey was ever held, because that is another
// row.
const insertResponse = `INSERT INTO responses (nid, ws, response_id, survey, round, household, slot, stratum, grp, status, vstatus, verifier, verified_at, reviews, flags, files,
		collector, sender, submitted_at, received_at, updated_at, revision, rev_action, rev_actor, rev_request, rev_reason, first_hash, hash, body, answers, masked, sealed, imported_by, typed, unfit)
	SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35
	WHERE NOT EXISTS (SELECT 1 FROM survey_erased e WHERE e.ws = $2 AND e.household = $6)
		AND EXISTS (SELECT 1 FROM surveys s WHERE s.nid = $4 AND s.status = $36)
	ON CONFLICT DO NOTHING
	RETURNING CASE WHEN EXISTS (SELECT 1 FROM response_conflicts c WHERE c.response = -$4) THEN 1 ELSE 0 END`

// insert stores a response and the rows of its answers; false when its id or its
// place is taken, its household was erased, or its survey has another status. held
// is whether something of the survey may be held.
func insert(ctx context.Context, tx *db.Tx, r *Row, open survey.Status) (stored, held bool, err error) {
	var found int
	err = tx.QueryRow(ctx, insertResponse, r.NID, r.Workspace, r.ResponseID, r.Survey, r.Round, r.Household, r.Slot, r.Stratum, r.Group, string(r.Status),
		r.VStatus, r.Verifier, r.VerifiedAt, r.Reviews, r.Flags, r.Files, r.Collector, r.Sender, r.SubmittedAt, r.ReceivedAt, r.UpdatedAt, r.Revision,
		r.Action, r.Actor, r.RequestID, r.Reason, r.FirstHash, r.Hash, string(r.Body), string(r.Answers), string(r.Masked), r.Sealed, r.ImportedBy, Typed, db.Bit(r.unfit()), string(open)).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, nil
	} else if err != nil {
		return false, false, fmt.Errorf("insert response: %w", err)
	}
	return true, found != 0, answer.AddNew(ctx, tx, r.rows)
}

// selectRow has the columns of a whole row, in the order scan reads them.
const selectRow = `SELECT nid, ws, response_id, survey, round, household, slot, stratum, grp, status, vstatus, verifier, verified_at, imported_by, reviews, flags, files,
	collector, sender, submitted_at, received_at, updated_at, revision, rev_action, rev_actor, rev_request, rev_reason, first_hash, hash, body, answers, masked, sealed, stated, typed`

const (
	selectResponse                  = selectRow + ` FROM responses WHERE ws = $1 AND response_id = $2`
	selectResponseForUpdatePostgres = selectRow + ` FROM responses WHERE ws = $1 AND response_id = $2 FOR UPDATE`
	selectByNID                     = selectRow + ` FROM responses WHERE nid = $1`
	selectInSlot                    = selectRow + ` FROM responses WHERE ws = $1 AND household = $2 AND survey = $3 AND round = $4 AND slot = 0`
	selectAfter                     = selectRow + ` FROM responses WHERE survey = $1 AND nid > $2 ORDER BY nid LIMIT $3`
	selectBefore                    = selectRow + ` FROM responses WHERE survey = $1 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	selectStatusBefore              = selectRow + ` FROM responses WHERE survey = $1 AND vstatus = $2 AND nid < $3 ORDER BY nid DESC LIMIT $4`
	selectNames                     = `SELECT nid, response_id FROM responses WHERE ws = $1 AND household = $2`
	selectOfHousehold               = selectRow + ` FROM responses WHERE ws = $1 AND household = $2 AND (survey, round, slot) > ($3, $4, $5) ORDER BY survey, round, slot LIMIT $6`
)

func scan(row db.Row) (*Row, error) {
	var r Row
	var body, answers, masked string
	err := row.Scan(&r.NID, &r.Workspace, &r.ResponseID, &r.Survey, &r.Round, &r.Household, &r.Slot, &r.Stratum, &r.Group, &r.Status, &r.VStatus, &r.Verifier,
		&r.VerifiedAt, &r.ImportedBy, &r.Reviews, &r.Flags, &r.Files, &r.Collector, &r.Sender, &r.SubmittedAt, &r.ReceivedAt, &r.UpdatedAt, &r.Revision, &r.Action, &r.Actor,
		&r.RequestID, &r.Reason, &r.FirstHash, &r.Hash, &body, &answers, &masked, &r.Sealed, &r.Stated, &r.Typed)
	if err != nil {
		return nil, err
	}
	r.Body, r.Answers = []byte(body), []byte(answers)
	if r.Stated == 0 { // as it was sent, or before this was kept: nothing is known of decisions since
		r.Stated = r.Revision
	}
	if masked != "" {
		r.Masked = []byte(masked)
	}
	return &r, nil
}

// find reads a response of a workspace. The fault is RESPONSE_NOT_FOUND.
func find(ctx context.Context, q db.Querier, ws, id string) (*Row, error) {
	return found(scan(q.QueryRow(ctx, selectResponse, ws, id)))
}

// findForUpdate is find for a row that is about to change. On SQLite there is
// one writer; on PostgreSQL others wait until tx has ended.
func findForUpdate(ctx context.Context, tx *db.Tx, d db.Dialect, ws, id string) (*Row, error) {
	if d == db.Postgres {
		return found(scan(tx.QueryRow(ctx, selectResponseForUpdatePostgres, ws, id)))
	}
	return find(ctx, tx, ws, id)
}

// findByNID reads a response by its number.
func findByNID(ctx context.Context, q db.Querier, nid int64) (*Row, error) {
	return found(scan(q.QueryRow(ctx, selectByNID, nid)))
}

// findInSlot reads the response a household has in a round.
func findInSlot(ctx context.Context, q db.Querier, r *Row) (*Row, error) {
	return found(scan(q.QueryRow(ctx, selectInSlot, r.Workspace, r.Household, r.Survey, r.Round)))
}

func found(r *Row, err error) (*Row, error) {
	if errors.Is(err, sql.ErrNoRows) {
		return nil, notFound()
	} else if err != nil {
		return nil, fmt.Errorf("find response: %w", err)
	}
	return r, nil
}

func notFound() error {
	return fault.New(fault.NotFound, "RESPONSE_NOT_FOUND", "No response has this id.")
}

// rowsOf reads all rows of a query and closes them.
func rowsOf(rows db.Rows, err error) ([]*Row, error) {
	return db.Collect(rows, err, "list responses", func(r **Row, row db.Row) (err error) {
		*r, err = scan(row)
		return err
	})
}

// The newest revision becomes the last of the earlier ones, then the row takes
// the next. Both name the revision they expect: of two writers one finds
// nothing.
const (
	insertHistory = `INSERT INTO response_history (response, revision, at, action, actor, request, reason, status, vstatus, verifier, verified_at, reviews, body, answers,
			masked, sealed, imported_by)
		SELECT nid, revision, updated_at, rev_action, rev_actor, rev_request, rev_reason, status, vstatus, verifier, verified_at, reviews, body, answers, masked, sealed,
			imported_by
		FROM responses WHERE nid = $1 AND revision = $2
		ON CONFLICT (response, revision) DO NOTHING`
	updateResponse = `UPDATE responses SET revision = $3, slot = $4, status = $5, vstatus = $6, verifier = $7, verified_at = $8, reviews = $9, flags = $10,
			submitted_at = $11, updated_at = $12, rev_action = $13, rev_actor = $14, rev_request = $15, rev_reason = $16, hash = $17, body = $18, answers = $19,
			masked = $20, sealed = $21, files = $22, imported_by = $23, stated = $24, typed = $25, unfit = $26
		WHERE nid = $1 AND revision = $2`
)

// update replaces the revision old by next, and the rows of its answers with it.
// It returns false when old is no longer the newest.
func update(ctx context.Context, tx *db.Tx, old, next *Row) (bool, error) {
	n, err := tx.Exec(ctx, insertHistory, old.NID, old.Revision)
	if err != nil {
		return false, fmt.Errorf("keep revision of response: %w", err)
	}
	if n == 0 {
		return false, nil
	}
	next.Typed = old.typedAs(next)
	n, err = tx.Exec(ctx, updateResponse, old.NID, old.Revision, next.Revision, next.Slot, string(next.Status), next.VStatus, next.Verifier, next.VerifiedAt,
		next.Reviews, next.Flags, next.SubmittedAt, next.UpdatedAt, next.Action, next.Actor, next.RequestID, next.Reason, next.Hash, string(next.Body),
		string(next.Answers), string(next.Masked), next.Sealed, next.Files, next.ImportedBy, next.Stated,
		next.Typed, db.Bit(next.unfit()))
	if err != nil {
		return false, fmt.Errorf("update response: %w", err)
	}
	if n == 0 {
		return false, nil
	}
	return true, old.retype(ctx, tx, next)
}
