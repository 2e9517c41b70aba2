package crossref

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// covered is the share of the expected readings that make a day a measured one.
const covered = 0.5

// around is how many days before and after a kitchen test are compared with it.
const around = 30

// span is a number of days, both ends included.
type span struct{ from, to int64 }

func (s span) has(day int64) bool { return s.from <= day && day <= s.to }

// rate is a number of events on a number of days.
type rate struct{ days, events int64 }

func (r *rate) add(events int64) {
	r.days++
	r.events += events
}

func (r *rate) perDay() float64 { return float64(r.events) / float64(r.days) }

// home is a household with its answer and its measurements.
type home struct {
	nid      int64
	class    response.Class
	said     float64
	unit     string // of the answer
	answered bool
	window   span

	now  dayOfHome // the day that is added up
	days int
	all  struct {
		events  int64
		minutes float64
	}
	seen bool // something was measured

	tests             []span
	watched, alone    rate
	weighed, logged   float64 // by kitchen tests: fuel, and days
	testUnit          string
	paired, otherUnit bool
	measured          float64
	mismatch          bool
}

// dayOfHome is what all devices of a household saw on a day.
type dayOfHome struct {
	day, events int64
	minutes     float64
	complete    float64
}

// flush ends the day that is added up.
func (h *home) flush() {
	d := h.now
	h.now = dayOfHome{}
	if d.day == 0 || d.complete < covered {
		return
	}
	if h.window.has(d.day) {
		h.days++
		h.all.events += d.events
		h.all.minutes += d.minutes
	}
	switch {
	case slices.ContainsFunc(h.tests, func(s span) bool { return s.has(d.day) }):
		h.watched.add(d.events)
	case slices.ContainsFunc(h.tests, func(s span) bool { return span{s.from - around, s.to + around}.has(d.day) }):
		h.alone.add(d.events)
	}
}

// gather finds the households whose response counts, and what they say.
func (r *runner) gather(ctx context.Context) error {
	byResponse := map[int64]*home{}
	for after := int64(0); ; {
		page, err := listResponses(ctx, r.s.db, r.o.NID, after)
		if err != nil {
			return err
		}
		for _, one := range page {
			after = one.nid
			if one.round == r.Round {
				r.take(one)
			}
		}
		if len(r.byHome) > maxHomes {
			return fault.New(fault.Unprocessable, "CROSS_REFERENCE_TOO_LARGE", fmt.Sprintf("At most %d households can be compared with measurements.", maxHomes))
		}
		if len(page) < readPage {
			break
		}
	}
	for _, h := range r.byHome {
		if h.class == response.Counted {
			byResponse[h.nid] = h
		}
	}
	if err := r.answers(ctx, byResponse); err != nil {
		return err
	}
	for id, h := range r.byHome {
		if h.answered {
			r.homes = append(r.homes, h)
		} else {
			delete(r.byHome, id)
		}
	}
	slices.SortFunc(r.homes, func(a, b *home) int { return int(min(1, max(-1, a.nid-b.nid))) })
	r.lineage()
	return nil
}

// take notes a response, if it says most about its household.
func (r *runner) take(one stated) {
	class := one.Class(false)
	if old := r.byHome[one.household]; old != nil && !class.Stronger(old.class) {
		return
	}
	h := &home{nid: one.nid, class: class}
	if p := r.SumPeriod; p != nil {
		h.window = span{dayNumber(p.Start), dayNumber(p.End)}
	} else {
		day := one.at / dayMS
		h.window = span{day - int64(r.Days), day - 1}
	}
	r.byHome[one.household] = h
}

// answers reads what the responses say.
func (r *runner) answers(ctx context.Context, of map[int64]*home) error {
	const most = 5 * maxHomes
	rows, n := map[int64][]answer.Row{}, 0
	err := answer.Each(ctx, r.s.db, r.qid, most+1, func(g *answer.Given) error {
		if n++; n > most {
			return fault.New(fault.Unprocessable, "CROSS_REFERENCE_TOO_LARGE", "The question has more answers than one run reads.")
		}
		if of[g.NID] != nil {
			rows[g.NID] = append(rows[g.NID], g.Row)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for nid, h := range of {
		h.said, h.answered = r.said(rows[nid])
		if h.unit = r.column.Unit; h.answered && r.column.Kind.Units {
			h.unit = rows[nid][0].Code
		}
	}
	return nil
}

// lineage records which answers were used.
func (r *runner) lineage() {
	sum := sha256.New()
	for _, h := range r.homes {
		_, _ = fmt.Fprintf(sum, "%d %v\n", h.nid, h.said)
	}
	l := &r.result.Lineage
	l.TemplateID, l.TemplateVersion, l.Responses, l.AnswersHash = r.o.TemplateID, r.o.TemplateVersion, len(r.homes), hexOf(sum)
}

func hexOf(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// measure reads kitchen tests and days of sensors, and pairs what they say with
// the answers.
func (r *runner) measure(ctx context.Context) error {
	if err := r.kitchens(ctx); err != nil {
		return err
	}
	if err := r.sensors(ctx); err != nil {
		return err
	}
	for _, h := range r.homes {
		r.pair(h)
	}
	return nil
}

// kitchens reads the tests of the households.
func (r *runner) kitchens(ctx context.Context) error {
	return r.s.cfg.Tests(ctx, r.o.Project, func(t Test) error {
		h := r.byHome[t.Household]
		if h == nil || len(r.KPTIDs) > 0 && !slices.Contains(r.KPTIDs, t.ID) {
			return nil
		}
		r.result.Lineage.Tests++
		of := span{dayNumber(t.Start), dayNumber(t.End)}
		h.tests = append(h.tests, of)
		if r.Measure == fuel && t.Fuel == r.Fuel && (r.SumPeriod == nil || h.window.has(of.from)) {
			h.testUnit = t.Unit
			h.weighed += t.PerDay * float64(t.Days)
			h.logged += float64(t.Days)
		}
		return nil
	})
}

// days are the days of sensors to read; false when there are none.
func (r *runner) days() (out span, ok bool) {
	for _, h := range r.homes {
		all := []span{h.window}
		if r.Measure == fuel {
			all = nil
		}
		for _, t := range h.tests {
			all = append(all, span{t.from - around, t.to + around})
		}
		for _, s := range all {
			if !ok {
				out, ok = s, true
			}
			out = span{min(out.from, s.from), max(out.to, s.to)}
		}
	}
	return out, ok
}

// sensors reads what the devices of the project saw in the households.
func (r *runner) sensors(ctx context.Context) error {
	of, ok := r.days()
	if !ok {
		return nil
	}
	l, sum := &r.result.Lineage, sha256.New()
	l.From, l.To = dateOf(of.from), dateOf(of.to)
	err := r.s.cfg.Days(ctx, r.o.Project, l.From, l.To, func(d Day) error {
		h := r.byHome[d.Household]
		if h == nil {
			return nil
		}
		l.DayRows++
		_, _ = fmt.Fprintf(sum, "%s %s %s %d %d %v\n", d.Date, d.Device, d.Household, d.Readings, d.Events, d.Minutes)
		day := dayNumber(d.Date)
		if h.now.day != day {
			h.flush()
			h.now.day = day
		}
		h.seen = h.seen || h.window.has(day)
		h.now.events, h.now.minutes, h.now.complete = h.now.events+d.Events, h.now.minutes+d.Minutes, max(h.now.complete, d.Completeness)
		if l.DayRows%readPage == 0 {
			r.job.Progress(int64(l.DayRows), 0, "reading days")
		}
		return nil
	})
	for _, h := range r.homes {
		h.flush()
	}
	l.ReadingsHash = hexOf(sum)
	return err
}

// pair combines the measurements of a household, and decides whether they match
// its answer.
func (r *runner) pair(h *home) {
	switch {
	case r.Measure == fuel:
		h.seen, h.days = h.logged > 0, int(h.logged)
		h.otherUnit = h.seen && h.unit != "" && h.unit != h.testUnit
		h.paired = h.seen && !h.otherUnit
		h.measured = h.weighed / h.logged
	case h.days < r.MinDays:
		return
	default:
		h.paired = true
		switch r.Measure {
		case use:
			h.measured = float64(db.Bit(h.all.events >= int64(r.MinEvents)))
		case events:
			h.measured = float64(h.all.events) / float64(h.days)
		case hours:
			h.measured = h.all.minutes / 60 / float64(h.days)
		}
	}
	p := Pair{h.said, h.measured}
	if h.mismatch = p.Said != p.Measured; r.Measure != use {
		h.mismatch = apart(p, *r.Tolerance)
	}
	h.mismatch = h.mismatch && h.paired
}

// pairs are the households that both said and measured something.
func (r *runner) pairs() []*home {
	return slices.DeleteFunc(slices.Clone(r.homes), func(h *home) bool { return !h.paired })
}
