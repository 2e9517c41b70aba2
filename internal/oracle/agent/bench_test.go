package agent_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// quiet is a sink that does nothing.
type quiet struct{}

func (quiet) Reasoning(string) error                                  { return nil }
func (quiet) Text(string) error                                       { return nil }
func (quiet) ToolStart(tool.Call, tool.Spec) error                    { return nil }
func (quiet) ToolEnd(tool.Call, tool.Spec, tool.Output, string) error { return nil }
func (quiet) Router(string) error                                     { return nil }

func fiveCalls() modeltest.Answer {
	var calls []tool.Call
	for i := range 5 {
		calls = append(calls, call("echo", `{"query":"stoves","limit":`+strconv.Itoa(i)+`}`))
	}
	return modeltest.Called(calls...)
}

func benchTurn(b *testing.B, answers ...modeltest.Answer) {
	tools := []tool.Tool{does("echo", `{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}},"required":["query"]}`, echo("").Do)}
	history := long(20)
	var f *modeltest.Fake
	a := agent.New(agent.Config{Model: llm.Func(func(ctx context.Context, r llm.Request, each func(llm.Delta) error) error {
		return f.Stream(ctx, r, each)
	})})
	b.ReportAllocs()
	for b.Loop() {
		f = modeltest.NewFake(answers...)
		if _, err := a.Turn(b.Context(), agent.Turn{System: "Be kind.", History: history, User: said("x"), Tools: tools}, quiet{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTurn100Tokens(b *testing.B) { benchTurn(b, modeltest.Words(100)) }

func BenchmarkTurnFiveTools(b *testing.B) { benchTurn(b, fiveCalls(), modeltest.Words(100)) }

// BenchmarkTurn100TokensHTTP has the scripted server in the same process: the
// figure is for both sides.
func BenchmarkTurn100TokensHTTP(b *testing.B) {
	words := ""
	for i := range 100 {
		words += "word" + strconv.Itoa(i) + " "
	}
	s := modeltest.Start(modeltest.Say(words))
	b.Cleanup(s.Close)
	a := agent.New(agent.Config{Model: llm.NewClient(llm.Config{BaseURL: s.URL, Default: "m", HTTP: s.Client()})})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Turn(b.Context(), agent.Turn{System: "Be kind.", History: long(20), User: said("x")}, quiet{}); err != nil {
			b.Fatal(err)
		}
	}
}
