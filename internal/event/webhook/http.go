package webhook

import (
	"context"
	"math"
	"net/http"

	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const signing = "Messages are CloudEvents 1.0 (application/cloudevents+json), signed as Standard Webhooks prescribes: webhook-signature is v1 followed by a comma and the base64 HMAC-SHA256 of " +
	"webhook-id.webhook-timestamp.body; the key is the bytes that the base64 after whsec_ stands for. Answer 2xx. Anything else is tried again after 8 seconds, then after three times as long each time, at most a day: " +
	"by default 12 attempts in all (HEARTH_WEBHOOK_MAX_ATTEMPTS), which take just under three days. No attempt is made later than three days after the event. 410 switches the webhook off. " +
	"A message may arrive twice: drop repeats by webhook-id. Its source names this server and the workspace; source and id together are unique everywhere.\n\n" +
	"A webhook sends the events whose type is among events and that match the filter, if there is one. The filter works as in /v1/changes, over the members an event has there.\n\n" +
	"A webhook belongs to the workspace, not to the key that created it, and goes on when that key is revoked or expires. To stop it, delete it or switch it off. " +
	"It has no scopes either: whoever created it, it sends withheld, without a requestId, for every actor that only a scope reveals, and its filter matches what it sends. To see the actor, read the event by its number at /v1/changes."

// handlers answer the requests of the API with the use cases.
type handlers struct{ service *Service }

// Routes adds the webhook API to a.
func (s *Service) Routes(a *web.API) {
	h := handlers{s}
	const tag = "webhooks"
	web.Post(a, "/v1/webhooks", h.serveCreate, web.Doc{
		Summary: "Create a webhook", Status: http.StatusCreated, Scope: "webhooks:write", Tag: tag, Once: true, Description: signing,
		Example: Draft{URL: "https://example.org/hooks/hearth", Events: event.Filter{"entity.*"}, Filter: "eq(data.status,active)"},
		Codes:   []string{"WEBHOOK_INVALID", "TOO_MANY_WEBHOOKS", "KEY_RESTRICTED"},
	})
	web.Get(a, "/v1/webhooks", h.serveList, web.Doc{Summary: "List webhooks, newest first", Scope: "webhooks:read", Tag: tag})
	web.Get(a, "/v1/webhooks/{id}", h.serveGet, web.Doc{Summary: "Read a webhook", Scope: "webhooks:read", Tag: tag, Codes: []string{"WEBHOOK_NOT_FOUND"}})
	web.Patch(a, "/v1/webhooks/{id}", h.servePatch, web.Doc{
		Summary: "Change a webhook", Scope: "webhooks:write", Tag: tag, Patch: true,
		Description: "A webhook that is switched on again starts at the end of the log; replay sends what it missed. " +
			"New types and a new filter apply from the next event on; what is already queued is still sent. null removes the filter.",
		Example: map[string]any{"active": false},
		Codes:   []string{"WEBHOOK_INVALID", "WEBHOOK_NOT_FOUND", "STALE_REVISION", "PRECONDITION_REQUIRED", "WEBHOOK_CHANGED"},
	})
	web.Delete(a, "/v1/webhooks/{id}", h.serveDelete, web.Doc{
		Summary: "Delete a webhook", Scope: "webhooks:write", Tag: tag,
		Codes: []string{"WEBHOOK_NOT_FOUND", "STALE_REVISION", "PRECONDITION_REQUIRED"},
	})
	web.Get(a, "/v1/webhooks/{id}/deliveries", h.serveDeliveries, web.Doc{
		Summary: "List deliveries of a webhook, newest event first", Scope: "webhooks:read", Tag: tag,
		Description: "status=dead lists the dead letters.",
	})
	web.Get(a, "/v1/webhooks/{id}/deliveries/{seq}", h.serveDelivery, web.Doc{
		Summary: "Read a delivery with what was sent and answered", Scope: "webhooks:read", Tag: tag,
		Description: "`request` is the message as it is sent, rebuilt from the event: it lacks what was erased from the event, and is gone when the event is gone. " +
			"`answer` is the receiver's answer to the last attempt, without anything that looks like a secret; it is removed when the data of the event are erased. Both are cut after 1,000 bytes. Needs `events:read` too.",
		Codes: []string{"WEBHOOK_NOT_FOUND", "DELIVERY_NOT_FOUND", "SCOPE_MISSING"},
	})
	web.Post(a, "/v1/webhooks/{id}/deliveries/{seq}/redeliver", h.serveRedeliver, web.Doc{
		Summary: "Send one event again", Status: http.StatusAccepted, Scope: "webhooks:write", Tag: tag, Once: true,
		Description: "The delivery is pending again, with all its attempts left, whatever its outcome was. A pending one that waits for its next attempt is sent at once.",
		Codes:       []string{"WEBHOOK_NOT_FOUND", "DELIVERY_NOT_FOUND", "DELIVERY_IN_PROGRESS", "WEBHOOK_INACTIVE", "EVENTS_EXPIRED"},
	})
	web.Post(a, "/v1/webhooks/{id}/replay", h.serveReplay, web.Doc{
		Summary: "Send events again", Status: http.StatusAccepted, Scope: "webhooks:write", Tag: tag, Once: true,
		Codes: []string{"WEBHOOK_INACTIVE", "REPLAY_IN_PROGRESS", "REPLAY_RANGE_INVALID", "EVENTS_EXPIRED"},
	})
	web.Post(a, "/v1/webhooks/{id}/ping", h.servePing, web.Doc{
		Summary: "Send a test message and report the outcome", Scope: "webhooks:write", Tag: tag,
		Description: "Each webhook allows one ping at a time, each workspace a few.",
		Codes:       []string{"WEBHOOK_NOT_FOUND", "PING_IN_PROGRESS", "TOO_MANY_PINGS"},
	})
	web.Post(a, "/v1/webhooks/{id}/rotate-secret", h.serveRotate, web.Doc{
		Summary: "Replace the secret of a webhook", Scope: "webhooks:write", Tag: tag, Once: true, Description: "For 24 hours messages are signed with the old secret too.",
	})
}

type one struct {
	ID string `path:"id" doc:"Id of the webhook."`
}

func (h handlers) serveCreate(ctx context.Context, in *struct{ Body Draft }) (web.Reply[WithSecret], error) {
	return h.service.Create(ctx, in.Body)
}

func (h handlers) serveGet(ctx context.Context, in *one) (web.Reply[*Webhook], error) {
	return tagged(h.service.Get(ctx, in.ID))
}

// patch documents the body; the raw bytes are merged.
type patch struct {
	URL         *string       `json:"url,omitzero"`
	Events      *event.Filter `json:"events,omitzero"`
	Filter      *string       `json:"filter,omitzero"`
	Description *string       `json:"description,omitzero"`
	Active      *bool         `json:"active,omitzero"`
}

func (h handlers) servePatch(ctx context.Context, in *struct {
	ID      string `path:"id" doc:"Id of the webhook."`
	IfMatch string `header:"If-Match" doc:"ETag of the version you have read."`
	Body    patch
	RawBody []byte
},
) (web.Reply[*Webhook], error) {
	return tagged(h.service.Update(ctx, in.ID, in.IfMatch, in.RawBody))
}

func (h handlers) serveDelete(ctx context.Context, in *struct {
	ID      string `path:"id" doc:"Id of the webhook."`
	IfMatch string `header:"If-Match" doc:"ETag of the version you have read."`
},
) (*Webhook, error) {
	return h.service.Delete(ctx, in.ID, in.IfMatch)
}

func tagged(w *Webhook, err error) (web.Reply[*Webhook], error) {
	if err != nil {
		return web.Reply[*Webhook]{}, err
	}
	return web.Reply[*Webhook]{Value: w, ETag: web.ETag(w.Revision)}, nil
}

func (h handlers) serveReplay(ctx context.Context, in *struct {
	ID   string     `path:"id" doc:"Id of the webhook."`
	From web.Number `query:"from" doc:"First event to send again." example:"1"`
	To   web.Number `query:"to" doc:"Last event to send again; the newest by default."`
},
) (web.Reply[Replay], error) {
	var c fault.Checks
	c.Require(in.From.Given, "query/from")
	r := Replay{From: in.From.In(&c, "query/from", 1, math.MaxInt64, 0), To: in.To.In(&c, "query/to", 1, math.MaxInt64, 0)}
	if err := c.Err("REPLAY_RANGE_INVALID", "This range of events cannot be replayed."); err != nil {
		return web.Reply[Replay]{}, err
	}
	return h.service.Replay(ctx, in.ID, r)
}

func (h handlers) servePing(ctx context.Context, in *one) (Outcome, error) {
	return h.service.Ping(ctx, in.ID)
}

// oneDelivery names a delivery.
type oneDelivery struct {
	one
	Seq int64 `path:"seq" doc:"Number of the event." example:"1"`
}

func (h handlers) serveDelivery(ctx context.Context, in *oneDelivery) (Exchange, error) {
	return h.service.Delivery(ctx, in.ID, in.Seq)
}

func (h handlers) serveRedeliver(ctx context.Context, in *oneDelivery) (web.Reply[Delivery], error) {
	return h.service.Redeliver(ctx, in.ID, in.Seq)
}

func (h handlers) serveRotate(ctx context.Context, in *one) (web.Reply[WithSecret], error) {
	return h.service.Rotate(ctx, in.ID)
}

func (h handlers) serveList(ctx context.Context, in *struct{ web.Paging }) (web.Reply[web.Page[Webhook]], error) {
	var below int64
	return web.List(ctx, h.service.cfg.Cursors, in.Paging, &below, func(limit int) ([]Webhook, int64, error) {
		return h.service.List(ctx, below, limit)
	})
}

func (h handlers) serveDeliveries(ctx context.Context, in *struct {
	one
	Status string `query:"status" doc:"Only deliveries in this state." enum:"pending,delivered,dead"`
	web.Paging
},
) (web.Reply[web.Page[Delivery]], error) {
	var below int64
	return web.List(ctx, h.service.cfg.Cursors, in.Paging, &below, func(limit int) ([]Delivery, int64, error) {
		return h.service.Deliveries(ctx, in.ID, in.Status, below, limit)
	})
}
