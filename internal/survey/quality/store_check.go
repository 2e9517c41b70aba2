package quality

import (
	"context"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

const (
	selectBackCheck = `SELECT nid, round, draw, response, response_id, collector, state, drawn_at, done_at, checker, data
		FROM back_checks WHERE nid = $1 AND survey = $2`
	selectBackChecks = `SELECT nid, round, draw, response, response_id, collector, state, drawn_at, done_at, checker, data
		FROM back_checks WHERE survey = $1 AND nid > $2 ORDER BY nid LIMIT $3`
	selectBackChecksInState = `SELECT nid, round, draw, response, response_id, collector, state, drawn_at, done_at, checker, data
		FROM back_checks WHERE survey = $1 AND state = $2 AND nid > $3 ORDER BY nid LIMIT $4`
	insertBackCheck = `INSERT INTO back_checks (nid, survey, round, draw, response, response_id, collector, state, drawn_at, done_at, checker, data)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 'drawn', $8, 0, '', '') ON CONFLICT DO NOTHING`
	updateBackCheck = `UPDATE back_checks SET state = $2, done_at = $3, checker = $4, data = $5 WHERE nid = $1 AND state = 'drawn'`

	insertDraw = `INSERT INTO back_check_draws (nid, survey, round, seed, actor, at, cutoff, ready, data) VALUES ($1, $2, $3, $4, $5, $6, $7, 0, $8)
		ON CONFLICT DO NOTHING`
	selectDraw  = `SELECT nid, actor, at, cutoff, ready, data FROM back_check_draws WHERE survey = $1 AND round = $2 AND seed = $3`
	deleteDraw  = `DELETE FROM back_check_draws WHERE nid = $1 AND ready = 0`
	readyDraw   = `UPDATE back_check_draws SET ready = 1, data = $2 WHERE nid = $1 AND ready = 0`
	countChecks = `INSERT INTO back_check_counts (survey, round, collector, class, drawn, done, compared, errors) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (survey, round, collector, class) DO UPDATE SET drawn = back_check_counts.drawn + excluded.drawn,
			done = back_check_counts.done + excluded.done, compared = back_check_counts.compared + excluded.compared,
			errors = back_check_counts.errors + excluded.errors`
	selectChecks = `SELECT collector, class, drawn, done, compared, errors FROM back_check_counts WHERE survey = $1 AND round = $2
		ORDER BY collector, class LIMIT 20000`
)

func scanBackCheck(row db.Row, o *survey.Open) (*BackCheck, error) {
	b := &BackCheck{SurveyID: o.SurveyID}
	var draw, drawn, done int64
	var data string
	if err := row.Scan(&b.nid, &b.Round, &draw, &b.response, &b.ResponseID, &b.Collector, &b.State, &drawn, &done, &b.By, &data); err != nil {
		return nil, err
	}
	b.BackCheckID, b.DrawID = "bck_"+strconv.FormatInt(b.nid, 10), "drw_"+strconv.FormatInt(draw, 10)
	b.RecordID = privacy.RecordName(b.response)
	b.DrawnAt, b.DoneAt = timeOf(drawn), timeOf(done)
	b.Links = BackLinks{Self: backCheckPath(o, b.BackCheckID), Response: response.Path(b.ResponseID), Template: fmt.Sprintf("/v1/templates/%s/versions/%d", o.TemplateID, o.TemplateVersion)}
	if data != "" {
		if err := json.Unmarshal([]byte(data), &b.Questions); err != nil {
			return nil, fmt.Errorf("read back-check: %w", err)
		}
	}
	b.sum()
	return b, nil
}

func findBackCheck(ctx context.Context, q db.Querier, o *survey.Open, id string) (*BackCheck, error) {
	b, err := scanBackCheck(q.QueryRow(ctx, selectBackCheck, backCheckNID(id), o.NID), o)
	return db.Need(b, err, "find back-check", backCheckNotFound())
}

// listBackChecks reads back-checks of a survey in the order they were drawn,
// those of any state for "".
func listBackChecks(ctx context.Context, q db.Querier, o *survey.Open, p backCheckPlace) ([]*BackCheck, error) {
	var rows db.Rows
	var err error
	if p.state == "" {
		rows, err = q.Query(ctx, selectBackChecks, o.NID, p.after, p.limit)
	} else {
		rows, err = q.Query(ctx, selectBackChecksInState, o.NID, p.state, p.after, p.limit)
	}
	return db.Collect(rows, err, "list back-checks", func(b **BackCheck, row db.Row) (err error) {
		*b, err = scanBackCheck(row, o)
		return err
	})
}

// backCheckPlace is a part of a list.
type backCheckPlace struct {
	state string
	after int64
	limit int
}

// finishBackCheck stores an outcome; false when there was one.
func finishBackCheck(ctx context.Context, tx *db.Tx, b *BackCheck) (bool, error) {
	data, err := json.Marshal(b.Questions)
	if err != nil {
		return false, fmt.Errorf("encode back-check: %w", err)
	}
	n, err := tx.Exec(ctx, updateBackCheck, b.nid, b.State, b.DoneAt.UnixMilli(), b.By, string(data))
	return n > 0, db.Wrap("finish back-check", err)
}

// backCheckCount is one row of the sums.
type backCheckCount struct {
	collector                     string
	class                         int
	drawn, done, compared, errors int64
}

func countBackChecks(ctx context.Context, tx *db.Tx, survey int64, round int, c backCheckCount) error {
	_, err := tx.Exec(ctx, countChecks, survey, round, c.collector, c.class, c.drawn, c.done, c.compared, c.errors)
	return db.Wrap("count back-checks", err)
}

func backCheckCounts(ctx context.Context, q db.Querier, survey int64, round int) ([]backCheckCount, error) {
	rows, err := q.Query(ctx, selectChecks, survey, round)
	return db.Collect(rows, err, "read counts of back-checks", func(c *backCheckCount, row db.Row) error {
		return row.Scan(&c.collector, &c.class, &c.drawn, &c.done, &c.compared, &c.errors)
	})
}
