package openrosatest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Answers makes random answers to a template. Some are missing, some say why there is
// no answer, some are invalid; without wild every answer is one that its type and
// bounds allow.
func Answers(r *rand.Rand, t *form.Template, wild bool) jsontext.Value {
	m := &maker{r: r, t: t, wild: wild}
	out := map[string]any{}
	for i := range t.Sections {
		out[t.Sections[i].ID] = m.questions(t.Sections[i].Questions)
	}
	text, err := json.Marshal(out, json.Deterministic(true))
	if err != nil {
		panic(err) // what is made here always has JSON
	}
	return text
}

type maker struct {
	r    *rand.Rand
	t    *form.Template
	wild bool
}

func (m *maker) chance(percent int) bool { return m.r.IntN(100) < percent }

func (m *maker) questions(qs []form.Question) map[string]any {
	out := map[string]any{}
	for i := range qs {
		if v := m.question(&qs[i]); v != nil {
			out[qs[i].ID] = v
		}
	}
	return out
}

func (m *maker) question(q *form.Question) any {
	k := form.KindOf(q.Type)
	switch {
	case k.Shown || k.Calculated:
		return nil
	case k.Repeated:
		return m.repeat(q)
	case k.Nested:
		return m.questions(q.Questions)
	case !k.Consent && m.chance(15) || k.Consent && m.chance(5):
		return nil
	case q.DontKnow && m.chance(7):
		return map[string]any{"noAnswer": "dont_know"}
	case q.Refuse && m.chance(7):
		return map[string]any{"noAnswer": "refused"}
	case k.Consent:
		return m.chance(85)
	case !m.wild && q.Validation.Regex != "":
		return "07123"
	case !m.wild && (q.ChoiceFilter != "" || q.Constraint != "") && m.chance(70):
		return nil // most would not be taken
	}
	return m.answer(q)
}

func (m *maker) repeat(q *form.Question) any {
	most := q.MaxRepeats
	if most == 0 {
		most = q.MinRepeats + 2
	}
	n := q.MinRepeats + m.r.IntN(min(most-q.MinRepeats, 3)+1)
	var all []any
	for range n {
		all = append(all, m.questions(q.Questions))
	}
	if n == 0 {
		return nil
	}
	return all
}

// samples holds answers of types that have no bounds.
var samples = map[form.Type][]any{
	form.Date: {"2026-02-01", "2020-12-31", "2031-01-05"}, form.Time: {"08:30:00", "23:05:00"}, form.DateTime: {"2026-02-01T10:00:00.000+00:00"},
	form.Geo: {map[string]any{"lat": -1.25, "lon": 36.75, "accuracy": 5.0}}, form.Barcode: {"A-1", "B-2"}, form.HouseholdRef: {"did:ixo:household/1"}, form.EntityRef: {"did:ixo:entity/1"},
	form.FreeText: {"abc", "x", "Mama Asha's", "07123", "<a> & \"b\""}, form.Boolean: {true, false},
}

func (m *maker) answer(q *form.Question) any {
	k := form.KindOf(q.Type)
	switch {
	case k.Media:
		return "sha256:" + fmt.Sprintf("%064x", m.r.IntN(9)+1)
	case k.Rows:
		out := map[string]any{}
		for _, row := range q.Rows {
			if m.chance(80) {
				out[row.Value] = q.Options[m.r.IntN(len(q.Options))].Value
			}
		}
		return out
	case k.Options:
		return m.choice(q, k)
	case k.Units:
		unit := q.Unit
		if len(q.Units) > 0 {
			unit = q.Units[m.r.IntN(len(q.Units))]
		}
		return map[string]any{"value": m.number(q), "unit": unit}
	case k.Bounds:
		return m.number(q)
	}
	all := samples[q.Type]
	return all[m.r.IntN(len(all))]
}

func (m *maker) options(q *form.Question) []string {
	var all []string
	for _, o := range q.Options {
		all = append(all, o.Value)
	}
	if o := q.OptionsFrom; o != nil {
		for i := range m.t.Files {
			f := &m.t.Files[i]
			value, _ := o.Columns()
			if at := slices.Index(f.Columns, value); f.Name == o.File && at >= 0 {
				for _, row := range f.Cells() {
					all = append(all, row[at])
				}
			}
		}
	}
	return all
}

func (m *maker) choice(q *form.Question, k *form.Kind) any {
	all := m.options(q)
	m.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	words := map[string]any{"other": "something else"}
	switch {
	case k.Ordered:
		return all
	case !k.Several && q.Other && m.chance(10):
		return words
	case !k.Several:
		return all[0]
	}
	n := 1 + m.r.IntN(min(3, len(all)))
	if !m.wild {
		n = max(n, q.Validation.MinSelections)
		if most := q.Validation.MaxSelections; most > 0 {
			n = min(n, most)
		}
	}
	picked := all[:n]
	for _, o := range q.Options {
		if o.Exclusive && slices.Contains(picked, o.Value) && !m.wild {
			picked = []string{o.Value}
		}
	}
	return picked
}

func (m *maker) number(q *form.Question) any {
	low, high := 0.0, 20.0
	if v := q.Validation.Min; v != nil {
		low, high = *v, *v+20
	}
	if v := q.Validation.Max; v != nil {
		high = *v
	}
	if q.Type == form.Rating && q.Validation.Max == nil {
		low, high = 1, 5
	}
	if m.wild && q.Type != form.Rating && q.Validation.Step == nil && m.chance(25) {
		return high + 1 + float64(m.r.IntN(3))
	}
	step := 1.0
	if v := q.Validation.Step; v != nil {
		step = *v
	}
	n := int((high - low) / step)
	return low + step*float64(m.r.IntN(min(n, 1000)+1))
}
