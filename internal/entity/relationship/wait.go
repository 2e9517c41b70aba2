package relationship

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Relationships wait when they name a twin that was not held here when they were made.
const (
	selectWaiting = `SELECT nid, src, dst, src_did, dst_did, role, mirror, since, until, source, added_at, added_by, unconfirmed
		FROM relationships WHERE ws = $1 AND dst_did = $2 AND dst = 0 AND removed_at IS NULL AND nid > $3 ORDER BY nid LIMIT $4`
	// Ten names at a time; unused parameters repeat the last.
	selectAwaited = `WITH want (did) AS (VALUES (CAST($2 AS TEXT)), ($3), ($4), ($5), ($6), ($7), ($8), ($9), ($10), ($11))
		SELECT w.did FROM want w
		WHERE EXISTS (SELECT 1 FROM relationships r WHERE r.ws = $1 AND r.dst_did = w.did AND r.dst = 0 AND r.removed_at IS NULL)`
	selectMissed = selectAwaited + ` AND EXISTS (SELECT 1 FROM entities e WHERE e.did = w.did AND e.ws = $1)`
	// The same relationship may have been made again meanwhile.
	settleLink = `UPDATE relationships SET src = $3, src_did = $4, dst = $5, dst_did = $6, role = $7, mirror = $8, source = $9, unconfirmed = 0
		WHERE nid = $1 AND ws = $2 AND dst = 0 AND removed_at IS NULL
			AND NOT EXISTS (SELECT 1 FROM relationships o WHERE o.src = $3 AND o.role = $7 AND o.dst_did = $6 AND o.removed_at IS NULL AND o.nid <> $1)`
)

// names is how many DIDs one statement looks for.
const names = 10

// Page is a piece of a list, oldest first.
type Page struct {
	After int64
	Limit int
}

// Waiting lists current relationships of a workspace that wait for a twin.
func Waiting(ctx context.Context, q db.Querier, ws, id string, p Page) ([]Row, error) {
	rows, err := q.Query(ctx, selectWaiting, ws, id, p.After, p.Limit)
	return db.Collect(rows, err, "list relationships", scan)
}

// Awaited returns which of some DIDs relationships of a workspace wait for.
func Awaited(ctx context.Context, q db.Querier, ws string, ids ...string) ([]string, error) {
	return eachTen(ids, ws, func(args []any) (db.Rows, error) { return q.Query(ctx, selectAwaited, args...) })
}

// Missed is Awaited for twins that are held here nevertheless.
func Missed(ctx context.Context, q db.Querier, ws string, ids ...string) ([]string, error) {
	return eachTen(ids, ws, func(args []any) (db.Rows, error) { return q.Query(ctx, selectMissed, args...) })
}

func eachTen(ids []string, ws string, ask func(args []any) (db.Rows, error)) ([]string, error) {
	var out []string
	for some := range slices.Chunk(ids, names) {
		args := []any{ws}
		for i := range names {
			args = append(args, some[min(i, len(some)-1)])
		}
		rows, err := ask(args)
		found, err := db.Collect(rows, err, "look for waiting relationships", db.Column[string])
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	return out, nil
}

// Settle stores a waiting relationship as joined, now that both its ends are
// held here. It returns false when it no longer waits.
func Settle(ctx context.Context, tx *db.Tx, ws string, l *Row) (bool, error) {
	var mirror any
	if l.Mirror {
		mirror = l.Dst
	}
	n, err := tx.Exec(ctx, settleLink, l.NID, ws, l.Src, l.SrcDID, l.Dst, l.DstDID, l.Role, mirror, l.Source)
	return n > 0, db.Wrap("settle relationship", err)
}

// Waiting draws the relationships of a workspace that named a twin before it
// was held here, as they are once they are joined to it. One that the twin
// cannot have says so in Misfit. Those of deactivated twins do not change and
// are left out.
func (w Drawer) Waiting(ctx context.Context, q db.Querier, ws string, to *End, links []Row) ([]*Relationship, error) {
	var plans []*Relationship
	for _, l := range links {
		from, err := EndByNID(ctx, q, ws, l.Src)
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
			pl = &Relationship{Self: from, Word: l.Role, Misfit: err}
		}
		pl.Row.NID, pl.Row.Since, pl.Row.Until, pl.Row.AddedAt, pl.Row.AddedBy = l.NID, l.Since, l.Until, l.AddedAt, l.AddedBy
		plans = append(plans, pl)
	}
	return plans, nil
}

// Unfit is the fault of a new twin that cannot have a relationship that waits
// for it. With named the caller may know the twin that made the relationship.
func (p *Relationship) Unfit(named bool) error {
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

// ShowWaited shows relationships that waited for a new twin in its record,
// before its other ones, because they are older.
func ShowWaited(e *twin.Entity, waited []*Relationship, besides []twin.Relationship) {
	for _, p := range waited {
		if p.Row.Mirror {
			Show(e, p.Row.Shown(!p.Back), p.Self.DomainType)
		}
	}
	for _, r := range besides {
		Show(e, r, "group")
	}
}
