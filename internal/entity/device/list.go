package device

import (
	"cmp"
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	listBudget   = 1000 // twins or relationships a page looks at
	shownDevices = 100  // of a household
)

// Domain types of the twins here.
const (
	householdIs = "household"
	deviceIs    = "device"
)

// Household reads a household with its newest devices.
func (s *Service) Household(ctx context.Context, id string) (*Household, error) {
	t, err := s.find(ctx, s.db, id, householdIs)
	if err != nil {
		return nil, err
	}
	if err := s.cfg.Entities.See(ctx).Entity(ctx, s.db, t.e); err != nil {
		return nil, err
	}
	h := householdOf(t.e)
	found, next, err := s.devicesOf(ctx, t.DID, place{newest, shownDevices})
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		h.Devices = append(h.Devices, Ref{DID: d.DID, Type: d.Type, Status: d.Status})
	}
	h.MoreDevices = next != 0
	return h, nil
}

// newest is above every number.
const newest = 1<<63 - 1

// Households lists households, newest first, from below a place. next is where
// to continue, 0 at the end.
func (s *Service) Households(ctx context.Context, below int64, limit int) (items []Household, next int64, err error) {
	sight := s.cfg.Entities.See(ctx)
	err = s.pick(ctx, picking{below, limit, func(p place) ([]*entity.Row, error) {
		return ofProtocol(ctx, s.db, web.CallerFrom(ctx).Workspace, entity.HouseholdProtocol, p)
	}}, householdIs, func(e *entity.Entity) error {
		if err := sight.Entity(ctx, s.db, e); err != nil {
			return err
		}
		items = append(items, *householdOf(e))
		return nil
	}, &next)
	return items, next, err
}

// Devices lists devices, newest first: those of a household, or all of a type.
func (s *Service) Devices(ctx context.Context, household, typ string, below int64, limit int) (items []Device, next int64, err error) {
	sight := s.cfg.Entities.See(ctx)
	add := func(e *entity.Entity) error {
		if err := sight.Entity(ctx, s.db, e); err != nil {
			return err
		}
		items = append(items, *deviceOf(e, s.cfg.Now()))
		return nil
	}
	if household != "" {
		var c fault.Checks
		if checkDID(&c, "query/householdId", household); !c.OK() {
			return nil, 0, c.Err("INVALID_PARAMETER", "A parameter is not valid.")
		}
		found, next, err := s.devicesOf(ctx, household, place{below, limit})
		for _, d := range found {
			if typ != "" && d.Type != typ {
				continue
			}
			if err := add(d.e); err != nil {
				return nil, 0, err
			}
		}
		return items, next, err
	}
	typ = cmp.Or(typ, monitorType)
	err = s.pick(ctx, picking{below, limit, func(p place) ([]*entity.Row, error) {
		return ofType(ctx, s.db, web.CallerFrom(ctx).Workspace, typ, p)
	}}, deviceIs, add, &next)
	return items, next, err
}

// picking is a list of twins of which a caller may see some.
type picking struct {
	below int64
	limit int
	read  func(place) ([]*entity.Row, error)
}

// pick reads a page of twins of a domain type and passes those that the caller
// may see to add. It looks at no more than listBudget twins; next is where to
// continue.
func (s *Service) pick(ctx context.Context, p picking, domainType string, add func(*entity.Entity) error, next *int64) error {
	c := web.CallerFrom(ctx)
	want := p.limit + 1
	if len(c.Projects) > 0 || !c.May("entities:read") {
		want = listBudget
	}
	rows, err := p.read(place{p.below, want})
	if err != nil {
		return err
	}
	n := 0
	for i, r := range rows {
		if n == p.limit {
			*next = rows[i-1].NID
			return nil
		}
		e, err := see(c, r, domainType)
		if err != nil {
			return err
		}
		if e == nil {
			continue
		}
		n++
		if err := add(e); err != nil {
			return err
		}
	}
	if len(rows) == want {
		*next = rows[len(rows)-1].NID
	}
	return nil
}

// see returns the record of a twin the caller may know, nil for any other.
func see(c web.Caller, r *entity.Row, domainType string) (*entity.Entity, error) {
	if r.DomainType != domainType || !visible(c, r) {
		return nil, nil
	}
	e, err := r.Entity()
	if err != nil || !sees(c, e) {
		return nil, err
	}
	return e, nil
}

// devicesOf lists the devices that are linked to a household now, latest links
// first. The household need not be held here. next is where to continue, 0 at
// the end.
func (s *Service) devicesOf(ctx context.Context, household string, p place) (found []*subject, next int64, err error) {
	now := s.cfg.Now().UnixMilli()
	return s.devicesIn(ctx, household, p, span{from: now, to: now + 1})
}

// devicesIn is devicesOf for the devices that may have been in a household in a
// range of time.
func (s *Service) devicesIn(ctx context.Context, household string, p place, w span) (found []*subject, next int64, err error) {
	c := web.CallerFrom(ctx)
	links, rest, err := s.links(ctx, household, p.below, w)
	if err != nil {
		return nil, 0, err
	}
	for len(links) > 0 {
		part := links[:min(perLook, len(links))]
		links = links[len(part):]
		rows, err := s.sources(ctx, c.Workspace, part)
		if err != nil {
			return nil, 0, err
		}
		for _, l := range part {
			if len(found) == p.limit {
				return found, next, nil
			}
			next = l.nid
			t, err := seen(c, rows[l.src], found)
			if err != nil {
				return nil, 0, err
			}
			if t != nil {
				found = append(found, t)
			}
		}
	}
	return found, rest, nil
}

// seen returns a device that the caller may know and that is not in found yet.
func seen(c web.Caller, r *entity.Row, found []*subject) (*subject, error) {
	if r == nil || slices.ContainsFunc(found, func(t *subject) bool { return t.NID == r.NID }) {
		return nil, nil
	}
	e, err := see(c, r, deviceIs)
	if err != nil || e == nil {
		return nil, err
	}
	return &subject{r, e}, nil
}

// sources reads the twins that links start from.
func (s *Service) sources(ctx context.Context, ws string, links []link) (map[int64]*entity.Row, error) {
	nids := make([]int64, len(links))
	for i, l := range links {
		nids[i] = l.src
	}
	rows, err := twins(ctx, s.db, ws, nids)
	out := map[int64]*entity.Row{}
	for _, r := range rows {
		out[r.NID] = r
	}
	return out, err
}

// links lists relationships of the role household to a DID, newest first, that
// may have held in a range: those to the twin, if it is held here, those from
// before it was, and those that have ended. rest is where to continue after as
// many relationships as one request looks at, 0 at the end.
func (s *Service) links(ctx context.Context, household string, below int64, w span) (all []link, rest int64, err error) {
	p := place{below, listBudget}
	ws := web.CallerFrom(ctx).Workspace
	row, err := s.cfg.Entities.Find(ctx, s.db, household)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return nil, 0, err
	}
	some := func(list []link, err error) error {
		if len(list) == listBudget {
			rest = max(rest, list[listBudget-1].nid)
		}
		all = append(all, list...)
		return err
	}
	if err := some(edgesOut(ctx, s.db, ws, household, p)); err != nil {
		return nil, 0, err
	}
	if err := some(edgesPast(ctx, s.db, ws, household, p)); err != nil {
		return nil, 0, err
	}
	if row != nil {
		if err := some(edgesIn(ctx, s.db, ws, row.NID, p)); err != nil {
			return nil, 0, err
		}
	}
	all = slices.DeleteFunc(all, func(l link) bool { return l.role != householdRole || l.nid < rest || !l.touches(w.from, w.to) })
	order.Sort(all, func(a, b link) int { return cmp.Compare(b.nid, a.nid) })
	return all, rest, nil
}
