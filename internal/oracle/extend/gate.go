package extend

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/plugin"
)

// Before asks the plugins whether an answer may begin. A refusal is a
// *tool.Refusal. ctx carries the tool.Context of the message.
func (s *Set) Before(ctx context.Context) error {
	for _, m := range s.all {
		if p, ok := m.Plugin.(plugin.Gates); ok {
			if err := m.refused(m.before(ctx, p)); err != nil {
				return err
			}
		}
	}
	return nil
}

// refused is the error of a plugin that was asked whether an answer may begin.
func (m *member) refused(err error) error {
	var e *plugin.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		status, body := refusal(e)
		return &tool.Refusal{Status: status, Message: e.Message, Body: body}
	}
	return fmt.Errorf("plugin %s: before an answer: %w", m.about.Name, err)
}

// Ledger is a bundled plugin that takes part in the transactions in which an
// answer begins and ends, so its rows exist exactly when the answer's do.
type Ledger interface {
	// Hold may refuse an answer that is about to begin, with a *plugin.Error.
	Hold(ctx context.Context, tx *db.Tx, turn plugin.Turn) error
	// Charge receives what an answer has used, nil for nothing, and returns what its
	// user pays.
	Charge(ctx context.Context, tx *db.Tx, turn plugin.Turn, used *plugin.Usage) (int64, error)
	// Release is called for an answer that will never be charged because its server
	// died. The user is named as in conversations.
	Release(ctx context.Context, user, run string) error
}

// Ledger returns the plugin with a ledger; nil when there is none.
func (s *Set) Ledger() *Books {
	for _, m := range s.all {
		if l, ok := m.Plugin.(Ledger); ok {
			return &Books{m, l}
		}
	}
	return nil
}

// Books wraps the Ledger of a plugin. A panic in it becomes an error.
type Books struct {
	m *member
	l Ledger
}

// Hold admits an answer or refuses it, as Before does.
func (b *Books) Hold(ctx context.Context, tx *db.Tx) error {
	return b.m.refused(b.hold(ctx, tx))
}

func (b *Books) hold(ctx context.Context, tx *db.Tx) (err error) {
	defer b.m.recovered("Hold", &err)
	return b.l.Hold(ctx, tx, turnOf(tool.From(ctx)))
}

// Charge charges what an answer has used, and returns what its user pays.
func (b *Books) Charge(ctx context.Context, tx *db.Tx, used *plugin.Usage) (credits int64, err error) {
	defer b.m.recovered("Charge", &err)
	return b.l.Charge(ctx, tx, turnOf(tool.From(ctx)), used)
}

// Release reports an answer that will never be charged.
func (b *Books) Release(ctx context.Context, user, run string) (err error) {
	defer b.m.recovered("Release", &err)
	return b.l.Release(ctx, user, run)
}

// Settle tells the plugins what an answer admitted by Before has used, nil when
// it never began, and returns what its user pays. ctx carries the tool.Context of
// the message.
func (s *Set) Settle(ctx context.Context, used *plugin.Usage) (credits int64) {
	for _, m := range s.all {
		p, ok := m.Plugin.(plugin.Meters)
		if !ok {
			continue
		}
		n, err := m.settle(ctx, p, used)
		if err != nil {
			m.log.ErrorContext(ctx, "answer not settled", "run", tool.From(ctx).RunID, "err", err.Error())
		}
		credits += n
	}
	return credits
}

func (m *member) settle(ctx context.Context, p plugin.Meters, used *plugin.Usage) (credits int64, err error) {
	defer m.recovered("Settle", &err)
	return p.Settle(ctx, turnOf(tool.From(ctx)), used)
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
