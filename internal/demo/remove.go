package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// remove is the handler of the job. What it does it does again when it was cut
// off: each part finds nothing the second time. The last part is the row of the
// demo itself, with the event.
func (s *Service) remove(ctx context.Context, run *job.Run) error {
	var about payload
	if err := run.Decode(&about); err != nil {
		return err
	}
	r, err := find(ctx, s.db, web.CallerFrom(ctx).Workspace)
	if err != nil || r == nil || r.id != about.ID || r.state != removing {
		return err
	}
	if err := s.ended(ctx, about.Load); err != nil {
		return err
	}
	h, err := s.holding(r)
	if err != nil {
		return err
	}
	// The events come in the middle, so that a removal that resumes after a crash
	// still finds what they are about. Those removed again at the end are of the
	// removal itself.
	events := Part{"events", func(ctx context.Context, h *Holding) error { return s.forgetEvents(ctx, r, h) }}
	parts := slices.Concat(s.cfg.Find, []Part{events}, s.cfg.Parts, []Part{events})
	total := int64(len(parts) + 1)
	for i, part := range parts {
		run.Progress(int64(i), total, part.Name)
		if err := part.Remove(ctx, h); err != nil {
			return fmt.Errorf("remove %s of the demo: %w", part.Name, err)
		}
	}
	run.Progress(total-1, total, "demo")
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		if err := run.Hold(ctx, tx); err != nil {
			return err
		}
		if err := remove(ctx, tx, r); err != nil {
			return err
		}
		return s.cfg.Events.Append(ctx, tx, event.Event{Type: "demo.removed", Subject: r.id})
	})
	run.Progress(total, total, "")
	return err
}

// lookEvery is how often a removal asks whether the load has stopped.
const lookEvery = 50 * time.Millisecond

// ended waits until a load that was cancelled has stopped.
func (s *Service) ended(ctx context.Context, id string) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for id != "" {
		j, err := s.cfg.Jobs.Get(ctx, id)
		if fault.KindOf(err) == fault.NotFound {
			return nil
		}
		if err != nil || j.Status.Final() {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// holding lists what a demo has, by the names it chose. It lists the largest demo:
// parts that were not loaded are simply not found.
func (s *Service) holding(r *row) (*Holding, error) {
	p := s.planOf(r)
	p.scale = 1
	h := &Holding{
		Workspace: r.ws, ID: r.id, Since: p.begun, Keys: keyMark(r.id), By: r.actor, Requests: requestPrefix(r.id),
		Twins: map[string]int64{}, Names: map[string]bool{},
	}
	h.Externals = p.externals()
	for _, c := range campaigns() {
		h.Surveys = append(h.Surveys, c.id)
	}
	h.Surveys = append(h.Surveys, phoneSurveyID)
	for i := range promoters {
		h.Externals = append(h.Externals, promoterID(i))
	}
	h.Phones, h.Webhook = p.phones(), hookText(r.id)
	signer, err := s.speaker(r.id)
	if err != nil {
		return nil, err
	}
	h.Users = []string{signer.DID().String()}
	return h, nil
}

// forgetEvents removes the content of the demo's events: those about what it
// held, those its people caused, and those of its requests.
func (s *Service) forgetEvents(ctx context.Context, r *row, h *Holding) error {
	return s.cfg.Events.Replace(ctx, r.ws, r.began, event.Event{Type: "demo.forgotten", Subject: "demo"}, func(it event.Item) bool {
		_, about := h.Twins[it.Subject]
		_, by := h.Twins[it.Actor]
		return about || by || h.Names[it.Subject] || strings.HasPrefix(it.RequestID, h.Requests)
	})
}
