package oracle

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// ticket is an invocation that was sent for one tool. It is good for one call.
type ticket struct {
	token   tool.Token
	expires time.Time
	used    atomic.Bool
}

// ticketsOf are the tickets of a message by the name of their tool.
func ticketsOf(m *message, checked *Tickets) map[string]*ticket {
	out := map[string]*ticket{}
	for name, g := range checked.Grants() {
		out[name] = &ticket{token: tool.NewToken(m.Invocations[name]), expires: g.Expires}
	}
	return out
}

// ticketed is a tool whose first call gets the invocation that was sent for it.
type ticketed struct {
	tool.Tool
	ticket *ticket
	now    func() time.Time
}

var _ tool.Tool = (*ticketed)(nil)

// Run runs the tool.
func (t *ticketed) Run(ctx context.Context, c tool.Call) (tool.Output, error) {
	if t.now().Before(t.ticket.expires) && !t.ticket.used.Swap(true) {
		about := tool.From(ctx)
		about.Invocation = t.ticket.token
		ctx = tool.With(ctx, about)
	}
	return t.Tool.Run(ctx, c)
}

// withTickets gives the tools that have a ticket theirs, and the others nothing.
func (s *Service) withTickets(tools []tool.Tool, tickets map[string]*ticket) []tool.Tool {
	if len(tickets) == 0 {
		return tools
	}
	out := make([]tool.Tool, len(tools))
	for i, one := range tools {
		out[i] = one
		if t := tickets[one.Spec().Name]; t != nil {
			out[i] = &ticketed{Tool: one, ticket: t, now: s.cfg.Now}
		}
	}
	return out
}
