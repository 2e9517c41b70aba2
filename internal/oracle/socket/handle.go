package socket

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	jsonx "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/socketio"
)

// Limits of a filter.
const (
	maxFilter    = 64 // events
	maxEventName = 64 // bytes
)

// handle answers an event of a member. Each socket's events come one at a time.
func (h *Hub) handle(ctx context.Context, m *member, e *socketio.Event) {
	switch e.Name {
	case eventPing:
		h.reply(m, e, eventPong, pong{Timestamp: h.stamp(), Session: m.home})
	case eventStatus:
		h.reply(m, e, eventStatus, h.statusOf(m))
	case eventList:
		h.reply(m, e, eventAvailable, available{clientEvents(), serverEvents(h.cfg.Events()), m.home, h.stamp()})
	case eventSubscribe:
		h.handleSubscribe(ctx, m, e)
	case eventToolResult, eventActionResult:
		h.handleResult(ctx, m, e)
	default:
		// The original says nothing; who asked for an answer gets one.
		_ = e.Ack(newException(e.Name, "Unknown event"))
	}
}

// reply sends an answer as event and, where the client wants one, as
// acknowledgement.
func (h *Hub) reply(m *member, e *socketio.Event, event string, payload any) {
	_ = m.socket.Emit(event, payload) // a client that has left needs no answer
	_ = e.Ack(payload)
}

// refuse tells a client that its event is of no use.
func (h *Hub) refuse(m *member, e *socketio.Event, message string) {
	h.count.exceptions.Add(1)
	h.reply(m, e, eventException, newException(e.Name, message))
}

func (h *Hub) statusOf(m *member) status {
	out := status{Connected: true, Session: m.home, Timestamp: h.stamp()}
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.users[m.user]; p != nil {
		out.Sessions, out.Sockets = p.rooms, p.sockets
	}
	return out
}

// body reads the first argument of an event as an object. An absent one is
// empty.
func body(e *socketio.Event) (map[string]jsontext.Value, bool) {
	var out map[string]jsontext.Value
	if len(e.Args) == 0 {
		return out, true
	}
	for _, v := range e.Values() {
		if _, plain := v.(json.RawMessage); !plain {
			return nil, false // bytes have no place in any of our events
		}
	}
	return out, jsonx.Unmarshal(e.Args[0], &out) == nil
}

// handleSubscribe has a socket hear a session of its user, all of it or some
// events.
func (h *Hub) handleSubscribe(ctx context.Context, m *member, e *socketio.Event) {
	args, ok := body(e)
	if !ok {
		h.refuse(m, e, "the payload must be an object")
		return
	}
	session, ok := textOf(args["sessionId"], m.home)
	if !ok || len(session) > maxSessionID {
		h.refuse(m, e, "sessionId must be a string")
		return
	}
	events, ok := filterOf(args["events"])
	if !ok {
		h.refuse(m, e, "events must be an array of at most 64 names")
		return
	}
	if message := h.join(ctx, m, session, events); message != "" {
		h.refuse(m, e, message)
		if m.misses >= maxMisses {
			m.socket.Disconnect()
		}
		return
	}
	h.reply(m, e, eventSubscribed, subscribed{Session: session, Events: events, Timestamp: h.stamp()})
}

// join subscribes a member, or says why not.
func (h *Hub) join(ctx context.Context, m *member, session string, events []string) string {
	j := h.beginJoin(session)
	defer h.endJoin(j)
	h.mu.Lock()
	known, full := m.find(session) >= 0, len(m.subs) >= maxSubscriptions
	h.mu.Unlock()
	if full && !known {
		return "This connection follows too many sessions"
	}
	if !known {
		if err := h.checkOwner(ctx, m.user, session); err != nil {
			if errors.Is(err, errNotFound) {
				m.misses++
			}
			return shown(err)
		}
	}
	message := ""
	h.locked(func() {
		switch {
		case j.gone:
			message = errNotFound.Message
		case m.over(): // it has left, or is about to; nobody would take it out again
		default:
			h.subscribe(m, session, events)
		}
	})
	return message
}

// textOf reads a string, or otherwise when there is none.
func textOf(v jsontext.Value, otherwise string) (string, bool) {
	if len(v) == 0 || v.Kind() == 'n' {
		return otherwise, true
	}
	var out string
	err := jsonx.Unmarshal(v, &out)
	return out, err == nil && out != ""
}

// filterOf reads the events of a subscription. None and an empty list are all.
func filterOf(v jsontext.Value) ([]string, bool) {
	if len(v) == 0 || v.Kind() == 'n' {
		return nil, true
	}
	var list []string
	if jsonx.Unmarshal(v, &list) != nil || len(list) > maxFilter {
		return nil, false
	}
	var out []string
	for _, name := range list {
		if name == "" || len(name) > maxEventName {
			return nil, false
		}
		if name = filterName(name); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out, true
}

// handleResult takes the answer of a page. The session is that of the call and
// the user that of the socket; what the client says about them is not looked
// at.
func (h *Hub) handleResult(ctx context.Context, m *member, e *socketio.Event) {
	args, ok := body(e)
	if !ok || len(e.Args) == 0 {
		h.refuse(m, e, "the payload must be an object")
		return
	}
	id, ok := textOf(args["toolCallId"], "")
	if !ok || id == "" {
		h.refuse(m, e, "toolCallId must be a string")
		return
	}
	a := answer{Result: args["result"], Error: args["error"]}
	ok = h.answered(m, e.Name, id, a)
	if !ok {
		h.count.ignored.Add(1)
		h.cfg.Log.InfoContext(ctx, "socket answer ignored", "event", e.Name, "reason", "no such call waits for this socket")
	}
	_ = e.Ack(taken{Success: ok})
}
