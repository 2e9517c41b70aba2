package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Codes of faults.
const (
	codeOccupied   = "DEMO_STORE_OCCUPIED"
	codeProduction = "DEMO_IN_PRODUCTION"
	codeRemoving   = "DEMO_REMOVING"
	codeNone       = "DEMO_NOT_FOUND"
)

// State returns the state of the demo.
func (s *Service) State(ctx context.Context) (State, error) {
	out := State{Status: "none", Links: Links{Self: path}}
	r, err := find(ctx, s.db, web.CallerFrom(ctx).Workspace)
	if err != nil || r == nil {
		return out, err
	}
	out.Status, out.ID, out.Seed, out.By = r.state, r.id, r.seed, r.actor
	out.StartedAt, out.Seconds = timeOf(r.startedAt), float64(r.tookM)/1000
	out.Links.Job = job.Path(r.job)
	if r.project != "" {
		out.Links.Project = "/v1/entities/" + r.project
	}
	if r.finishedAt > 0 {
		out.FinishedAt = timeOf(r.finishedAt)
	}
	if r.counts != "" {
		if err := json.Unmarshal([]byte(r.counts), &out.Counts); err != nil {
			return State{}, fmt.Errorf("read counts of the demo: %w", err)
		}
	}
	if r.state != ready {
		over, err := s.isOver(ctx, r)
		if err != nil {
			return State{}, err
		}
		if over {
			out.Status = "failed"
		}
	}
	return out, nil
}

func timeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// isOver reports whether the job that works on a demo has ended, or is gone.
func (s *Service) isOver(ctx context.Context, r *row) (bool, error) {
	j, err := s.cfg.Jobs.Get(ctx, r.job)
	if fault.KindOf(err) == fault.NotFound {
		return true, nil
	}
	return err == nil && j.Status.Final(), err
}

// whole refuses callers without all rights in the workspace: the load makes
// keys for its people, and nobody can grant rights they lack.
func whole(ctx context.Context) error {
	c := web.CallerFrom(ctx)
	if len(c.Projects) > 0 {
		return fault.New(fault.Forbidden, "KEY_RESTRICTED", "This key is limited to projects; the demo is a programme of its own.")
	}
	if !c.May("*") {
		return fault.New(fault.Forbidden, "SCOPE_MISSING", "The demo has people with rights of their own, and nobody gives a right they lack: this needs the scope *, as an owner has it.")
	}
	return nil
}

// Load begins to load the demo, or joins a load that was begun: the answer is
// the job. Faults: DEMO_STORE_OCCUPIED, DEMO_IN_PRODUCTION, DEMO_REMOVING,
// SCOPE_MISSING, KEY_RESTRICTED.
func (s *Service) Load(ctx context.Context, d Draft) (web.Reply[job.Job], error) {
	var none web.Reply[job.Job]
	if err := whole(ctx); err != nil {
		return none, err
	}
	ws := web.CallerFrom(ctx).Workspace
	r, err := find(ctx, s.db, ws)
	if err != nil {
		return none, err
	}
	if r == nil && !d.Force {
		if err := s.mayBegin(ctx); err != nil {
			return none, err
		}
	}
	events, err := s.cfg.Events.Range(ctx, ws)
	if err != nil {
		return none, err
	}
	fresh := &row{ws: ws, id: db.NewID(), seed: max(d.Seed, 1), actor: web.CallerFrom(ctx).DID, began: events.Newest, startedAt: s.cfg.Now().UnixMilli()}
	var out web.Reply[job.Job]
	err = s.db.InTx(ctx, func(tx *db.Tx) (err error) {
		out, err = s.begin(ctx, tx, *fresh)
		return err
	})
	return out, err
}

// mayBegin refuses a load that requires force.
func (s *Service) mayBegin(ctx context.Context) error {
	if s.cfg.Production {
		return fault.New(fault.Conflict, codeProduction, "This server is in production. Load the demo on another one, or repeat the request with force.")
	}
	what, err := s.cfg.Occupied(ctx)
	if err != nil || what == "" {
		return err
	}
	return fault.New(fault.Conflict, codeOccupied, "The store holds "+what+", and the demo would stand beside it. Load it on an empty server, or repeat the request with force.")
}

// begin stores a load and its job, or finds the one there is. One whose job has
// ended too soon gets another.
func (s *Service) begin(ctx context.Context, tx *db.Tx, fresh row) (web.Reply[job.Job], error) {
	var none web.Reply[job.Job]
	r, err := findLocked(ctx, tx, fresh.ws)
	if err != nil {
		return none, err
	}
	if r != nil && r.state == removing {
		return none, fault.New(fault.Conflict, codeRemoving, "The demo is being removed. Wait until GET /v1/demo says none, or repeat DELETE if its job has failed.")
	}
	if r != nil {
		j, err := s.cfg.Jobs.Accepted(ctx, tx, r.job)
		switch {
		case err == nil && (r.state == ready || !j.Value.Status.Final()):
			return j, nil
		case err != nil && fault.KindOf(err) != fault.NotFound:
			return none, err
		}
		fresh = *r
	}
	id, err := s.cfg.Jobs.Enqueue(ctx, tx, job.Draft{Kind: kindLoad, Payload: payload{ID: fresh.id}, About: "/v1/demo"})
	if err != nil {
		return none, err
	}
	if r != nil {
		state := loading
		if r.state == ready { // it is all there: the new job finds nothing to do
			state = ready
		}
		err = work(ctx, tx, r.ws, state, id)
	} else {
		fresh.job = id
		_, err = insert(ctx, tx, &fresh)
	}
	if err != nil {
		return none, err
	}
	return s.cfg.Jobs.Accepted(ctx, tx, id)
}

// payload names the demo a job is about.
type payload struct {
	ID   string `json:"id"`
	Load string `json:"load,omitzero"` // the job of the load that a removal waits for
}

// Remove begins to remove the demo, or joins a removal that was begun. Faults:
// DEMO_NOT_FOUND, SCOPE_MISSING, KEY_RESTRICTED.
func (s *Service) Remove(ctx context.Context) (web.Reply[job.Job], error) {
	var out web.Reply[job.Job]
	if err := whole(ctx); err != nil {
		return out, err
	}
	ws, cancelled := web.CallerFrom(ctx).Workspace, ""
	err := s.db.InTx(ctx, func(tx *db.Tx) error {
		cancelled = ""
		r, err := findLocked(ctx, tx, ws)
		if err != nil {
			return err
		}
		if r == nil {
			return fault.New(fault.NotFound, codeNone, "There is no demo in this workspace. POST /v1/demo loads it.")
		}
		if r.state == removing {
			out, err = s.cfg.Jobs.Accepted(ctx, tx, r.job)
			if err == nil && !out.Value.Status.Final() {
				return nil
			} else if err != nil && fault.KindOf(err) != fault.NotFound {
				return err
			}
		} else {
			cancelled = r.job
		}
		id, err := s.cfg.Jobs.Enqueue(ctx, tx, job.Draft{Kind: kindRemove, Payload: payload{ID: r.id, Load: cancelled}, About: "/v1/demo"})
		if err != nil {
			return err
		}
		if err := work(ctx, tx, ws, removing, id); err != nil {
			return err
		}
		out, err = s.cfg.Jobs.Accepted(ctx, tx, id)
		return err
	})
	if err == nil && cancelled != "" {
		s.stop(ctx, cancelled)
	}
	return out, err
}

// stop ends a load. A finished one does not change; a running one notices that
// its demo is being removed.
func (s *Service) stop(ctx context.Context, id string) {
	if _, err := s.cfg.Jobs.Cancel(ctx, id); err != nil && fault.As(err) == nil {
		s.cfg.Log.WarnContext(ctx, "load of the demo not cancelled", "err", err.Error())
	}
}
