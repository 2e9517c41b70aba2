package bulk

import (
	"context"
	"fmt"
	"hash/maphash"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// maxDoubts is how many targets and roles an import remembers.
const maxDoubts = 10_000

// doubt notes relationships of a row that may be mistyped: a target that is held
// neither here nor in the file is taken as one outside, and any word as a role.
func (ca *carrier) doubt(ctx context.Context, r *row, all []entity.RelationDraft) error {
	for i, d := range all {
		_, here := ca.lines[maphash.String(ca.seed, d.Target)]
		held, err := here, error(nil)
		if !here {
			held, err = ca.holds(ctx, d.Target)
		}
		if err != nil {
			return err
		}
		if !held {
			r.note(i, d, "not_held", "No twin has this DID, here or in the file: the relationship points outside. Check the DID if the twin is one of yours.")
		}
		if near := ca.nearRole(ctx, r, d.Role); near != "" {
			r.note(i, d, "unknown_role", fmt.Sprintf("No protocol declares the role %s. If you meant %s, change it.", fault.Echo(d.Role), near))
		}
	}
	return nil
}

// note adds a warning about a relationship, by its column where it has one.
func (r *row) note(i int, d entity.RelationDraft, code, detail string) {
	f := fault.Field{Pointer: fmt.Sprintf("/relationships/%d", i), Code: code, Detail: detail}
	if t := r.targetOf(d); t != nil {
		f = t.fault(code, detail)
	}
	r.notes = append(r.notes, f)
}

// holds reports whether a twin is held here.
func (ca *carrier) holds(ctx context.Context, did string) (bool, error) {
	held, known := ca.twins[did]
	if known {
		return held, nil
	}
	_, err := ca.entities.Find(ctx, ca.db, did)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return false, err
	}
	if len(ca.twins) >= maxDoubts {
		clear(ca.twins)
	}
	ca.twins[did] = err == nil
	return err == nil, nil
}

// nearRole is a declared role that is nearly the same as an undeclared one, ""
// when there is none.
func (ca *carrier) nearRole(ctx context.Context, r *row, role string) string {
	names := []string{relationship.Project}
	for _, rule := range relationship.Rules() {
		names = append(names, rule.Role, rule.Inverse)
	}
	if p := ca.protocolOf(ctx, r); p != nil {
		for _, one := range p.Roles() {
			names = append(names, one.Name)
		}
	}
	if near := check.Nearest(role, names); near != role {
		return near
	}
	return ""
}
