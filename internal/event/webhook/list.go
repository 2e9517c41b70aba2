package webhook

import (
	"context"
	"math"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// List returns at most limit webhooks of the caller's workspace below a place,
// 0 for the first page, newest first. next is the place of the next page, 0
// when there is none.
func (s *Service) List(ctx context.Context, below int64, limit int) (items []Webhook, next int64, err error) {
	ws, err := event.WholeWorkspace(ctx)
	if err != nil {
		return nil, 0, err
	}
	hooks, err := list(ctx, s.db, ws, start(below), limit)
	if err != nil {
		return nil, 0, err
	}
	if len(hooks) > limit {
		hooks = hooks[:limit]
		next = hooks[limit-1].nid
	}
	for _, h := range hooks {
		items = append(items, h.Webhook)
	}
	return items, next, nil
}

// Deliveries returns at most limit deliveries of a webhook below the number of
// an event, 0 for the first page, newest first; status "" means all. next is
// the number of the next page, 0 when there is none. Faults: WEBHOOK_NOT_FOUND,
// and INVALID_PARAMETER for an unknown status.
func (s *Service) Deliveries(ctx context.Context, id, status string, below int64, limit int) (items []Delivery, next int64, err error) {
	if status != "" && !slices.Contains([]string{pending, delivered, dead}, status) {
		return nil, 0, fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
			With(fault.Field{Pointer: "query/status", Code: "invalid", Detail: "The value must be pending, delivered or dead."})
	}
	if _, err := s.Get(ctx, id); err != nil {
		return nil, 0, err
	}
	items, err = listDeliveries(ctx, s.db, deliveryQuery{hook: id, status: status, before: start(below), limit: limit})
	if err != nil {
		return nil, 0, err
	}
	if len(items) > limit {
		items = items[:limit]
		next = items[limit-1].Seq
	}
	return items, next, nil
}

// start is the place a page begins below.
func start(below int64) int64 {
	if below == 0 {
		return math.MaxInt64
	}
	return below
}
