package tool_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// fleetOf is the tool fleet_usage over pages of days.
func fleetOf(pages ...[]tool.StoveDay) tool.Tool {
	s := tool.Source{
		AsUser: func(ctx context.Context, _ string) (context.Context, error) { return ctx, nil },
		Usage: func(_ context.Context, l tool.UsageList) ([]tool.StoveDay, string, error) {
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
	for _, t := range tool.Lookups(s) {
		if t.Spec().Name == "fleet_usage" {
			return t
		}
	}
	return nil
}

func TestFleetUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		pages [][]tool.StoveDay
		want  string
	}{
		{"nothing", [][]tool.StoveDay{nil}, `{"stoves":0,"used":0,"events":0,"cookingHours":0,"days":[],`},
		{
			"a stove that was moved, and a day in two pages",
			[][]tool.StoveDay{
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
			out, err := fleetOf(tt.pages...).Run(t.Context(), tool.Call{Args: jsontext.Value(`{"project":"did:ixo:project/1"}`)})
			if err != nil || !strings.HasPrefix(string(out.Data), tt.want) {
				t.Errorf("answered %s, %v, want %s", out.Data, err, tt.want)
			}
		})
	}
}
