package job

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// atWork counts the jobs at work on all instances: those whose lease holds. It
// reads a row for each, however many jobs wait.
func atWork(ctx context.Context, q db.Querier, now int64) (map[line]int, error) {
	rows, err := q.Query(ctx, `SELECT ws, kind FROM jobs WHERE status = 'running' AND due_at > $1`, now)
	work := map[line]int{}
	err = db.Each(rows, err, "count jobs at work", func(row db.Row) error {
		var l line
		err := row.Scan(&l.ws, &l.kind)
		work[l]++
		return err
	})
	if err != nil {
		return nil, err
	}
	return work, nil
}

// openLines steps from one line that has open jobs to the next, beginning after
// the kind $2 of the workspace $1, or after all its kinds when $2 is NULL. It
// reads a row for each, however many jobs wait. A step at which the kinds of a
// workspace end has no kind, one at which the next begins an empty one, and the
// step after the last workspace has none. $3 is how many steps it takes.
const openLines = `WITH RECURSIVE step(n, ws, kind) AS (
		SELECT 0, CAST($1 AS TEXT), CAST($2 AS TEXT) UNION ALL
		SELECT n + 1,
			CASE WHEN step.kind IS NULL THEN (SELECT min(jobs.ws) FROM jobs WHERE jobs.due_at IS NOT NULL AND jobs.ws > step.ws) ELSE step.ws END,
			CASE WHEN step.kind IS NULL THEN '' ELSE (SELECT min(jobs.kind) FROM jobs WHERE jobs.due_at IS NOT NULL AND jobs.ws = step.ws AND jobs.kind > step.kind) END
		FROM step WHERE step.ws IS NOT NULL AND step.n < $3)
	SELECT step.ws, step.kind, (SELECT min(jobs.due_at) FROM jobs WHERE jobs.due_at IS NOT NULL AND jobs.ws = step.ws AND jobs.kind = step.kind)
	FROM step WHERE step.n > 0 ORDER BY step.n`

// firstSteps is how many steps the first statement takes: it is quick where the
// first workspaces are due. Each after it takes four times as many.
const firstSteps = 12

// waiting is a line with open jobs, and when the first of them may be claimed.
type waiting struct {
	line
	due int64
}

// circle gives visit each workspace that has open jobs with its lines, from the
// one after last to last itself, until visit returns false.
func circle(ctx context.Context, q db.Querier, last string, visit func(ws string, open []waiting) bool) error {
	first, found := "", false
	more := true
	err := walk(ctx, q, step{ws: &last}, func(ws string, open []waiting) bool {
		if !found {
			first, found = ws, true
		}
		more = visit(ws, open)
		return more
	})
	if err != nil || !more {
		return err
	}
	none := ""
	return walk(ctx, q, step{ws: &none, kind: &none}, func(ws string, open []waiting) bool {
		return (!found || ws != first) && visit(ws, open)
	})
}

// step is one of openLines.
type step struct {
	ws, kind *string
	due      *int64
}

// walk gives visit the workspaces that come after a step, until it returns
// false.
func walk(ctx context.Context, q db.Querier, from step, visit func(ws string, open []waiting) bool) error {
	var open []waiting
	for n := firstSteps; from.ws != nil; n *= 4 {
		page, err := readSteps(ctx, q, from, n)
		if err != nil {
			return err
		}
		for _, s := range page {
			switch {
			case s.kind == nil && len(open) > 0:
				if !visit(open[0].ws, open) {
					return nil
				}
				open = nil
			case s.ws != nil && s.kind != nil && s.due != nil:
				open = append(open, waiting{line{*s.ws, *s.kind}, *s.due})
			}
		}
		from = page[len(page)-1]
	}
	return nil
}

func readSteps(ctx context.Context, q db.Querier, from step, n int) ([]step, error) {
	rows, err := q.Query(ctx, openLines, *from.ws, from.kind, n)
	return db.Collect(rows, err, "find lines of jobs", func(s *step, row db.Row) error {
		return row.Scan(&s.ws, &s.kind, &s.due)
	})
}
