package rule_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/rule"
)

const document = `{"templateId":"t","sections":[
	{"id":"visit","questions":[{"id":"photo","type":"photo"},{"id":"note","type":"text"}]},
	{"id":"views","questions":[
		{"id":"a","type":"rating"},{"id":"b","type":"rating"},{"id":"c","type":"rating"},{"id":"d","type":"rating"},{"id":"e","type":"rating"},
		{"id":"colour","type":"single_choice","options":["red","blue"]},
		{"id":"grid","type":"matrix","rows":["r1","r2"],"options":["good","bad"]}]}]}`

func plan(t *testing.T) *rule.Plan {
	t.Helper()
	var doc form.Template
	if err := json.Unmarshal([]byte(document), &doc); err != nil {
		t.Fatal(err)
	}
	f, err := form.Compile(&doc)
	if err != nil {
		t.Fatal(err)
	}
	return rule.NewPlan(f)
}

// noon is a visit in Nairobi at which nothing is odd.
func noon() rule.Interview {
	at := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC) // 12:00 by the sun
	return rule.Interview{
		Answers:  []byte(`{"visit":{"photo":"sha256:x"},"views":{"a":1,"b":2,"c":1,"d":1,"e":1}}`),
		Answered: 6, StartedAt: at, SubmittedAt: at.Add(10 * time.Minute), ReceivedAt: at.Add(time.Hour), Seconds: 600, Visit: true,
		At: &rule.Point{Lat: -1.2921, Lon: 36.8219}, Home: &rule.Point{Lat: -1.2922, Lon: 36.8220},
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	p, no, zero := plan(t), false, 0
	for _, tt := range []struct {
		name     string
		settings rule.Settings
		change   func(*rule.Interview)
		want     []string
	}{
		{"nothing odd", rule.Settings{}, func(*rule.Interview) {}, nil},
		{"short", rule.Settings{}, func(in *rule.Interview) { in.Seconds = 59 }, []string{rule.DurationShort}},
		{"at the least length", rule.Settings{}, func(in *rule.Interview) { in.Seconds = 60 }, nil},
		{"short for so many answers", rule.Settings{}, func(in *rule.Interview) { in.Answered, in.Seconds = 100, 299 }, []string{rule.DurationShort}},
		{"length not known", rule.Settings{}, func(in *rule.Interview) { in.Seconds = 0 }, nil},
		{"night by longitude", rule.Settings{}, func(in *rule.Interview) { in.StartedAt = in.StartedAt.Add(9 * time.Hour) }, []string{rule.NightTime}},
		{"five in the morning", rule.Settings{}, func(in *rule.Interview) { in.StartedAt = in.StartedAt.Add(-7 * time.Hour) }, nil},
		{"before five", rule.Settings{}, func(in *rule.Interview) { in.StartedAt = in.StartedAt.Add(-7*time.Hour - time.Minute) }, []string{rule.NightTime}},
		{"night by offset", rule.Settings{UTCOffsetMinutes: &zero, NightFrom: at(10), NightTo: at(11)}, func(*rule.Interview) {}, []string{rule.NightTime}},
		{"night from midnight", rule.Settings{UTCOffsetMinutes: &zero, NightFrom: at(0), NightTo: at(11)}, func(*rule.Interview) {}, []string{rule.NightTime}},
		{"night until midnight", rule.Settings{UTCOffsetMinutes: &zero, NightFrom: at(9), NightTo: at(0)}, func(*rule.Interview) {}, []string{rule.NightTime}},
		{"no night at all", rule.Settings{UTCOffsetMinutes: &zero, NightFrom: at(0), NightTo: at(0)}, func(*rule.Interview) {}, nil},
		{"hour not known", rule.Settings{NightFrom: at(12), NightTo: at(13)}, func(in *rule.Interview) { in.At, in.Home = nil, nil }, nil},
		{"a telephone call at night", rule.Settings{NightFrom: at(12), NightTo: at(13)}, func(in *rule.Interview) { in.Visit = false }, nil},
		{"far", rule.Settings{}, func(in *rule.Interview) { in.At = &rule.Point{Lat: -1.30, Lon: 36.8219} }, []string{rule.Distance}},
		{"far is allowed", rule.Settings{MaxMetres: 1000}, func(in *rule.Interview) { in.At = &rule.Point{Lat: -1.30, Lon: 36.8219} }, nil},
		{"photo missing", rule.Settings{}, func(in *rule.Interview) { in.Answers = []byte(`{"visit":{}}`) }, []string{rule.MediaMissing}},
		{"all the same", rule.Settings{}, func(in *rule.Interview) {
			in.Answers = []byte(`{"visit":{"photo":"sha256:x"},"views":{"a":1,"b":1,"c":1,"d":1,"e":1,"colour":"red"}}`)
		}, []string{rule.StraightLine}},
		{"four the same, one not answered", rule.Settings{}, func(in *rule.Interview) {
			in.Answers = []byte(`{"visit":{"photo":"sha256:x"},"views":{"a":1,"b":1,"c":1,"d":1}}`)
		}, nil},
		{"rows of a matrix", rule.Settings{SameAnswers: 2}, func(in *rule.Interview) {
			in.Answers = []byte(`{"visit":{"photo":"sha256:x"},"views":{"grid":{"r1":"good","r2":"good"}}}`)
		}, []string{rule.StraightLine}},
		{"dated after it arrived", rule.Settings{}, func(in *rule.Interview) { in.ReceivedAt = in.SubmittedAt.Add(-11 * time.Minute) }, []string{rule.ClockSkew}},
		{"before the survey", rule.Settings{}, func(in *rule.Interview) { in.From = in.SubmittedAt.Add(time.Second) }, []string{rule.OutsideWindow}},
		{"after the survey", rule.Settings{}, func(in *rule.Interview) { in.Until = in.SubmittedAt.Add(-time.Second) }, []string{rule.OutsideWindow}},
		{"not as planned", rule.Settings{}, func(in *rule.Interview) {
			in.Eligible, in.Unplanned, in.Stranger, in.Unlisted = &no, true, true, true
		}, []string{rule.NotEligible, rule.ModeUnplanned, rule.Stranger, rule.NotListed}},
		{"switched off", rule.Settings{Off: []string{rule.NotEligible, rule.Stranger}}, func(in *rule.Interview) {
			in.Eligible, in.Stranger, in.Unlisted = &no, true, true
		}, []string{rule.NotListed}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := noon()
			tt.change(&in)
			var got []string
			for _, f := range p.Check(tt.settings, in, func([]string) bool { return true }) {
				got = append(got, f.Rule)
				if f.Detail == "" || !slices.Contains(rule.Names(), f.Rule) {
					t.Errorf("flag %+v has no sentence or no known name", f)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("flags = %v, want %v", got, tt.want)
			}
		})
	}
}

// TestMediaNotAsked: what was not asked is not missing.
func TestMediaNotAsked(t *testing.T) {
	t.Parallel()
	in := noon()
	in.Answers = []byte(`{}`)
	var path []string
	got := plan(t).Check(rule.Settings{}, in, func(p []string) bool { path = p; return false })
	if len(got) != 0 || !slices.Equal(path, []string{"visit", "photo"}) {
		t.Errorf("flags = %v after asking for %v, want none for visit photo", got, path)
	}
}

// TestDistance against the length of a degree on a great circle.
func TestDistance(t *testing.T) {
	t.Parallel()
	in := noon()
	in.At, in.Home = &rule.Point{Lat: 0, Lon: 36}, &rule.Point{Lat: 0, Lon: 37}
	got := plan(t).Check(rule.Settings{}, in, func([]string) bool { return false })
	if len(got) != 1 || math.Abs(got[0].Value-111_195) > 1 {
		t.Errorf("flags = %+v, want a distance of 111195 m", got)
	}
}

func at(hour int) *int { return &hour }
