package flag

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Check is one check: its name, a description for people of what it flags and
// what it ignores, and its function.
type Check struct {
	Name, Flags, Not string

	make func(*look)
}

// checks is the table of all of them, in the order in which they flag.
var checks = []Check{
	{DurationShort, "an interview shorter than 60 s (*minSeconds*) or 3 s for each answer (*secondsPerAnswer*), the larger; a complete one shorter than a third of the median of the survey, once it has 20 complete ones", "length not known, consent refused", durationShort},
	{CollectorFast, "a complete interview of a collector whose median, of 10 or more, is below half of the median of the survey", "fewer than 20 complete interviews of the survey with a length", collectorFast},
	{NightTime, "a visit that began between 21 and 5 o'clock (*nightFrom*, *nightTo*), by *utcOffsetMinutes* or the longitude", "other modes, no place and no offset", nightTime},
	{ClockSkew, "dated more than 10 minutes after it arrived (value: seconds)", "", clockSkew},
	{OutsideWindow, "an interview that began or ended outside the window of the survey; without one, more than 31 days before the survey was made", "imported ones where the window has no start", outsideWindow},
	{OutsideLife, "a dateTime answered with a moment outside that time, a date answered with a day after it (a birthday, or the day a stove was bought, lies before) or before 1900", "questions with their own constraint, dateTime questions marked as personal, repeats", outsideLife},
	{Distance, "a visit more than 500 m (*maxMetres*) from the listed place of the household; value: metres, not shown to a key that may change lists or responses and lacks responses:pii", "interviews where one of the places is unknown", distance},
	{NotEligible, "a household that does not meet the eligibility rule", "surveys without one", when(func(l *look) bool { return l.Eligible != nil && !*l.Eligible }, "The household does not meet the eligibility rule of the survey.")},
	{ModeUnplanned, "an interview of a mode the survey does not plan", "surveys that plan no modes", when(func(l *look) bool { return l.Unplanned }, "The survey does not plan interviews of this mode.")},
	{Stranger, "a collector who does not belong to the survey", "surveys that name none", when(func(l *look) bool { return l.Stranger }, "The survey does not name this collector.")},
	{NotListed, "a household that is not on the list of the survey", "surveys without a list", when(func(l *look) bool { return l.Unlisted }, "The household is not on the list of the survey.")},
	{NotAssigned, "a household that is assigned to another collector", "households assigned to nobody", when(func(l *look) bool { return l.Others }, "Another collector is to visit the household.")},
	{ConsentRefused, "answers although consent was refused", "no question for consent", consentRefused},
	{ConsentMissing, "no answer to the question for consent", "no such question", consentMissing},
	{LowCompleteness, "fewer than half of the questions answered", "templates with a completionThreshold, partial responses", lowCompleteness},
	{MediaMissing, "a photo, sound or signature that was asked for and is missing", "questions that were not asked, repeats", mediaMissing},
	{StraightLine, "5 answers or more (*sameAnswers*) on one scale of a section, all the same", "scales with two values: a household with none of five things says no five times", straightLine},
}

// Names lists the checks, for settings.
func Names() []string {
	out := make([]string, len(checks))
	for i, c := range checks {
		out[i] = c.Name
	}
	return out
}

// Checks lists the checks of one response.
func Checks() []Check { return slices.Clone(checks) }

// when makes a check of a condition on known data.
func when(is func(*look) bool, detail string) func(*look) {
	return func(l *look) {
		if is(l) {
			l.flag(Flag{Detail: detail})
		}
	}
}

func durationShort(l *look) {
	least := max(l.limits.MinSeconds, l.limits.SecondsPerAnswer*float64(l.Answered))
	switch {
	case l.Seconds <= 0 || l.refused():
	case l.Seconds < least:
		l.flag(Flag{Value: l.Seconds, Limit: least, Detail: fmt.Sprintf("The interview took %.0f s, at least %.0f s are expected for %d answers.", l.Seconds, least, l.Answered)})
	case l.Complete && l.Seconds < Short(l.Median):
		l.flag(TooFast(l.Seconds, l.Median))
	}
}

// Short is the length below which an interview is too fast, by the median of its
// survey.
func Short(median float64) float64 { return median / 3 }

// TooFast is the flag of an interview that is too fast compared with the
// others.
func TooFast(seconds, median float64) Flag {
	return Flag{
		Rule: DurationShort, Value: seconds, Limit: math.Round(Short(median)),
		Detail: fmt.Sprintf("The interview took %.0f s, less than a third of the median of the survey, %.0f s.", seconds, median),
	}
}

func collectorFast(l *look) {
	if l.Complete && IsFast(l.CollectorMedian, l.Median) {
		l.flag(Fast(l.CollectorMedian, l.Median))
	}
}

// IsFast reports whether a collector is too fast, by the medians of this collector
// and of the survey; 0 means unknown.
func IsFast(own, all float64) bool { return own > 0 && own < all/2 }

// Fast is the flag of the interviews of a collector who is too fast.
func Fast(own, all float64) Flag {
	return Flag{
		Rule: CollectorFast, Value: math.Round(own), Limit: math.Round(all / 2),
		Detail: fmt.Sprintf("The interviews of this collector have a median of %.0f s, less than half of that of the survey, %.0f s.", own, all),
	}
}

func nightTime(l *look) {
	begin := l.StartedAt
	if begin.IsZero() {
		begin = l.SubmittedAt
	}
	if hour, known := localHour(l.limits, l.Interview, begin); known && l.Visit && isNight(l.limits, hour) {
		l.flag(Flag{Value: float64(hour), Detail: fmt.Sprintf("The visit began at %d o'clock local time.", hour)})
	}
}

func clockSkew(l *look) {
	if ahead := l.SubmittedAt.Sub(l.ReceivedAt); ahead > maxSkew {
		l.flag(Flag{Value: ahead.Seconds(), Limit: maxSkew.Seconds(), Detail: "The response is dated " + roughly(ahead) + " after it arrived."})
	}
}

func outsideWindow(l *look) {
	from, until := l.life()
	switch {
	case !l.From.IsZero() && l.SubmittedAt.Before(l.From), !l.Until.IsZero() && l.SubmittedAt.After(until):
		l.flag(Flag{Detail: "The response is dated outside the window of the survey."})
	case l.SubmittedAt.Before(from):
		l.flag(Flag{Detail: "The response is dated before there was a survey."})
	case !l.StartedAt.IsZero() && l.StartedAt.Before(from):
		l.flag(Flag{Question: "/startedAt", Detail: "The interview began before the survey did."})
	}
}

// life is the time of the survey; without an end it lasts until the response
// has arrived.
func (in *Interview) life() (from, until time.Time) {
	if from = in.From; from.IsZero() {
		from = in.Since
	}
	if until = in.Until; until.IsZero() {
		until = in.ReceivedAt.Add(maxSkew)
	}
	return from, until
}

// firstDay is before everybody who lives.
var firstDay = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)

func outsideLife(l *look) {
	if len(l.plan.moments)+len(l.plan.days) == 0 || l.refused() {
		return
	}
	from, until := l.life()
	for _, path := range l.plan.moments {
		if t, ok := l.moment(path, time.RFC3339); ok && (t.Before(from) || t.After(until)) {
			l.flag(Flag{Question: pointer(path), Detail: "The time is outside the survey."})
		}
	}
	for _, path := range l.plan.days {
		// Somewhere it is tomorrow already.
		if t, ok := l.moment(path, time.DateOnly); ok && (t.Before(firstDay) || t.After(until.AddDate(0, 0, 1))) {
			l.flag(Flag{Question: pointer(path), Detail: "The day is after the survey, or longer ago than anybody can have lived."})
		}
	}
}

// moment returns an answer that is a point in time; false when there is none.
func (l *look) moment(path []string, layout string) (time.Time, bool) {
	text, _ := at(l.answers(), path).(string)
	t, err := time.Parse(layout, text)
	return t, err == nil
}

func distance(l *look) {
	if l.At == nil || l.Home == nil || !l.Visit {
		return
	}
	if d := Metres(*l.At, *l.Home); d > l.limits.MaxMetres {
		l.flag(Flag{Value: math.Round(d), Limit: l.limits.MaxMetres, Detail: fmt.Sprintf("The interview was %.0f m from the household, at most %.0f m are expected.", d, l.limits.MaxMetres)})
	}
}

func consentRefused(l *look) {
	if !l.refused() {
		return
	}
	if where := l.answeredAfter(); where != "" {
		l.flag(Flag{Question: where, Detail: "There are answers although consent was refused."})
	}
}

func consentMissing(l *look) {
	for _, path := range l.plan.consent {
		if l.Consent == nil && l.asked(path) {
			l.flag(Flag{Question: pointer(path), Detail: "The question for consent has no answer."})
			return
		}
	}
}

func lowCompleteness(l *look) {
	if least := l.plan.least; l.Complete && l.Completeness < least {
		l.flag(Flag{Value: l.Completeness, Limit: least, Detail: fmt.Sprintf("%.0f %% of the questions are answered, at least %.0f %% are expected.", 100*l.Completeness, 100*least)})
	}
}

func mediaMissing(l *look) {
	if len(l.plan.media) == 0 || l.refused() || l.answers() == nil { // there is nothing that answers should be like
		return
	}
	for _, path := range l.plan.media {
		if at(l.answers(), path) == nil && l.asked(path) {
			l.flag(Flag{Question: pointer(path), Detail: "The picture, sound or signature that was asked for is missing."})
		}
	}
}

func straightLine(l *look) {
	for _, scale := range l.plan.scales {
		if len(scale) < l.limits.SameAnswers || l.refused() {
			continue
		}
		if n, path := sameAnswers(l.answers(), scale); n >= l.limits.SameAnswers {
			l.flag(Flag{
				Question: pointer(path), Value: float64(n), Limit: float64(l.limits.SameAnswers),
				Detail: fmt.Sprintf("All %d answers on one scale are the same.", n),
			})
		}
	}
}

// Table renders a table of checks for documents.
func Table(of []Check) string {
	var b strings.Builder
	b.WriteString("| Check | Flags | Not looked at |\n|---|---|---|")
	for _, c := range of {
		fmt.Fprintf(&b, "\n| %s | %s | %s |", c.Name, c.Flags, c.Not)
	}
	return b.String()
}
