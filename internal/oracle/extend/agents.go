package extend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/plugin"
)

// taskSchema is what a sub-agent is called with.
const taskSchema = `{"type":"object","additionalProperties":false,"required":["task"],"properties":{"task":{"type":"string","minLength":1,"maxLength":16000,` +
	`"description":"What the agent is to do or to find out, with all it needs to know: it does not see this conversation."}}}`

// stepOf is the name of a sub-agent in events.
func stepOf(a plugin.Agent) string { return a.Name + "_agent" }

// callOf is the tool by which a sub-agent is called.
func callOf(a plugin.Agent) string { return "call_" + stepOf(a) }

func checkAgent(a plugin.Agent, schemas *tool.Checker) error {
	var bad []error
	want := func(ok bool, text string) {
		if !ok {
			bad = append(bad, fmt.Errorf("agent %s: %s", a.Name, text))
		}
	}
	want(len(a.Name) <= maxPluginName && namePattern.MatchString(a.Name), fmt.Sprintf("the name must be lower-case words with hyphens between them, at most %d characters", maxPluginName))
	want(a.Description != "", "there is no description")
	want(a.Prompt != "", "there is no prompt")
	want(len(a.Tools)+len(a.Uses) > 0, "it has no tools")
	want(a.Rounds >= 0 && a.Calls >= 0 && a.Tokens >= 0 && a.Time >= 0, "its budget must not be negative")
	for _, t := range a.Tools {
		if err := checkTool(t, schemas); err != nil {
			want(false, err.Error())
		}
	}
	return errors.Join(bad...)
}

// agentTools are the tools by which the sub-agents of a plugin are called.
func (m *member) agentTools() []tool.Tool {
	out := make([]tool.Tool, len(m.agents))
	for i, a := range m.agents {
		own := m.adapted(a.Tools)
		brief := &tool.Brief{
			Step: stepOf(a), System: a.Prompt, Model: a.Model, Tools: own, Uses: slices.Clone(a.Uses), Rounds: a.Rounds, Calls: a.Calls, Tokens: a.Tokens, Time: a.Time,
		}
		out[i] = tool.Func{
			Describe: tool.Spec{
				Name: callOf(a), Description: a.Description, Schema: jsontext.Value(taskSchema), Capability: m.demanded(), Sub: brief.Step,
				ReadOnly: true, // its tools ask for themselves
			},
			Do: func(ctx context.Context, c tool.Call) (tool.Output, error) {
				var in struct {
					Task string `json:"task"`
				}
				if err := json.Unmarshal(c.Args, &in); err != nil {
					return tool.Output{}, err
				}
				return tool.Nest(ctx, brief, in.Task)
			},
		}
	}
	return out
}

// inner are the names of the tools that only sub-agents have.
func (m *member) inner() []string {
	var out []string
	for _, a := range m.agents {
		for _, t := range a.Tools {
			out = append(out, t.Name)
		}
	}
	return out
}

// strangers finds tools that a sub-agent uses and no plugin has. Tools of MCP
// servers, and those that depend on the user, are known only at a request.
func (s *Set) strangers(owners map[string]string) []error {
	var bad []error
	for _, m := range s.all {
		if _, ok := m.Plugin.(plugin.RequestTools); ok {
			return nil
		}
		for _, a := range m.agents {
			for _, name := range a.Uses {
				if _, ok := owners["tool "+name]; !ok && !strings.Contains(name, "__") {
					bad = append(bad, fmt.Errorf("plugin %s: agent %s: it uses the tool %s, which no plugin has", m.about.Name, a.Name, name))
				}
			}
		}
	}
	return bad
}
