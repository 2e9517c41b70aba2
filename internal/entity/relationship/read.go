package relationship

import (
	"cmp"
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/order"
)

// First reads the relationships that a record shows, oldest first, and reports
// whether there are more.
func First(ctx context.Context, q db.Querier, nid int64) ([]twin.Relationship, bool, error) {
	out, err := Out.List(ctx, q, nid, 0, twin.MaxRelations+1)
	if err != nil {
		return nil, false, err
	}
	in, err := Mirrored.List(ctx, q, nid, 0, twin.MaxRelations+1)
	if err != nil {
		return nil, false, err
	}
	all := append(out, in...)
	order.Sort(all, func(a, b Row) int { return cmp.Compare(a.NID, b.NID) })
	more := len(all) > twin.MaxRelations
	all = all[:min(len(all), twin.MaxRelations)]
	list := make([]twin.Relationship, len(all))
	for i := range all {
		list[i] = all[i].Shown(all[i].Src != nid)
	}
	return list, more, nil
}

// NeedOf describes what fills a role at a moment, in ms: its Targets are twins
// that are not deactivated, and confirmed ones that are not held here.
func NeedOf(role string, now int64) Need {
	n := Need{Words: []string{role}, Now: now}
	if rule, inverse, ok := Of(role); ok && inverse {
		n.Role = rule.Role
	}
	return n
}

// LackingAt is Lacking for a twin that is held here. It names a relationship
// that would fill a role once confirmed.
func LackingAt(ctx context.Context, q db.Querier, e *End, roles []string, message string) error {
	f := fault.New(fault.Conflict, "MISSING_RELATIONSHIPS", message)
	for _, role := range roles {
		l, err := waitsFor(ctx, q, e.NID, role)
		if err != nil {
			return err
		}
		if l == nil {
			f = f.With(lacks(role))
			continue
		}
		f = f.With(fault.Field{
			Pointer: "/relationships", Code: "unconfirmed", Detail: "The role " + role + " is filled by " + l.DstDID +
				", which is not held here and has not been confirmed. Ask a caller with the scope * to send POST " + twin.Address(e.DID) + "/relationships/" + ID(l.NID) + "/confirm.",
		})
	}
	return f
}

// waitsFor finds a relationship that would fill a role once confirmed; nil when
// there is none.
func waitsFor(ctx context.Context, q db.Querier, nid int64, role string) (*Row, error) {
	l, err := unconfirmed(ctx, q, nid, role)
	if err != nil || l != nil || role != GeneratedBy {
		return l, err
	}
	return unconfirmed(ctx, q, nid, Project)
}

// CountAll counts the current, confirmed relationships of a twin at a moment,
// in ms, under required words, each up to the number that is enough.
func CountAll(ctx context.Context, q db.Querier, nid int64, words map[string]int, now int64) (map[string]int, error) {
	out := map[string]int{}
	for word, least := range words {
		c := Count{Role: word, Most: least, Now: now}
		n, err := c.Out(ctx, q, nid)
		if err != nil {
			return nil, err
		}
		if rule, inverse, ok := Of(word); ok && inverse && n < least {
			c.Role = rule.Role
			in, err := c.In(ctx, q, nid)
			if err != nil {
				return nil, err
			}
			n += in
		}
		out[word] = n
	}
	return out, nil
}
