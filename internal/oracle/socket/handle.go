package socket

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	jsonx "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/socketio"
)

// Limits of a filter.
const (
	maxFilter    = 64 // events
	maxEventName = 64 // bytes
)

// page answers the events of a member.
type page struct {
	hub *Hub
	*member
}

// handle answers an event. Each socket's events come one at a time.
func (p page) handle(ctx context.Context, e *socketio.Event) {
	switch e.Name {
	case eventPing:
		p.reply(e, eventPong, pong{Timestamp: p.hub.stamp(), Session: p.home})
	case eventStatus:
		p.reply(e, eventStatus, p.status())
	case eventList:
		p.reply(e, eventAvailable, available{clientEvents(), serverEvents(p.hub.cfg.Events()), p.home, p.hub.stamp()})
	case eventSubscribe:
		p.handleSubscribe(ctx, e)
	case eventToolResult, eventActionResult:
		p.handleResult(ctx, e)
	default:
		// The original says nothing; who asked for an answer gets one.
		_ = e.Ack(newException(e.Name, "Unknown event"))
	}
}

// reply sends an answer as an event and, if the client wants one, as an
// acknowledgement.
func (p page) reply(e *socketio.Event, event string, payload any) {
	_ = p.socket.Emit(event, payload) // a client that has left needs no answer
	_ = e.Ack(payload)
}

// refuse tells a client that its event cannot be used.
func (p page) refuse(e *socketio.Event, message string) {
	p.hub.count.exceptions.Add(1)
	p.reply(e, eventException, newException(e.Name, message))
}

func (p page) status() status {
	out := status{Connected: true, Session: p.home, Timestamp: p.hub.stamp()}
	p.hub.mu.Lock()
	defer p.hub.mu.Unlock()
	if here := p.hub.users[p.user]; here != nil {
		out.Sessions, out.Sockets = here.rooms, here.sockets
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

// handleSubscribe subscribes a socket to a session of its user, to all events
// or some.
func (p page) handleSubscribe(ctx context.Context, e *socketio.Event) {
	args, ok := body(e)
	if !ok {
		p.refuse(e, "the payload must be an object")
		return
	}
	session, ok := textOf(args["sessionId"], p.home)
	if !ok || len(session) > maxSessionID {
		p.refuse(e, "sessionId must be a string")
		return
	}
	events, ok := filterOf(args["events"])
	if !ok {
		p.refuse(e, "events must be an array of at most 64 names")
		return
	}
	if message := p.join(ctx, session, events); message != "" {
		p.refuse(e, message)
		if p.misses >= maxMisses {
			p.socket.Disconnect()
		}
		return
	}
	p.reply(e, eventSubscribed, subscribed{Session: session, Events: events, Timestamp: p.hub.stamp()})
}

// join subscribes a member, or says why not.
func (p page) join(ctx context.Context, session string, events []string) string {
	j := p.hub.beginJoin(session)
	defer p.hub.endJoin(j)
	p.hub.mu.Lock()
	known, full := p.find(session) >= 0, len(p.subs) >= maxSubscriptions
	p.hub.mu.Unlock()
	if full && !known {
		return "This connection follows too many sessions"
	}
	if !known {
		if err := p.hub.checkOwner(ctx, p.user, session); err != nil {
			if errors.Is(err, errNotFound) {
				p.misses++
			}
			return shown(err)
		}
	}
	message := ""
	p.hub.locked(func() {
		switch {
		case j.gone:
			message = errNotFound.Message
		case p.over(): // it has left, or is about to; otherwise nobody would remove it
		default:
			p.hub.subscribe(p.member, session, events)
		}
	})
	return message
}

// textOf reads a string, or returns otherwise when there is none.
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
// the user that of the socket; the client's statements about them are ignored.
func (p page) handleResult(ctx context.Context, e *socketio.Event) {
	args, ok := body(e)
	if !ok || len(e.Args) == 0 {
		p.refuse(e, "the payload must be an object")
		return
	}
	id, ok := textOf(args["toolCallId"], "")
	if !ok || id == "" {
		p.refuse(e, "toolCallId must be a string")
		return
	}
	if p.part && strings.HasPrefix(id, questionMark) {
		p.refuse(e, "answering a question needs a delegation of all capabilities")
		return
	}
	a := answer{Result: args["result"], Error: args["error"]}
	ok = p.hub.answered(p.member, e.Name, id, a)
	if !ok {
		p.hub.count.ignored.Add(1)
		p.hub.cfg.Log.InfoContext(ctx, "socket answer ignored", "event", e.Name, "reason", "no such call waits for this socket")
	}
	_ = e.Ack(taken{Success: ok})
}
