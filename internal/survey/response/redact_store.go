package response

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	selectResponses = `SELECT nid, survey, round, slot, files, body, answers FROM responses
		WHERE ws = $1 AND household = $2 AND (survey, round, slot) > ($3, $4, $5) ORDER BY survey, round, slot LIMIT 50`
	selectRevisions = `SELECT revision, body FROM response_history WHERE response = $1 AND revision > $2 ORDER BY revision LIMIT 50`
	blankResponse   = `UPDATE responses SET body = $2 WHERE nid = $1`
	blankReason     = `UPDATE responses SET rev_reason = '', first_hash = '', hash = '' WHERE nid = $1 AND (rev_reason <> '' OR length(hash) > 0 OR length(first_hash) > 0)`
	dropTyped       = `UPDATE responses SET typed = 2 WHERE nid = $1 AND typed <> 2`
	updateRevision  = `UPDATE response_history SET body = $3, reason = '' WHERE response = $1 AND revision = $2`
	blankRevisions  = `UPDATE response_history SET reason = '' WHERE response = $1 AND reason <> ''`
	blankDecisions  = `UPDATE response_decisions SET reason = '', notes = '' WHERE response = $1 AND (reason <> '' OR notes <> '')`
	// Two contents that wait for one response have two hashes; the beginning of
	// the sealed text serves as a name as well. Content that was sent for another
	// household under the id of this response may be about the same people, and is
	// sealed with a key that stays: it is removed separately.
	blankConflicts = `UPDATE response_conflicts SET reason = '', hash = substr(sealed, 1, 24), sealed = ''
		WHERE response = $1 AND (reason <> '' OR length(sealed) > 0)`
	blankSent = `UPDATE response_conflicts SET reason = '', hash = substr(sealed, 1, 24) WHERE ws = $1 AND household = $2 AND (reason <> '' OR length(hash) > 24)`
)

func listToBlank(ctx context.Context, tx *db.Tx, ws, household string, after blankable) ([]blankable, error) {
	rows, err := tx.Query(ctx, selectResponses, ws, household, after.survey, after.round, after.slot)
	return db.Collect(rows, err, "list responses", func(r *blankable, row db.Row) error {
		return row.Scan(&r.NID, &r.survey, &r.round, &r.slot, &r.Files, &r.body, &r.answers)
	})
}

type openRevision struct {
	number int64
	body   string
}

func revisions(ctx context.Context, tx *db.Tx, nid, after int64) ([]openRevision, error) {
	rows, err := tx.Query(ctx, selectRevisions, nid, after)
	return db.Collect(rows, err, "list revisions", func(p *openRevision, row db.Row) error {
		return row.Scan(&p.number, &p.body)
	})
}
