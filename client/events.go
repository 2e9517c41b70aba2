package client

import (
	"context"
	"errors"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
)

// Events are what has happened in the workspace, numbered from 1 without a
// gap.
type Events struct{ c *Client }

// Event is one thing that happened.
type Event struct {
	Seq       int64          `json:"seq"`
	Type      string         `json:"type"`    // such as key.created
	Subject   string         `json:"subject"` // what it happened to
	Revision  int64          `json:"revision,omitzero"`
	Actor     string         `json:"actor"` // DID of whoever did it, "system", or "withheld"
	RequestID string         `json:"requestId,omitzero"`
	Time      time.Time      `json:"time"`
	Data      jsontext.Value `json:"data,omitzero"` // a few facts as a JSON object, or nothing
}

// ChangesQuery asks for events after a number.
type ChangesQuery struct {
	After  int64    // 0 begins at the oldest event that is kept
	Limit  int      // events in one page, 1 to 1000; 100 by default
	Types  []string // such as key.created or key.*; all by default
	Filter string   // such as and(like(type,entity.*),eq(data.status,active)); none by default
}

// Changes is one page of events.
type Changes struct {
	Items   []Event `json:"items"`
	Next    int64   `json:"next"`    // give it as After to read on
	HasMore bool    `json:"hasMore"` // whether to read on at once; a page may be empty although there is more
}

func (q ChangesQuery) values() url.Values {
	v := url.Values{"after": {strconv.FormatInt(q.After, 10)}}
	setInt(v, "limit", int64(q.Limit))
	set(v, "types", strings.Join(q.Types, ","))
	set(v, "filter", q.Filter)
	return v
}

// Changes reads one page of events. Codes: EVENTS_EXPIRED when events after
// the position are no longer kept, EVENTS_AHEAD when the position is past the
// end, INVALID_TYPE_FILTER, INVALID_FILTER, UNKNOWN_FIELD.
func (e Events) Changes(ctx context.Context, q ChangesQuery, opts ...Option) (*Changes, error) {
	return do[Changes](ctx, e.c, get("/v1/changes", q.values()), opts)
}

// EventType is the type of package api.
type EventType = api.EventType

// Types lists all types of events: what ChangesQuery.Types and the Events of
// webhooks can name.
func (e Events) Types(ctx context.Context, opts ...Option) ([]EventType, error) {
	p, err := do[struct {
		Items []EventType `json:"items"`
	}](ctx, e.c, get("/v1/events/types", nil), opts)
	if err != nil {
		return nil, err
	}
	return p.Items, nil
}

// List walks over the events from q on to the newest at present. An error ends
// it.
func (e Events) List(ctx context.Context, q ChangesQuery, opts ...Option) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			p, err := e.Changes(ctx, q, opts...)
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, ev := range p.Items {
				if !yield(ev, nil) {
					return
				}
			}
			if !p.HasMore {
				return
			}
			if p.Next <= q.After {
				yield(Event{}, errors.New("the server says that the events go on, but not where"))
				return
			}
			q.After = p.Next
		}
	}
}

// AuditQuery asks who did what. The zero value asks for everything.
type AuditQuery struct {
	Actor   string
	Subject string
	Type    string // such as key.created or key.*
	Since   time.Time
	Until   time.Time
	Limit   int    // entries in one page, 1 to 1000; 50 by default
	Cursor  string // NextCursor of the page before
}

func (q AuditQuery) values() url.Values {
	v := PageQuery{q.Limit, q.Cursor}.values()
	set(v, "actor", q.Actor)
	set(v, "subject", q.Subject)
	set(v, "type", q.Type)
	setTime(v, "since", q.Since)
	setTime(v, "until", q.Until)
	return v
}

const auditPath = "/v1/audit"

// AuditPage reads one page of the audit view, newest first.
func (e Events) AuditPage(ctx context.Context, q AuditQuery, opts ...Option) (*Page[Event], error) {
	return page[Event](ctx, e.c, auditPath, q.values(), opts)
}

// Audit walks over the audit view, newest first. An error ends it.
func (e Events) Audit(ctx context.Context, q AuditQuery, opts ...Option) iter.Seq2[Event, error] {
	return pages[Event](ctx, e.c, auditPath, q.values(), opts)
}
