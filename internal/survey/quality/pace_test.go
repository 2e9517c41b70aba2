package quality_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

// TestRunFindsTheFast: a run flags what came before there was a median, and all
// interviews of a collector who is too fast, and takes its flags back when it is so
// no more; those that a response got when it came stay.
func TestRunFindsTheFast(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.Start(t, "ws", "s", 1)
		send := func(i int, by string, seconds int) {
			v.Submit(t, "ws", "s", surveytest.Interview{
				ID: fmt.Sprintf("r%02d", i), Household: i, Collector: by, Lat: float64(i) / 10, Lon: 36.8, Seconds: seconds,
				Answers: surveytest.Home(map[string]any{"size": 3 + i%5, "cost": 10 + i%7, "fuel": "wood", "name": fmt.Sprintf("Mary %c%c", 'a'+i%26, 'a'+i/26), "phone": fmt.Sprintf("070000%04d", i)}),
			})
		}
		send(0, "ann", 200) // nobody knows yet
		for i := 1; i <= 12; i++ {
			send(i, "eve", 400)
		}
		for i := 13; i < 40; i++ {
			send(i, []string{"ann", "ben"}[i%2], 900)
		}
		found := func() (short, fast []string) {
			for _, f := range v.flags(t, "") {
				rule, id, _ := strings.Cut(f, " ")
				switch rule {
				case "duration_short":
					short = append(short, id)
				case "collector_fast":
					fast = append(fast, id)
				}
			}
			return short, fast
		}
		if short, fast := found(); len(short)+len(fast) != 0 {
			t.Errorf("before the run: %v %v", short, fast)
		}
		v.work(t)
		v.run(t)
		short, fast := found()
		if !slices.Equal(short, []string{"r00"}) || len(fast) != 12 || fast[0] != "r01" || fast[11] != "r12" {
			t.Errorf("short %v, fast %v; want r00, and r01 to r12", short, fast)
		}
		if got := v.report(t).Flags["collector_fast"]; got != 12 {
			t.Errorf("the report has %d of them, want 12", got)
		}
		for i := 40; i < 60; i++ {
			send(i, "eve", 900)
		}
		v.run(t)
		_, fast = found()
		if len(fast) == 0 || fast[0] < "r40" || slices.Contains(fast, "r59") {
			t.Errorf("after the others: %v, want those that were flagged when they came", fast)
		}
	})
}
