// Package crossref compares what households say in a survey with what was
// measured in them: the days of sensors, and kitchen tests. It runs as a job. Its
// result says how far the two agree, by how much answers overstate, what the
// survey says once that is corrected, and how much of the cooking continues when
// nobody watches; each with what it was computed from.
//
// A response whose answer does not match the measurements gets the flag
// sensor_mismatch, for the reviewer. A run replaces earlier runs of its round and
// question, with their flags, and touches no other flag.
//
// The store of days decides which household a reading belongs to, by the times of
// relationships. This package knows no devices: the maker of the Service supplies
// the days and the tests.
package crossref

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Nouns of package api, by their names here.
type (
	Draft  = api.CrossReferenceDraft
	Result = api.CrossReference
	Shown  = api.CrossPair
)

// What answers are held against.
const (
	use    = "use"
	events = "events"
	hours  = "hours"
	fuel   = "fuel"
)

// Limits.
const (
	maxDays   = 92
	maxPeriod = 366
	maxTests  = 1000
	maxHomes  = 200_000
)

// Day is what one device measured in one household on a day of UTC.
type Day struct {
	Date              string
	Device, Household string
	Readings, Events  int64
	Completeness      float64 // share of the readings to be expected
	Minutes           float64 // of cooking
}

// Test is a kitchen test.
type Test struct {
	ID, Household string
	Start, End    string // days
	Fuel, Unit    string
	PerDay        float64
	Days          int
}

// Config configures a Service. Idem, Weigh, Tests and Now have defaults.
type Config struct {
	DB        *db.DB
	Surveys   *survey.Service
	Responses *response.Service
	Jobs      *job.Service
	Idem      *once.Store
	Cursors   web.Cursors
	Now       func() time.Time
	// Days passes the days of the devices of a project to visit, by day.
	Days func(ctx context.Context, project, from, to string, visit func(Day) error) error
	// Tests passes the recorded kitchen tests of a project to visit.
	Tests func(ctx context.Context, project string, visit func(Test) error) error
	// Weigh is the function of package statistics.
	Weigh func(ctx context.Context, o *survey.Open, rounds []int, at time.Time) ([]survey.WeighedRound, error)
	// Settings says which checks are off.
	Settings func(ctx context.Context, o *survey.Open) (flag.Settings, error)
}

// Service holds the use cases.
type Service struct {
	cfg Config
	db  *db.DB
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	cfg.Idem = cmp.Or(cfg.Idem, once.Plain(cfg.DB))
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	if cfg.Tests == nil {
		cfg.Tests = func(context.Context, string, func(Test) error) error { return nil }
	}
	s := &Service{cfg: cfg, db: cfg.DB}
	cfg.Jobs.Share(Kind, s.mayRead)
	return s
}

// asked is a draft that fits its survey.
type asked struct {
	Draft
	o      *survey.Open
	column *form.Column
	qid    int64
}

// complete fills in what a draft leaves open, and names all that is wrong with
// it. Faults: ROUND_NOT_FOUND, CROSS_REFERENCE_INVALID.
func complete(o *survey.Open, d Draft) (*asked, error) {
	d.Round = cmp.Or(d.Round, o.Round)
	if d.Round < 1 || d.Round > o.Round {
		return nil, fault.New(fault.NotFound, "ROUND_NOT_FOUND", fmt.Sprintf("The survey has %d rounds.", o.Round))
	}
	a := &asked{Draft: d, o: o}
	var c fault.Checks
	a.find(&c)
	check.OneOf(&c, "/measure", a.Measure, use, events, hours, fuel)
	check.OneOf(&c, "/per", a.Per, "day", "week")
	if a.column != nil {
		a.fit(&c)
	}
	a.Per = cmp.Or(a.Per, "day")
	if a.Measure == fuel {
		a.Fuel = cmp.Or(a.Fuel, "wood")
	} else if a.Fuel != "" {
		c.Add("/fuel", "not_allowed", "Only measure=fuel takes a fuel.")
	}
	a.window(&c)
	if a.Tolerance == nil {
		half := 0.5
		a.Tolerance = &half
	}
	if t := *a.Tolerance; !(t >= 0 && t <= 10) {
		c.Add("/tolerance", "out_of_range", "The value must be from 0 to 10.")
	}
	if len(a.KPTIDs) > maxTests {
		c.Add("/kptIds", "too_many", fmt.Sprintf("At most %d tests are accepted.", maxTests))
	}
	return a, c.Err("CROSS_REFERENCE_INVALID", "The cross-reference is not valid.")
}

// find looks the question up.
func (a *asked) find(c *fault.Checks) {
	const at = "/question"
	if a.Question == "" {
		c.Require(false, at)
		return
	}
	path, columns := strings.Split(a.Question, "/"), a.o.Form.Columns()
	i := slices.IndexFunc(columns, func(k form.Column) bool { return slices.Equal(k.Path, path) })
	switch {
	case i < 0:
		c.Add(at, "unknown", "The survey has no such question. Give it as section/question.")
	case columns[i].Repeat:
		c.Add(at, "invalid", "The question is asked several times in one interview.")
	case columns[i].PII.Private() || columns[i].Serial:
		c.Add(at, "invalid", "The answers to this question are sealed.")
	case !columns[i].Kind.Options && !amount(&columns[i]):
		c.Add(at, "invalid", "The answers to this question are neither numbers nor options.")
	default:
		a.column, a.qid = &columns[i], answer.Question(a.o.NID, path...)
	}
}

// amount reports whether answers are numbers, or yes and no.
func amount(k *form.Column) bool {
	return k.Kind.CEL == cel.Number || k.Kind.CEL == cel.Boolean || k.Kind.Units || k.Kind.Calculated
}

// fit checks that the question can be compared with the chosen measurements.
func (a *asked) fit(c *fault.Checks) {
	choice, truth := a.column.Kind.Options, a.column.Kind.CEL == cel.Boolean
	if a.Measure == "" {
		if a.Measure = hours; choice || truth {
			a.Measure = use
		}
	}
	if a.Measure != use && (choice || truth) {
		c.Add("/measure", "invalid", "The answers are not amounts: compare them with measure=use only.")
	}
	if choice && len(a.Use) == 0 {
		c.Add("/use", "required", "Name the options that mean use.")
	}
	if !choice && len(a.Use) > 0 {
		c.Add("/use", "not_allowed", "The question has no options.")
	}
	for i, v := range a.Use {
		known := slices.ContainsFunc(a.column.Options, func(o form.Option) bool { return o.Value == v })
		if choice && !known && len(a.column.Options) > 0 {
			c.Add(fmt.Sprintf("/use/%d", i), "unknown", "The question has no such option.")
		}
	}
}

// window looks at the days.
func (a *asked) window(c *fault.Checks) {
	days := cmp.Or(a.Days, 7)
	if p := a.SumPeriod; p != nil {
		first, last := dayOf(c, "/sumPeriod/start", p.Start), dayOf(c, "/sumPeriod/end", p.End)
		if days = int(last - first + 1); first > 0 && last > 0 && (days < 1 || days > maxPeriod) {
			c.Add("/sumPeriod/end", "out_of_range", fmt.Sprintf("The period must have 1 to %d days.", maxPeriod))
		}
		if a.Days != 0 {
			c.Add("/days", "not_allowed", "Give days or sumPeriod.")
		}
	} else if a.Days = days; days < 1 || days > maxDays {
		c.Add("/days", "out_of_range", fmt.Sprintf("The value must be from 1 to %d.", maxDays))
	}
	a.MinDays, a.MinEvents = cmp.Or(a.MinDays, (days+1)/2), cmp.Or(a.MinEvents, 1)
	if a.MinDays < 1 || a.MinDays > max(1, days) {
		c.Add("/minDays", "out_of_range", "The value must be from 1 to the number of days.")
	}
	if a.MinEvents < 1 || a.MinEvents > 10_000 {
		c.Add("/minEvents", "out_of_range", "The value must be from 1 to 10,000.")
	}
}

const dayMS = 24 * 60 * 60 * 1000

// dayOf is the number of a day since 1970.
func dayOf(c *fault.Checks, at, text string) int64 {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil || t.Year() < 2000 || t.Year() > 2200 {
		c.Add(at, "invalid", "The value must be a day such as 2024-02-20.")
		return 0
	}
	return t.UnixMilli() / dayMS
}

func dateOf(day int64) string { return time.UnixMilli(day * dayMS).UTC().Format(time.DateOnly) }

// dayNumber is dayOf for days that are known to be some.
func dayNumber(text string) int64 { return dayOf(&fault.Checks{}, "", text) }

// said is what the rows of an answer mean: 1 and 0 of use, else an amount per day;
// false when they say nothing.
func (a *asked) said(rows []answer.Row) (float64, bool) {
	if len(rows) == 0 {
		return 0, false
	}
	if a.Measure != use {
		v := rows[0].Num
		if a.Per == "week" {
			v /= 7
		}
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	for _, r := range rows {
		if a.column.Kind.Options && slices.Contains(a.Use, r.Code) || !a.column.Kind.Options && r.Num > 0 {
			return 1, true
		}
	}
	return 0, true
}

// unit is what amounts are in.
func (a *asked) unit() string {
	switch a.Measure {
	case events, hours:
		return a.Measure + "/day"
	case fuel:
		return a.Fuel + "/day"
	}
	return ""
}
