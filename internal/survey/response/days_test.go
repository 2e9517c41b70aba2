package response_test

import (
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// What the counters say and the table does not, or the other way round.
const (
	wrongCounts = `SELECT count(*) FROM (
		SELECT ws, part, state, sum(n) AS n FROM counts WHERE kind = 'response' GROUP BY ws, part, state HAVING sum(n) <> 0
		EXCEPT SELECT ws, status, vstatus, count(*) FROM responses GROUP BY ws, status, vstatus) AS x`
	wrongDays = `SELECT count(*) FROM (
		SELECT survey, round, day, status, sum(n) AS n FROM survey_days GROUP BY survey, round, day, status HAVING sum(n) <> 0
		EXCEPT SELECT survey, round, submitted_at / 86400000, status, count(*) FROM responses
			WHERE vstatus NOT IN ('superseded', 'invalidated') GROUP BY survey, round, submitted_at / 86400000, status) AS x`
)

// TestDays: what was submitted on which day is known from counters, which follow
// every change of a response.
func TestDays(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		day := time.Date(2024, 2, 20, 10, 0, 0, 0, time.UTC)
		for i, at := range []time.Time{day, day.Add(time.Hour), day.Add(26 * time.Hour)} {
			one := draft([]string{"a", "b", "c"}[i], i)
			one.Timestamp = at
			v.submit(t, "owner", one)
		}
		check := func(step, first string, n int64) {
			t.Helper()
			p, err := v.surveys.Progress(as(t, "owner"), "s", 0)
			if err != nil || len(p.Days) == 0 || p.Days[0].Day != first || p.Days[0].Completed+p.Days[0].Partial != n {
				t.Errorf("%s: days = %+v, %v; want %d on %s first", step, p, err, n, first)
			}
			for name, sql := range map[string]string{"counts": wrongCounts, "days": wrongDays} {
				var wrong int
				if err := d.QueryRow(t.Context(), sql).Scan(&wrong); err != nil || wrong != 0 {
					t.Errorf("%s: %d rows of %s are wrong, %v", step, wrong, name, err)
				}
			}
		}
		check("three", "2024-02-20", 2)
		if w := v.send(t, "owner", "DELETE /v1/responses/a?reason=asked", "", "If-Match", "*"); w.Code >= 300 {
			t.Fatalf("remove: %d %s", w.Code, w.Body)
		}
		check("one withdrawn", "2024-02-20", 1)
	})
}
