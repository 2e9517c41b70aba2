package flag_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

const document = `{"templateId":"t","sections":[
	{"id":"visit","questions":[{"id":"photo","type":"photo"},{"id":"note","type":"text"}]},
	{"id":"views","questions":[
		{"id":"a","type":"rating"},{"id":"b","type":"rating"},{"id":"c","type":"rating"},{"id":"d","type":"rating"},{"id":"e","type":"rating"},
		{"id":"colour","type":"single_choice","options":["red","blue"]},
		{"id":"grid","type":"matrix","rows":["r1","r2"],"options":["good","fair","bad"]}]},
	{"id":"owns","questions":[
		{"id":"tv","type":"single_choice","options":["yes","no"]},{"id":"car","type":"single_choice","options":["yes","no"]},
		{"id":"boat","type":"single_choice","options":["yes","no"]},{"id":"cow","type":"single_choice","options":["yes","no"]},
		{"id":"all","type":"matrix","rows":["r1","r2","r3","r4","r5"],"options":["yes","no"]},{"id":"pig","type":"single_choice","options":["yes","no"]}]}]}`

// asking has a question for consent, and does not say when it is complete.
const asking = `{"templateId":"t","sections":[
	{"id":"before","questions":[{"id":"village","type":"text"}]},
	{"id":"consent","questions":[{"id":"agree","type":"consent"},{"id":"why","type":"text"}]},
	{"id":"home","questions":[{"id":"size","type":"integer"},{"id":"people","type":"repeat","questions":[{"id":"age","type":"integer"}]}]}]}`

func plan(t *testing.T) *flag.Plan { return planOf(t, document) }

func planOf(t *testing.T, text string) *flag.Plan {
	t.Helper()
	var doc form.Template
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	f, err := form.Compile(&doc)
	if err != nil {
		t.Fatal(err)
	}
	return flag.NewPlan(f)
}

// noon is a visit in Nairobi at which nothing is odd.
func noon() flag.Interview {
	at := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC) // 12:00 by the sun
	return flag.Interview{
		Answers:  []byte(`{"visit":{"photo":"sha256:x"},"views":{"a":1,"b":2,"c":1,"d":1,"e":1}}`),
		Answered: 6, StartedAt: at, SubmittedAt: at.Add(10 * time.Minute), ReceivedAt: at.Add(time.Hour), Seconds: 600, Visit: true,
		At: &flag.Point{Lat: -1.2921, Lon: 36.8219}, Home: &flag.Point{Lat: -1.2922, Lon: 36.8220},
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	p, no, zero := plan(t), false, 0
	for _, tt := range []struct {
		name     string
		settings flag.Settings
		change   func(*flag.Interview)
		want     []string
	}{
		{"nothing odd", flag.Settings{}, func(*flag.Interview) {}, nil},
		{"short", flag.Settings{}, func(in *flag.Interview) { in.Seconds = 59 }, []string{flag.DurationShort}},
		{"at the least length", flag.Settings{}, func(in *flag.Interview) { in.Seconds = 60 }, nil},
		{"short for so many answers", flag.Settings{}, func(in *flag.Interview) { in.Answered, in.Seconds = 100, 299 }, []string{flag.DurationShort}},
		{"less than a third of the median", flag.Settings{}, func(in *flag.Interview) { in.Complete, in.Completeness, in.Median, in.Seconds = true, 1, 903, 300 }, []string{flag.DurationShort}},
		{"a third of the median", flag.Settings{}, func(in *flag.Interview) { in.Complete, in.Completeness, in.Median, in.Seconds = true, 1, 900, 300 }, nil},
		{"less than a third, and partial", flag.Settings{}, func(in *flag.Interview) { in.Median, in.Seconds = 900, 200 }, nil},
		{"a fast collector", flag.Settings{}, func(in *flag.Interview) {
			in.Complete, in.Completeness, in.Median, in.CollectorMedian = true, 1, 900, 449
		}, []string{flag.CollectorFast}},
		{"half as fast", flag.Settings{}, func(in *flag.Interview) {
			in.Complete, in.Completeness, in.Median, in.CollectorMedian = true, 1, 900, 450
		}, nil},
		{"too few of the survey", flag.Settings{}, func(in *flag.Interview) { in.Complete, in.Completeness, in.CollectorMedian = true, 1, 100 }, nil},
		{"length not known", flag.Settings{}, func(in *flag.Interview) { in.Seconds = 0 }, nil},
		{"night by longitude", flag.Settings{}, func(in *flag.Interview) { in.StartedAt = in.StartedAt.Add(9 * time.Hour) }, []string{flag.NightTime}},
		{"five in the morning", flag.Settings{}, func(in *flag.Interview) { in.StartedAt = in.StartedAt.Add(-7 * time.Hour) }, nil},
		{"before five", flag.Settings{}, func(in *flag.Interview) { in.StartedAt = in.StartedAt.Add(-7*time.Hour - time.Minute) }, []string{flag.NightTime}},
		{"night by offset", flag.Settings{UTCOffsetMinutes: &zero, NightFrom: at(10), NightTo: at(11)}, func(*flag.Interview) {}, []string{flag.NightTime}},
		{"night from midnight", flag.Settings{UTCOffsetMinutes: &zero, NightFrom: at(0), NightTo: at(11)}, func(*flag.Interview) {}, []string{flag.NightTime}},
		{"night until midnight", flag.Settings{UTCOffsetMinutes: &zero, NightFrom: at(9), NightTo: at(0)}, func(*flag.Interview) {}, []string{flag.NightTime}},
		{"no night at all", flag.Settings{UTCOffsetMinutes: &zero, NightFrom: at(0), NightTo: at(0)}, func(*flag.Interview) {}, nil},
		{"hour not known", flag.Settings{NightFrom: at(12), NightTo: at(13)}, func(in *flag.Interview) { in.At, in.Home = nil, nil }, nil},
		{"a telephone call at night", flag.Settings{NightFrom: at(12), NightTo: at(13)}, func(in *flag.Interview) { in.Visit = false }, nil},
		{"far", flag.Settings{}, func(in *flag.Interview) { in.At = &flag.Point{Lat: -1.30, Lon: 36.8219} }, []string{flag.Distance}},
		{"far is allowed", flag.Settings{MaxMetres: 1000}, func(in *flag.Interview) { in.At = &flag.Point{Lat: -1.30, Lon: 36.8219} }, nil},
		{"photo missing", flag.Settings{}, func(in *flag.Interview) { in.Answers = []byte(`{"visit":{}}`) }, []string{flag.MediaMissing}},
		{"all the same", flag.Settings{}, func(in *flag.Interview) {
			in.Answers = []byte(`{"visit":{"photo":"sha256:x"},"views":{"a":1,"b":1,"c":1,"d":1,"e":1,"colour":"red"}}`)
		}, []string{flag.StraightLine}},
		{"four the same, one not answered", flag.Settings{}, func(in *flag.Interview) {
			in.Answers = []byte(`{"visit":{"photo":"sha256:x"},"views":{"a":1,"b":1,"c":1,"d":1}}`)
		}, nil},
		{"rows of a matrix", flag.Settings{SameAnswers: 2}, func(in *flag.Interview) {
			in.Answers = []byte(`{"visit":{"photo":"sha256:x"},"views":{"grid":{"r1":"good","r2":"good"}}}`)
		}, []string{flag.StraightLine}},
		{"a poor household owns none of five things", flag.Settings{}, func(in *flag.Interview) {
			in.Answers = []byte(`{"visit":{"photo":"sha256:x"},"owns":{"tv":"no","car":"no","boat":"no","cow":"no","pig":"no","all":{"r1":"no","r2":"no","r3":"no","r4":"no","r5":"no"}}}`)
		}, nil},
		{"dated after it arrived", flag.Settings{}, func(in *flag.Interview) { in.ReceivedAt = in.SubmittedAt.Add(-11 * time.Minute) }, []string{flag.ClockSkew}},
		{"before the survey", flag.Settings{}, func(in *flag.Interview) { in.From = in.SubmittedAt.Add(time.Second) }, []string{flag.OutsideWindow}},
		{"after the survey", flag.Settings{}, func(in *flag.Interview) { in.Until = in.SubmittedAt.Add(-time.Second) }, []string{flag.OutsideWindow}},
		{"begun before the survey", flag.Settings{}, func(in *flag.Interview) { in.From = in.SubmittedAt.Add(-time.Second) }, []string{flag.OutsideWindow + " /startedAt"}},
		{"before there was a survey", flag.Settings{}, func(in *flag.Interview) { in.Since = in.SubmittedAt.Add(time.Second) }, []string{flag.OutsideWindow}},
		{"begun before there was a survey", flag.Settings{}, func(in *flag.Interview) { in.Since = in.SubmittedAt }, []string{flag.OutsideWindow + " /startedAt"}},
		{"the window says more", flag.Settings{}, func(in *flag.Interview) {
			in.From, in.Since = in.StartedAt, in.SubmittedAt.Add(time.Hour)
		}, nil},
		{"not as planned", flag.Settings{}, func(in *flag.Interview) {
			in.Eligible, in.Unplanned, in.Stranger, in.Unlisted, in.Others = &no, true, true, true, true
		}, []string{flag.NotEligible, flag.ModeUnplanned, flag.Stranger, flag.NotListed, flag.NotAssigned}},
		{"switched off", flag.Settings{Off: []string{flag.NotEligible, flag.Stranger}}, func(in *flag.Interview) {
			in.Eligible, in.Stranger, in.Unlisted = &no, true, true
		}, []string{flag.NotListed}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := noon()
			tt.change(&in)
			var got []string
			for _, f := range p.Check(tt.settings, in, func([]string) bool { return true }) {
				if got = append(got, f.Rule); f.Question == "/startedAt" {
					got[len(got)-1] += " " + f.Question
				}
				if f.Detail == "" || !slices.Contains(flag.Names(), f.Rule) {
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
	got := plan(t).Check(flag.Settings{}, in, func(p []string) bool { path = p; return false })
	if len(got) != 0 || !slices.Equal(path, []string{"visit", "photo"}) {
		t.Errorf("flags = %v after asking for %v, want none for visit photo", got, path)
	}
}

// TestDistance against the length of a degree on a great circle.
func TestDistance(t *testing.T) {
	t.Parallel()
	in := noon()
	in.At, in.Home = &flag.Point{Lat: 0, Lon: 36}, &flag.Point{Lat: 0, Lon: 37}
	got := plan(t).Check(flag.Settings{}, in, func([]string) bool { return false })
	if len(got) != 1 || math.Abs(got[0].Value-111_195) > 1 {
		t.Errorf("flags = %+v, want a distance of 111195 m", got)
	}
}

func at(hour int) *int { return &hour }

// TestRefusal: a refusal is short, and has no pictures.
func TestRefusal(t *testing.T) {
	t.Parallel()
	in, no := noon(), false
	in.Consent, in.Seconds, in.Answers = &no, 5, []byte(`{}`)
	if got := plan(t).Check(flag.Settings{}, in, func([]string) bool { return true }); len(got) != 0 {
		t.Errorf("flags = %v, want none", got)
	}
}

func TestConsent(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	full := strings.Replace(asking, `"sections"`, `"validations":{"completionThreshold":0.1},"sections"`, 1)
	for _, tt := range []struct {
		name, document string
		consent        *bool
		answers        string
		dropped        []string
		share          float64
		complete       bool
		want           string
	}{
		{"given", asking, &yes, `{"consent":{"agree":true},"home":{"size":3}}`, nil, 0.5, true, ""},
		{"not asked for", document, nil, `{"visit":{"photo":"sha256:x"}}`, nil, 1, true, ""},
		{"missing", asking, nil, `{"home":{"size":3}}`, nil, 0.5, true, "consent_missing /responses/consent/agree"},
		{"refused, and nothing else", asking, &no, `{"consent":{"agree":false}}`, nil, 0.2, false, ""},
		{"refused, with what was asked before and why", asking, &no, `{"before":{"village":"x"},"consent":{"agree":false,"why":"no time"}}`, nil, 0.6, false, ""},
		{"refused, and answered", asking, &no, `{"consent":{"agree":false},"home":{"size":3}}`, nil, 0.4, false, "consent_refused /responses/home/size"},
		{"refused, and answered many times", asking, &no, `{"consent":{"agree":false},"home":{"people":[{"age":3}]}}`, nil, 0.4, false, "consent_refused /responses/home/people"},
		{"refused, and answers dropped", asking, &no, `{"consent":{"agree":false}}`, []string{"/responses/home/size"}, 1, false, "consent_refused /responses/home/size"},
		{"few answers", asking, &yes, `{"consent":{"agree":true}}`, nil, 0.25, true, "low_completeness "},
		{"few answers, and it says so", asking, &yes, `{"consent":{"agree":true}}`, nil, 0.25, false, ""},
		{"few answers are enough", full, &yes, `{"consent":{"agree":true}}`, nil, 0.25, true, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := noon()
			in.Answers, in.Consent, in.Dropped, in.Completeness, in.Complete = []byte(tt.answers), tt.consent, tt.dropped, tt.share, tt.complete
			var got []string
			for _, f := range planOf(t, tt.document).Check(flag.Settings{}, in, func([]string) bool { return true }) {
				got = append(got, f.Rule+" "+f.Question)
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("flags = %q, want %q", got, tt.want)
			}
		})
	}
	in := noon()
	in.Answers = []byte(`{}`)
	if got := planOf(t, asking).Check(flag.Settings{}, in, func([]string) bool { return false }); len(got) != 0 {
		t.Errorf("flags = %v of a question that was not asked, want none", got)
	}
}

// TestClockSkew says by how much.
func TestClockSkew(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ahead time.Duration
		want  string
	}{
		{10 * time.Minute, ""},
		{11 * time.Minute, "The response is dated 11 minutes after it arrived. 660 600"},
		{5 * time.Hour, "The response is dated 5 hours after it arrived. 18000 600"},
		{90 * 24 * time.Hour, "The response is dated 90 days after it arrived. 7776000 600"},
	} {
		in, got := noon(), ""
		in.ReceivedAt = in.SubmittedAt.Add(-tt.ahead)
		for _, f := range plan(t).Check(flag.Settings{}, in, nil) {
			if f.Rule == flag.ClockSkew {
				got = fmt.Sprintf("%s %.0f %.0f", f.Detail, f.Value, f.Limit)
			}
		}
		if got != tt.want {
			t.Errorf("%v ahead: %q, want %q", tt.ahead, got, tt.want)
		}
	}
}

// TestDates: a moment is one of the survey; a day may be a birthday, and not lie
// after it. Whoever asks with a constraint has said what fits.
func TestDates(t *testing.T) {
	t.Parallel()
	p := planOf(t, `{"templateId":"t","sections":[{"id":"s","questions":[
		{"id":"when","type":"datetime"},{"id":"born","type":"date","pii":"direct"},{"id":"bought","type":"date"},{"id":"seen","type":"datetime","pii":"indirect"},
		{"id":"next","type":"date","constraint":"s.next > today"},{"id":"visits","type":"repeat","questions":[{"id":"at","type":"datetime"}]}]}]}`)
	for _, tt := range []struct{ name, answers, want string }{
		{"all in time", `"when":"2026-03-02T12:30:00+03:00","born":"1957-01-01","bought":"2019-05-01"`, ""},
		{"before the survey", `"when":"2026-02-28T23:59:59Z"`, "when"},
		{"after it arrived", `"when":"2026-03-02T13:00:00Z"`, "when"},
		{"born tomorrow", `"born":"2026-03-03"`, ""}, // where the day begins first it is tomorrow
		{"born next week", `"born":"2026-03-10"`, "born"},
		{"bought in the year 201", `"bought":"0201-05-01"`, "bought"},
		{"not known", `"bought":{"noAnswer":"dont_know"}`, ""},
		{"not looked at", `"seen":"1999-01-01T00:00:00Z","next":"2030-01-01","visits":[{"at":"1999-01-01T00:00:00Z"}]`, ""},
	} {
		in := noon()
		in.From, in.Answers = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), []byte(`{"s":{`+tt.answers+`}}`)
		var got string
		for _, f := range p.Check(flag.Settings{}, in, func([]string) bool { return false }) {
			got += strings.TrimPrefix(f.Question, "/responses/s/")
			if f.Rule != flag.OutsideLife || strings.ContainsAny(f.Detail, "23456789") {
				t.Errorf("%s: flag %+v, want one that tells nothing of the answer", tt.name, f)
			}
		}
		if got != tt.want {
			t.Errorf("%s: flagged %q, want %q", tt.name, got, tt.want)
		}
	}
}
