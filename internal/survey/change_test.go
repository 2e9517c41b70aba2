package survey_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/survey"
)

func TestChanged(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	window := func(from, to time.Time) survey.Draft {
		var d survey.Draft
		d.Window = &survey.Window{Start: from, End: to}
		return d
	}
	named := func(name string) survey.Draft {
		var d survey.Draft
		d.Name, d.Type = name, name
		return d
	}
	for _, tt := range []struct {
		name     string
		old, new survey.Draft
		want     string
	}{
		{"nothing", named("a"), named("a"), ""},
		{"two members", named("a"), named("b"), "name type"},
		{"a member that is new", survey.Draft{}, named("b"), "name type"},
		{"the end of a window", window(day(1), day(2)), window(day(1), day(3)), "window"},
		{"its start", window(day(1), day(2)), window(day(2), day(2)), "window/start"},
		{"a first window without a start", survey.Draft{}, window(time.Time{}, day(2)), "window"},
		{"no window any more", window(day(1), day(2)), survey.Draft{}, "window/start"},
	} {
		got, err := survey.Changed(tt.old, tt.new)
		if err != nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%s: Changed() = %v, %v, want %s", tt.name, got, err, tt.want)
		}
		if same := survey.SameWindow(tt.old.Window, tt.new.Window); same == strings.Contains(tt.want, "window") {
			t.Errorf("%s: Same() = %v", tt.name, same)
		}
	}
}
