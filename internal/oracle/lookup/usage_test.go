package lookup_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/oracle/lookup"
)

// fleetOf is where fleet_usage reads pages of days.
func fleetOf(pages ...[]lookup.StoveDay) lookup.Source {
	return lookup.Source{
		AsUser: func(ctx context.Context, _ string) (context.Context, error) { return ctx, nil },
		Usage: func(_ context.Context, l lookup.UsageList) ([]lookup.StoveDay, string, error) {
			n := 0
			if l.After != "" {
				if _, err := fmt.Sscan(l.After, &n); err != nil {
					return nil, "", err
				}
			}
			if n+1 < len(pages) {
				return pages[n], fmt.Sprint(n + 1), nil
			}
			return pages[n], "", nil
		},
	}
}

func TestFleetUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		pages [][]lookup.StoveDay
		want  string
	}{
		{"nothing", [][]lookup.StoveDay{nil}, `{"stoves":0,"used":0,"events":0,"cookingHours":0,"days":[],`},
		{
			"a stove that was moved, and a day in two pages",
			[][]lookup.StoveDay{
				{{Day: "2024-02-10", Stove: "a", Events: 1, Minutes: 60}, {Day: "2024-02-10", Stove: "a", Events: 1, Minutes: 30}},
				{},
				{{Day: "2024-02-10", Stove: "b"}, {Day: "2024-02-11", Stove: "b", Events: 2, Minutes: 15}},
			},
			`{"stoves":2,"used":2,"events":4,"cookingHours":1.8,"days":[{"day":"2024-02-10","stoves":2,"used":1,"events":2,"cookingHours":1.5},` +
				`{"day":"2024-02-11","stoves":1,"used":1,"events":2,"cookingHours":0.3}],`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, err := call(t, fleetOf(tt.pages...), "fleet_usage", `{"project":"did:ixo:project/1"}`)
			if err != nil || !strings.HasPrefix(out, tt.want) {
				t.Errorf("answered %s, %v, want %s", out, err, tt.want)
			}
		})
	}
}

// TestUsageOfTheOnlyProject needs no name where one project is all there is, and says
// which there are otherwise.
func TestUsageOfTheOnlyProject(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		projects int
		want     string
	}{
		{1, `in the project \"P0\" (did:ixo:project/0), the only one`},
		{0, "Name a project that is there"},
		{2, `Say which project is meant: "P0" (did:ixo:project/0), "P1" (did:ixo:project/1).`},
		{9, `"P4" (did:ixo:project/4), ….`},
	} {
		s := fleetOf([]lookup.StoveDay(nil))
		s.List = func(context.Context, lookup.TwinList) ([]lookup.Twin, string, error) {
			var out []lookup.Twin
			for n := range tt.projects {
				out = append(out, lookup.Twin{DID: fmt.Sprintf("did:ixo:project/%d", n), Body: fmt.Appendf(nil, `{"properties":{"name":"P%d"}}`, n)})
			}
			return out, "", nil
		}
		out, err := call(t, s, "fleet_usage", `{}`)
		if err != nil {
			out = err.Error()
		}
		if !strings.Contains(out, tt.want) {
			t.Errorf("of %d projects: %s, want %s", tt.projects, out, tt.want)
		}
	}
}
