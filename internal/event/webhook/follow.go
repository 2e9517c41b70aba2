package webhook

import (
	"cmp"
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/order"
)

// sortJobs puts jobs into the order of their events: what a statement returns
// has none.
func sortJobs(jobs []job) {
	order.Sort(jobs, func(a, b job) int { return cmp.Compare(a.seq, b.seq) })
}

// follow moves a webhook through the log by one step, first through a range to
// replay. It returns false when there was nothing to queue. Without a usable
// filter it stays where it is.
func (d *dispatcher) follow(ctx context.Context, w *worker, h *hook) (bool, error) {
	if h.FilterError != "" {
		if w.told != h.Revision {
			d.cfg.Log.ErrorContext(ctx, "webhook has a filter of no use", "webhook", h.ID, "err", h.FilterError)
		}
		w.told = h.Revision
		return false, nil
	}
	if h.replayNext > 0 {
		return d.followReplay(ctx, h)
	}
	w.pos = max(w.pos, h.seen)
	b, err := d.events.Read(ctx, event.Query{Workspace: h.ws, After: w.pos, Limit: stepSize, Types: h.Events, Where: h.where})
	if misplaced(err) {
		return d.reposition(ctx, w, h, err)
	} else if err != nil {
		return false, err
	}
	// A position is stored with the deliveries it brings. Without any it is
	// enough to do so now and then: looking again finds nothing again.
	if len(b.Items) == 0 && b.Next-h.seen < lazyMove {
		if b.Next == w.pos {
			return b.HasMore, nil
		}
		now, err := find(ctx, d.db, h.ws, h.ID)
		switch {
		case fault.CodeOf(err) == "WEBHOOK_NOT_FOUND", err == nil && now.Revision != h.Revision:
			return true, nil // it has gone, or its new filter has not looked at these
		case err != nil:
			return false, err
		}
		w.pos = b.Next
		return b.HasMore, nil
	}
	if _, err := move(ctx, d.db, step{h: h, from: h.seen, to: b.Next, items: b.Items, at: d.cfg.Now()}); err != nil {
		return false, err
	}
	// When another process was first there is something to deliver as well;
	// when the webhook was changed it is time to look again.
	w.pos = 0
	return true, nil
}

// passOver stores that a webhook has looked at the events up to the first it
// would send, before its types or its filter change: events it has left out
// stay left out, whichever process looks next.
func (s *Service) passOver(ctx context.Context, ws, id string) error {
	h, err := find(ctx, s.db, ws, id)
	if err != nil || !h.Active || h.FilterError != "" {
		return err
	}
	b, err := s.events.Read(ctx, event.Query{Workspace: ws, After: h.seen, Limit: 1, Types: h.Events, Where: h.where})
	if misplaced(err) {
		return nil // the dispatcher finds its place
	} else if err != nil {
		return err
	}
	to := b.Next
	if len(b.Items) > 0 {
		to = b.Items[0].Seq - 1
	}
	if to > h.seen {
		_, err = move(ctx, s.db, step{h: h, from: h.seen, to: to})
	}
	return err
}

// misplaced reports whether a read failed because the log does not hold the
// place.
func misplaced(err error) bool {
	code := fault.CodeOf(err)
	return code == "EVENTS_EXPIRED" || code == "EVENTS_AHEAD"
}

// reposition moves a webhook whose place in the log is gone: events were
// removed before it saw them, or the store went back to an older backup.
func (d *dispatcher) reposition(ctx context.Context, w *worker, h *hook, cause error) (bool, error) {
	held, err := d.events.Range(ctx, h.ws)
	if err != nil {
		return false, err
	}
	to := held.Newest
	if held.Oldest > h.seen {
		to = held.Oldest - 1
	}
	d.cfg.Log.WarnContext(ctx, "webhook has missed events", "webhook", h.ID, "from", h.seen, "to", to, "code", fault.CodeOf(cause))
	w.pos = 0
	return move(ctx, d.db, step{h: h, from: h.seen, to: to})
}

// followReplay queues the next events of the range to replay.
func (d *dispatcher) followReplay(ctx context.Context, h *hook) (bool, error) {
	st := step{h: h, replay: true, from: h.replayNext, at: d.cfg.Now()}
	b, err := d.events.Read(ctx, event.Query{Workspace: h.ws, After: h.replayNext - 1, Limit: stepSize, Types: h.Events, Where: h.where})
	if misplaced(err) {
		d.cfg.Log.WarnContext(ctx, "replay ended early", "webhook", h.ID, "from", h.replayNext, "code", fault.CodeOf(err))
	} else if err != nil {
		return false, err
	} else {
		st.items = slices.DeleteFunc(b.Items, func(it event.Item) bool { return it.Seq > h.replayTo })
		if b.HasMore && b.Next < h.replayTo {
			st.to = b.Next + 1
		}
	}
	if _, err := move(ctx, d.db, st); err != nil {
		return false, err
	}
	return true, nil
}
