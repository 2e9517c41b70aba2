package agent_test

import (
	"context"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// loadable are a tool that loads and one that must be loaded.
func loadable() []tool.Tool {
	object := jsontext.Value(`{"type":"object"}`)
	return []tool.Tool{
		tool.Func{Describe: tool.Spec{Name: tool.LoadName, Schema: object}, Do: func(context.Context, tool.Call) (tool.Output, error) {
			return tool.Output{Data: jsontext.Value(`{"loaded":["weather"],"tools":["get_weather"]}`), Load: []string{"weather"}}, nil
		}},
		tool.Func{Describe: tool.Spec{Name: "get_weather", Capability: "weather", Schema: object}, Do: func(context.Context, tool.Call) (tool.Output, error) {
			return tool.Output{Text: "sunny"}, nil
		}},
	}
}

func names(specs []tool.Spec) []string {
	var out []string
	for _, s := range specs {
		out = append(out, s.Name)
	}
	return out
}

// A tool of a capability is not offered and not run before the capability is
// loaded, and is both from the next answer on, and in the turns that follow.
func TestLoad(t *testing.T) {
	t.Parallel()
	f := modeltest.NewFake(
		modeltest.Answer{Deltas: []llm.Delta{{ToolCalls: []tool.Call{call("get_weather", `{}`), call(tool.LoadName, `{}`)}}}},
		modeltest.Answer{Deltas: []llm.Delta{{ToolCalls: []tool.Call{call("get_weather", `{}`)}}}},
		modeltest.Spoken("Sunny."), modeltest.Spoken("Still."))
	r, e, err := turn(t, f, agent.Turn{User: said("weather?"), Tools: loadable()})
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, e,
		"start get_weather{}", `end get_weather error The tool is not loaded. Call load_capability with {"names":["weather"]} first.`,
		"start load_capability{}", `end load_capability done {"loaded":["weather"],"tools":["get_weather"]}`,
		"start get_weather{}", "end get_weather done sunny")
	if _, _, err = turn(t, f, agent.Turn{User: said("and now?"), Tools: loadable(), History: append([]llm.Message{said("weather?")}, r.Messages...)}); err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{{tool.LoadName}, {tool.LoadName, "get_weather"}, {tool.LoadName, "get_weather"}, {tool.LoadName, "get_weather"}} {
		if got := names(f.Requests()[i].Tools); !slices.Equal(got, want) {
			t.Errorf("answer %d is asked for with the tools %v, want %v", i, got, want)
		}
	}
}
