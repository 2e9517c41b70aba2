package oracle_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

// burner gives a house a tool that changes something, and counts its effects.
func burner(t *testing.T, effects *atomic.Int32) option {
	return func(c *oracle.Config, _ *run.Config) {
		err := c.Tools.Add(tool.Func{Describe: tool.Spec{Name: "burn", Description: "Burns a stove."}, Do: func(context.Context, tool.Call) (tool.Output, error) {
			effects.Add(1)
			return tool.Output{Text: "burnt"}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func burn() modeltest.Answer {
	return modeltest.Called(tool.Call{Name: "burn", Args: jsontext.Value(`{"stove":"7"}`)})
}

// arsonist is a model that answers everything with a call of the tool.
type arsonist struct{}

func (arsonist) Stream(ctx context.Context, r llm.Request, each func(llm.Delta) error) error {
	answer := modeltest.Spoken("Tried.")
	if r.Purpose == llm.Chat && r.Messages[len(r.Messages)-1].Role == llm.User {
		answer = burn()
	}
	return modeltest.NewFake(answer).Stream(ctx, r, each)
}

// asked reads a stream up to the question whether the tool may run.
func asked(r *reader) tool.Question {
	r.t.Helper()
	list := r.until("action_call")
	f := list[len(list)-1]
	var q tool.Question
	raw, err := json.Marshal(f.data["args"])
	if err == nil {
		err = json.Unmarshal(raw, &q)
	}
	if err != nil || f.text("toolName") != tool.ConfirmName || f.text("status") != "isRunning" || q.Tool != "burn" || string(q.Arguments) != `{"stove":"7"}` || q.CallID != f.text("toolCallId") {
		r.t.Fatalf("the question is %s, %v", f.raw, err)
	}
	return q
}

// TestConfirmations: a tool that changes something runs when its user has
// confirmed the call in the stream, and not before.
func TestConfirmations(t *testing.T) {
	t.Parallel()
	for _, yes := range []bool{true, false} {
		var effects atomic.Int32
		h, u, other := small(t, modeltest.NewFake(burn(), modeltest.Spoken("So be it.")), burner(t, &effects)), newUser(t, 1), newUser(t, 2)
		r, _ := h.stream(u, "POST", "/messages/"+h.session(u), `{"message":"burn it","stream":true}`)
		q := asked(r)
		if effects.Load() != 0 {
			t.Fatal("the tool ran before it was confirmed")
		}
		path := "/runs/" + q.RunID + "/confirmations"
		if g := h.do(u, "GET", path, ""); g.status != 200 || !strings.Contains(g.body, q.CallID) {
			t.Errorf("GET %s = %d %s", path, g.status, g.body)
		}
		if g := h.do(other, "GET", path, ""); g.status != 404 {
			t.Errorf("GET of somebody else = %d %s, want 404", g.status, g.body)
		}
		path += "/" + q.CallID
		if g := h.do(other, "POST", path, `{"confirmed":true}`); g.status != 404 || !strings.Contains(g.body, "No question of this run") {
			t.Errorf("the answer of somebody else = %d %s, want 404", g.status, g.body)
		}
		for _, bad := range []string{`{}`, `{"confirmed":"yes"}`, `{"confirmed":null}`} {
			if g := h.do(u, "POST", path, bad); g.status != 400 {
				t.Errorf("POST %s = %d %s, want 400", bad, g.status, g.body)
			}
		}
		body, opposite, want := `{"confirmed":true}`, `{"confirmed":false}`, int32(1)
		if !yes {
			body, opposite, want = opposite, body, 0
		}
		for range 2 { // the same answer again is fine
			if g := h.do(u, "POST", path, body); g.status != 200 {
				t.Errorf("POST %s = %d %s", body, g.status, g.body)
			}
		}
		frames := r.all()
		if g := h.do(u, "POST", path, opposite); g.status != 409 || !strings.Contains(g.body, "The question is closed: it was ") {
			t.Errorf("a second thought = %d %s, want 409", g.status, g.body)
		}
		if effects.Load() != want || spoken(frames) != "So be it." {
			t.Errorf("confirmed = %v: %d effects, %q", yes, effects.Load(), spoken(frames))
		}
	}
}

// TestNobodyToAsk: an answer that is no stream has nobody who could confirm, so
// only a grant counts; it can hold in one conversation, and be taken back.
func TestNobodyToAsk(t *testing.T) {
	t.Parallel()
	var effects atomic.Int32
	h, u := small(t, arsonist{}, burner(t, &effects)), newUser(t, 1)
	first, second := h.session(u), h.session(u)
	say := func(session string, want int32) {
		t.Helper()
		if g := h.do(u, "POST", "/messages/"+session, `{"message":"burn it"}`); g.status != 200 {
			t.Fatalf("POST = %d %s", g.status, g.body)
		}
		if got := effects.Swap(0); got != want {
			t.Errorf("%d effects, want %d", got, want)
		}
	}
	do := func(method, path, body string, want int) {
		t.Helper()
		if g := h.do(u, method, path, body); g.status != want {
			t.Errorf("%s %s %s = %d %s, want %d", method, path, body, g.status, g.body, want)
		}
	}
	say(first, 0)
	do("PUT", "/grants/burn", `{"sessionId":"`+first+`"}`, http.StatusOK)
	say(first, 1)
	say(second, 0)
	inFirst := "/grants/burn?sessionId=" + strings.ReplaceAll(first, "$", "%24")
	if g := h.do(u, "GET", inFirst, ""); g.status != 200 || !strings.Contains(g.body, `"sessionId":"`+first+`"`) {
		t.Errorf("GET %s = %d %s", inFirst, g.status, g.body)
	}
	for _, path := range []string{"/grants/burn", "/grants/nosuch"} {
		if g := h.do(u, "GET", path, ""); g.status != 404 || !strings.Contains(g.body, "You have no such grant.") {
			t.Errorf("GET %s = %d %s, want that there is no grant", path, g.status, g.body)
		}
	}
	if g := h.do(newUser(t, 2), "GET", inFirst, ""); g.status != 404 {
		t.Errorf("GET %s of somebody else = %d %s", inFirst, g.status, g.body)
	}
	do("DELETE", "/grants/burn", "", http.StatusNotFound)
	do("DELETE", inFirst, "", http.StatusOK)
	say(first, 0)
	do("PUT", "/grants/burn", `{}`, http.StatusOK)
	if g := h.do(u, "GET", "/grants", ""); g.status != 200 || !strings.Contains(g.body, `"tool":"burn"`) {
		t.Errorf("GET /grants = %d %s", g.status, g.body)
	}
	if g := h.do(newUser(t, 2), "GET", "/grants", ""); g.status != 200 || strings.Contains(g.body, "burn") {
		t.Errorf("GET /grants of somebody else = %d %s", g.status, g.body)
	}
	say(second, 1)
	do("DELETE", "/grants/burn", "", http.StatusOK)
	say(second, 0)
	do("PUT", "/grants/nosuch", `{}`, http.StatusNotFound)
	do("PUT", "/grants/burn%20it", `{}`, http.StatusBadRequest)
	do("PUT", "/grants/burn", `{"expiresAt":"2001-01-01T00:00:00Z"}`, http.StatusBadRequest)
	do("PUT", "/grants/burn", `{"sessionId":"$unknown"}`, http.StatusNotFound)
}

// TestAbortClosesQuestions: a user who stops a conversation is not asked in it any more,
// also where the run that asked has ended before, with the server.
func TestAbortClosesQuestions(t *testing.T) {
	t.Parallel()
	var effects atomic.Int32
	d := dbtest.SQLite(t)
	h, u := newHouse(t, d, modeltest.NewFake(burn(), modeltest.Spoken("So be it.")), burner(t, &effects)), newUser(t, 1)
	session := h.session(u)
	r, _ := h.stream(u, "POST", "/messages/"+session, `{"message":"burn it","stream":true}`)
	q := asked(r)
	// Another run has left one too, so that nobody but the abort can close it.
	if _, err := d.Exec(t.Context(), `INSERT INTO oracle_confirmations (run, call, user_did, session, tool, about, args, hash, seal, state, created_at, expires_at)
		SELECT 'run_left', call, user_did, session, tool, about, args, hash, seal, state, created_at, expires_at FROM oracle_confirmations WHERE run = $1`, q.RunID); err != nil {
		t.Fatal(err)
	}
	if g := h.do(newUser(t, 2), "POST", "/messages/abort", `{"sessionId":"`+session+`"}`); g.status != 200 || !strings.Contains(g.body, "false") {
		t.Errorf("abort by somebody else = %d %s", g.status, g.body)
	}
	if g := h.do(u, "POST", "/messages/abort", `{"sessionId":"`+session+`"}`); g.status != 200 || !strings.Contains(g.body, "true") {
		t.Errorf("abort = %d %s", g.status, g.body)
	}
	r.all()
	for _, run := range []string{q.RunID, "run_left"} {
		if g := h.do(u, "POST", "/runs/"+run+"/confirmations/"+q.CallID, `{"confirmed":true}`); g.status != 409 || !strings.Contains(g.body, "stopped") {
			t.Errorf("an answer to %s after the abort = %d %s, want 409", run, g.status, g.body)
		}
	}
	if effects.Load() != 0 {
		t.Errorf("%d effects, want none", effects.Load())
	}
}

// TestConfirmedForTheConversation: a confirmation can stand for the calls that follow,
// in its conversation and until that is deleted.
func TestConfirmedForTheConversation(t *testing.T) {
	t.Parallel()
	var effects atomic.Int32
	h, u := small(t, arsonist{}, burner(t, &effects)), newUser(t, 1)
	first, second := h.session(u), h.session(u)
	r, _ := h.stream(u, "POST", "/messages/"+first, `{"message":"burn it","stream":true}`)
	q := asked(r)
	path := "/runs/" + q.RunID + "/confirmations/" + q.CallID
	if g := h.do(u, "POST", path, `{"confirmed":false,"forSession":true}`); g.status != http.StatusBadRequest {
		t.Errorf("a refusal for the conversation = %d %s, want 400", g.status, g.body)
	}
	if g := h.do(u, "POST", path, `{"confirmed":true,"forSession":true}`); g.status != http.StatusOK {
		t.Fatalf("POST %s = %d %s", path, g.status, g.body)
	}
	r.all()
	for _, session := range []string{first, second} {
		if g := h.do(u, "POST", "/messages/"+session, `{"message":"burn it"}`); g.status != http.StatusOK {
			t.Fatalf("POST = %d %s", g.status, g.body)
		}
	}
	if effects.Load() != 2 { // the call that was confirmed, and the next in its conversation
		t.Errorf("%d effects, want 2", effects.Load())
	}
	if g := h.do(u, "DELETE", "/sessions/"+first, ""); g.status != http.StatusOK {
		t.Fatalf("DELETE = %d %s", g.status, g.body)
	}
	if g := h.do(u, "GET", "/grants", ""); strings.Contains(g.body, "burn") {
		t.Errorf("after its conversation the grant is there: %s", g.body)
	}
}

// TestDelegationPermitsNothing: a delegation for something else lets nobody grant,
// confirm or take back; one that gives everything does.
func TestDelegationPermitsNothing(t *testing.T) {
	t.Parallel()
	var effects atomic.Int32
	h, u := small(t, arsonist{}, burner(t, &effects)), newUser(t, 1)
	end := time.Now().Add(time.Hour)
	narrow := u.delegation(t, oracleDID, end)
	wide := u.mint(t, ucan.Draft{Audience: oracleDID, Expires: end, Capabilities: []ucan.Capability{{Can: "*", With: ucan.DefaultResource}}})
	for _, one := range [][2]string{{"PUT", "/grants/burn"}, {"DELETE", "/grants/burn"}, {"POST", "/runs/x/confirmations/y"}} {
		if g := h.do(nil, one[0], one[1], `{"confirmed":true}`, "X-Ucan-Delegation", narrow); g.status != http.StatusUnauthorized {
			t.Errorf("%s %s with a narrow delegation = %d %s, want 401", one[0], one[1], g.status, g.body)
		}
	}
	if g := h.do(nil, "PUT", "/grants/burn", `{}`, "X-Ucan-Delegation", wide); g.status != http.StatusOK {
		t.Errorf("PUT with a delegation of everything = %d %s", g.status, g.body)
	}
}

// TestInvocationNamesTheTool: a token that is for something else permits no tool.
func TestInvocationNamesTheTool(t *testing.T) {
	t.Parallel()
	for with, want := range map[string]int32{"ixo:memory": 0, "ixo:oracle:" + string(oracleDID) + ":tool/other": 0, "ixo:oracle:" + string(oracleDID) + ":tool/burn": 1} {
		var effects atomic.Int32
		h, u := small(t, arsonist{}, burner(t, &effects)), newUser(t, 1)
		token := u.mint(t, ucan.Draft{Audience: oracleDID, Expires: time.Now().Add(10 * time.Minute), Capabilities: []ucan.Capability{{Can: "tool/call", With: with}}})
		g := h.do(u, "POST", "/messages/"+h.session(u), `{"message":"burn it","mcpInvocations":{"burn":"`+token+`"}}`)
		if g.status != 200 || effects.Load() != want {
			t.Errorf("a token for %s: %d effects, want %d; %d %s", with, effects.Load(), want, g.status, g.body)
		}
	}
}

// TestPageConfirms: a page that has declared the action asks its user itself, and
// no model is offered that action.
func TestPageConfirms(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]int32{`{"confirmed":true}`: 1, `{"confirmed":false}`: 0} {
		var effects atomic.Int32
		m := modeltest.NewFake(burn(), modeltest.Spoken("Done."))
		h, u := small(t, m, burner(t, &effects)), newUser(t, 1)
		h.live.answer = func(context.Context, tool.Spec, tool.Call) (tool.Output, error) {
			return tool.Output{Data: jsontext.Value(answer)}, nil
		}
		g := h.do(u, "POST", "/messages/"+h.session(u), `{"message":"burn it","agActions":[{"name":"`+tool.ConfirmName+`","description":"Asks","schema":{"type":"object"},"hasRender":true}]}`)
		if g.status != 200 || effects.Load() != want {
			t.Errorf("%s: %d effects, %d %s", answer, effects.Load(), g.status, g.body)
		}
		for _, spec := range chats(m)[0].Tools {
			if spec.Name == tool.ConfirmName {
				t.Error("the model is offered the action by which its user is asked")
			}
		}
		h.live.mu.Lock()
		if len(h.live.calls) != 1 || !strings.Contains(string(h.live.calls[0].Args), `"arguments":{"stove":"7"}`) {
			t.Errorf("the page was asked %+v", h.live.calls)
		}
		h.live.mu.Unlock()
	}
}
