package extend_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/oracle/extend"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/plugin"
)

// clock is a plugin with scheduled work.
type clock []plugin.Work

var _ plugin.Schedules = clock(nil)

func (c clock) Manifest() plugin.Manifest { return about("clock") }
func (c clock) Schedules() []plugin.Work  { return c }

func TestSchedules(t *testing.T) {
	t.Parallel()
	var user string
	works := clock{
		{Name: "look", Every: time.Hour, Run: func(ctx context.Context) error {
			user = tool.From(ctx).User
			return nil
		}},
		{Name: "break", Every: time.Minute, Run: func(context.Context) error { panic("broken") }},
	}
	s, err := extend.New(extend.Config{Plugins: []plugin.Plugin{bare("other"), works}})
	if err != nil {
		t.Fatal(err)
	}
	got := s.Works()
	if len(got) != 2 || got[0].Plugin != "clock" || got[0].Name != "look" || got[0].Every != time.Hour {
		t.Fatalf("Works() = %+v", got)
	}
	ctx := tool.With(t.Context(), tool.Context{User: "did:key:zAmina"})
	if err := got[0].Run(ctx); err != nil || user != "" {
		t.Errorf("work ran for %q, %v; want it to run for nobody", user, err)
	}
	if err := got[1].Run(ctx); err == nil || !strings.Contains(err.Error(), "it panicked in break") {
		t.Errorf("a panic gave %v", err)
	}
}

func TestSchedulesRefused(t *testing.T) {
	t.Parallel()
	run := func(context.Context) error { return nil }
	_, err := extend.New(extend.Config{Plugins: []plugin.Plugin{clock{
		{Name: "Fetch", Every: time.Hour, Run: run},
		{Name: "fast", Every: time.Second, Run: run},
		{Name: "empty", Every: time.Hour},
		{Name: "two", Every: time.Hour, Run: run},
		{Name: "two", Every: time.Hour, Run: run},
	}}})
	for _, want := range []string{
		`plugin clock: work "Fetch": the name must be lower-case`, "work fast: want at least 1m0s", "work empty: there is no Run", "work two: there are two",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New() = %v, want %q in it", err, want)
		}
	}
}
