package agui

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// maxTurns is how much of a conversation a snapshot has.
const maxTurns = chat.MaxTurns

// past is the conversation in the format of the protocol.
type past struct {
	messages []message
	calls    map[string]bool   // all calls
	handed   map[string]string // names of the tools of calls that were handed over, by call
	open     []string          // of these, the ones without a result
}

// past reads the newest turns of a session.
func (s *Service) past(ctx context.Context, user, session string, turns int) (*past, error) {
	page, err := s.cfg.Chat.Page(ctx, user, session, chat.Range{Limit: turns})
	if err != nil {
		return nil, err
	}
	p := &past{messages: []message{}, calls: map[string]bool{}, handed: map[string]string{}}
	for _, raw := range page.Messages {
		var m chat.Message
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, fmt.Errorf("read message: %w", err)
		}
		if m.Type == chat.Human {
			p.human(m)
		} else {
			p.oracle(m)
		}
	}
	return p, nil
}

// human adds what the user said. Lines that are the results of calls which were
// handed over become that again.
func (p *past) human(m chat.Message) {
	lines := strings.Split(m.Content, "\n")
	n := 0
	for ; n < len(lines); n++ {
		r, ok := oracle.ReadResult(lines[n])
		if !ok || p.handed[r.CallID] == "" {
			break
		}
		p.result(r)
	}
	p.open = nil // a newer message has taken their place
	if text := strings.Join(lines[n:], "\n"); text != "" || n == 0 {
		p.messages = append(p.messages, message{ID: m.ID, Role: "user", Content: &text})
	}
}

func (p *past) result(r oracle.HandedResult) {
	out := message{ID: resultID(r.CallID), Role: "tool", ToolCallID: r.CallID, Content: &r.Output}
	if r.Failed {
		out.Error = r.Output
	}
	p.messages = append(p.messages, out)
}

// oracle adds an answer, with the calls in it and their results.
func (p *past) oracle(m chat.Message) {
	if m.Reasoning != "" {
		p.messages = append(p.messages, message{ID: m.ID + "-reasoning", Role: "reasoning", Content: &m.Reasoning})
	}
	out := message{ID: m.ID, Role: "assistant"}
	if m.Content != "" || len(m.ToolCalls) == 0 {
		out.Content = &m.Content
	}
	var results []oracle.HandedResult
	for _, c := range m.ToolCalls {
		p.calls[c.ID] = true
		args := string(c.Args)
		if args == "" {
			args = "{}"
		}
		out.ToolCalls = append(out.ToolCalls, call{ID: c.ID, Type: "function", Function: function{c.Name, args}})
		text := c.Output
		if strings.HasPrefix(text, `"`) {
			_ = json.Unmarshal([]byte(text), &text) // JSON in a string; anything else stays
		}
		if text == tool.HandedText {
			p.handed[c.ID] = c.Name
			p.open = append(p.open, c.ID)
			continue
		}
		results = append(results, oracle.HandedResult{CallID: c.ID, Output: text, Failed: c.Failed})
	}
	p.messages = append(p.messages, out)
	for _, r := range results {
		p.result(r)
	}
}

// pending are the calls that wait for the client.
func (p *past) pending() []string { return p.open }
