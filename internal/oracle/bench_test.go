package oracle_test

import (
	"context"
	"io"
	"slices"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// BenchmarkTurn streams a turn of 100 words from a model that takes no time,
// over a real connection: client and server together.
func BenchmarkTurn(b *testing.B) {
	h, u := small(b, modeltest.NewFake(modeltest.Words(100))), newUser(b, 1)
	s := h.session(u)
	b.ReportAllocs()
	for b.Loop() {
		res := h.open(b.Context(), ask{u: u, method: "POST", path: "/messages/" + s, body: streamed})
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			b.Fatal(err)
		}
		_ = res.Body.Close()
		b.StopTimer()
		s = h.session(u) // a history that grows would be measured too
		b.StartTimer()
	}
}

// BenchmarkTools streams a turn with five calls of a page's tools.
func BenchmarkTools(b *testing.B) {
	var calls []tool.Call
	for i := range 5 {
		calls = append(calls, tool.Call{Name: "a", Args: jsontext.Value(`{"n":` + strconv.Itoa(i) + `}`)})
	}
	m := llm.Func(func(ctx context.Context, r llm.Request, each func(llm.Delta) error) error {
		if r.Messages[len(r.Messages)-1].Role != llm.User {
			return each(llm.Delta{Text: "done"})
		}
		return each(llm.Delta{ToolCalls: slices.Clone(calls)})
	})
	h, u := small(b, m), newUser(b, 1)
	s := h.session(u)
	b.ReportAllocs()
	for b.Loop() {
		res := h.open(b.Context(), ask{u: u, method: "POST", path: "/messages/" + s, body: `{"message":"x","stream":true,"tools":[{"name":"a","description":"d","schema":{}}]}`})
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			b.Fatal(err)
		}
		_ = res.Body.Close()
		b.StopTimer()
		s = h.session(u)
		b.StartTimer()
	}
}
