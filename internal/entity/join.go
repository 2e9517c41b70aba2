package entity

import (
	"context"
	"errors"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxJoined limits how many relationships one transaction joins to a new twin
// that they already named. A job joins the others.
const maxJoined = 100

// kindJoin is the job that joins relationships to a twin.
const kindJoin = "entity.join"

type joinJob struct {
	DID string `json:"did"`
}

// Handlers are what runs the jobs of this package, by kind.
func (s *Service) Handlers() map[string]job.Handler {
	return map[string]job.Handler{kindJoin: s.runJoin, kindCertify: s.runCertify, KindRename: s.runRename}
}

// farEnd is visibleEnd for a relationship that is about to be stored. When the
// twin does not exist yet, tx looks again after its commit.
func (rl *relations) farEnd(ctx context.Context, tx *db.Tx, id string) (*relationship.End, error) {
	e, err := visibleEnd(ctx, tx, id)
	if err == nil && e == nil {
		rl.lookAgain(ctx, tx, id)
	}
	return e, err
}

// lookAgain joins relationships that are stored at the same time as the twins
// they name: on PostgreSQL neither transaction sees the other, but whichever
// ends last sees both.
func (rl *relations) lookAgain(ctx context.Context, tx *db.Tx, ids ...string) {
	if tx.Dialect() != db.Postgres {
		return
	}
	ctx = context.WithoutCancel(ctx)
	tx.AfterCommit(func() {
		missed, err := relationship.Missed(ctx, rl.db, web.CallerFrom(ctx).Workspace, ids...)
		for _, id := range missed {
			err = errors.Join(err, rl.db.InTx(ctx, func(tx *db.Tx) error {
				e, err := visibleEnd(ctx, tx, id)
				if err == nil && e != nil { // the others are still missing
					_, err = rl.joinSome(ctx, tx, id, relationship.Page{Limit: maxJoined})
				}
				return err
			}))
		}
		if err != nil {
			rl.log.WarnContext(ctx, "relationships that wait for a twin are not joined", "err", err.Error())
		}
	})
}

// warmAwaited reads the protocols of twins that wait for a DID; see warm. The
// relationships drawn for that are discarded.
func (rl *relations) warmAwaited(ctx context.Context, id string, page relationship.Page) error {
	ws := web.CallerFrom(ctx).Workspace
	links, err := relationship.Waiting(ctx, rl.db, ws, id, page)
	if err == nil {
		_, err = rl.drawer(ctx).Waiting(ctx, rl.db, ws, &relationship.End{DID: id}, links)
	}
	return err
}

// awaited draws the relationships that named a new twin before it was held
// here. Only a DID chosen by a client can have been named. The fault is
// RELATIONSHIP_CLASS_MISMATCH when the twin is not what one of them needs.
func (rl *relations) awaited(ctx context.Context, tx *db.Tx, p *Prepared) ([]*relationship.Relationship, error) {
	if !p.chosen {
		return nil, nil
	}
	links, err := relationship.Waiting(ctx, tx, p.row.Workspace, p.row.DID, relationship.Page{Limit: maxJoined})
	if err != nil {
		return nil, err
	}
	if len(links) > 0 { // if the twin exists already, the insert refuses it
		if held, err := relationship.Held(ctx, tx, p.row.Workspace, p.row.DID); err != nil || held {
			return nil, err
		}
	}
	if len(links) < maxJoined || rl.jobs == nil {
		rl.lookAgain(ctx, tx, p.row.DID)
	} else if _, err := rl.jobs.Enqueue(ctx, tx, job.Draft{Kind: kindJoin, Payload: joinJob{p.row.DID}}); err != nil {
		return nil, err
	}
	plans, err := rl.drawer(ctx).Waiting(ctx, tx, p.row.Workspace, p.end(), links)
	if err != nil {
		return nil, err
	}
	for _, pl := range plans {
		if pl.Misfit != nil {
			return nil, pl.Unfit(inside(web.CallerFrom(ctx), pl.Self.Project))
		}
	}
	return plans, nil
}

// settle stores what waiting relationships have become. Their sources are locked. It
// leaves out those that no longer wait, and lets apart decide about those whose ends
// were both claimed for the same days.
func (rl *relations) settle(ctx context.Context, tx *db.Tx, ws string, waited []*relationship.Relationship, apart func(*relationship.Relationship, error) error) ([]*relationship.Relationship, error) {
	var out []*relationship.Relationship
	for _, p := range waited {
		if p.Misfit != nil || Status(p.Self.Status) == StatusDeactivated {
			continue
		}
		if err := rl.joined(ctx, tx, ws, &p.Row); fault.As(err) != nil {
			if err := apart(p, err); err != nil {
				return nil, err
			}
			continue
		} else if err != nil {
			return nil, err
		}
		done, err := relationship.Settle(ctx, tx, ws, &p.Row)
		if err != nil {
			return nil, err
		}
		if done {
			out = append(out, p)
		}
	}
	return out, nil
}

// showJoined shows relationships that have waited for a new twin at the twins
// that made them. links are the new twin's own.
func (rl *relations) showJoined(ctx context.Context, tx *db.Tx, row *Row, links []relationship.Row, waited []*relationship.Relationship) error {
	for i := 0; i < len(links) && len(waited) > 0; i++ { // a claim may cover what was waiting
		if err := rl.joined(ctx, tx, row.Workspace, &links[i]); err != nil {
			return err
		}
	}
	for _, p := range waited {
		if p.Row.Mirror {
			if err := rl.tell(ctx, tx, "relationship.added", row, p.Row.Shown(!p.Back)); err != nil {
				return err
			}
		}
		if err := rl.rejoin(ctx, tx, row.Workspace, p); err != nil {
			return err
		}
	}
	return nil
}

// rejoin updates a relationship that has waited in the record of the twin that made
// it.
func (rl *relations) rejoin(ctx context.Context, tx *db.Tx, ws string, p *relationship.Relationship) error {
	row, err := findByNID(ctx, tx, ws, p.Self.NID)
	if err != nil {
		return err
	}
	shown := p.Row.Shown(p.Back)
	_, err = rl.Mutate(ctx, tx, row, related("relationship.added", shown), func(e *Entity) (err error) {
		i := slices.IndexFunc(e.Relationships, func(r Relationship) bool { return r.ID == shown.ID })
		if i >= 0 {
			e.Relationships[i] = shown
		}
		if e.Project == shown.Target && p.Other.DomainType != "project" { // it was taken for one
			e.Project, err = projectOf(ctx, tx, row)
		} else if i < 0 {
			err = errUnchanged
		}
		return err
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

// joinSome joins some of the relationships that wait for a twin, as far as they
// fit. It returns where to continue, 0 at the end.
func (rl *relations) joinSome(ctx context.Context, tx *db.Tx, id string, page relationship.Page) (int64, error) {
	ws := web.CallerFrom(ctx).Workspace
	to, err := relationship.FindEnd(ctx, tx, ws, id)
	if err != nil || to == nil {
		return 0, err
	}
	links, err := relationship.Waiting(ctx, tx, ws, id, page)
	if err != nil || len(links) == 0 {
		return 0, err
	}
	plans, err := rl.drawer(ctx).Waiting(ctx, tx, ws, to, links)
	if err != nil {
		return 0, err
	}
	ends := []*relationship.End{to}
	for _, p := range plans {
		ends = append(ends, p.Self)
	}
	if err := lock(ctx, tx, ends...); err != nil {
		return 0, err
	}
	apart := func(p *relationship.Relationship, why error) error {
		return rl.events.Append(ctx, tx, event.Event{
			Workspace: ws, Type: "relationship.refused", Subject: p.Self.DID,
			Data: map[string]any{"role": p.Row.Role, "target": p.FarDID(), "code": fault.CodeOf(why)},
		})
	}
	if plans, err = rl.settle(ctx, tx, ws, plans, apart); err != nil {
		return 0, err
	}
	for _, mirrored := range byOther(plans) {
		if err := rl.showAt(ctx, tx, ws, mirrored); err != nil {
			return 0, err
		}
	}
	for _, p := range plans {
		if err := rl.rejoin(ctx, tx, ws, p); err != nil {
			return 0, err
		}
	}
	if len(links) < page.Limit {
		return 0, nil
	}
	return links[len(links)-1].NID, nil
}

// runJoin is the job that joins the relationships that wait for a twin, some at a time.
func (rl *relations) runJoin(ctx context.Context, r *job.Run) error {
	var p joinJob
	if err := r.Decode(&p); err != nil {
		return err
	}
	for page := (relationship.Page{Limit: maxJoined / 2}); ; {
		if err := rl.warmAwaited(ctx, p.DID, page); err != nil {
			return err
		}
		var next int64
		err := rl.db.InTx(ctx, func(tx *db.Tx) (err error) {
			if err := r.Hold(ctx, tx); err != nil {
				return err
			}
			next, err = rl.joinSome(ctx, tx, p.DID, page)
			return err
		})
		if err != nil || next == 0 {
			return err
		}
		page.After = next
	}
}
