package oracle_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
)

// TestDeletedSessionHasNoSummary: the summaries of a conversation leave memory
// with it. One of the same words finds them until then, and no longer.
func TestDeletedSessionHasNoSummary(t *testing.T) {
	t.Parallel()
	var summaries atomic.Int64
	m := llm.Func(func(_ context.Context, r llm.Request, each func(llm.Delta) error) error {
		if r.Purpose == llm.Summary {
			summaries.Add(1)
		}
		return each(llm.Delta{Text: "yes", Finish: "stop"})
	})
	h := small(t, m, func(c *oracle.Config, _ *run.Config) {
		c.Agent = agent.New(agent.Config{Model: m, Limits: agent.Limits{ContextTokens: 4000}})
	})
	u := newUser(t, 1)
	talk := func() (session string, made int64) {
		t.Helper()
		session = h.session(u)
		before := summaries.Load()
		for range 4 {
			if g := h.do(u, "POST", "/messages/"+session, `{"message":"`+strings.Repeat("word ", 1000)+`"}`); g.status != 200 {
				t.Fatalf("got %d %s", g.status, g.body)
			}
		}
		return session, summaries.Load() - before
	}
	first, made := talk()
	if made == 0 {
		t.Fatal("no summary was made, want one")
	}
	if _, again := talk(); again != 0 {
		t.Errorf("%d summaries were made of what has one, want none", again)
	}
	if g := h.do(u, "DELETE", "/sessions/"+first, ""); g.status != 200 {
		t.Fatalf("delete: %d %s", g.status, g.body)
	}
	if _, anew := talk(); anew != made {
		t.Errorf("%d summaries were made after the first session was deleted, want %d", anew, made)
	}
}
