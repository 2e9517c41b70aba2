package oracle_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

// spy is what a tool got to see.
type spy struct {
	about tool.Context
	have  tool.Delegation
	ok    bool
	err   error
}

// spies are tools that tell what they see. before runs in the call, before it
// looks.
type spies struct {
	before func(name string)
	mu     sync.Mutex
	seen   map[string][]spy
}

func (s *spies) tool(name string) tool.Tool {
	return tool.Func{Describe: tool.Spec{Name: name, ReadOnly: true}, Do: func(ctx context.Context, _ tool.Call) (tool.Output, error) {
		if s.before != nil {
			s.before(name)
		}
		one := spy{about: tool.From(ctx)}
		one.have, one.ok, one.err = one.about.Delegated(ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.seen == nil {
			s.seen = map[string][]spy{}
		}
		s.seen[name] = append(s.seen[name], one)
		return tool.Output{Text: fmt.Sprintf("%+v", one)}, nil // what prints it must not show tokens
	}}
}

// take gives what a tool saw since the last time.
func (s *spies) take(name string) []spy {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.seen[name]
	delete(s.seen, name)
	return out
}

// spied is a house with tools that look, and a clock that can be moved.
func spied(t *testing.T, d *db.DB, m llm.Model, names ...string) (*house, *spies, *atomic.Int64) {
	t.Helper()
	s, ahead := &spies{}, &atomic.Int64{}
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	return newHouse(t, d, m, func(c *oracle.Config, _ *run.Config) {
		c.Now = now
		c.Callers = oracle.NewCallers(oracle.CallersConfig{DID: oracleDID, DB: d, Log: c.Log, Now: now})
		for _, name := range names {
			if err := c.Tools.Add(s.tool(name)); err != nil {
				t.Fatal(err)
			}
		}
	}), s, ahead
}

// TestDelegationReachesTools: a tool gets the caller's own delegation, the one
// that came with the message before the one that is stored, and nobody else's.
func TestDelegationReachesTools(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	h, saw, _ := spied(t, d, llm.Offline{}, "look")
	u, other := newUser(t, 1), newUser(t, 2)
	s, end := h.session(u), time.Now().Add(time.Hour).Truncate(time.Second)
	kept, sent := u.delegation(t, oracleDID, end), u.delegation(t, oracleDID, end.Add(time.Hour))
	ask := func(want string, headers ...string) {
		t.Helper()
		g := h.do(u, "POST", "/messages/"+s, `{"message":"/tool look {}"}`, headers...)
		seen := saw.take("look")
		if g.status != 200 || len(seen) != 1 || seen[0].err != nil {
			t.Fatalf("got %d %s, the tool saw %+v", g.status, g.body, seen)
		}
		if got := seen[0].have.Token.Reveal(); got != want || seen[0].ok != (want != "") {
			t.Errorf("headers %.40q: the tool got %.60q (%v), want %.60q", headers, got, seen[0].ok, want)
		}
		if seen[0].about.Invocation.Reveal() != "" {
			t.Error("the tool got an invocation that nobody sent")
		}
	}
	ask("")
	ask("", "X-Ucan-Delegation", other.delegation(t, oracleDID, end))
	ask("", "X-Ucan-Delegation", u.delegation(t, other.signer.DID(), end)) // for somebody else
	ask(sent, "X-Ucan-Delegation", sent)
	if g := h.do(u, "POST", "/delegation", `{"raw":"`+kept+`"}`); g.status != 200 {
		t.Fatalf("store: %d %s", g.status, g.body)
	}
	ask(kept)
	ask(kept, "X-Ucan-Delegation", other.delegation(t, oracleDID, end))
	ask(sent, "X-Ucan-Delegation", sent)
	for _, token := range []string{kept, sent} {
		noTrace(t, h, d, token)
	}
	if g := h.do(u, "DELETE", "/delegation", ""); g.status != 200 {
		t.Fatalf("forget: %d %s", g.status, g.body)
	}
	ask("")
	// A row that somebody has put into the store without asking us.
	if err := h.chat.PutDelegation(t.Context(), u.did(), chat.Delegation{Raw: other.delegation(t, oracleDID, end), Expires: end}); err != nil {
		t.Fatal(err)
	}
	ask("")
	// Who comes with a delegation alone lets us use it.
	g := h.do(nil, "POST", "/messages/"+s, `{"message":"/tool look {}"}`, "X-Ucan-Delegation", sent)
	if seen := saw.take("look"); g.status != 200 || len(seen) != 1 || seen[0].have.Token.Reveal() != sent {
		t.Errorf("delegation alone: got %d %s, the tool saw %+v", g.status, g.body, seen)
	}
}

// noTrace wants a token in no log, no message and no frame.
func noTrace(t *testing.T, h *house, d *db.DB, token string) {
	t.Helper()
	if strings.Contains(h.log.String(), token) {
		t.Error("a token is in the log")
	}
	for _, query := range []string{
		`SELECT COUNT(*) FROM chat_messages WHERE body LIKE '%' || $1 || '%' OR hidden LIKE '%' || $1 || '%'`,
		`SELECT COUNT(*) FROM oracle_frames WHERE data LIKE '%' || $1 || '%'`,
	} {
		var n int
		if err := d.QueryRow(t.Context(), query, token[100:140]).Scan(&n); err != nil || n != 0 {
			t.Errorf("%s: %d, %v", query, n, err)
		}
	}
}

// TestDelegationEndsBeforeTheCall: a delegation that was good when the message
// came is not given once it has ended, neither the sent nor the stored one, and
// one that was taken back meanwhile is gone.
func TestDelegationEndsBeforeTheCall(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	h, saw, ahead := spied(t, d, llm.Offline{}, "look")
	u := newUser(t, 1)
	s := h.session(u)
	kept, sent := u.delegation(t, oracleDID, time.Now().Add(2*time.Hour)), u.delegation(t, oracleDID, time.Now().Add(time.Minute))
	if g := h.do(u, "POST", "/delegation", `{"raw":"`+kept+`"}`); g.status != 200 {
		t.Fatalf("store: %d %s", g.status, g.body)
	}
	ask := func(before func(string), want string) {
		t.Helper()
		saw.before = before
		g := h.do(u, "POST", "/messages/"+s, `{"message":"/tool look {}"}`, "X-Ucan-Delegation", sent)
		if seen := saw.take("look"); g.status != 200 || len(seen) != 1 || seen[0].have.Token.Reveal() != want || seen[0].ok != (want != "") {
			t.Errorf("got %d %s, the tool saw %+v", g.status, g.body, seen)
		}
		ahead.Store(0)
	}
	ask(nil, sent)
	ask(func(string) { ahead.Store(int64(time.Hour)) }, kept) // the sent one has ended meanwhile
	ask(func(string) { ahead.Store(int64(3 * time.Hour)) }, "")
	ask(func(string) {
		ahead.Store(int64(time.Hour))
		if err := h.chat.DeleteDelegation(t.Context(), u.did()); err != nil {
			t.Error(err)
		}
	}, "")
}

// TestInvocationReachesItsTool: the invocation of a tool is given to its first
// call, to no other call, to no other tool, and not once it has ended.
func TestInvocationReachesItsTool(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	calls := func(names ...string) modeltest.Answer {
		var out []tool.Call
		for _, name := range names {
			out = append(out, tool.Call{ID: "call_" + name, Name: name, Args: jsontext.Value(`{"n":` + fmt.Sprint(len(names)) + `}`)})
		}
		return modeltest.Called(out...)
	}
	said := modeltest.Spoken("done")
	m := modeltest.NewFake(calls("search", "look"), calls("search"), said, calls("look"), calls("search"), said)
	h, saw, ahead := spied(t, d, m, "search", "look")
	u := newUser(t, 1)
	s := h.session(u)
	if _, err := h.chat.SetTitle(t.Context(), u.did(), s, "so that answers are for messages alone"); err != nil {
		t.Fatal(err)
	}
	mint := func(nonce string) string {
		return u.mint(t, ucan.Draft{
			Audience: oracleDID, Expires: time.Now().Add(10 * time.Minute), Nonce: nonce,
			Capabilities: []ucan.Capability{{Can: "mcp/call", With: "ixo:oracle:" + string(oracleDID) + ":mcp/s/search"}},
		})
	}
	ask := func(token string) {
		t.Helper()
		if g := h.do(u, "POST", "/messages/"+s, `{"message":"find it","mcpInvocations":{"search":"`+token+`","unknown_tool":"`+mint(token[100:110])+`"}}`); g.status != 200 {
			t.Fatalf("got %d %s", g.status, g.body)
		}
	}
	got := func(name string) (out []string) {
		for _, one := range saw.take(name) {
			out = append(out, one.about.Invocation.Reveal())
		}
		return out
	}
	first := mint("1")
	ask(first)
	if have := got("search"); len(have) != 2 || have[0] != first || have[1] != "" {
		t.Errorf("search got %.80q, want its invocation once", have)
	}
	if have := got("look"); len(have) != 1 || have[0] != "" {
		t.Errorf("look got %.80q, want nothing", have)
	}
	noTrace(t, h, d, first)
	// Another tool takes longer than the invocation lasts.
	saw.before = func(name string) {
		if name == "look" {
			ahead.Store(int64(11 * time.Minute))
		}
	}
	ask(mint("2"))
	if have := got("search"); len(have) != 1 || have[0] != "" {
		t.Errorf("search got %.80q, want nothing: the invocation has ended", have)
	}
}
