package app

import (
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// TestClockCheck: a clock is named over a second, refused over ten, unless most
// servers are off alike.
func TestClockCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		ahead []time.Duration // the first is asked
		want  string
		fit   bool
	}{
		{"right", []time.Duration{0, time.Minute, time.Minute}, "", true},
		{"a little wrong", []time.Duration{5 * time.Second, 0, 0}, "ahead of the database's by", true},
		{"wrong", []time.Duration{-time.Minute, 0, 0}, "behind the database's by", false},
		{"one of two", []time.Duration{time.Minute, 0}, "ahead", false},
		{"each another way", []time.Duration{time.Minute, -time.Minute, 0}, "ahead", false},
		{"most alike", []time.Duration{time.Minute, time.Minute, 0}, "the clock of the database may be wrong", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := dbtest.Migrated(t)
			var all []*db.DB
			for _, ahead := range tt.ahead {
				d := dbtest.Skewed(t, url, ahead)
				if err := d.Join(t.Context(), db.Node{Name: "n", Version: "v"}); err != nil {
					t.Fatal(err)
				}
				all = append(all, d)
			}
			// One that a busy machine keeps from beating is not live: look again.
			var text string
			var fit bool
			tick := time.NewTicker(50 * time.Millisecond)
			defer tick.Stop()
			for end := time.Now().Add(time.Minute); time.Now().Before(end); <-tick.C {
				text, fit = clockCheck(t.Context(), all[0])
				if live, err := all[0].Live(t.Context()); err != nil {
					t.Fatal(err)
				} else if len(live) == len(all) && fit == tt.fit {
					break
				}
			}
			if !strings.Contains(text, tt.want) || (text == "") != (tt.want == "") || fit != tt.fit {
				t.Errorf("clockCheck = %q, %v; want %q, %v", text, fit, tt.want, tt.fit)
			}
		})
	}
}
