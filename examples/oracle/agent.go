package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/plugin"
)

// Agents returns the sub-agents: the model calls this one as call_stove-care_agent,
// with a task in words. It has its own prompt, tools and budget.
func (h *HelpDesk) Agents() []plugin.Agent {
	return []plugin.Agent{{
		Name: "stove-care", Description: "Looks into a problem with one stove. The task must name the DID of its twin, and what is wrong.",
		Prompt: "You look into problems with stoves. Read the stove's twin first. Say what is known in at most three sentences, and offer a call back when you cannot help.",
		Tools:  []plugin.Tool{h.stoveTool(), h.callTool()},
		Uses:   []string{"help_desk_hours"},
		Rounds: 6, Tokens: 30_000,
	}}
}

// stoveTool reads a twin through this server's own API as the user who asks, so it
// shows them nothing that they may not see.
func (h *HelpDesk) stoveTool() plugin.Tool {
	return plugin.Tool{
		Name: "stove_record", Description: "Read the twin of a stove.", ReadOnly: true,
		Schema: `{"type":"object","additionalProperties":false,"required":["did"],"properties":{"did":{"type":"string","maxLength":256}}}`,
		Run: func(ctx context.Context, call plugin.Call) (any, error) {
			var in struct {
				DID string `json:"did"`
			}
			if err := call.Read(&in); err != nil {
				return nil, err
			}
			c, err := client.New(client.Config{BaseURL: plugin.Server, HTTP: h.host.API(ctx)})
			if err != nil {
				return nil, err
			}
			twin, err := c.Entities.Get(ctx, in.DID)
			if e := (*client.Error)(nil); errors.As(err, &e) {
				return nil, &plugin.Error{Status: e.Status, Message: e.Message} // the model may see this message
			}
			if err != nil {
				return nil, err
			}
			return map[string]any{"did": twin.DID, "type": twin.Type, "status": twin.Status, "properties": twin.Properties}, nil
		},
	}
}

// callTool changes something, so the server asks the user before it runs: in the
// stream of the answer, or on a page.
func (h *HelpDesk) callTool() plugin.Tool {
	return plugin.Tool{
		Name: "ask_for_call", Description: "Have the help desk call the user back.",
		Schema: `{"type":"object","additionalProperties":false,"required":["phone"],"properties":{"phone":{"type":"string","minLength":4,"maxLength":20}}}`,
		Run: func(_ context.Context, call plugin.Call) (any, error) {
			var in Callback
			if err := call.Read(&in); err != nil {
				return nil, err
			}
			return fmt.Sprintf("The help desk will call %s.", in.Phone), nil
		},
	}
}

// AroundTool wraps every tool call in the server. This one removes the spaces from a
// phone number before the server asks the user to approve the call, and passes all
// other calls on unchanged.
func (h *HelpDesk) AroundTool(_ context.Context, call plugin.ToolCall, next func(json.RawMessage) (plugin.Output, error)) (plugin.Output, error) {
	if call.Tool != "ask_for_call" {
		return next(call.Args)
	}
	var in Callback
	if err := call.Read(&in); err != nil {
		return plugin.Output{}, err
	}
	in.Phone = strings.ReplaceAll(in.Phone, " ", "")
	args, err := json.Marshal(in)
	if err != nil {
		return plugin.Output{}, err
	}
	return next(args)
}
