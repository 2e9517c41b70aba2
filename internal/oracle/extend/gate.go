package extend

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/plugin"
)

// Before asks the plugins whether an answer may begin. When one refuses, the
// refusal is written and done is true. ctx carries the tool.Context of the message.
func (s *Set) Before(ctx context.Context, w http.ResponseWriter) (done bool, err error) {
	for _, m := range s.all {
		p, ok := m.Plugin.(plugin.Gates)
		if !ok {
			continue
		}
		err := m.before(ctx, p)
		var e *plugin.Error
		switch {
		case err == nil:
		case errors.As(err, &e):
			refuse(w, e)
			return true, nil
		default:
			return true, fmt.Errorf("plugin %s: before an answer: %w", m.about.Name, err)
		}
	}
	return false, nil
}

func (m *member) before(ctx context.Context, p plugin.Gates) (err error) {
	defer m.recovered("Before", &err)
	return p.Before(ctx, turnOf(tool.From(ctx)))
}

// emit sends an event of a plugin to the sockets of the conversation of ctx.
func (m *member) emit(ctx context.Context, event string, payload any) error {
	if !slices.Contains(m.events, event) {
		return fmt.Errorf("the event %q is not among those the plugin has named", event)
	}
	text, err := stdjson.Marshal(payload)
	if err != nil {
		return fmt.Errorf("event %s: %w", event, err)
	}
	if err := m.fitsEvent(event, text); err != nil {
		return err
	}
	members := map[string]any{}
	if err := stdjson.Unmarshal(text, &members); err != nil {
		return fmt.Errorf("event %s: the payload must be an object", event)
	}
	c := tool.From(ctx)
	if c.SessionID == "" {
		return fmt.Errorf("event %s: ctx is of no conversation", event)
	}
	members["sessionId"], members["requestId"] = c.SessionID, c.RequestID
	c.Send(event, members)
	return nil
}
