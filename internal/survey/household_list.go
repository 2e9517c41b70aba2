package survey

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// HouseholdFilter narrows a list of households. Empty members are ignored.
type HouseholdFilter struct {
	Stratum, Group, Area, Outcome string
	Collector                     string // who is to visit it, by name or by the assignments; "me" is the caller
	Contact                       bool   // with names and telephone numbers, for the caller's own
}

func (f HouseholdFilter) check() error {
	var c fault.Checks
	check.OneOf(&c, "query/group", f.Group, groups[1:]...)
	check.OneOf(&c, "query/outcome", f.Outcome, outcomes...)
	return c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

func (f HouseholdFilter) fits(h *Household) bool {
	return (f.Stratum == "" || f.Stratum == h.Stratum) && (f.Group == "" || f.Group == h.Group) && (f.Area == "" || f.Area == h.Area) &&
		(f.Outcome == "" || f.Outcome == h.Outcome) && (f.Collector == "" || f.Collector == h.AssignedTo)
}

// spot is where a list of households continues. A list for a collector first
// has those that name the collector, which have an index, and then those that
// the assignments give.
type spot struct {
	Rules bool   `json:"r,omitzero"`
	After string `json:"a"`
}

// me means the caller in a filter by collector.
const me = "me"

// maxLooked is how many households one page of a filtered list looks at.
const maxLooked = 2000

// Households reads a page of the list of a campaign, by DID. A page may be
// short; next is nil at the end. Faults: SURVEY_NOT_FOUND, and those of
// mayContact.
func (l *lists) Households(ctx context.Context, id string, f HouseholdFilter, at spot, limit int) (items []*Household, next *spot, err error) {
	if err := f.check(); err != nil {
		return nil, nil, err
	}
	o, err := l.Open(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	x := l.view(ctx, o)
	if f.Collector == me || x.own && f.Collector == "" {
		f.Collector = x.self
	}
	if f.Contact {
		if err := mayContact(ctx, o, f); err != nil {
			return nil, nil, err
		}
		f.Contact = false
		if items, next, err = x.page(ctx, l, f, at, min(limit, maxContacts)); err == nil {
			err = l.addContacts(ctx, o, items)
		}
		return items, next, err
	}
	return x.page(ctx, l, f, at, limit)
}

// page is Households as the caller sees them.
func (x view) page(ctx context.Context, l *lists, f HouseholdFilter, at spot, limit int) (items []*Household, next *spot, err error) {
	o := x.open
	if x.own && (f.Collector != x.self || x.self == "") {
		return nil, nil, nil
	}
	if !x.All() { // a cursor can be read
		at.After = l.vault.Uncover(o.Workspace, at.After)
		defer func() {
			if next != nil {
				next.After = l.vault.Cover(o.Workspace, next.After)
			}
		}()
	}
	examine := limit + 1
	if f != (HouseholdFilter{}) {
		examine = maxLooked
	}
	known := f.Collector != "" && (x.All() || f.Collector == x.self) // by DID, not by a pseudonym
	for named := known && !at.Rules; ; named = false {
		var rows []*Household
		if named {
			rows, err = scanHouseholds(db.Reader(ctx, l.db).Query(ctx, selectNamed, o.NID, f.Collector, at.After, examine))
		} else {
			rows, err = scanHouseholds(db.Reader(ctx, l.db).Query(ctx, selectHouseholds, o.NID, at.After, examine))
		}
		if err != nil {
			return nil, nil, err
		}
		for _, h := range rows {
			if len(items) == limit {
				return items, &at, nil
			}
			at.After = h.HouseholdID
			if known && !named && h.Collector != "" {
				continue // it was in the first part
			}
			if x.present(h); f.fits(h) {
				items = append(items, h)
			}
		}
		switch {
		case len(rows) == examine:
			return items, &at, nil
		case !named || !o.duties.Gives(f.Collector):
			return items, nil, nil
		}
		at = spot{Rules: true}
	}
}
