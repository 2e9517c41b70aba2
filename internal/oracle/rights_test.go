package oracle_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// guarded is a tool that shows something to those who may see it. Calls come
// one after the other; before runs in each.
type guarded struct {
	before func(call int)
	may    bool
	asked  int
	log    []string
}

func (g *guarded) find(_ context.Context, user string) (web.Caller, error) {
	g.asked++
	c := web.Caller{DID: user}
	if g.may {
		c.Scopes = []string{"entities:read"}
	}
	return c, nil
}

func (g *guarded) look(ctx context.Context, _ tool.Call) (tool.Output, error) {
	g.before(len(g.log) + 1)
	about := tool.From(ctx)
	c, err := about.Caller(ctx, g.find)
	switch {
	case err != nil:
		return tool.Output{}, err
	case c.DID != about.User:
		return tool.Output{}, fmt.Errorf("the rights are those of %q", c.DID)
	case len(c.Scopes) == 0:
		g.log = append(g.log, "refused")
		return tool.Output{}, fault.New(fault.Forbidden, "SCOPE_MISSING", "You have no right to see this.")
	}
	g.log = append(g.log, "shown")
	return tool.Output{Text: "secret"}, nil
}

// TestRightsOfARun: the tools of a run ask once what its user may do. A right
// that is taken away during the run is gone for calls a second later, and the
// next run does not wait for that.
func TestRightsOfARun(t *testing.T) {
	t.Parallel()
	n := 0
	look := func() modeltest.Answer { // none is the same call again
		n++
		return modeltest.Called(tool.Call{Name: "look", Args: jsontext.Value(fmt.Sprintf(`{"n":%d}`, n))})
	}
	said := modeltest.Spoken("done")
	m := modeltest.NewFake(look(), look(), look(), said, look(), said, look(), said)
	var ahead atomic.Int64
	start := time.Now()
	g := &guarded{may: true}
	g.before = func(call int) {
		switch call {
		case 2:
			g.may = false
		case 3:
			ahead.Add(int64(time.Second))
		case 4:
			g.may = true
		case 5:
			g.may = false
		}
	}
	h := small(t, m, func(c *oracle.Config, _ *run.Config) {
		c.Now = func() time.Time { return start.Add(time.Duration(ahead.Load())) }
		if err := c.Tools.Add(tool.Func{Describe: tool.Spec{Name: "look", ReadOnly: true}, Do: g.look}); err != nil {
			t.Fatal(err)
		}
	})
	u := newUser(t, 1)
	s := h.session(u)
	if _, err := h.chat.SetTitle(t.Context(), u.did(), s, "so that answers are for messages alone"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		want  string
		asked int
	}{
		{"shown shown refused", 2},
		{"shown shown refused shown", 3}, // given back
		{"shown shown refused shown refused", 4},
	} {
		if got := h.do(u, "POST", "/messages/"+s, `{"message":"look"}`); got.status != 200 {
			t.Fatalf("got %d %s", got.status, got.body)
		}
		if got := strings.Join(g.log, " "); got != tt.want || g.asked != tt.asked {
			t.Errorf("the calls were %s after %d questions, want %s after %d", got, g.asked, tt.want, tt.asked)
		}
	}
}
