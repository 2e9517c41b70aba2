package event

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// clockSlack is how far apart the clocks of two writers may be without events
// being left out of a search by time: numbers follow time only roughly.
const clockSlack = 24 * time.Hour

type auditInput struct {
	Actor   string    `query:"actor" doc:"Only what this principal did, as far as you may see it." example:"did:ixo:entity:0123456789abcdef0123456789abcdef"`
	Subject string    `query:"subject" doc:"Only events about this subject." example:"did:ixo:entity:0123456789abcdef0123456789abcdef"`
	Type    string    `query:"type" doc:"Only events of this type; entity.* means all that begin with entity." example:"entity.*"`
	Since   time.Time `query:"since" doc:"Only events at or after this time." example:"2026-01-01T00:00:00Z"`
	Until   time.Time `query:"until" doc:"Only events before this time." example:"2030-01-01T00:00:00Z"`
	web.Paging
}

// audit is a checked question to the audit view.
type audit struct {
	see                sight
	ws, actor, subject string
	types              Filter
	since, until       time.Time
	limit              int
	before             int64 // numbers below this one
	floor              int64 // and from this one on; 0 but for a window
	below              bool  // the log continues below the window
	seek               bool  // first page: find where until is
}

// windowScans is how many scan budgets of numbers a window has.
const windowScans = 5

// byActor reports whether the index of actors has the answer.
func (a audit) byActor() bool {
	return a.subject == "" && a.actor != "" && (a.see.all || a.actor != withheld)
}

// blind reports whether the index of actors finds events whose actor the reader
// may not know. Where a page ends, and whether there is another, would reveal
// it: such a search goes by windows of numbers instead.
func (a audit) blind() bool { return a.byActor() && !a.see.knows(a.actor) }

func (l *Log) serveAudit(ctx context.Context, in *auditInput) (web.Reply[web.Page[Item]], error) {
	var none web.Reply[web.Page[Item]]
	ws, err := WholeWorkspace(ctx)
	if err != nil {
		return none, err
	}
	a, err := in.check(ws, l.see(web.CallerFrom(ctx)))
	if err != nil {
		return none, err
	}
	return web.List(ctx, l.cfg.Cursors, in.Paging, &a.before, func(limit int) ([]Item, any, error) {
		a.limit = limit
		b, err := l.audit(ctx, a)
		if !b.HasMore {
			return b.Items, nil, err
		}
		return b.Items, b.Next, err
	})
}

func (in *auditInput) check(ws string, see sight) (audit, error) {
	var c fault.Checks
	a := audit{see: see, ws: ws, actor: in.Actor, subject: in.Subject, since: in.Since, until: in.Until, before: math.MaxInt64}
	in.Size(&c)
	if in.Type != "" {
		a.types = Filter{in.Type}
		a.types.Check("query/type", &c)
	}
	if !in.Since.IsZero() && !in.Until.IsZero() && !in.Since.Before(in.Until) {
		c.Add("query/until", "out_of_range", "until must be after since.")
	}
	a.seek = in.Cursor == "" && !in.Until.IsZero() && in.Subject == "" && (!a.byActor() || a.blind())
	return a, c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

// audit reads one page from the newest back. Subject and actor have an index;
// the other filters look at no more than the scan budget. Next is the last
// number looked at.
func (l *Log) audit(ctx context.Context, a audit) (Batch, error) {
	if err := l.number(ctx, a.ws); err != nil {
		return Batch{}, err
	}
	var b Batch
	err := db.Look(ctx, l.db, func(q db.Querier) (err error) {
		if a.seek {
			if a.before, err = seek(ctx, q, a.ws, a.until); err != nil {
				return err
			}
		}
		if a.blind() {
			if err := l.window(ctx, q, &a); err != nil {
				return err
			}
		}
		if err = db.InOrder(ctx, l.db, q); err == nil {
			b, err = l.auditPage(ctx, q, a)
		}
		return err
	})
	return b, err
}

func (l *Log) auditPage(ctx context.Context, q db.Querier, a audit) (Batch, error) {
	budget := a.limit
	if a.residual() {
		budget = max(l.cfg.ScanBudget, a.limit)
	}
	if a.blind() {
		budget = windowScans * l.cfg.ScanBudget // all there can be in a window
	}
	b, seen := Batch{Items: []Item{}, Next: a.before}, 0
	rows, err := a.query(ctx, q, budget+1)
	err = each(rows, err, func(it Item) bool {
		a.see.show(&it)
		fits := a.match(it)
		if a.blind() && !fits {
			return true // as if it was not there
		}
		if !a.since.IsZero() && it.Time.Before(a.since.Add(-clockSlack)) {
			return false // nothing older can be in question
		}
		if seen == budget || len(b.Items) == a.limit {
			b.HasMore = true
			return false
		}
		seen++
		b.Next = it.Seq
		if fits {
			b.Items = append(b.Items, it)
		}
		return true
	})
	if err != nil {
		return Batch{}, err
	}
	if a.below && !b.HasMore {
		b.Next, b.HasMore = a.floor, true
	}
	return b, nil
}

// window bounds a search to numbers that do not depend on what it finds.
func (l *Log) window(ctx context.Context, q db.Querier, a *audit) error {
	r, err := findRange(ctx, q, a.ws)
	if err != nil {
		return err
	}
	a.floor = max(r.Oldest, min(a.before, r.Newest+1)-int64(windowScans*l.cfg.ScanBudget))
	if a.below = a.floor > r.Oldest; !a.below || a.since.IsZero() {
		return nil
	}
	at, held, err := timeAt(ctx, q, a.ws, a.floor)
	a.below = held && at >= a.since.Add(-clockSlack).UnixMilli() // else nothing older can be in question
	return err
}

// query drives by the most selective name.
func (a audit) query(ctx context.Context, q db.Querier, limit int) (db.Rows, error) {
	switch {
	case a.subject != "":
		return q.Query(ctx, selectSubjectBefore, subjectKey(a.ws, a.subject), a.ws, a.subject, a.before, limit)
	case a.byActor():
		return q.Query(ctx, selectActorBefore, key(a.ws, a.actor), a.ws, a.actor, a.before, a.floor, limit)
	}
	return q.Query(ctx, selectBefore, a.ws, a.before, limit)
}

// residual reports whether rows are left to be compared one by one.
func (a audit) residual() bool {
	return len(a.types) > 0 || !a.since.IsZero() || !a.until.IsZero() || a.actor != "" && !a.byActor()
}

func (a audit) match(it Item) bool {
	return a.types.Match(it.Type) && (a.actor == "" || a.actor == it.Actor) &&
		(a.since.IsZero() || !it.Time.Before(a.since)) && (a.until.IsZero() || it.Time.Before(a.until))
}

// seek finds a number from which on every event is too young: a search by
// halves over the numbers, which have no gap, so that the first page of an old
// year does not walk through all the years since.
func seek(ctx context.Context, q db.Querier, ws string, until time.Time) (int64, error) {
	r, err := findRange(ctx, q, ws)
	if err != nil {
		return 0, err
	}
	young := until.Add(clockSlack).UnixMilli()
	low, high := r.Oldest, r.Newest+1
	for low < high {
		mid := low + (high-low)/2
		at, held, err := timeAt(ctx, q, ws, mid)
		if err != nil {
			return 0, err
		}
		if held && at > young {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return high, nil
}

// timeAt is when an event happened, false when it is no longer kept.
func timeAt(ctx context.Context, q db.Querier, ws string, seq int64) (at int64, held bool, err error) {
	err = q.QueryRow(ctx, selectAt, ws, seq).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	} else if err != nil {
		return 0, false, fmt.Errorf("search events by time: %w", err)
	}
	return at, true, nil
}
