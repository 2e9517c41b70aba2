package interview

import (
	"slices"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// walker lists the questions of a form that are asked, given the answers.
type walker struct {
	lang   string
	reach  form.Reach
	passed []string
	agrees bool // the question for consent must be answered before the next one
	steps  []Step
	notes  []string // that stand before the next question
	title  string   // of the section that begins
}

// stepsOf are the questions that a caller is asked, those for consent first.
func stepsOf(f *form.Form, r *form.Result, lang string, reach form.Reach, passed []string) []Step {
	w := &walker{lang: lang, reach: reach, passed: passed, agrees: !f.Template().Validations.ConsentOptional}
	all := f.Template().Sections
	for _, v := range f.View(lang, r) {
		i := slices.IndexFunc(all, func(s form.Section) bool { return s.ID == v.ID })
		if !v.Relevant || i < 0 {
			continue
		}
		w.title = v.Title
		if v.Hint != "" {
			w.notes = append(w.notes, v.Hint)
		}
		w.questions(v.Questions, v.Questions, all[i].Questions, "/"+v.ID)
	}
	order.Stable(w.steps, func(a, b Step) int { return rank(&a) - rank(&b) })
	return w.steps
}

func rank(s *Step) int {
	if s.q != nil && form.KindOf(s.q.Type).Consent {
		return 0
	}
	return 1
}

// questions adds the steps of questions that stand at a pointer. whole are the same
// questions with all their options, which an element of a repeat leaves out.
func (w *walker) questions(views, whole []form.QuestionView, all []form.Question, at string) {
	for i := range views {
		v := &views[i]
		q := find(all, v.ID)
		if q == nil || !v.Relevant {
			continue
		}
		if full := slices.IndexFunc(whole, func(o form.QuestionView) bool { return o.ID == v.ID }); full >= 0 {
			if v.Options == nil && q.ChoiceFilter == "" {
				v.Options = whole[full].Options
			}
			if v.Rows == nil {
				v.Rows = whole[full].Rows
			}
		}
		w.question(v, q, at+"/"+v.ID)
	}
}

func find(all []form.Question, id string) *form.Question {
	if i := slices.IndexFunc(all, func(q form.Question) bool { return q.ID == id }); i >= 0 {
		return &all[i]
	}
	return nil
}

func (w *walker) question(v *form.QuestionView, q *form.Question, at string) {
	k := form.KindOf(q.Type)
	switch {
	case k.Shown:
		w.notes = append(w.notes, v.Label)
	case v.ReadOnly || k.Calculated:
	case k.Repeated:
		w.repeat(v, q, at)
	case k.Nested:
		if len(q.Label) > 0 {
			w.notes = append(w.notes, v.Label)
		}
		w.questions(v.Questions, v.Questions, q.Questions, at)
	case !w.reach.Takes(q):
	case k.Rows:
		w.matrix(v, q, at)
	default:
		s := w.begin(v, q, at)
		s.done = !v.Answer.IsZero() || slices.Contains(w.passed, at)
		s.Now = v.Answer.Value.String()
		if v.Answer.IsZero() {
			s.Now = ""
		}
		w.fill(s, v.Options)
	}
}

// begin adds a step with what stands before it.
func (w *walker) begin(v *form.QuestionView, q *form.Question, at string) *Step {
	w.steps = append(w.steps, Step{lang: w.lang, At: at, Section: w.title, Text: v.Label, Hint: v.Hint, Required: v.Required, q: q, notes: w.notes})
	w.notes, w.title = nil, ""
	return &w.steps[len(w.steps)-1]
}

// fill says how a question is answered.
func (w *walker) fill(s *Step, options []api.PreviewOption) {
	k, lang := form.KindOf(s.q.Type), w.lang
	s.Required = s.Required || k.Consent && w.agrees
	for _, o := range options {
		s.Options = append(s.Options, Option{o.Value, o.Label})
	}
	hint := ""
	switch {
	case k.Options && k.Ordered:
		s.how, hint = inOrder, wOrder.in(lang)
	case k.Options && k.Several:
		s.how, s.Several, hint = bySeveral, true, wSeveral.in(lang)
	case k.Options:
		s.how = byOne
	case k.CEL == cel.Boolean:
		s.how, s.Options = byYes, []Option{{"true", wYes.in(lang)}, {"false", wNo.in(lang)}}
	case k.Units && len(s.q.Units) > 1:
		for i, u := range s.q.Units {
			s.notes = append(s.notes, strconv.Itoa(i+1)+" = "+u)
		}
		hint = wUnits.in(lang, "1")
	case k.Day:
		hint = wDate.in(lang)
	case k.Clock:
		hint = wTime.in(lang)
	case k.Keyless && !k.Household && !k.Serial:
		hint = wMoment.in(lang)
	case k.Bounds:
		hint = bounds(s.q, lang)
		if s.q.Unit != "" {
			hint = join(s.q.Unit+".", hint)
		}
	}
	s.Hint = join(s.Hint, hint)
	if s.q.Other {
		s.Options = append(s.Options, Option{otherValue, wOther.in(lang)})
	}
	for value, on := range map[string]bool{dontKnow: s.q.DontKnow, refusedValue: s.q.Refuse} {
		if on {
			s.refuses = append(s.refuses, value)
		}
	}
	slices.Sort(s.refuses)
	for _, value := range s.refuses {
		if s.how != byText {
			s.Options = append(s.Options, Option{value, noAnswer(value).in(lang)})
		}
	}
}

func noAnswer(value string) word {
	if value == dontKnow {
		return wDontKnow
	}
	return wRefused
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}

// matrix asks each row of a matrix.
func (w *walker) matrix(v *form.QuestionView, q *form.Question, at string) {
	given := map[string]jsontext.Value{}
	if !v.Answer.IsZero() && json.Unmarshal(v.Answer.Value, &given) != nil {
		given = nil
	}
	label := v.Label
	for _, row := range v.Rows {
		one := *v
		one.Label = label + " - " + row.Label
		s := w.begin(&one, q, at+"/"+check.Escape(row.Value))
		s.row, s.how = row.Value, byOne
		_, answered := given[row.Value]
		s.done = answered || slices.Contains(w.passed, s.At)
		if answered {
			s.Now = given[row.Value].String()
		}
		for _, o := range v.Options {
			s.Options = append(s.Options, Option{o.Value, o.Label})
		}
	}
}

// moreAt ends the pointer of the question whether a repeat continues.
const moreAt = "/-"

// repeat asks the elements of a repeat one after the other, and whether there is
// another one.
func (w *walker) repeat(v *form.QuestionView, q *form.Question, at string) {
	for i, element := range v.Elements {
		w.notes = append(w.notes, v.Label+" "+strconv.Itoa(i+1))
		w.questions(element, v.Questions, q.Questions, at+"/"+strconv.Itoa(i))
	}
	most := q.MaxRepeats
	if most == 0 {
		most = form.MaxRepeats
	}
	if len(v.Elements) >= most {
		return
	}
	s := w.begin(v, q, at+moreAt)
	s.how, s.Options = byMore, []Option{{"true", wYes.in(w.lang)}, {"false", wNo.in(w.lang)}}
	s.Text, s.Required = join(s.Text+":", wMore.in(w.lang)), true
	s.done = slices.Contains(w.passed, s.At)
	if len(v.Elements) < q.MinRepeats {
		s.Options = s.Options[:1]
	}
}
