// Package flag holds the checks that need only one response: was the interview
// too short, at night, or far from the household, are all answers on a scale the
// same, is a picture missing. A check flags and never refuses: people look at
// flags and decide.
//
// The checks are pure: callers supply the answers and the places. What these
// checks and those over many responses have found is kept with its source, once
// for a rule and a question.
package flag

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
)

// The checks. The names are part of the API.
const (
	DurationShort = "duration_short"
	CollectorFast = "collector_fast"
	NightTime     = "night_interview"
	Distance      = "gps_distance"
	StraightLine  = "straight_lining"
	MediaMissing  = "media_missing"
	OutsideWindow = "outside_window"
	OutsideLife   = "date_outside_survey"
	ClockSkew     = "clock_skew"
	NotEligible   = "not_eligible"
	ModeUnplanned = "mode_not_planned"
	Stranger      = "collector_not_named"
	NotListed     = "household_not_listed"
	NotAssigned   = "household_not_assigned"

	// SensorMismatch is set by package crossref, which reads measurements.
	SensorMismatch = "sensor_mismatch"

	ConsentMissing  = "consent_missing"
	ConsentRefused  = "consent_refused"
	LowCompleteness = "low_completeness"
)

// Flag is the type of package api.
type Flag = api.ResponseFlag

// Settings are the limits of the checks. The zero value of a member is its
// default.
type Settings struct {
	MinSeconds       float64  `json:"minSeconds,omitzero" doc:"Shortest plausible interview; 60 by default."`
	SecondsPerAnswer float64  `json:"secondsPerAnswer,omitzero" doc:"Shortest plausible time for an answer; 3 by default."`
	NightFrom        *int     `json:"nightFrom,omitzero" doc:"Local hour at which night begins, 0 to 23; 21 by default." example:"21"`
	NightTo          *int     `json:"nightTo,omitzero" doc:"Local hour at which night ends, 0 to 23; 5 by default." example:"5"`
	UTCOffsetMinutes *int     `json:"utcOffsetMinutes,omitzero" doc:"Offset of local time; when absent, the longitude of the interview gives it." example:"180"`
	MaxMetres        float64  `json:"maxMetres,omitzero" doc:"Largest distance between interview and household; 500 by default."`
	SameAnswers      int      `json:"sameAnswers,omitzero" doc:"Equal answers on one scale that are straight-lining; 5 by default."`
	Off              []string `json:"off,omitzero" doc:"Checks that are not made."`
}

// WithDefaults fills in the defaults.
func (s Settings) WithDefaults() Settings {
	s.MinSeconds = or(s.MinSeconds, 60)
	s.SecondsPerAnswer = or(s.SecondsPerAnswer, 3)
	s.NightFrom, s.NightTo = hour(s.NightFrom, 21), hour(s.NightTo, 5)
	s.MaxMetres = or(s.MaxMetres, 500)
	s.SameAnswers = or(s.SameAnswers, 5)
	return s
}

// hour is one that is set, midnight too.
func hour(h *int, otherwise int) *int {
	if h == nil {
		return &otherwise
	}
	return h
}

func or[T int | float64](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// Point is a place on earth.
type Point struct{ Lat, Lon float64 }

// Interview is one response in the form that checks need.
type Interview struct {
	Answers         jsontext.Value // canonical
	Answered        int
	Completeness    float64   // share of the questions asked that are answered
	Complete        bool      // no required answer is missing, and consent was not refused
	Consent         *bool     // nil when the question has no answer
	Dropped         []string  // pointers of answers to questions that were not relevant
	StartedAt       time.Time // zero when unknown
	SubmittedAt     time.Time
	ReceivedAt      time.Time
	Seconds         float64 // its length; 0 when unknown
	Median          float64 // seconds, of the complete interviews of the survey; 0 while there are too few
	CollectorMedian float64 // the same of those of the collector
	Visit           bool    // people met: place and hour matter
	At              *Point
	Home            *Point    // of the household
	From, Until     time.Time // the window of the survey; zero when it does not say
	Since           time.Time // when the survey may have begun, if it does not say; zero for older data

	Eligible  *bool // nil when the survey does not ask
	Unplanned bool  // its mode is not one of the survey
	Stranger  bool  // its collector is not one of the survey
	Unlisted  bool  // the survey has a list and the household is not on it
	Others    bool  // another collector was to visit it
}

// Check runs every check that is not switched off. asked reports whether a
// question was asked in this interview; it is called only for missing consent
// and pictures.
func (p *Plan) Check(s Settings, in Interview, asked func(path []string) bool) []Flag {
	l := &look{Interview: in, plan: p, limits: s.WithDefaults(), asked: asked}
	for _, c := range checks {
		if !slices.Contains(s.Off, c.Name) {
			l.name = c.Name
			c.make(l)
		}
	}
	return l.flags
}

// look is one interview being looked at.
type look struct {
	Interview
	plan   *Plan
	limits Settings
	asked  func(path []string) bool

	name    string // of the check that is made
	flags   []Flag
	decoded map[string]any // answers, decoded on first use
	read    bool           // decoded is set
}

// flag notes what the check has found.
func (l *look) flag(f Flag) {
	f.Rule = l.name
	l.flags = append(l.flags, f)
}

// answers decodes the answers, once; nil when there are none.
func (l *look) answers() map[string]any {
	if !l.read {
		l.read = true
		if json.Unmarshal(l.Answers, &l.decoded) != nil {
			l.decoded = nil
		}
	}
	return l.decoded
}

// refused reports whether there was no interview.
func (in *Interview) refused() bool { return in.Consent != nil && !*in.Consent }

// maxSkew is how far the clock of a device may be ahead of ours.
const maxSkew = 10 * time.Minute

// roughly is a time in the unit people would use.
func roughly(d time.Duration) string {
	switch {
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f minutes", d.Minutes())
	case d < 48*time.Hour:
		return fmt.Sprintf("%.0f hours", d.Hours())
	default:
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	}
}

// localHour is the hour of the day where the interview took place, by the sun
// when no offset is set: that is what makes a night.
func localHour(s Settings, in Interview, t time.Time) (int, bool) {
	place := in.At
	if place == nil {
		place = in.Home
	}
	switch {
	case t.IsZero():
		return 0, false
	case s.UTCOffsetMinutes != nil:
		return t.UTC().Add(time.Duration(*s.UTCOffsetMinutes) * time.Minute).Hour(), true
	case place != nil:
		return t.UTC().Add(time.Duration(math.Round(place.Lon/15)) * time.Hour).Hour(), true
	}
	return 0, false
}

func isNight(s Settings, hour int) bool {
	from, to := *s.NightFrom, *s.NightTo
	if from > to {
		return hour >= from || hour < to
	}
	return hour >= from && hour < to
}

// Metres is the distance between two points on a sphere.
func Metres(a, b Point) float64 {
	const radius, degree = 6_371_000, math.Pi / 180
	dLat, dLon := (b.Lat-a.Lat)*degree, (b.Lon-a.Lon)*degree
	h := math.Pow(math.Sin(dLat/2), 2) + math.Cos(a.Lat*degree)*math.Cos(b.Lat*degree)*math.Pow(math.Sin(dLon/2), 2)
	return 2 * radius * math.Asin(min(1, math.Sqrt(h)))
}

// pointer is where an answer stands in a response.
func pointer(path []string) string { return "/responses/" + strings.Join(path, "/") }
