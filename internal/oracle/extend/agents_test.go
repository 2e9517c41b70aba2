package extend_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/extend"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/plugin"
)

// staff is a plugin with sub-agents.
type staff struct {
	about  plugin.Manifest
	agents []plugin.Agent
}

var _ plugin.Agents = (*staff)(nil)

func (s *staff) Manifest() plugin.Manifest { return s.about }
func (s *staff) Agents() []plugin.Agent    { return s.agents }

func carer(tools ...plugin.Tool) plugin.Agent {
	return plugin.Agent{Name: "stove-care", Description: "Cares for stoves.", Prompt: "You care for stoves.", Tools: tools}
}

func TestAgentsRefused(t *testing.T) {
	t.Parallel()
	lonely := about("a")
	lonely.Visibility = plugin.Silent
	uses := carer()
	uses.Uses = []string{"serch_twins", "remote__tool"}
	for want, list := range map[string][]plugin.Plugin{
		"agent Care!: the name must be":              {&staff{about("a"), []plugin.Agent{{Name: "Care!", Description: "d", Prompt: "p", Tools: []plugin.Tool{says("x", "")}}}}},
		"there is no description":                    {&staff{about("a"), []plugin.Agent{{Name: "care", Prompt: "p", Tools: []plugin.Tool{says("x", "")}}}}},
		"there is no prompt":                         {&staff{about("a"), []plugin.Agent{{Name: "care", Description: "d", Tools: []plugin.Tool{says("x", "")}}}}},
		"it has no tools":                            {&staff{about("a"), []plugin.Agent{carer()}}},
		"must not be negative":                       {&staff{about("a"), []plugin.Agent{{Name: "care", Description: "d", Prompt: "p", Uses: []string{"a__b"}, Time: -time.Second}}}},
		"tool x: there is no Run":                    {&staff{about("a"), []plugin.Agent{carer(plugin.Tool{Name: "x", Description: "d"})}}},
		"it is silent, and has tools":                {&staff{lonely, []plugin.Agent{carer(says("x", ""))}}},
		"uses the tool serch_twins, which":           {&staff{about("a"), []plugin.Agent{uses}}},
		"call_stove-care_agent is taken by plugin a": {&staff{about("a"), []plugin.Agent{carer(says("x", ""))}}, &staff{about("b"), []plugin.Agent{carer(says("y", ""))}}},
		"plugin b: the tool x is taken by plugin a":  {&sample{about: about("a"), tools: []plugin.Tool{says("x", "")}}, &staff{about("b"), []plugin.Agent{carer(says("x", ""))}}},
	} {
		if _, err := extend.New(extend.Config{Plugins: list}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New() = %v, want %q in it", err, want)
		}
	}
}

// A sub-agent of a plugin is a tool of the model; the tools it has for itself are
// not, and their names are taken.
func TestAgents(t *testing.T) {
	t.Parallel()
	var knew plugin.Call
	look := plugin.Tool{Name: "look", Description: "Looks.", ReadOnly: true, Run: func(_ context.Context, c plugin.Call) (any, error) { knew = c; return "sooty", nil }}
	s, err := extend.New(extend.Config{Plugins: []plugin.Plugin{&staff{about("a"), []plugin.Agent{carer(look)}}}})
	if err != nil {
		t.Fatal(err)
	}
	var r tool.Registry
	if err := s.Start(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	tools := r.ForRun(t.Context())
	if len(tools) != 1 || tools[0].Spec().Name != "call_stove-care_agent" || tools[0].Spec().Sub != "stove-care_agent" {
		t.Fatalf("the model has %+v", tools)
	}
	if err := r.Add(tool.Func{Describe: tool.Spec{Name: "look", Schema: jsontext.Value(`{"type":"object"}`)}}); err == nil {
		t.Error("the name of a tool of a sub-agent can be taken")
	}
	f := modeltest.NewFake(modeltest.Called(tool.Call{Name: "call_stove-care_agent", Args: jsontext.Value(`{"task":"Is it clean?"}`)}),
		modeltest.Called(tool.Call{Name: "look", Args: jsontext.Value(`{}`)}), modeltest.Spoken("It is sooty."), modeltest.Spoken("No."))
	ctx := tool.With(t.Context(), tool.Context{User: "did:key:z6Mk", SessionID: "$1"})
	res, err := agent.New(agent.Config{Model: f}).Turn(ctx, agent.Turn{User: llm.Message{Content: "clean?"}, Tools: tools}, quiet{})
	if err != nil || res.Text != "No." || res.Messages[1].Content != "It is sooty." || knew.User != "did:key:z6Mk" || knew.SessionID != "$1" {
		t.Errorf("the turn = %+v, %v; the tool knew %+v", res, err, knew)
	}
	if asked := f.Requests()[1].Messages; !strings.HasPrefix(asked[0].Content, "You care for stoves.") || asked[1].Content != "Is it clean?" {
		t.Errorf("the sub-agent was told %+v", asked)
	}
}
