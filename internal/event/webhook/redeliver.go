package webhook

import (
	"context"
	"fmt"
	"net/http"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	selectDelivery = `SELECT seq, type, status, attempts, next_at, last_status, last_error, created_at, updated_at, answer
		FROM webhook_deliveries WHERE webhook = $1 AND seq = $2`
	// The lease of an attempt under way is left alone: it would be sent twice.
	queueAgain = `UPDATE webhook_deliveries SET status = 'pending', attempts = 0, next_at = $3, created_at = $3, updated_at = $3, done_at = NULL
		WHERE webhook = $1 AND seq = $2 AND (status <> 'pending' OR lease_owner = '' OR next_at <= $3)`
)

// Delivery reads a delivery with its request and answer. It shows what the
// webhook sends, so it takes the right to make one. Faults: WEBHOOK_NOT_FOUND,
// DELIVERY_NOT_FOUND.
func (s *Service) Delivery(ctx context.Context, id string, seq int64) (Exchange, error) {
	ws, err := may(ctx)
	if err != nil {
		return Exchange{}, err
	}
	if _, err := find(ctx, s.db, ws, id); err != nil {
		return Exchange{}, err
	}
	x, err := findDelivery(ctx, s.db, id, seq)
	if err != nil {
		return Exchange{}, err
	}
	it, err := s.eventOf(ctx, ws, seq)
	if err != nil || it == nil {
		return x, err
	}
	m, err := messageOf(s.cfg.Source, ws, *it)
	x.Request = legible(m.body)
	return x, err
}

// Redeliver puts a delivery back at the head of the queue, whatever became of
// it. Faults: WEBHOOK_NOT_FOUND, WEBHOOK_INACTIVE, DELIVERY_NOT_FOUND,
// DELIVERY_IN_PROGRESS, EVENTS_EXPIRED.
func (s *Service) Redeliver(ctx context.Context, id string, seq int64) (web.Reply[Delivery], error) {
	var none web.Reply[Delivery]
	ws, err := may(ctx)
	if err != nil {
		return none, err
	}
	held, err := s.events.Range(ctx, ws)
	if err != nil {
		return none, err
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[Delivery], error) {
		h, err := find(ctx, tx, ws, id)
		if err != nil {
			return none, err
		}
		if _, err := findDelivery(ctx, tx, h.ID, seq); err != nil {
			return none, err
		}
		if err := s.requeue(ctx, tx, h, seq, held); err != nil {
			return none, err
		}
		x, err := findDelivery(ctx, tx, h.ID, seq)
		if err != nil {
			return none, err
		}
		e := event.Event{Workspace: ws, Type: "webhook.replayed", Subject: h.ID, Revision: h.Revision, Data: Replay{From: seq, To: seq}}
		return web.Reply[Delivery]{Value: x.Delivery, Status: http.StatusAccepted}, s.events.Append(ctx, tx, e)
	})
}

// requeue makes a delivery pending, if it can be sent.
func (s *Service) requeue(ctx context.Context, tx *db.Tx, h *hook, seq int64, held event.Range) error {
	if !h.Active {
		return fault.New(fault.Conflict, "WEBHOOK_INACTIVE", "The webhook is switched off. Switch it on first.")
	}
	if seq < held.Oldest {
		return fault.New(fault.Invalid, "EVENTS_EXPIRED", fmt.Sprintf("Events up to %d are no longer kept.", held.Oldest-1)).
			With(fault.Field{Pointer: "path/seq", Code: "expired", Detail: fmt.Sprintf("The oldest event is %d.", held.Oldest)})
	}
	n, err := tx.Exec(ctx, queueAgain, h.ID, seq, s.cfg.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("queue delivery again: %w", err)
	}
	if n == 0 {
		return fault.New(fault.Conflict, "DELIVERY_IN_PROGRESS", "This event is being sent right now. Wait for the outcome.")
	}
	return nil
}

// findDelivery finds a delivery of a webhook.
func findDelivery(ctx context.Context, q db.Querier, hook string, seq int64) (Exchange, error) {
	var x Exchange
	err := scanDelivery(&x.Delivery, q.QueryRow(ctx, selectDelivery, hook, seq), &x.Answer)
	return db.Need(x, err, "find delivery", fault.New(fault.NotFound, "DELIVERY_NOT_FOUND", "This webhook was not sent this event, or the record of the delivery is no longer kept."))
}
