package statistics

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// variable is a question, or what the list says of a household.
type variable struct {
	name   string
	id     int64 // of the rows; 0 for what the list says
	column *form.Column
}

// amount reports whether answers are numbers that can be added.
func (v *variable) amount() bool {
	k := v.column.Kind
	return k.CEL == cel.Number || k.CEL == cel.Boolean || k.Units || k.Calculated
}

// coded reports whether answers are one of a few values.
func (v *variable) coded() bool {
	k := v.column.Kind
	return k.Options || k.CEL == cel.Boolean
}

// ask is a query against a survey.
type ask struct {
	o       *survey.Open
	in      Query
	of      variable
	per     *variable
	by      *variable
	options []string // of a proportion
	totals  []api.SurveyTotal
	margins []variable
}

// newAsk finds the questions of a query. The fault is INVALID_PARAMETER.
func newAsk(o *survey.Open, in Query) (*ask, error) {
	a := &ask{o: o, in: in}
	var c fault.Checks
	columns := o.Form.Columns()
	if v := a.find(&c, columns, "query/question", in.Question); v != nil {
		a.of = *v
		a.kind(&c)
	}
	if in.Per != "" {
		if a.per = a.find(&c, columns, "query/per", in.Per); a.per != nil && !a.per.amount() {
			c.Add("query/per", "invalid", "The answers of this question are no numbers.")
		}
	}
	if in.By != "" {
		a.by = a.grouping(&c, columns, "query/by", in.By)
	}
	a.known(&c, columns)
	return a, c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

// find looks a question up by its path.
func (a *ask) find(c *fault.Checks, columns []form.Column, at, name string) *variable {
	path := strings.Split(name, "/")
	i := slices.IndexFunc(columns, func(col form.Column) bool { return slices.Equal(col.Path, path) })
	switch {
	case i < 0:
		c.Add(at, "unknown", "The survey has no such question. Give it as section/question.")
		return nil
	case columns[i].Repeat:
		c.Add(at, "invalid", "The question is asked several times in one interview, which figures about households cannot use.")
		return nil
	case columns[i].PII.Private() || columns[i].Serial:
		c.Add(at, "invalid", "The answers of this question are sealed.")
		return nil
	}
	v := &variable{name: name, id: answer.Question(a.o.NID, path...), column: &columns[i]}
	if !v.amount() && !v.coded() {
		c.Add(at, "invalid", "The answers of this question are neither numbers nor options.")
		return nil
	}
	return v
}

// grouping looks up what households are told apart by.
func (a *ask) grouping(c *fault.Checks, columns []form.Column, at, name string) *variable {
	if name == "group" || name == "stratum" {
		return &variable{name: name}
	}
	v := a.find(c, columns, at, name)
	if v != nil && (!v.coded() || v.column.Kind.Several) {
		c.Add(at, "invalid", "Households are told apart by group, stratum or a question with one of several options as its answer.")
	}
	return v
}

// kind settles what is computed of the question.
func (a *ask) kind(c *fault.Checks) {
	q := &a.in
	if q.Statistic == "" {
		if q.Statistic = mean; a.of.coded() {
			q.Statistic = proportion
		}
	}
	if q.Q == 0 && q.Statistic == quantile {
		q.Q = 0.5
	}
	if q.Statistic != proportion {
		if !a.of.amount() {
			c.Add("query/statistic", "invalid", "The answers of this question are no numbers: ask for a proportion.")
		}
		return
	}
	switch {
	case a.of.coded() && a.of.column.Kind.CEL == cel.Boolean:
		if q.Option == "" {
			q.Option = "true"
		}
		if q.Option != "true" && q.Option != "false" {
			c.Add("query/option", "unknown", "The value must be true or false.")
		}
	case a.of.coded():
		a.listed(c)
		return
	case q.Option == "":
		c.Add("query/option", "required", "The answers are numbers: say of which the proportion is.")
	default:
		if _, err := strconv.ParseFloat(q.Option, 64); err != nil {
			c.Add("query/option", "invalid", "The answers are numbers: the option must be one.")
		}
	}
	a.options = []string{q.Option}
}

// listed are the options of a question.
func (a *ask) listed(c *fault.Checks) {
	for _, o := range a.of.column.Options {
		a.options = append(a.options, o.Value)
	}
	a.options = append(a.options, answer.Other)
	if a.in.Option != "" {
		if !slices.Contains(a.options, a.in.Option) {
			c.Add("query/option", "unknown", "The question has no such option.")
		}
		a.options = []string{a.in.Option}
	}
}

// known finds the totals that weights are fitted to.
func (a *ask) known(c *fault.Checks, columns []form.Column) {
	switch a.in.Adjust {
	case adjustPoststrata:
		a.totals = a.o.Sampling.Totals[:min(1, len(a.o.Sampling.Totals))]
	case adjustRaking:
		a.totals = a.o.Sampling.Totals
	default:
		a.in.Adjust = adjustNone
		return
	}
	if len(a.totals) == 0 {
		c.Add("query/adjust", "invalid", "The sampling of the survey has no totals to fit the weights to.")
	}
	for _, t := range a.totals {
		v := a.grouping(c, columns, "query/adjust", t.By)
		if v == nil {
			return
		}
		a.margins = append(a.margins, *v)
	}
}

// asked are the questions whose answers are read.
func (a *ask) asked() []variable {
	out := []variable{a.of}
	for _, v := range []*variable{a.per, a.by} {
		if v != nil && v.id != 0 {
			out = append(out, *v)
		}
	}
	for _, v := range a.margins {
		if v.id != 0 {
			out = append(out, v)
		}
	}
	return out
}
