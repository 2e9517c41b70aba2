package quality

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Visit is an interview for the checks without a store.
type Visit struct {
	NID       int64
	Household string
	Collector string
	At        int64
	Place     *Point
	Answers   map[string]any
}

func (v Visit) interview() *interview {
	return &interview{nid: v.NID, household: v.Household, collector: v.Collector, at: v.At, place: v.Place, public: v.Answers, whole: v.Answers}
}

// Twins finds the interviews that belong to one of another household.
func Twins(f *form.Form, metres float64, visits []Visit) []int64 {
	w := newTwins(Of(f), metres, int64(len(visits)))
	for _, v := range visits {
		w.add(v.interview())
	}
	found := map[int64]bool{}
	for _, v := range visits {
		for _, m := range w.find(v.interview()) {
			found[v.NID] = true
			for _, other := range m.others {
				found[other.nid] = true
			}
		}
	}
	return sortedKeys(found)
}

// Copies finds the interviews that are copies of an earlier one, after it has
// learned from some.
func Copies(f *form.Form, rules Rules, from, visits []Visit) []int64 {
	c := newCopies(Of(f))
	rules = rules.WithDefaults()
	for _, v := range from {
		c.learn(v.interview())
	}
	found := map[int64]bool{}
	for _, v := range visits {
		if other, _ := c.find(v.interview(), &rules); other != nil {
			found[v.NID] = true
		}
	}
	return sortedKeys(found)
}

func sortedKeys(m map[int64]bool) []int64 {
	var out []int64
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// Held counts what twins and copies hold of endless interviews.
func Held(f *form.Form, visits func(yield func(Visit) bool)) (spots, vectors int) {
	w, c, rules := newTwins(Of(f), 5, 1_000), newCopies(Of(f)), Rules{}.WithDefaults()
	for v := range visits {
		w.add(v.interview())
	}
	for v := range visits {
		w.find(v.interview())
		c.find(v.interview(), &rules)
	}
	for _, half := range []map[string][]*vector{c.young, c.old} {
		for _, list := range half {
			for _, v := range list {
				vectors += len(v.answers)
			}
		}
	}
	return w.held, vectors
}

// Bounds of the two.
const (
	MaxSpots = maxSpots
	MaxCells = maxCells
)

// Plain is one spelling of an answer.
var Plain = plainAnswer

// RulesOf gives what the rulebook remembers.
func (b *Rulebook) RulesOf(ctx context.Context, o *survey.Open) (Rules, error) {
	r, err := b.of(ctx, o)
	return r.rules, err
}

// Same compares two answers to a question of a type.
func Same(t form.Type, a, b any) bool { return same(Asked{Type: t}, a, b) }

// Unready makes a draw look as if its maker had died after the first rows.
func Unready(ctx context.Context, d *db.DB) error {
	for _, text := range []string{
		`UPDATE back_check_draws SET ready = 0`, `DELETE FROM back_check_counts`,
		`DELETE FROM back_checks WHERE nid IN (SELECT nid FROM back_checks ORDER BY nid DESC LIMIT 3)`,
	} {
		if _, err := d.Exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// Effects looks for collectors that stand out.
func Effects(f *form.Form, rules Rules, visits []Visit) Findings {
	cols := Of(f)
	nums := newSeries(cols.Numbers)
	for _, v := range visits {
		nums.add(v.interview())
	}
	nums.settle()
	e := newEffects(nums, cols.Choices)
	for _, v := range visits {
		e.add(v.interview())
	}
	rules = rules.WithDefaults()
	found := e.find(&rules)
	return Findings{Effects: found.Effects, Differences: found.Differences, Comparisons: found.Comparisons}
}

// SettleFlag settles a flag.
func (s *Service) SettleFlag(ctx context.Context, surveyID string, d FlagOutcome) (web.Reply[*FlagRecord], error) {
	return settler{s}.settle(ctx, surveyID, d)
}
