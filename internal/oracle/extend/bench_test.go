package extend_test

import (
	"context"
	stdjson "encoding/json"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/extend"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/plugin"
)

// quiet is a sink that does nothing.
type quiet struct{}

func (quiet) Reasoning(string) error                                  { return nil }
func (quiet) Text(string) error                                       { return nil }
func (quiet) ToolStart(tool.Call, tool.Spec) error                    { return nil }
func (quiet) ToolEnd(tool.Call, tool.Spec, tool.Output, string) error { return nil }
func (quiet) Router(string) error                                     { return nil }

const benchSchema = `{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}},"required":["query"]}`

// BenchmarkFiveCalls is a turn with five calls of a tool that is built in, and of
// one of a plugin.
func BenchmarkFiveCalls(b *testing.B) {
	found := jsontext.Value(`{"twins":[{"did":"did:ixo:entity:1","type":"Stove"}],"more":false}`)
	b.Run("built-in", func(b *testing.B) {
		benchTools(b, tool.Func{Describe: tool.Spec{Name: "x", Schema: jsontext.Value(benchSchema)}, Do: func(context.Context, tool.Call) (tool.Output, error) {
			return tool.Output{Data: found}, nil
		}})
	})
	b.Run("plugin", func(b *testing.B) {
		s, err := extend.New(extend.Config{Plugins: []plugin.Plugin{&sample{about: about("a"), tools: []plugin.Tool{{
			Name: "x", Description: "d", Schema: benchSchema, Run: func(context.Context, plugin.Call) (any, error) { return stdjson.RawMessage(found), nil },
		}}}}})
		if err != nil {
			b.Fatal(err)
		}
		var r tool.Registry
		if err := s.Start(b.Context(), &r); err != nil {
			b.Fatal(err)
		}
		benchTools(b, r.ForRun(b.Context())...)
	})
}

func benchTools(b *testing.B, tools ...tool.Tool) {
	var calls []tool.Call
	for i := range 5 {
		calls = append(calls, tool.Call{Name: "x", Args: jsontext.Value(`{"query":"stoves","limit":` + strconv.Itoa(i) + `}`)})
	}
	var f *modeltest.Fake
	a := agent.New(agent.Config{Model: llm.Func(func(ctx context.Context, r llm.Request, each func(llm.Delta) error) error {
		return f.Stream(ctx, r, each)
	})})
	ctx := tool.With(b.Context(), tool.Context{User: "did:key:z6Mk", SessionID: "$1", RequestID: "r"})
	b.ReportAllocs()
	for b.Loop() {
		f = modeltest.NewFake(modeltest.Called(calls...), modeltest.Spoken("Found."))
		if _, err := a.Turn(ctx, agent.Turn{User: llm.Message{Content: "x"}, Tools: tools}, quiet{}); err != nil {
			b.Fatal(err)
		}
	}
}
