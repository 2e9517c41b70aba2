package quality

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	dropRounds = `DELETE FROM quality_rounds WHERE survey = $1`
	dropRules  = `DELETE FROM quality_rules WHERE survey = $1`
	dropDraws  = `DELETE FROM back_check_draws WHERE survey = $1`
	dropChecks = `DELETE FROM back_checks WHERE survey = $1`
	dropCounts = `DELETE FROM back_check_counts WHERE survey = $1`
)

// Remove removes the findings of runs and back-checks in a survey, and its rules,
// with no event, before the survey itself is removed.
func (s *Service) Remove(ctx context.Context, tx *db.Tx, ws string, survey int64) error {
	_, err := tx.Exec(ctx, dropRounds, survey)
	if err == nil {
		_, err = tx.Exec(ctx, dropRules, survey)
	}
	if err == nil {
		_, err = tx.Exec(ctx, dropChecks, survey)
	}
	if err == nil {
		_, err = tx.Exec(ctx, dropDraws, survey)
	}
	if err == nil {
		_, err = tx.Exec(ctx, dropCounts, survey)
	}
	tx.AfterCommit(func() { s.cfg.Rules.Forget(ws) })
	return db.Wrap("remove quality of survey", err)
}
