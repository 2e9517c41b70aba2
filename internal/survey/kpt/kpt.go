// Package kpt keeps kitchen performance tests: how much fuel households used over some
// days, by weighing, with the old stove (reference) and with the new one (intervention).
// It computes what the tests of a project show: fuel per day and household, head or
// standard adult, in each group and between them, with the uncertainty of package
// estimate.
//
// A test covers at least three days that are over, its total is the sum of its days, and
// a day of a household is in one test of a fuel. Figures use only tests whose random
// selection is documented, of both groups at the same time.
package kpt

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Nouns of package api, by their names here.
type (
	Draft    = api.KitchenTestDraft
	Test     = api.KitchenTest
	Revision = api.KitchenTestRevision
	Analysis = api.KitchenTestAnalysis
)

// The groups.
const (
	reference    = "reference"
	intervention = "intervention"
)

// The states of a test.
const (
	recorded  = "recorded"
	withdrawn = "withdrawn"
	erased    = "erased"
)

// Limits of a test.
const (
	leastDays   = 3
	mostDays    = 60
	mostAmount  = 1e6
	mostPeople  = 1000
	maxSessions = 200
	maxList     = 20
	maxWords    = 200
	maxDocument = 500
)

// tolerance is how far a total may be off the sum of its days, as a share: what
// rounding each day does to it.
const tolerance = 0.001

const (
	invalidCode = "KPT_INVALID"
	invalidText = "The kitchen performance test is not valid."
)

var (
	idForm   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$`)
	fuelForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
)

// methods are those by which chance chooses, and the one by which it does not.
var methods = []string{"simple_random", "systematic", "stratified", "cluster", "multistage", "census", "purposive"}

// documented reports whether a selection by chance is on record somewhere.
func documented(s *api.KitchenTestChoice) bool {
	return s != nil && s.Method != "purposive" && (s.DesignID != "" || s.Document != "")
}

// period is the days of a test, as numbers since 1970.
type period struct{ start, end int64 }

// overlaps reports whether two tests share more than the day between them.
func (p period) overlaps(o period) bool { return p.start < o.end && o.start < p.end }

func dayOf(text string) (int64, bool) {
	t, err := time.Parse(time.DateOnly, text)
	return t.Unix() / 86400, err == nil && t.Year() >= 2000 && t.Year() <= 2100
}

func dayText(day int64) string { return time.Unix(day*86400, 0).UTC().Format(time.DateOnly) }

// normalise fills in what a draft may leave out.
func normalise(d *Draft) {
	f := &d.FuelMeasurements
	if f.Fuel == "" {
		f.Fuel = "wood"
	}
	if f.Unit == "" {
		f.Unit = "kg"
	}
	d.Type = "KPTClaim"
}

// checkDraft names everything that is wrong with a draft alone. Its last day may
// be today's date anywhere on earth.
func checkDraft(c *fault.Checks, d *Draft, now time.Time) period {
	if d.ID != "" && !idForm.MatchString(d.ID) || d.ID == "analysis" {
		c.Add("/id", "invalid", "An id has letters, digits and . _ : -, begins with a letter or digit, and has 100 characters or fewer. The word analysis is reserved.")
	}
	check.OneOf(c, "/type", d.Type, "KPTClaim")
	c.Require(d.TestGroup != "", "/testGroup")
	check.OneOf(c, "/testGroup", d.TestGroup, reference, intervention)
	p := checkPeriod(c, d)
	if last := now.Unix()/86400 + 1; p.end > last {
		c.Add("/testPeriod/endDate", "out_of_range", "The test is not over: its last day can be "+dayText(last)+" at most. Record it when every day has been weighed.")
	}
	checkFuel(c, d)
	checkPeople(c, d.People)
	if s := d.Selection; s != nil {
		c.Require(s.Method != "", "/selection/method")
		check.OneOf(c, "/selection/method", s.Method, methods...)
		check.Optional(c, "/selection/designId", s.DesignID, 100)
		check.Optional(c, "/selection/document", s.Document, maxDocument)
	}
	checkAround(c, d)
	return p
}

// checkPeriod requires as many days as there are logs.
func checkPeriod(c *fault.Checks, d *Draft) period {
	var p period
	t := d.TestPeriod
	for _, one := range []struct {
		at, text string
		to       *int64
	}{{"/testPeriod/startDate", t.StartDate, &p.start}, {"/testPeriod/endDate", t.EndDate, &p.end}} {
		c.Require(one.text != "", one.at)
		day, ok := dayOf(one.text)
		if *one.to = day; !ok && one.text != "" {
			c.Add(one.at, "invalid", "The value must be a day such as 2024-02-01.")
		}
	}
	if !c.OK() {
		return p
	}
	days := int(p.end - p.start)
	switch n := len(d.FuelMeasurements.DailyLogs); {
	case days < leastDays-1:
		c.Add("/testPeriod/endDate", "too_short", "A test covers at least three days.")
	case n >= leastDays && n != days && n != days+1:
		c.Add("/fuelMeasurements/dailyLogs", "mismatch", fmt.Sprintf("From %s to %s there are %d days, or %d with the first: give a log for each.", t.StartDate, t.EndDate, days, days+1))
	}
	if t.DurationDays != 0 && t.DurationDays != days && t.DurationDays != days+1 {
		c.Add("/testPeriod/durationDays", "mismatch", fmt.Sprintf("The value must be %d, or %d with the first day.", days, days+1))
	}
	return p
}

// amount reports whether a number can have been weighed.
func amount(v float64) bool { return v >= 0 && v <= mostAmount }

func checkFuel(c *fault.Checks, d *Draft) {
	f := d.FuelMeasurements
	if f.Fuel != "" && !fuelForm.MatchString(f.Fuel) {
		c.Add("/fuelMeasurements/fuel", "invalid", "A fuel is a word of small letters, digits and _, of 40 characters or fewer.")
	}
	check.OneOf(c, "/fuelMeasurements/unit", f.Unit, "kg", "l", "kWh", "MJ")
	if n := len(f.DailyLogs); n < leastDays || n > mostDays {
		c.Add("/fuelMeasurements/dailyLogs", "out_of_range", fmt.Sprintf("Give the fuel of each day, of %d to %d days.", leastDays, mostDays))
	}
	sum := 0.0
	for i, v := range f.DailyLogs[:min(len(f.DailyLogs), mostDays)] {
		if sum += v; !amount(v) {
			c.Add(fmt.Sprintf("/fuelMeasurements/dailyLogs/%d", i), "out_of_range", "The value must be 0 or more, and at most 1,000,000.")
		}
	}
	switch {
	case !amount(f.Total):
		c.Add("/fuelMeasurements/total", "out_of_range", "The value must be 0 or more, and at most 1,000,000.")
	case f.Total == 0 && d.TestGroup == reference:
		c.Add("/fuelMeasurements/total", "out_of_range", "A household of the reference group uses the fuel: the value must be above 0.")
	case math.Abs(f.Total-sum) > tolerance*math.Max(f.Total, sum):
		c.Add("/fuelMeasurements/total", "mismatch", fmt.Sprintf("The days add up to %.6g. The total may differ from that by 0.1 %%.", sum))
	}
}

func checkPeople(c *fault.Checks, p *api.KitchenTestPeople) {
	if p == nil {
		return
	}
	for _, one := range []struct {
		name string
		n    float64
	}{{"children", p.Children}, {"women", p.Women}, {"men", p.Men}, {"oldMen", p.OldMen}} {
		if !(one.n >= 0 && one.n <= mostPeople) {
			c.Add("/people/"+one.name, "out_of_range", "The value must be 0 or more, and at most 1,000.")
		}
	}
	if heads(p) == 0 {
		c.Add("/people", "required", "Give at least one number of people: the household cooks for somebody.")
	}
}

// checkAround checks the data recorded besides the measurements.
func checkAround(c *fault.Checks, d *Draft) {
	line := func(text string) string {
		if text == "" || len([]rune(text)) > maxWords || strings.ContainsAny(text, "\n\r\x00") {
			return "The value must be one line of at most 200 characters."
		}
		return ""
	}
	if f := d.ExternalFactors; f != nil {
		check.Optional(c, "/externalFactors/season", f.Season, maxWords)
		check.Each(c, "/externalFactors/culturalEvents", f.CulturalEvents, maxList, line)
		check.Each(c, "/externalFactors/occupationalFactors", f.OccupationalFactors, maxList, line)
	}
	check.Each(c, "/evidence", d.Evidence, maxList, func(text string) string {
		if text == "" || len(text) > maxDocument || strings.ContainsAny(text, "\n\r\x00") {
			return "The value must be one line of at most 500 characters."
		}
		return ""
	})
	if len(d.CookingSessions) > maxSessions {
		c.Add("/cookingSessions", "too_many", "A test has at most 200 cooking sessions.")
		return
	}
	for i, s := range d.CookingSessions {
		at := fmt.Sprintf("/cookingSessions/%d/", i)
		check.Years(c, at+"startedAt", s.StartedAt, 2000, 2100)
		check.Optional(c, at+"device", s.Device, maxWords)
		check.Optional(c, at+"meal", s.Meal, maxWords)
		if !(s.Minutes >= 0 && s.Minutes <= 24*60) {
			c.Add(at+"minutes", "out_of_range", "The value must be 0 or more, and at most 1,440.")
		}
	}
}

func heads(p *api.KitchenTestPeople) float64 {
	if p == nil {
		return 0
	}
	return p.Children + p.Women + p.Men + p.OldMen
}

// adults are the standard adults that need as much cooked as the people do, by
// the weights that kitchen performance tests have used since 1983.
func adults(p *api.KitchenTestPeople) float64 {
	if p == nil {
		return 0
	}
	return 0.5*p.Children + 0.8*p.Women + p.Men + 0.8*p.OldMen
}

// derive computes what follows from the measurements, and names what is
// missing.
func derive(v *Test) {
	n := len(v.FuelMeasurements.DailyLogs)
	if n == 0 {
		return
	}
	v.Days = n
	day := v.FuelMeasurements.Total / float64(n)
	v.PerDay = &day
	if h := heads(v.People); h > 0 {
		head, sae := day/h, adults(v.People)
		each := day / sae
		v.PerHeadDay, v.AdultEquivalents, v.PerAdultDay = &head, &sae, &each
	}
	warn := func(text string, when bool) {
		if when {
			v.Warnings = append(v.Warnings, text)
		}
	}
	warn("The random selection of the household is not documented: the test is in no figure.", !documented(v.Selection))
	warn("The number of people cooked for is not known: the test is in no figure per head.", v.PerHeadDay == nil)
	warn("The season is not documented.", v.ExternalFactors == nil || v.ExternalFactors.Season == "")
}
