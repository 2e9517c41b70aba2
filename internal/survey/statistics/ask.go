package statistics

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// variable is a question, or a column of the list of households.
type variable struct {
	name   string
	id     int64 // of the rows; 0 for what the list says
	column *form.Column
	repeat string // what of the elements of a repeat is meant
	option string // of the elements that are counted
}

// byMode groups households by how they were asked.
const byMode = "mode"

// What of the elements of a repeat a figure is of.
const (
	repeatCount = "count"
	repeatSum   = "sum"
	repeatMean  = "mean"
)

// amount reports whether answers are numbers that can be added.
func (v *variable) amount() bool {
	k := v.column.Kind
	return v.repeat != "" || k.CEL == cel.Number || k.CEL == cel.Boolean || k.Units || k.Calculated
}

// coded reports whether answers are one of a few values.
func (v *variable) coded() bool {
	k := v.column.Kind
	return v.repeat == "" && (k.Options || k.CEL == cel.Boolean)
}

// codes are the options of a question.
func (v *variable) codes() []string {
	if v.column.Kind.CEL == cel.Boolean {
		return []string{"true", "false"}
	}
	var out []string
	for _, o := range v.column.Options {
		out = append(out, o.Value)
	}
	return append(out, answer.Other)
}

// ask is a query against a survey.
type ask struct {
	o       *survey.Open
	in      Query
	whole   bool // the caller may see what single households say
	of      variable
	per     *variable
	by      *variable
	options []string          // of a proportion
	groups  [][]string        // cells that are joined
	join    map[string]string // a cell and the one it is joined to
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
		a.repeated(&c)
		a.kind(&c)
	}
	if in.Per != "" {
		if a.per = a.once(&c, columns, "query/per", in.Per); a.per != nil && !a.per.amount() {
			c.Add("query/per", "invalid", "The answers to this question are not numbers.")
		}
	}
	switch in.By {
	case "":
	case byMode: // says how households were asked, and nothing that totals are known of
		a.by = &variable{name: byMode}
	default:
		a.by = a.grouping(&c, columns, "query/by", in.By)
	}
	a.known(&c, columns)
	a.together(&c)
	a.checkBound(&c)
	return a, c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

// find looks a question up by its path.
func (a *ask) find(c *fault.Checks, columns []form.Column, at, name string) *variable {
	path := strings.Split(name, "/")
	i := slices.IndexFunc(columns, func(col form.Column) bool { return slices.Equal(col.Path, path) })
	if i < 0 {
		c.Add(at, "unknown", absent(columns, path))
		return nil
	}
	v := &variable{name: name, id: answer.Question(a.o.NID, path...), column: &columns[i]}
	switch k := columns[i].Kind; {
	case columns[i].PII.Private() || columns[i].Serial:
		c.Add(at, "invalid", "The answers to this question are sealed.")
	case k.CEL == cel.Instant || k.Clock:
		c.Add(at, "invalid", "The answers to this question are dates or times, but figures need numbers or options: ask for a calculated question that gives a number, such as the days since.")
	case !v.amount() && !v.coded():
		c.Add(at, "invalid", "The answers to this question are neither numbers nor options.")
	default:
		return v
	}
	return nil
}

// absent says why a path leads to no answers.
func absent(columns []form.Column, path []string) string {
	for _, col := range columns {
		if len(path) < len(col.Path) && slices.Equal(col.Path[:len(path)], path) {
			return "This is a section, a group, a repeat or a matrix, which has no answers itself. Give a question in it, such as " + strings.Join(col.Path, "/") + "."
		}
	}
	return "The survey has no such question. Give it as section/question."
}

// once looks up a question that is asked once in an interview.
func (a *ask) once(c *fault.Checks, columns []form.Column, at, name string) *variable {
	v := a.find(c, columns, at, name)
	if v != nil && v.column.Repeat {
		c.Add(at, "invalid", "The question is asked several times in one interview: only the parameter question accepts a question in a repeat.")
		return nil
	}
	return v
}

// repeated settles what of the elements of a repeat is meant.
func (a *ask) repeated(c *fault.Checks) {
	q, numbers := &a.in, a.of.amount()
	check.OneOf(c, "query/repeat", q.Repeat, repeatCount, repeatSum, repeatMean)
	switch {
	case !a.of.column.Repeat && q.Repeat != "":
		c.Add("query/repeat", "invalid", "The question is asked once in an interview.")
	case a.of.column.Repeat && q.Repeat == "":
		c.Add("query/repeat", "required", "The question is asked several times in one interview. Choose how to combine the answers of a household: count, or sum or mean of numbers.")
	case a.of.column.Repeat && q.Repeat != repeatCount && !numbers:
		c.Add("query/repeat", "invalid", "The answers to this question are not numbers: ask for count, with option for those of one option.")
	case a.of.column.Repeat && q.Option != "" && (q.Repeat != repeatCount || !a.of.coded()):
		c.Add("query/option", "invalid", "In a repeat an option says which elements are counted: repeat=count of a question with options.")
	case a.of.column.Repeat && q.Option != "" && !slices.Contains(a.of.codes(), q.Option):
		c.Add("query/option", "unknown", "The question has no such option. It has "+strings.Join(a.of.codes(), ", ")+".")
	case a.of.column.Repeat && q.Statistic == proportion:
		c.Add("query/statistic", "invalid", "A repeat has only means, totals, ratios and quantiles over households.")
	}
	if a.of.repeat = q.Repeat; q.Repeat != "" {
		a.of.option = q.Option
	}
}

// grouping looks up what households are grouped by.
func (a *ask) grouping(c *fault.Checks, columns []form.Column, at, name string) *variable {
	if name == "group" || name == "stratum" {
		return &variable{name: name}
	}
	v := a.once(c, columns, at, name)
	if v != nil && (!v.coded() || v.column.Kind.Several) {
		c.Add(at, "invalid", "Households can be divided by group, stratum, mode or a question with one of several options as its answer.")
	}
	return v
}

// kind decides what is computed for the question.
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
	if q.Statistic != proportion || a.of.repeat != "" {
		if !a.of.amount() {
			c.Add("query/statistic", "invalid", "The answers to this question are not numbers: ask for a proportion.")
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
		a.options = a.of.codes()
		if q.Option == "" {
			return
		}
		if !slices.Contains(a.options, q.Option) {
			c.Add("query/option", "unknown", "The question has no such option. It has "+strings.Join(a.options, ", ")+".")
		}
	case q.Option == "":
		c.Add("query/option", "required", "The answers are numbers: name the number whose proportion you want in option.")
	default:
		if v, err := strconv.ParseFloat(q.Option, 64); err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			c.Add("query/option", "invalid", "The answers are numbers: the option must be a number.")
		}
	}
	a.options = []string{q.Option}
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
