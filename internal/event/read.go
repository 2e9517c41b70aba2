package event

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Range is what the log of a workspace holds: the numbers Oldest to Newest.
// Both are 0 while nothing has happened.
type Range struct{ Oldest, Newest int64 }

// Range returns which events of a workspace are kept.
func (l *Log) Range(ctx context.Context, ws string) (Range, error) {
	if err := l.number(ctx, ws); err != nil {
		return Range{}, err
	}
	return findRange(ctx, l.db, ws)
}

func findRange(ctx context.Context, q db.Querier, ws string) (Range, error) {
	var r Range
	if err := q.QueryRow(ctx, selectRange, ws).Scan(&r.Oldest, &r.Newest); err != nil {
		return Range{}, fmt.Errorf("find range of events: %w", err)
	}
	return r, nil
}

// Since returns which of some subjects have an event of some types after a
// number. Everything committed before the call counts.
func (l *Log) Since(ctx context.Context, ws string, after int64, types Filter, subjects []string) (map[string]bool, error) {
	if err := l.numberAll(ctx, ws); err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, name := range subjects {
		rows, err := l.db.Query(ctx, selectSubjectAfter, subjectKey(ws, name), ws, name, after)
		err = each(rows, err, func(it Item) bool {
			out[name] = out[name] || types.Match(it.Type)
			return !out[name]
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Number finds the number of an event by its type, subject, time and data; 0 when
// the log does not have it, or no longer.
func (l *Log) Number(ctx context.Context, e Event) (int64, error) {
	if err := l.numberAll(ctx, e.Workspace); err != nil {
		return 0, err
	}
	data, err := encodeData(e.Data)
	if err != nil {
		return 0, err
	}
	var seq int64
	err = l.db.QueryRow(ctx, selectNumber, subjectKey(e.Workspace, e.Subject), e.Workspace, e.Subject, e.Type, e.At.UnixMilli(), data).Scan(&seq)
	return db.Found(seq, err, "find event")
}

// Query asks for events of a workspace after a number. Types and Where select
// by what the reader sees.
type Query struct {
	Workspace string
	Reader    web.Caller // unknown by default: then everything that is not for everybody is withheld
	After     int64      // 0: from the oldest that is kept
	Limit     int        // events wanted at most
	Types     Filter
	Where     *Where
}

// narrowed reports whether events are compared one by one.
func (q *Query) narrowed() bool { return len(q.Types) > 0 || q.Where != nil }

func (q *Query) picks(it *Item) bool { return q.Types.Match(it.Type) && q.Where.Match(it) }

// Batch is the result of a Query. Next is the number to continue after: the
// last one looked at, whether it was selected or not. HasMore means that the
// log continued behind it; a batch may be empty and still have more.
type Batch struct {
	Items   []Item
	Next    int64
	HasMore bool

	first  int64 // the first that was looked at; 0: none was
	rights bool  // an event that Rights picks was looked at
}

// Read reads events in the order of their numbers. A filtered read looks at no
// more than the scan budget. It returns the fault EVENTS_EXPIRED when events
// after q.After are no longer kept, and EVENTS_AHEAD when q.After was never
// reached.
func (l *Log) Read(ctx context.Context, q Query) (Batch, error) {
	if err := l.number(ctx, q.Workspace); err != nil {
		return Batch{}, err
	}
	b, err := l.read(ctx, l.db, q)
	// Numbers have no gap: a reader who gets the next one has missed nothing.
	if err != nil || q.After == 0 || b.first == q.After+1 {
		return b, err
	}
	r, err := findRange(ctx, l.db, q.Workspace)
	if err == nil {
		err = r.check(q.After)
	}
	if err != nil {
		return Batch{}, err
	}
	return b, nil
}

// read reads without looking at the range. One event more than wanted shows
// whether there is more.
func (l *Log) read(ctx context.Context, v db.Querier, q Query) (Batch, error) {
	budget := q.Limit
	if q.narrowed() {
		budget = max(l.cfg.ScanBudget, q.Limit)
	}
	b, seen, see := Batch{Items: []Item{}, Next: q.After}, 0, l.see(q.Reader)
	rows, err := v.Query(ctx, selectAfter, q.Workspace, q.After, budget+1)
	err = each(rows, err, func(it Item) bool {
		if seen == budget || len(b.Items) == q.Limit {
			b.HasMore = true
			return false
		}
		if seen++; seen == 1 {
			b.first = it.Seq
		}
		b.Next = it.Seq
		b.rights = b.rights || len(l.cfg.Rights) > 0 && l.cfg.Rights.Match(it.Type)
		if see.show(&it); q.picks(&it) {
			b.Items = append(b.Items, it)
		}
		return true
	})
	if err != nil {
		return Batch{}, err
	}
	return b, nil
}

// check refuses a position from which reading on would leave events out.
func (r Range) check(after int64) error {
	switch {
	case after > r.Newest:
		return fault.New(fault.Invalid, "EVENTS_AHEAD", fmt.Sprintf("The log ends at event %d; this position is from another log.", r.Newest)).
			With(fault.Field{Pointer: "query/after", Code: "ahead", Detail: fmt.Sprintf("The newest event is %d.", r.Newest)})
	case after > 0 && after < r.Oldest-1:
		return fault.New(fault.Invalid, "EVENTS_EXPIRED", fmt.Sprintf("Events up to %d are no longer kept. Read the current state again, then go on from there.", r.Oldest-1)).
			With(fault.Field{Pointer: "query/after", Code: "expired", Detail: fmt.Sprintf("The oldest event is %d.", r.Oldest)})
	}
	return nil
}
