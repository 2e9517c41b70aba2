package response_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// TestOutsideTheSurvey: an interview dated before there was a survey is taken and
// flagged, unless it is imported or the window of the survey says more.
func TestOutsideTheSurvey(t *testing.T) {
	t.Parallel()
	none := strings.Replace(homeSurvey, `"window":{"start":"2024-01-01T00:00:00Z"},`, "", 1)
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, none)
		now := time.Now().UTC()
		for i, tt := range []struct {
			name, mode string
			at, began  time.Duration // before now
			want       string
		}{
			{"today", "visit", 0, time.Hour, ""},
			{"a month before", "visit", 30 * 24 * time.Hour, 0, ""},
			{"long before", "phone", 40 * 24 * time.Hour, 0, "outside_window"},
			{"begun long before", "phone", time.Minute, 40 * 24 * time.Hour, "outside_window"},
			{"imported from long before", "import", 400 * 24 * time.Hour, 0, ""},
		} {
			one := draft(strings.ReplaceAll(tt.name, " ", "."), i)
			one.Timestamp, one.Mode, one.DurationSec = now.Add(-tt.at), tt.mode, 900
			if tt.began > 0 {
				one.StartedAt = now.Add(-tt.began)
			}
			got := v.submit(t, "owner", one)
			has := ""
			for _, f := range got.Flags {
				if f.Rule == "outside_window" {
					has = f.Rule
				}
			}
			if has != tt.want {
				t.Errorf("%s: flags %q, want %q", tt.name, rules(got), tt.want)
			}
		}
	})
}
