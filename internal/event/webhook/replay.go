package webhook

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Replay is a range of events being sent again.
type Replay api.Replay

// Replay sends the matching events from one number to another again, whatever
// became of them before; to 0 is the present end of the log. The dispatcher
// does the work, which survives a restart. Faults: WEBHOOK_INACTIVE,
// REPLAY_IN_PROGRESS, REPLAY_RANGE_INVALID, EVENTS_EXPIRED.
func (s *Service) Replay(ctx context.Context, id string, r Replay) (web.Reply[Replay], error) {
	var none web.Reply[Replay]
	ws, err := may(ctx)
	if err != nil {
		return none, err
	}
	held, err := s.events.Range(ctx, ws)
	if err != nil {
		return none, err
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[Replay], error) {
		h, err := find(ctx, tx, ws, id)
		if err != nil {
			return none, err
		}
		if !h.Active {
			return none, fault.New(fault.Conflict, "WEBHOOK_INACTIVE", "The webhook is switched off. Switch it on first.")
		}
		r, err := r.within(held)
		if err != nil {
			return none, err
		}
		begun, err := startReplay(ctx, tx, h, r.From, r.To)
		if err != nil {
			return none, err
		}
		if !begun {
			return none, fault.New(fault.Conflict, "REPLAY_IN_PROGRESS", "A replay of this webhook is still being queued. Try again shortly.")
		}
		e := event.Event{Workspace: ws, Type: "webhook.replayed", Subject: h.ID, Revision: h.Revision, Data: r}
		return web.Reply[Replay]{Value: r}, s.events.Append(ctx, tx, e)
	})
}

// within fills in the end and refuses what the log does not hold.
func (r Replay) within(held event.Range) (Replay, error) {
	if r.To == 0 {
		r.To = held.Newest
	}
	var c fault.Checks
	switch {
	case r.From < 1 || r.From > held.Newest:
		c.Add("query/from", "out_of_range", fmt.Sprintf("The log ends at event %d.", held.Newest))
	case r.From < held.Oldest:
		return r, fault.New(fault.Invalid, "EVENTS_EXPIRED", fmt.Sprintf("Events up to %d are no longer kept.", held.Oldest-1)).
			With(fault.Field{Pointer: "query/from", Code: "expired", Detail: fmt.Sprintf("The oldest event is %d.", held.Oldest)})
	}
	if r.To < r.From || r.To > held.Newest {
		c.Add("query/to", "out_of_range", fmt.Sprintf("The end must be from the start up to event %d.", held.Newest))
	}
	return r, c.Err("REPLAY_RANGE_INVALID", "This range of events cannot be replayed.")
}
