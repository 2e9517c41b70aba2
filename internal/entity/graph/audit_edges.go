package graph

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
)

// joins looks at the edges of a batch: at once when they are few, else one
// twin after the other, until the budget ends.
func (a *audit) joins(ctx context.Context, q db.Querier, b *batch) error {
	nids := b.nids(everyone)
	if len(nids) == 0 {
		return nil
	}
	out, err := joinsOfMany(ctx, q, page{way: Out, limit: a.together}, nids)
	if err != nil {
		return err
	}
	in, err := joinsOfMany(ctx, q, page{way: In, limit: a.together}, nids)
	if err != nil {
		return err
	}
	if len(out) < a.together && len(in) < a.together {
		of := map[int64]*audited{}
		for _, t := range b.twins {
			of[t.nid] = t
		}
		for _, j := range append(out, in...) {
			a.judge(of[j.near], &j)
		}
		return nil
	}
	last := a.at
	for _, t := range b.twins {
		a.at = auditPlace{Twin: t.nid, Open: true}
		if err := a.joinsOfOne(ctx, q, t); err != nil {
			return err
		}
		if a.at.Open {
			a.stop(b, t.nid)
			return nil
		}
	}
	a.at = last
	return nil
}

// resume continues with the edges of a twin.
func (a *audit) resume(ctx context.Context, q db.Querier) error {
	t := &audited{nid: a.at.Twin}
	err := q.QueryRow(ctx, twinByNID, t.nid, a.caller.Workspace).Scan(&t.did, &t.domain, &t.project, &t.status)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !a.caller.Sees(t.project) {
		a.at = auditPlace{Twin: t.nid}
		return nil
	} else if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	return a.joinsOfOne(ctx, q, t)
}

// joinsOfOne checks the edges of one twin from where the audit is. The place
// stays open when the budget ends first.
func (a *audit) joinsOfOne(ctx context.Context, q db.Querier, t *audited) error {
	for a.edges > 0 && len(a.report.Violations) < maxViolations {
		p := page{way: Out, after: a.at.Edge, limit: min(a.together, a.edges)}
		if a.at.In {
			p.way = In
		}
		all, err := joinsOf(ctx, q, p, t.nid)
		if err != nil {
			return err
		}
		a.edges -= len(all)
		for i := range all {
			a.judge(t, &all[i])
			a.at.Edge = all[i].nid
		}
		switch {
		case len(all) == p.limit:
		case !a.at.In:
			a.at = auditPlace{Twin: t.nid, Open: true, In: true}
		default:
			a.at = auditPlace{Twin: t.nid}
			return nil
		}
	}
	return nil
}

// judge checks an edge against the rules. Violations that involve both ends are
// reported at the source; at the target only that the source exists.
func (a *audit) judge(t *audited, j *joined) {
	id := relationship.ID(j.nid)
	if j.ws != a.caller.Workspace {
		a.note(t, "edge_workspace", "The relationship "+id+" is of another workspace.")
	}
	switch {
	case j.far == 0: // not held here, or hidden from its maker
		rule, inverse, ok := relationship.Of(j.role)
		switch {
		case ok && !inverse:
			a.note(t, "edge_class_mismatch", "The relationship "+id+" must have both ends here.")
		case ok && j.farDomain != "" && t.status != entity.StatusDeactivated && !rule.Joins(j.farDomain, t.domain):
			a.note(t, "edge_class_mismatch", "The relationship "+id+" names a twin that "+j.role+" cannot join.")
		}
		return
	case j.heldDID == "":
		a.note(t, "edge_end_missing", "The twin at the other end of the relationship "+id+" does not exist.")
		return
	case j.heldWS != a.caller.Workspace:
		a.note(t, "edge_workspace", "The twin at the other end of the relationship "+id+" is of another workspace.")
		return
	case j.heldDID != j.farDID:
		a.note(t, "edge_end_mismatch", "The relationship "+id+" names another DID than the twin at its other end has.")
	}
	rule, inverse, ok := relationship.Of(j.role)
	if j.way == In || !ok {
		return
	}
	if inverse || !rule.Joins(t.domain, j.farDomain) {
		a.note(t, "edge_class_mismatch", "The relationship "+id+" joins twins that "+j.role+" cannot join.")
	}
	if j.mirror != j.far {
		a.note(t, "edge_end_mismatch", "The target of the relationship "+id+" does not know of it.")
	}
}
