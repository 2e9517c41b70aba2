package survey

import (
	"context"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
)

// maxDays is how many days of a round a report has.
const maxDays = 400

const (
	selectDays = `SELECT day, CAST(sum(CASE WHEN status = 'complete' THEN n ELSE 0 END) AS BIGINT), CAST(sum(CASE WHEN status = 'refused' THEN n ELSE 0 END) AS BIGINT),
			CAST(sum(n) AS BIGINT)
		FROM survey_days WHERE survey = $1 AND round = $2 AND status <> 'redacted' GROUP BY day ORDER BY day DESC LIMIT $3`
	removeDays = `DELETE FROM survey_days WHERE survey = $1`
)

// days reads what was submitted in a round on each day, oldest first.
func days(ctx context.Context, q db.Querier, survey int64, round int) ([]api.SurveyDay, error) {
	rows, err := q.Query(ctx, selectDays, survey, round, maxDays)
	out := []api.SurveyDay{}
	err = db.Each(rows, err, "read days", func(row db.Row) error {
		var d api.SurveyDay
		var day, all int64
		if err := row.Scan(&day, &d.Completed, &d.Refused, &all); err != nil {
			return err
		}
		d.Day, d.Partial = time.Unix(day*86400, 0).UTC().Format(time.DateOnly), all-d.Completed-d.Refused
		if all > 0 {
			out = append(out, d)
		}
		return nil
	})
	slices.Reverse(out)
	return out, err
}
