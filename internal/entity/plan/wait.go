package plan

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/link"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Waiting draws edges of a workspace that named a twin before it was held here,
// as they are once they are joined to it. One the twin cannot have says so in
// Misfit. Those of deactivated twins stay as they are and are left out.
func (w Drawer) Waiting(ctx context.Context, q db.Querier, ws string, to *link.End, links []link.Link) ([]*Plan, error) {
	var plans []*Plan
	for _, l := range links {
		from, err := link.EndByNID(ctx, q, ws, l.Src)
		if err != nil {
			return nil, err
		}
		if from == nil || twin.Status(from.Status) == twin.StatusDeactivated {
			continue
		}
		from.Crowded = false // its record may change: lock it alone
		p, err := w.Protocols.FindAnyIn(ctx, q, ws, from.Protocol, from.ProtocolVersion)
		if err != nil {
			return nil, err
		}
		pl, err := w.Draw(from, to, p, twin.RelationDraft{Role: l.Role, Target: to.DID}, "")
		if err == nil {
			err = w.CheckClass(ctx, ws, pl, "")
		}
		if err != nil {
			if fault.As(err) == nil {
				return nil, err
			}
			pl = &Plan{Self: from, Word: l.Role, Misfit: err}
		}
		pl.Link.NID, pl.Link.Since, pl.Link.Until, pl.Link.AddedAt, pl.Link.AddedBy = l.NID, l.Since, l.Until, l.AddedAt, l.AddedBy
		plans = append(plans, pl)
	}
	return plans, nil
}

// Unfit is the fault of a new twin that cannot have an edge that waits for it.
// named tells that the caller may know of the twin that made the edge.
func (p *Plan) Unfit(named bool) error {
	who := "Another entity"
	if named {
		who = p.Self.DID
	}
	detail := who + " waits for this DID in its relationship " + p.Word + "."
	for _, f := range fault.As(p.Misfit).Fields {
		detail += " " + f.Detail
	}
	return fault.New(fault.Unprocessable, "RELATIONSHIP_CLASS_MISMATCH", "A relationship that waits for this DID needs an entity of another class.").
		With(fault.Field{Pointer: "/did", Code: "class_mismatch", Detail: detail})
}

// ShowWaited shows edges that waited for a new twin in its record, before what
// it shows besides: they are older.
func ShowWaited(e *twin.Entity, waited []*Plan, besides []twin.Relationship) {
	for _, p := range waited {
		if p.Link.Mirror {
			Show(e, Shown(&p.Link, !p.Back), p.Self.DomainType)
		}
	}
	for _, r := range besides {
		Show(e, r, "group")
	}
}
