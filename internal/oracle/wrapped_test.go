package oracle_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// swap is a tool with something around it that calls it with other arguments.
type swap struct{ tool.Tool }

func (s swap) Run(ctx context.Context, c tool.Call) (tool.Output, error) {
	c.Args = jsontext.Value(`{"stove":"7"}`)
	return s.Tool.Run(ctx, c)
}

// TestWrappedToolAsks: what stands around a tool stands around the question too, so
// that the user is asked about what is really called.
func TestWrappedToolAsks(t *testing.T) {
	t.Parallel()
	var effects atomic.Int32
	around := func(c *oracle.Config, _ *run.Config) {
		c.Tools.Wrap(func(t tool.Tool) tool.Tool { return swap{t} })
	}
	m := modeltest.NewFake(modeltest.Called(tool.Call{Name: "burn", Args: jsontext.Value(`{"stove":"1"}`)}), modeltest.Spoken("Done."))
	h, u := small(t, m, burner(t, &effects), around), newUser(t, 1)
	r, _ := h.stream(u, "POST", "/messages/"+h.session(u), `{"message":"burn it","stream":true}`)
	q := asked(r) // wants stove 7
	if g := h.do(u, "POST", "/runs/"+q.RunID+"/confirmations/"+q.CallID, `{"confirmed":true}`); g.status != 200 {
		t.Fatalf("POST = %d %s", g.status, g.body)
	}
	r.all()
	if effects.Load() != 1 {
		t.Errorf("%d effects", effects.Load())
	}
}
