package socket

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	jsonx "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// call is a call of a browser tool or an action that a page has not answered.
// All below the first line is under mu of the register.
type call struct {
	id, user, session, event string // event is what the page receives

	origin string // the instance that waits for the answer; empty: this one
	timer  *time.Timer

	done   bool
	local  bool                // pages of this instance receive it
	heard  bool                // a page somewhere has received it
	asked  map[string]struct{} // instances that have not said whether they hold pages
	takers map[string]struct{} // instances that do
	reply  chan tool.Output    // gets one
}

// Call makes the pages of a session run one of their own tools, and waits for
// the first answer. The tool.Context of ctx names the session and the request.
// A tool that fails, is not answered in time, or has no page to run it gives an
// Output with Err; the error is that of ctx. A call is sent once and never
// again.
func (h *Hub) Call(ctx context.Context, s tool.Spec, c tool.Call) (tool.Output, error) {
	h.count.calls.Add(1)
	about := tool.From(ctx)
	args := c.Args
	if len(args) == 0 {
		args = jsontext.Value("{}")
	}
	one := h.open(about, s)
	if one == nil {
		h.count.alone.Add(1)
		return failed(textAlone), nil
	}
	if s.Kind == tool.Action && s.HasRender {
		shown := component{Session: about.SessionID, RequestID: about.RequestID, Name: s.Name, Args: args, Status: statusRunning, EventID: one.id}
		h.Emit(one.user, one.session, eventRender, shown)
		shown.Status = statusDone
		defer h.Emit(one.user, one.session, eventRender, shown)
	}
	limit := s.Timeout
	if limit <= 0 {
		limit = h.cfg.CallTimeout
	}
	// The original names the call twice, and the request not at all.
	sent := invocation{Session: one.session, RequestID: one.id, CallID: one.id, Tool: s.Name, Args: args}
	if s.Kind == tool.Action {
		sent.Status = statusRunning
	}
	raw, err := jsonx.Marshal(sent, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		h.end(one, failed(textFailed))
		return failed(textFailed), nil
	}
	h.emit(listeningRooms(one.session, one.event), one.event, json.RawMessage(raw))
	h.tell(note{Kind: noteCall, ID: one.id, User: one.user, Session: one.session, Event: one.event, Payload: raw, TimeoutMS: limit.Milliseconds()})
	return h.wait(ctx, one, limit, timeoutText(s, limit.Milliseconds()))
}

// wait gives the first thing that ends a call.
func (h *Hub) wait(ctx context.Context, c *call, limit time.Duration, late string) (tool.Output, error) {
	timeout, peers := time.NewTimer(limit), time.NewTimer(h.cfg.PeerWait)
	defer timeout.Stop()
	defer peers.Stop()
	for {
		select {
		case out := <-c.reply:
			return out, nil
		case <-peers.C:
			h.giveUp(c)
		case <-timeout.C:
			if h.end(c, failed(late)) {
				h.count.timeouts.Add(1)
			}
		case <-ctx.Done():
			h.end(c, tool.Output{})
			return tool.Output{}, context.Cause(ctx)
		}
	}
}

// questionMark begins the ids of questions whether a tool may run, so that every
// instance knows them.
const questionMark = "ask_"

// open makes a call, or returns nil if nobody could answer it.
func (rg *register) open(about tool.Context, s tool.Spec) *call {
	c := &call{user: about.User, session: about.SessionID, event: eventBrowserCall, reply: make(chan tool.Output, 1), takers: map[string]struct{}{}}
	prefix, sep := "tc-", "-"
	if s.Kind == tool.Action {
		c.event, prefix, sep = eventActionCall, "ag_", "_"
	}
	if s.Name == tool.ConfirmName {
		prefix = questionMark
	}
	rg.mu.Lock()
	defer rg.mu.Unlock()
	r := rg.rooms[c.session]
	c.local = r != nil && r.user == c.user && r.listens(c.event)
	c.heard = c.local
	c.asked = maps.Clone(rg.peers)
	if !c.local && len(c.asked) == 0 {
		return nil
	}
	for c.id == "" || rg.calls[c.id] != nil {
		c.id = prefix + about.RequestID + sep + randomHex(4)
	}
	rg.calls[c.id] = c
	if c.local {
		r.expect(c)
	}
	return c
}

// end ends a call of ours, unless it has ended.
func (rg *register) end(c *call, out tool.Output) (ended bool) {
	rg.locked(func() { ended = rg.finish(c, out) })
	return ended
}

// finish ends a call of ours: the first time counts. The caller holds mu.
func (rg *register) finish(c *call, out tool.Output) bool {
	if c.done {
		return false
	}
	rg.forget(c)
	if len(c.takers)+len(c.asked) > 0 {
		rg.notes = append(rg.notes, note{Kind: noteOver, ID: c.id})
	}
	c.reply <- out
	return true
}

// forget takes a call out of everything. The caller holds mu.
func (rg *register) forget(c *call) {
	c.done = true
	delete(rg.calls, c.id)
	if r := rg.rooms[c.session]; r != nil {
		delete(r.calls, c)
	}
	if c.timer != nil {
		c.timer.Stop()
	}
}

// look ends the calls that no page in a room receives any more. The caller
// holds mu.
func (rg *register) look(r *room) {
	for c := range r.calls {
		if r.listens(c.event) {
			continue
		}
		c.local = false
		delete(r.calls, c)
		if c.origin == "" {
			rg.settle(c)
			continue
		}
		rg.forget(c)
		rg.notes = append(rg.notes, note{Kind: noteGone, ID: c.id, To: c.origin})
	}
}

// settle fails a call of ours that no page anywhere can answer. The caller
// holds mu.
func (rg *register) settle(c *call) {
	if c.done || c.local || len(c.takers) > 0 || len(c.asked) > 0 {
		return
	}
	text := textLeft
	if !c.heard {
		text = textAlone
	}
	rg.count.alone.Add(1)
	rg.finish(c, failed(text))
}

// giveUp stops waiting for instances that do not say whether they have pages.
// They count as gone until they send something again.
func (rg *register) giveUp(c *call) {
	rg.locked(func() {
		for peer := range c.asked {
			delete(rg.peers, peer)
		}
		clear(c.asked)
		rg.settle(c)
	})
}

// answered gives the answer of a member to the call it belongs to. It reports
// false when no such call waits for this member.
func (rg *register) answered(m *member, event, id string, a answer) (ok bool) {
	rg.locked(func() {
		c := rg.calls[id]
		if c == nil || c.user != m.user || resultEvent(c.event) != event {
			return
		}
		i := m.find(c.session)
		if ok = i >= 0 && m.subs[i].wants(c.event); !ok {
			return
		}
		if c.origin == "" {
			rg.finish(c, a.output(c.event))
			return
		}
		rg.forget(c)
		rg.notes = append(rg.notes, note{Kind: noteAnswer, ID: id, To: c.origin, User: c.user, Session: c.session, Payload: a.encoded()})
	})
	return ok
}

// resultEvent is what a page answers an event with.
func resultEvent(event string) string {
	if event == eventActionCall {
		return eventActionResult
	}
	return eventToolResult
}

// encoded is the answer for another instance.
func (a answer) encoded() jsontext.Value {
	if len(a.Result) > maxResult || len(a.Error) > maxResult {
		a = answer{Error: appendText(nil, textLarge)}
	}
	out, err := jsonx.Marshal(a)
	if err != nil {
		return jsontext.Value(`{"error":true}`) // cannot be: both were read as JSON
	}
	return out
}
