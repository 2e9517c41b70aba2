package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

const webhooksPath = "/v1/webhooks"

// Webhooks are the subscriptions of other systems.
type Webhooks struct{ c *Client }

// Webhook is a subscription.
type Webhook struct {
	ID             string    `json:"id"`
	URL            string    `json:"url"`
	Events         []string  `json:"events"`      // types that are sent: key.created, key.* or *
	Filter         string    `json:"filter"`      // of these, only events that fit it
	FilterError    string    `json:"filterError"` // why the filter can no longer be used; new events wait until it is changed
	Description    string    `json:"description"`
	Active         bool      `json:"active"`
	DisabledReason string    `json:"disabledReason"` // why the server switched it off
	Revision       int64     `json:"revision"`
	CreatedAt      time.Time `json:"createdAt"`
	UpdatedAt      time.Time `json:"updatedAt"`
}

// SecretWebhook is a webhook with the secret that signs its messages, which the
// server shows only now.
type SecretWebhook struct {
	Webhook
	Secret string `json:"secret"`
}

// String leaves the secret out, so that printing the value does not reveal it.
func (w SecretWebhook) String() string { return w.ID + " (" + w.URL + ")" }

// GoString leaves the secret out of %#v too.
func (w SecretWebhook) GoString() string { return w.String() }

// WebhookDraft asks for a webhook. URL and Events are required.
type WebhookDraft struct {
	URL         string   `json:"url"`
	Events      []string `json:"events"`
	Filter      string   `json:"filter,omitzero"` // such as eq(data.status,active), over what Event shows
	Secret      string   `json:"secret,omitzero"` // whsec_ and 24 to 64 bytes in base64; made by the server when absent
	Active      *bool    `json:"active,omitzero"` // true when absent
	Description string   `json:"description,omitzero"`
}

// WebhookPatch changes the given members and leaves the rest.
type WebhookPatch struct {
	URL         *string  `json:"url,omitzero"`
	Events      []string `json:"events,omitempty"`
	Filter      *string  `json:"filter,omitzero"` // an empty one takes it away
	Description *string  `json:"description,omitzero"`
	Active      *bool    `json:"active,omitzero"`
}

// Create makes a webhook. Codes: WEBHOOK_INVALID, TOO_MANY_WEBHOOKS.
func (w Webhooks) Create(ctx context.Context, d WebhookDraft, opts ...Option) (*SecretWebhook, error) {
	return do[SecretWebhook](ctx, w.c, post(webhooksPath, d), opts)
}

// Get reads a webhook. Code: WEBHOOK_NOT_FOUND.
func (w Webhooks) Get(ctx context.Context, id string, opts ...Option) (*Webhook, error) {
	return do[Webhook](ctx, w.c, get(hookPath(id), nil), opts)
}

// Page reads one page of the webhooks, newest first.
func (w Webhooks) Page(ctx context.Context, q PageQuery, opts ...Option) (*Page[Webhook], error) {
	return page[Webhook](ctx, w.c, webhooksPath, q.values(), opts)
}

// List walks over the webhooks, newest first. An error ends it.
func (w Webhooks) List(ctx context.Context, q PageQuery, opts ...Option) iter.Seq2[Webhook, error] {
	return pages[Webhook](ctx, w.c, webhooksPath, q.values(), opts)
}

// Update changes a webhook; it needs the option IfRevision or IfMatch. It is
// not retried. Codes: WEBHOOK_INVALID, WEBHOOK_NOT_FOUND, STALE_REVISION,
// PRECONDITION_REQUIRED.
func (w Webhooks) Update(ctx context.Context, id string, p WebhookPatch, opts ...Option) (*Webhook, error) {
	return do[Webhook](ctx, w.c, merge(hookPath(id), p), opts)
}

// Delete removes a webhook and returns its last state; it needs the option
// IfRevision or IfMatch. When it was retried after a lost answer, the code may
// be WEBHOOK_NOT_FOUND although this call removed it.
func (w Webhooks) Delete(ctx context.Context, id string, opts ...Option) (*Webhook, error) {
	return do[Webhook](ctx, w.c, remove(hookPath(id)), opts)
}

// RotateSecret replaces the secret. For 24 hours messages are signed with the
// old one too.
func (w Webhooks) RotateSecret(ctx context.Context, id string, opts ...Option) (*SecretWebhook, error) {
	return do[SecretWebhook](ctx, w.c, post(hookPath(id)+"/rotate-secret", nil), opts)
}

// PingOutcome is the result of a test message.
type PingOutcome struct {
	Delivered  bool   `json:"delivered"`
	Status     int    `json:"status"` // HTTP status the receiver answered with
	Error      string `json:"error"`
	DurationMS int64  `json:"durationMs"`
}

// Ping sends a test message now and returns its result. It is not retried.
func (w Webhooks) Ping(ctx context.Context, id string, opts ...Option) (*PingOutcome, error) {
	return do[PingOutcome](ctx, w.c, call{method: http.MethodPost, path: hookPath(id) + "/ping"}, opts)
}

// Replay is the type of package api.
type Replay = api.Replay

// Replay sends events again, whatever became of them before; To 0 is the
// newest. It is not retried. Codes: WEBHOOK_INACTIVE, REPLAY_IN_PROGRESS,
// REPLAY_RANGE_INVALID, EVENTS_EXPIRED.
func (w Webhooks) Replay(ctx context.Context, id string, r Replay, opts ...Option) (*Replay, error) {
	v := url.Values{}
	setInt(v, "from", r.From)
	setInt(v, "to", r.To)
	return do[Replay](ctx, w.c, call{method: http.MethodPost, path: hookPath(id) + "/replay", query: v}, opts)
}

// Delivery is one event on its way to a webhook.
type Delivery struct {
	Seq        int64     `json:"seq"` // number of the event
	Type       string    `json:"type"`
	Status     string    `json:"status"` // pending, delivered or dead
	Attempts   int       `json:"attempts"`
	NextAt     time.Time `json:"nextAt,omitzero"` // when it is tried next, while pending
	LastStatus int       `json:"lastStatus"`      // HTTP status of the last attempt
	LastError  string    `json:"lastError"`
	CreatedAt  time.Time `json:"createdAt"`
	UpdatedAt  time.Time `json:"updatedAt"`
}

// DeliveryQuery selects deliveries. Status dead is the dead-letter list.
type DeliveryQuery struct {
	Status string // pending, delivered or dead; all by default
	Limit  int    // items in one page, 1 to 1000; 50 by default
	Cursor string // NextCursor of the page before
}

func (q DeliveryQuery) values() url.Values {
	v := PageQuery{q.Limit, q.Cursor}.values()
	set(v, "status", q.Status)
	return v
}

// DeliveryPage reads one page of the deliveries of a webhook, newest event
// first.
func (w Webhooks) DeliveryPage(ctx context.Context, id string, q DeliveryQuery, opts ...Option) (*Page[Delivery], error) {
	return page[Delivery](ctx, w.c, hookPath(id)+"/deliveries", q.values(), opts)
}

// Deliveries walks over the deliveries of a webhook, newest event first. An
// error ends it.
func (w Webhooks) Deliveries(ctx context.Context, id string, q DeliveryQuery, opts ...Option) iter.Seq2[Delivery, error] {
	return pages[Delivery](ctx, w.c, hookPath(id)+"/deliveries", q.values(), opts)
}

// DeliveryExchange is a delivery with the beginning of the request and the answer.
type DeliveryExchange struct {
	Delivery
	Request string `json:"request"` // "" when the event is no longer kept
	Answer  string `json:"answer"`  // to the last attempt
}

// Delivery reads a delivery with its request and answer. Codes:
// WEBHOOK_NOT_FOUND, DELIVERY_NOT_FOUND, SCOPE_MISSING without events:read.
func (w Webhooks) Delivery(ctx context.Context, id string, seq int64, opts ...Option) (*DeliveryExchange, error) {
	return do[DeliveryExchange](ctx, w.c, get(deliveryPath(id, seq), nil), opts)
}

// Redeliver sends one event again. Codes: DELIVERY_NOT_FOUND,
// DELIVERY_IN_PROGRESS, WEBHOOK_INACTIVE, EVENTS_EXPIRED.
func (w Webhooks) Redeliver(ctx context.Context, id string, seq int64, opts ...Option) (*Delivery, error) {
	return do[Delivery](ctx, w.c, post(deliveryPath(id, seq)+"/redeliver", nil), opts)
}

func deliveryPath(id string, seq int64) string {
	return hookPath(id) + "/deliveries/" + strconv.FormatInt(seq, 10)
}

func hookPath(id string) string { return webhooksPath + "/" + url.PathEscape(id) }
