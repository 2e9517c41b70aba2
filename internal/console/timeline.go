package console

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxMoments is how many items a page of a time line has at most.
const maxMoments = 200

// Source is an area that knows about happenings of twins.
type Source struct {
	Name string // distinguishes the source, and orders items of the same time
	Look web.Happenings
	// May reports whether a caller may read some of it, and whether all of it.
	May func(c web.Caller) (some, all bool)
}

// public is what the items of a source say they are from: two may be of one kind.
func (s Source) public() string {
	name, _, _ := strings.Cut(s.Name, ".")
	return name
}

// place is where a time line continues: below a mark of a source.
type place struct {
	web.Mark
	Source string `json:"s"`
}

// below is the mark below which a source has the items after a place. At the
// same moment sources come one after the other, by name.
func (p place) below(source string) web.Mark {
	switch {
	case p.Source == source:
		return p.Mark
	case source < p.Source:
		return web.Mark{At: p.At, Key: math.MinInt64}
	}
	return web.Mark{At: p.At, Key: math.MaxInt64, Sub: math.MaxInt64}
}

// moment is a happening and where it is from.
type moment struct {
	web.Happening
	source string
}

// newer orders moments: the newest first.
func newer(a, b moment) int {
	return cmp.Or(cmp.Compare(b.Mark.At, a.Mark.At), cmp.Compare(a.source, b.source), a.Mark.Compare(b.Mark))
}

type timelineInput struct {
	DID    string `path:"did" doc:"DID of the twin."`
	Before string `query:"before" doc:"Only what happened before this time (RFC 3339)." example:"2099-01-31T08:00:00Z"`
	web.Paging
}

// start is where the page begins.
func (in timelineInput) start(ctx context.Context, cs web.Cursors) (place, int, error) {
	var c fault.Checks
	in.Size(&c)
	p := place{Mark: web.Mark{At: math.MaxInt64, Key: math.MaxInt64, Sub: math.MaxInt64}}
	if in.Before != "" {
		// A plus sign in a query means a space; in a time a space can only have
		// been a plus.
		t, err := time.Parse(time.RFC3339Nano, strings.ReplaceAll(in.Before, " ", "+"))
		if err != nil {
			c.Add("query/before", "invalid", "The value must be a time such as 2026-01-31T08:00:00Z. Pages go on with cursor.")
		}
		p.Mark = web.Mark{At: t.UnixMilli(), Key: math.MinInt64}
		p.Source = "~" // after every source: nothing of that moment itself
	}
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return place{}, 0, err
	}
	var after place
	limit, err := in.Begin(ctx, cs, &after)
	if in.Cursor != "" {
		p = after
	}
	return p, min(limit, maxMoments), err
}

func (s *Overview) serveTimeline(ctx context.Context, in *timelineInput) (web.Reply[*api.Timeline], error) {
	var none web.Reply[*api.Timeline]
	from, limit, err := in.start(ctx, s.cfg.Cursors)
	if err != nil {
		return none, err
	}
	out, next, err := s.timeline(ctx, in.DID, from, limit)
	if err != nil {
		return none, err
	}
	var goesOn any
	if next != nil {
		goesOn = *next
	}
	page, err := web.PageOf(ctx, s.cfg.Cursors, limit, out.Items, goesOn)
	if err != nil {
		return none, err
	}
	out.Items, out.Page = page.Value.Items, page.Value.Page
	return web.Reply[*api.Timeline]{Value: out, Link: page.Link}, nil
}

// timeline reads a page of the time line of a twin. A page may be short; next is nil
// at the end. The fault is ENTITY_NOT_FOUND.
func (s *Overview) timeline(ctx context.Context, did string, from place, limit int) (out *api.Timeline, next *place, err error) {
	nid, err := s.cfg.Twin(ctx, did)
	if err != nil {
		return nil, nil, err
	}
	out = &api.Timeline{}
	c := web.CallerFrom(ctx)
	var all []moment
	for _, src := range s.cfg.Timeline {
		some, whole := src.May(c)
		if name := src.public(); !whole && !slices.Contains(out.Withheld, name) {
			out.Withheld = append(out.Withheld, name)
		}
		if !some {
			continue
		}
		found, err := src.Look(ctx, web.Look{DID: did, NID: nid, Below: from.below(src.Name), Limit: limit + 1})
		if err != nil {
			return nil, nil, err
		}
		for _, h := range found {
			h.At, h.Source = time.UnixMilli(h.Mark.At).UTC(), src.public()
			all = append(all, moment{h, src.Name})
		}
	}
	slices.Sort(out.Withheld)
	order.Sort(all, newer)
	out.Items, next = cut(all, limit)
	return out, next, nil
}

// cut makes a page of moments. It continues behind the last one that is shown, so
// that a cursor does not reveal a hidden one; if all of a page are hidden, that is
// unavoidable.
func cut(all []moment, limit int) (items []api.TimelineItem, next *place) {
	more := len(all) > limit
	all = all[:min(limit, len(all))]
	last := len(all) - 1
	for i, m := range all {
		if !m.Hidden {
			items, last = append(items, m.TimelineItem), i
		}
	}
	if more {
		next = &place{all[last].Mark, all[last].source}
	}
	return items, next
}
