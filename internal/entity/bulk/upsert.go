package bulk

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// prepare checks a row for a new twin, and prepares the update of an existing
// one. The state can change until the row is stored, even by an earlier row, so
// storing checks again.
func (ca *carrier) prepare(ctx context.Context, row *row) (step, *entity.Prepared, error) {
	upsert := ca.p.Mode == modeUpsert
	if upsert {
		held, err := ca.held(ctx, ca.db, &row.draft)
		if err != nil {
			return step{}, nil, err
		}
		if held != nil {
			return step{Run: func(ctx context.Context, tx *db.Tx) (outcome, error) {
				return ca.upsert(ctx, tx, row, nil, errChanged())
			}}, nil, nil
		}
	}
	made, err := ca.make(ctx, row)
	if err != nil && (!upsert || ca.p.DryRun || exchange.Refusal(err) == nil) {
		return step{}, nil, err
	}
	st := step{Run: func(ctx context.Context, tx *db.Tx) (outcome, error) {
		if upsert {
			return ca.upsert(ctx, tx, row, made, err)
		}
		return ca.create(ctx, tx, row, made)
	}}
	if err != nil || ca.p.DryRun || !row.plain() { // its relationships may have to wait, which each must say for itself
		return st, nil, nil
	}
	st.Bytes = made.Size()
	return st, made, ca.entities.Ready(ctx, made)
}

func errChanged() error {
	return fault.New(fault.Conflict, "ENTITY_CHANGED", "The entity was changed at the same moment. Import the row again.")
}

func (ca *carrier) create(ctx context.Context, tx *db.Tx, row *row, made *entity.Prepared) (outcome, error) {
	o := outcome{DID: made.DID(), Revision: 1, Action: created}
	r, err := ca.entities.StoreTx(ctx, tx, made)
	if err == nil {
		r, err = ca.finish(ctx, tx, row, r)
	}
	switch {
	case err == nil:
		o.Revision, o.Bytes, o.Warnings = r.Revision, len(r.Body), row.warn(r.Body)
	case ca.p.DryRun && ca.seen.pending(err, row.relations()):
		blind := *row // its future content is not known
		blind.status = ""
		o.Warnings = blind.warn(made.Body())
		return o, ca.seen.expect(&row.draft, row.relations(), made.Body())
	default:
		return outcome{DID: row.draft.DID}, err // a DID we made up names nothing
	}
	if ca.p.DryRun && ca.p.Mode == modeUpsert {
		err = ca.seen.note(&row.draft, r.Body)
	}
	return o, err
}

// relations are the relationships of a row to twins that exist when it is stored.
func (r *row) relations() []entity.RelationDraft {
	return slices.Concat(r.draft.Relationships, r.after)
}

// upsert updates the twin a row names, or makes it. unmade is why there is
// nothing to make.
func (ca *carrier) upsert(ctx context.Context, tx *db.Tx, row *row, made *entity.Prepared, unmade error) (outcome, error) {
	held, err := ca.held(ctx, tx, &row.draft)
	switch {
	case err != nil:
		return outcome{}, err
	case held == nil && made == nil:
		return outcome{DID: row.draft.DID}, unmade
	case held == nil:
		return ca.create(ctx, tx, row, made)
	}
	o := outcome{DID: held.DID, Action: unchanged, Warnings: row.warnHeld(held)}
	next := held
	settled := held.Status == entity.StatusDeactivated // nobody changes an ended twin
	if settled {
		seen, err := ca.entities.See(ctx).Record(ctx, tx, held.Protocol, held.Body)
		if err != nil {
			return o, err
		}
		settled = row.says(seen)
	}
	if !settled {
		next, err = ca.entities.PatchTx(ctx, tx, held.DID, "*", entity.Change{Merge: row.merge, Reason: ca.reason})
	}
	if err != nil {
		return o, err
	}
	if o.Revision = next.Revision; next.Revision != held.Revision {
		o.Action, o.Bytes = updated, len(next.Body)
	}
	for _, d := range row.relations() {
		added, err := ca.relate(ctx, tx, held, d)
		if err != nil {
			return o, row.blame(d, err)
		}
		if added {
			o.Action = updated
		}
	}
	return o, nil
}

// warnHeld is warn for an existing twin: an import does not change its status,
// nor anything that is not taken from a file.
func (r *row) warnHeld(held *entity.Row) []fault.Field {
	out := *r
	out.status = ""
	list := out.warn(held.Body)
	if r.status != "" && held.Status != "" && r.status != held.Status {
		detail := "The twin is " + string(held.Status) + ". An import sets the status of new twins only."
		list = append(list, fault.Field{Pointer: "/status", Code: "not_carried_over", Detail: detail})
	}
	return list
}

// says reports whether a row says nothing that differs from a record, which is
// the twin as far as the caller sees it: a right guess must not be confirmed.
func (r *row) says(record []byte) bool {
	doc, err := web.MergePatch(record, r.merge)
	return err == nil && check.SameJSON(doc, record)
}

// relate adds a relationship to a twin unless it exists.
func (ca *carrier) relate(ctx context.Context, tx *db.Tx, held *entity.Row, d entity.RelationDraft) (bool, error) {
	e, err := held.Entity()
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(e.Relationships, func(r entity.Relationship) bool { return r.Role == d.Role && r.Target == d.Target }) {
		return false, nil
	}
	_, err = ca.entities.RelateTx(ctx, tx, held.DID, d)
	if fault.CodeOf(err) == "RELATIONSHIP_EXISTS" { // not among those the record shows
		return false, nil
	}
	return err == nil, err
}

// held finds the twin a row is about: by its DID, else by an external id. nil
// when there is none the caller may see.
func (ca *carrier) held(ctx context.Context, q db.Querier, d *entity.Draft) (*entity.Row, error) {
	id := d.DID
	if id == "" {
		for scheme, value := range d.ExternalIDs {
			found, err := findExternal(ctx, q, web.CallerFrom(ctx).Workspace, scheme, value)
			if err != nil {
				return nil, err
			}
			if found != "" && id != "" && found != id {
				return nil, fault.New(fault.Conflict, "EXTERNAL_IDS_DISAGREE", "The external ids of the row belong to different entities.").
					With(fault.Field{Pointer: "/externalIds", Code: "ambiguous", Detail: "Give the DID, or ids of one entity."})
			}
			if found != "" {
				id = found
			}
		}
	}
	if id == "" {
		return nil, nil
	}
	r, err := ca.entities.Find(ctx, q, id)
	if fault.KindOf(err) == fault.NotFound {
		return nil, nil
	}
	return r, err
}
