package xlsform

import (
	"fmt"
	"strconv"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// counterType marks the row that asks how often a group is repeated.
const counterType = "repeat_count"

// howMany is what that row asks, by language.
var howMany = map[string]string{"": "How many?", "en": "How many?", "sw": "Ngapi?", "fr": "Combien ?", "pt": "Quantos?", "es": "¿Cuántos?"}

// counter writes a question for the number of repetitions in front of a repeat
// that has bounds, and gives its name in expressions: XLSForm has a number of
// repetitions, but no least and most.
func (e *exporter) counter(q *form.Question) string {
	if q.MinRepeats == 0 && q.MaxRepeats == 0 || e.repeatCount(q) != "" {
		return ""
	}
	name := q.ID + "_count"
	for e.counted[name] || e.names.Find(name) != nil {
		name += "_"
	}
	e.counted[name] = true
	c := cells{"type": "integer", "name": name, "required": "yes", "constraint": repeatBounds(q.MinRepeats, q.MaxRepeats), "hearth_type": counterType}
	c.put("relevant", cellWriter{names: e.names, used: e.used}.condition("relevant", q.Relevant, e.names.Question(q)))
	label := form.Text{}
	for tag, s := range q.Label {
		word, ok := howMany[tag]
		if !ok {
			word = howMany[""]
		}
		label[tag] = s + " " + word
	}
	if len(label) == 0 {
		label = form.Plain(q.ID + ": " + howMany[""])
	}
	c.text("label", label)
	e.add(c)
	return "${" + name + "}"
}

// repeatBounds is the constraint of that question.
func repeatBounds(least, most int) string {
	if most == 0 {
		most = form.MaxRepeats
	}
	return fmt.Sprintf(". >= %d and . <= %d", least, most)
}

// counts reports whether a row is the one we wrote in front of a repeat, unchanged.
func (e *entry) counts(repeat *entry) bool {
	if e.ours("hearth_type") != counterType || e.word != "integer" || repeat.word != "begin_repeat" {
		return false
	}
	least, most := 0, 0
	for header, to := range map[string]*int{"hearth_minRepeats": &least, "hearth_maxRepeats": &most} {
		if text := repeat.ours(header); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				return false
			}
			*to = n
		}
	}
	return repeat.get("repeat_count") == "${"+e.name+"}" && e.get("constraint") == repeatBounds(least, most) && e.get("relevant") == repeat.get("relevant")
}

// fixedCount takes a number of repetitions that is a number.
func (e *entry) fixedCount(q *form.Question) {
	text := e.get("repeat_count")
	switch n, err := strconv.Atoi(text); {
	case !form.KindOf(q.Type).Repeated:
		e.ignored("repeat_count")
	case e.counted:
	case err == nil && n > 0:
		q.MinRepeats, q.MaxRepeats = n, n
	case err == nil:
		e.ignored("repeat_count")
	case text == "" && q.MinRepeats > 0 && q.MinRepeats == q.MaxRepeats:
		e.item("repeat_count", Warning, "changed", "The number of repetitions was taken away.")
		q.MinRepeats, q.MaxRepeats = 0, 0
	}
}

// repeatCount takes a repeat count that is an expression: it becomes a
// constraint, unless it is the one we would write for the value we kept.
func (tr *translator) repeatCount(e *entry, q *form.Question, want, pointer string) {
	text, at := e.get("repeat_count"), tr.names.Question(q)
	if !form.KindOf(q.Type).Repeated || e.counted || text == want {
		return
	}
	if kept := tr.names.Count(q.Constraint, at); kept != "" {
		e.item("repeat_count", Warning, "changed", "The number of repetitions was changed; the column hearth_constraint is left out.")
		if _, some, err := tr.names.CountToCEL(kept, at); err == nil && q.Required.When == some {
			q.Required = form.Required{}
		}
		q.Constraint = ""
	}
	if _, err := strconv.Atoi(text); text == "" || err == nil {
		return
	}
	if q.MinRepeats > 0 || q.MaxRepeats > 0 {
		e.item("repeat_count", Warning, "changed", "The number of repetitions was changed; the columns hearth_minRepeats and hearth_maxRepeats are left out.")
		q.MinRepeats, q.MaxRepeats = 0, 0
	}
	some := ""
	count := e.attempt("repeat_count", func(text string) (out string, _ []string, err error) {
		out, some, err = tr.names.CountToCEL(text, at)
		return out, nil, err
	})
	if count == "" {
		return
	}
	before := q.Constraint
	if q.Constraint = count; before != "" {
		q.Constraint = "(" + before + ") && " + count
	}
	tr.derived = append(tr.derived, derived{at: e, base: "repeat_count", drop: func() { q.Constraint = before }, given: pointer + "/constraint"})
	if q.Required.IsZero() {
		q.Required.When = some
		tr.derive(e, "repeat_count", &q.Required.When, place{at, pointer + "/required"})
	}
}
