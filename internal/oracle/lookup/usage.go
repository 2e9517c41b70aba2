package lookup

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// UsageList asks for a page of the days of the stoves of a project.
type UsageList struct {
	Project  string // DID
	From, To string // days; "": the last 30
	After    string // where a page before ended
	Limit    int
}

// StoveDay is one day of one stove.
type StoveDay struct {
	Day, Stove string // Stove is the monitor where it has none
	Events     int64
	Minutes    float64
}

// Fleet is the use of a project's stoves.
type Fleet struct {
	Stoves       int        `json:"stoves"` // that reported
	Used         int        `json:"used"`   // that were cooked on
	Events       int64      `json:"events"`
	CookingHours float64    `json:"cookingHours"`
	MoreThan     bool       `json:"moreThan,omitzero"` // there is more than was looked at
	Days         []FleetDay `json:"days"`
	How          string     `json:"how"`
}

// FleetDay is one day of a Fleet.
type FleetDay struct {
	Day          string  `json:"day"`
	Stoves       int     `json:"stoves"`
	Used         int     `json:"used"`
	Events       int64   `json:"events"`
	CookingHours float64 `json:"cookingHours"`
}

// fleetUsage adds up the days of a project.
func fleetUsage(ctx context.Context, s Source, args jsontext.Value) (any, error) {
	var in struct {
		Project string `json:"project"`
		In      string `json:"in"`
		From    string `json:"from"`
		To      string `json:"to"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	want := sought{projects: []string{in.Project}, how: []string{"in the project " + in.Project}}
	if in.Project == "" {
		want = sought{}
		find := func() error { return s.place(ctx, TwinQuery{In: in.In}, &want) }
		if in.In == "" {
			find = func() error { return s.onlyProject(ctx, &want) }
		}
		if err := find(); err != nil {
			return nil, err
		}
	}
	switch {
	case len(want.projects) == 0:
		return nil, tool.BadArgument("in", "Name a project that is there; \"list projects\" shows them.")
	case len(want.projects) > 1:
		return nil, tool.BadArgument("in", "Several projects have this name. Give the DID of one as project: "+want.said()+".")
	}
	list := UsageList{Project: want.projects[0], From: in.From, To: in.To, Limit: 500}
	f, err := s.fleet(ctx, list)
	f.How = want.said() + ", from the figures of each day and stove"
	return f, err
}

// onlyProject finds the project that is meant where none is named: the one there
// is. Of several the fault names some.
func (s Source) onlyProject(ctx context.Context, want *sought) error {
	const named = 5
	var names []string
	_, err := s.walk(ctx, sought{list: TwinList{Protocol: "did:ixo:protocol/project"}}, func(t Twin, g glance) (bool, error) {
		want.projects, names = append(want.projects, t.DID), append(names, fmt.Sprintf("%q (%s)", nameOf(g), t.DID))
		return len(names) <= named, nil
	})
	switch {
	case err != nil || len(names) == 0:
		return err
	case len(names) > named:
		names[named] = "…"
	}
	if len(names) > 1 {
		return tool.BadArgument("in", "Say which project is meant: "+strings.Join(names, ", ")+".")
	}
	want.how = append(want.how, "in the project "+names[0]+", the only one")
	return nil
}

// fleet adds up the days of a list, the first MaxCounted of them.
func (s Source) fleet(ctx context.Context, list UsageList) (Fleet, error) {
	out := Fleet{Days: []FleetDay{}}
	seen, used := map[string]bool{}, map[string]bool{}
	var today, cooked map[string]bool
	for looked := 0; ; {
		page, next, err := s.Usage(ctx, list)
		if err != nil {
			return out, err
		}
		for _, d := range page {
			if n := len(out.Days); n == 0 || out.Days[n-1].Day != d.Day {
				out.Days = append(out.Days, FleetDay{Day: d.Day})
				today, cooked = map[string]bool{}, map[string]bool{}
			}
			on := &out.Days[len(out.Days)-1]
			seen[d.Stove], today[d.Stove] = true, true
			if d.Minutes > 0 {
				used[d.Stove], cooked[d.Stove] = true, true
			}
			on.Stoves, on.Used = len(today), len(cooked)
			on.Events += d.Events
			on.CookingHours += d.Minutes / 60
			out.Events += d.Events
			out.CookingHours += d.Minutes / 60
		}
		looked += max(len(page), 1)
		if list.After = next; next == "" || looked >= MaxCounted {
			out.MoreThan = next != ""
			break
		}
	}
	out.Stoves, out.Used = len(seen), len(used)
	out.CookingHours = math.Round(out.CookingHours*10) / 10
	for i := range out.Days {
		out.Days[i].CookingHours = math.Round(out.Days[i].CookingHours*10) / 10
	}
	return out, nil
}
