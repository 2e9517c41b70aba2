package socket

import (
	"encoding/json"
	"fmt"
	"slices"

	jsonx "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// Events of the server.
const (
	eventConnected    = "connected"
	eventPong         = "pong"
	eventStatus       = "status"
	eventSubscribed   = "subscribed"
	eventAvailable    = "available-events"
	eventException    = "exception"
	eventEnvelope     = "event"
	eventBrowserCall  = "browser_tool_call"
	eventActionCall   = "action_call"
	eventRender       = "render_component"
	eventRouter       = "router_update"
	eventRouterDotted = "router.update" // what the original sends, whatever its catalogue says
	eventInvalidation = "message_cache_invalidation"
)

// Events of clients.
const (
	eventPing         = "ping"
	eventSubscribe    = "subscribe"
	eventList         = "list-events"
	eventToolResult   = "tool_result"
	eventActionResult = "action_call_result"
)

// clientEvents and serverEvents are the catalogue, in the original's order,
// followed by what it left out.
func clientEvents() []string {
	return []string{eventPing, eventStatus, eventSubscribe, eventList, eventToolResult, eventActionResult}
}

func serverEvents(more []string) []string {
	all := []string{
		eventConnected, eventPong, eventStatus, eventSubscribed, eventAvailable, eventRender, "tool_call", eventActionCall,
		eventBrowserCall, eventRouter, eventInvalidation, "reasoning", eventRouterDotted, eventEnvelope, eventException,
	}
	for _, name := range more {
		if !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// Sent describes what this package itself sends. The event of a call is
// described where pages receive it: those of runs are the oracle's.
func Sent() []web.Message {
	type enveloped struct {
		Name    string         `json:"eventName"`
		Payload jsontext.Value `json:"payload"`
	}
	return []web.Message{
		{Name: eventConnected, About: "The connection is accepted and follows the session.", Payload: connected{}},
		{Name: eventPong, About: "The answer to ping.", Payload: pong{}},
		{Name: eventStatus, About: "The answer to status: your sockets and sessions.", Payload: status{}},
		{Name: eventSubscribed, About: "The answer to subscribe.", Payload: subscribed{}},
		{Name: eventAvailable, About: "The answer to list-events.", Payload: available{}},
		{Name: eventException, About: "An event you sent is not valid, or the connection must end.", Payload: exception{}},
		{Name: eventEnvelope, About: "Every event of a run and of a plugin again, with its name inside: the published client reads these.", Payload: enveloped{}},
		{Name: eventBrowserCall, About: "Run a tool of the page, and answer with tool_result.", Payload: invocation{}},
		{Name: eventActionCall, About: "Run an action of the page, and answer with action_call_result.", Payload: invocation{}},
		{Name: eventRender, About: "Show the component of an action, then remove it.", Payload: component{}},
	}
}

// Taken describes what clients may send.
func Taken() []web.Message {
	type wish struct {
		Session string   `json:"sessionId,omitzero" doc:"One of your sessions; by default that of the connection."`
		Events  []string `json:"events,omitzero" maxItems:"64" doc:"Only these; all by default."`
	}
	type result struct {
		CallID  string         `json:"toolCallId"`
		Session string         `json:"sessionId,omitzero" doc:"Ignored: the call knows its session."`
		Result  jsontext.Value `json:"result,omitzero" doc:"At most 256 KiB of JSON."`
		Error   jsontext.Value `json:"error,omitzero" doc:"A text, or an object with message: the call has failed."`
	}
	return []web.Message{
		{Name: eventPing, About: "Answered with pong."},
		{Name: eventStatus, About: "Answered with status."},
		{Name: eventList, About: "Answered with available-events."},
		{Name: eventSubscribe, About: "Follow another session of yours too, or only some events.", Payload: wish{}},
		{Name: eventToolResult, About: "The result of a tool of the page.", Payload: result{}},
		{Name: eventActionResult, About: "The result of an action of the page.", Payload: result{}},
	}
}

// reserved are names that Emit does not send: those with a meaning in the
// protocol, our own answers, and calls, which a page would run.
func reserved(name string) bool {
	switch name {
	case "connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener", "":
		return true
	case eventConnected, eventPong, eventStatus, eventSubscribed, eventAvailable, eventException, eventEnvelope, eventBrowserCall, eventActionCall:
		return true
	}
	return false
}

// names are what an event is called on the wire.
func names(event string) []string {
	if event == eventRouter || event == eventRouterDotted {
		return []string{eventRouterDotted, eventRouter}
	}
	return []string{event}
}

// filterName is what an event is called in filters.
func filterName(event string) string {
	if event == eventRouterDotted {
		return eventRouter
	}
	return event
}

// Emit sends an event to all sockets of a session of a user that want it: under
// its name, and in the envelope that the published client reads. payload
// becomes a JSON object that names the session and a request. It never waits
// for a client; without listeners it does nothing.
func (h *Hub) Emit(user, session, event string, payload any) {
	here := h.inhabited(user, session)
	if !here && h.cfg.Publish == nil {
		return
	}
	raw, err := object(session, payload)
	if reserved(event) || err != nil {
		h.cfg.Log.Warn("socket event not sent", "event", event, "err", fmt.Sprint(err))
		return
	}
	if here {
		h.deliver(session, event, raw)
	}
	h.tell(note{Kind: noteEmit, User: user, Session: session, Event: event, Payload: raw})
}

// deliver sends an event to the sockets of this instance.
func (h *Hub) deliver(session, event string, raw jsontext.Value) {
	h.count.emitted.Add(1)
	rooms := listeningRooms(session, event)
	for _, name := range names(event) {
		h.emit(rooms, name, json.RawMessage(raw))
		h.emit(rooms, eventEnvelope, envelope(name, raw))
	}
}

// listeningRooms are the rooms of the sockets that receive an event of a
// session.
func listeningRooms(session, event string) []string {
	return []string{session, filteredRoom(session, event)}
}

// filteredRoom is the room of sockets that asked for an event. No session id
// has a line break: those we let sockets join are our own.
func filteredRoom(session, event string) string { return session + "\n" + filterName(event) }

func envelope(name string, raw jsontext.Value) json.RawMessage {
	out := make([]byte, 0, len(raw)+len(name)+32)
	out = append(out, `{"eventName":`...)
	out = appendText(out, name)
	out = append(out, `,"payload":`...)
	out = append(out, raw...)
	return append(out, '}')
}

// appendText writes a JSON string. Bytes that are no text become U+FFFD.
func appendText(out []byte, text string) []byte {
	out, _ = jsontext.AppendQuote(out, text) // the error is about those bytes
	return out
}

// object turns a payload into a JSON object that names its session, whatever it
// said itself, and a request, which the published client requires. Any other
// value becomes its member "data".
func object(session string, payload any) (jsontext.Value, error) {
	raw, err := jsonx.Marshal(payload, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("encode payload: %w", err)
	}
	out := appendText([]byte(`{"sessionId":`), session)
	value := jsontext.Value(raw)
	if value.Kind() != '{' {
		out = append(append(out, `,"requestId":"","data":`...), value...)
		return append(out, '}'), nil
	}
	var members map[string]jsontext.Value
	if err := jsonx.Unmarshal(value, &members); err != nil {
		return nil, fmt.Errorf("read payload: %w", err)
	}
	delete(members, "sessionId")
	if _, has := members["requestId"]; !has {
		members["requestId"] = jsontext.Value(`""`)
	}
	rest, err := jsonx.Marshal(members, jsonx.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode payload: %w", err)
	}
	return append(append(out, ','), rest[1:]...), nil
}

// Statuses of components and calls.
const (
	statusRunning = "isRunning"
	statusDone    = "done"
)

// The payloads.
type (
	connected struct {
		Message   string `json:"message"`
		Session   string `json:"sessionId"`
		Timestamp string `json:"timestamp"`
	}
	pong struct {
		Timestamp string `json:"timestamp"`
		Session   string `json:"sessionId"`
	}
	status struct {
		Connected bool   `json:"connected"`
		Session   string `json:"sessionId"`
		Sessions  int    `json:"activeSessions"`
		Sockets   int    `json:"totalConnections"`
		Timestamp string `json:"timestamp"`
	}
	available struct {
		Client    []string `json:"clientEvents"`
		Server    []string `json:"serverEvents"`
		Session   string   `json:"sessionId"`
		Timestamp string   `json:"timestamp"`
	}
	subscribed struct {
		Session   string   `json:"sessionId"`
		Events    []string `json:"events,omitempty"`
		Timestamp string   `json:"timestamp"`
	}
	invocation struct {
		Session   string         `json:"sessionId"`
		RequestID string         `json:"requestId"`
		CallID    string         `json:"toolCallId"`
		Tool      string         `json:"toolName"`
		Args      jsontext.Value `json:"args"`
		Status    string         `json:"status,omitzero"`
	}
	component struct {
		Session   string         `json:"sessionId"`
		RequestID string         `json:"requestId"`
		Name      string         `json:"componentName"`
		Args      jsontext.Value `json:"args"`
		Status    string         `json:"status"`
		EventID   string         `json:"eventId"`
	}
	invalidation struct {
		Session   string `json:"sessionId"`
		RequestID string `json:"requestId"`
		Status    string `json:"status"`
	}
	exception struct {
		Status  string `json:"status"`
		Message string `json:"message"`
		Cause   cause  `json:"cause"`
	}
	cause struct {
		Pattern string `json:"pattern"`
	}
	taken struct {
		Success bool `json:"success"`
	}
)

// internalText is all a client learns of a failure that is ours.
const internalText = "Internal server error"

func newException(pattern, message string) exception {
	return exception{Status: "error", Message: message, Cause: cause{Pattern: pattern}}
}

// stamp is the time in the form of all payloads: UTC, milliseconds.
func (h *Hub) stamp() string { return h.cfg.Now().UTC().Format(stampLayout) }

const stampLayout = "2006-01-02T15:04:05.000Z"
