package quality

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	selectRules = `SELECT revision, updated_at, actor, data FROM quality_rules WHERE survey = $1`
	insertRules = `INSERT INTO quality_rules (survey, revision, updated_at, actor, data) VALUES ($1, 1, $2, $3, $4) ON CONFLICT (survey) DO NOTHING`
	updateRules = `UPDATE quality_rules SET revision = revision + 1, updated_at = $3, actor = $4, data = $5 WHERE survey = $1 AND revision = $2`
)

// findRules reads the rules of a survey; revision 0 when it has none of its own.
func findRules(ctx context.Context, q db.Querier, o *survey.Open) (ruling, error) {
	var r ruling
	var data string
	err := q.QueryRow(ctx, selectRules, o.NID).Scan(&r.revision, &r.updated, &r.actor, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return r, nil
	} else if err != nil {
		return r, fmt.Errorf("find rules: %w", err)
	}
	if err := json.Unmarshal([]byte(data), &r.rules); err != nil {
		return r, fmt.Errorf("read rules: %w", err)
	}
	return r, nil
}

// storeRules stores rules in the place of the revision before theirs.
func storeRules(ctx context.Context, tx *db.Tx, o *survey.Open, r ruling) error {
	data, err := json.Marshal(r.rules)
	if err != nil {
		return fmt.Errorf("encode rules: %w", err)
	}
	var n int64
	if r.revision == 1 {
		n, err = tx.Exec(ctx, insertRules, o.NID, r.updated, r.actor, string(data))
	} else {
		n, err = tx.Exec(ctx, updateRules, o.NID, r.revision-1, r.updated, r.actor, string(data))
	}
	if err != nil {
		return fmt.Errorf("store rules: %w", err)
	}
	if n == 0 {
		return web.Overtaken()
	}
	return nil
}
