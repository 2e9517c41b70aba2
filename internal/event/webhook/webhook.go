// Package webhook sends events to other systems. Each webhook follows the event
// log with a position of its own; a matching event becomes a delivery row,
// which is attempted until the receiver answers 2xx, the attempts are used up
// or three days have passed.
//
// It promises that every matching event is delivered at least once or ends as a
// dead letter that can be seen and replayed, even when processes are killed
// meanwhile; that events are taken up in order, a few at a time; that slow or
// broken receivers hold up no other workspace; and that requests leave only
// through the guarded client it was given. It does not promise exactly-once
// delivery: receivers drop repeats by the header webhook-id.
package webhook

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Max limits the webhooks of a workspace.
const Max = 50

const (
	maxURL         = 2048
	maxDescription = 500
	maxEvents      = 50 // as many as any filter of events may hold
)

// Webhook is a subscription of another system.
type Webhook struct {
	ID             string       `json:"id"`
	URL            string       `json:"url"`
	Events         event.Filter `json:"events" doc:"Types that are sent; entity.* means all that begin with entity., and * means all."`
	Filter         string       `json:"filter,omitzero" doc:"Only events of these types that match it are sent."`
	FilterError    string       `json:"filterError,omitzero" doc:"Why the filter no longer works after an upgrade. New events wait in the log until you change it; none is lost."`
	Description    string       `json:"description,omitzero"`
	Active         bool         `json:"active"`
	DisabledReason string       `json:"disabledReason,omitzero" doc:"Why the server switched it off."`
	Revision       int64        `json:"revision"`
	CreatedAt      time.Time    `json:"createdAt"`
	UpdatedAt      time.Time    `json:"updatedAt"`
}

// WithSecret is a webhook with the secret that signs its messages. It is shown
// once.
type WithSecret struct {
	Webhook
	Secret string `json:"secret" doc:"Shown only once. Verify webhook-signature with it."`
}

// Draft describes a webhook to make.
type Draft struct {
	URL         string       `json:"url" doc:"Where events are posted; https." example:"https://example.org/hooks/hearth"`
	Events      event.Filter `json:"events" doc:"Types to send, with entity.* and * as wildcards; GET /v1/events/types lists them."`
	Filter      string       `json:"filter,omitzero" doc:"Send only the events of these types that match it; the filter language of lists, over what /v1/changes shows of an event." example:"eq(data.status,active)"`
	Secret      string       `json:"secret,omitzero" doc:"whsec_ followed by 24 to 64 bytes in base64; generated when absent."`
	Active      *bool        `json:"active,omitzero" doc:"true when absent."`
	Description string       `json:"description,omitzero"`
}

// Validate names everything that is wrong with the draft. The client checks the
// address.
func (d Draft) Validate(client Client) error {
	var c fault.Checks
	settings{d.URL, d.Events, d.Filter, d.Description, true}.check(&c, client, settings{})
	if d.Secret != "" {
		if _, err := parseSecret(d.Secret); err != nil {
			c.Add("/secret", "invalid", "A secret is whsec_ followed by 24 to 64 bytes in base64.")
		}
	}
	return c.Err("WEBHOOK_INVALID", "The webhook is not valid.")
}

// settings are what a patch can change; as JSON they are the document a merge
// patch is applied to.
type settings struct {
	URL         string       `json:"url"`
	Events      event.Filter `json:"events"`
	Filter      string       `json:"filter"`
	Description string       `json:"description"`
	Active      bool         `json:"active"`
}

// check names what is wrong with the changed settings. An upgrade may have made
// a pattern or a filter unusable; that does not prevent other changes.
func (s settings) check(c *fault.Checks, client Client, was settings) {
	checkURL(c, s.URL, client)
	if len(s.Events) == 0 || !slices.Equal(s.Events, was.Events) {
		checkEvents(c, s.Events)
	}
	if s.Filter != was.Filter {
		checkFilter(c, s.Filter)
	}
	check.Short(c, "/description", s.Description, maxDescription)
}

// checkEvents names every pattern that is wrong by its place.
func checkEvents(c *fault.Checks, events event.Filter) {
	c.Require(len(events) > 0, "/events")
	if len(events) > maxEvents {
		c.Add("/events", "too_many", "At most 50 patterns are accepted.")
		return
	}
	for i, p := range events {
		at := "/events/" + strconv.Itoa(i)
		if slices.Contains(events[:i], p) {
			c.Add(at, "duplicate", "A pattern is given twice.")
			continue
		}
		events[i:i+1].Check(at, c)
	}
}

// checkFilter names what is wrong with a filter.
func checkFilter(c *fault.Checks, text string) {
	_, err := event.ParseWhere(text, "/filter")
	if f := fault.As(err); f != nil {
		for _, w := range f.Fields {
			c.Add(w.Pointer, w.Code, w.Detail)
		}
	}
}

// checkURL refuses what could never be delivered. The client checks the
// address again when it dials: names change.
func checkURL(c *fault.Checks, text string, client Client) {
	if text == "" {
		c.Require(false, "/url")
		return
	}
	u, err := url.Parse(text)
	allowed := func() bool {
		_, err := client.CheckURL(text)
		return err == nil
	}
	switch {
	case len(text) > maxURL:
		c.Add("/url", "too_long", "At most 2048 characters are accepted.")
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		c.Add("/url", "invalid", "The URL must be an absolute http or https URL.")
	case u.User != nil || u.Fragment != "":
		c.Add("/url", "invalid", "The URL must have no user, password or fragment.")
	case !allowed():
		c.Add("/url", "not_allowed", "The server may not send requests to this address. An operator can allow it with HEARTH_OUTBOUND_ALLOW.")
	}
}

// Delivery is one event on its way to a webhook.
type Delivery struct {
	Seq        int64      `json:"seq" doc:"Number of the event."`
	Type       string     `json:"type"`
	Status     string     `json:"status" enum:"pending,delivered,dead"`
	Attempts   int        `json:"attempts"`
	NextAt     *time.Time `json:"nextAt,omitzero" doc:"When the next attempt is due, while pending."`
	LastStatus int        `json:"lastStatus,omitzero" doc:"HTTP status of the last attempt."`
	LastError  string     `json:"lastError,omitzero"`
	CreatedAt  time.Time  `json:"createdAt"`
	UpdatedAt  time.Time  `json:"updatedAt"`
}

// Exchange is a delivery with its request and answer.
type Exchange struct {
	Delivery
	Request string `json:"request,omitzero" doc:"The message, cut after 1,000 bytes. Absent when its event is no longer kept."`
	Answer  string `json:"answer,omitzero" doc:"What the receiver answered to the last attempt, cut after 1,000 bytes."`
}

// The states of a delivery.
const (
	pending   = "pending"
	delivered = "delivered"
	dead      = "dead"
)

// Outcome is the result of one attempt, as a test ping returns it.
type Outcome struct {
	Delivered  bool   `json:"delivered"`
	Status     int    `json:"status,omitzero" doc:"HTTP status the receiver answered with."`
	Error      string `json:"error,omitzero" doc:"What went wrong, in a few words."`
	DurationMS int64  `json:"durationMs"`
}
