package tool

import (
	"context"
	"log/slog"

	"github.com/go-json-experiment/json/jsontext"
)

// Token is a credential of the caller that passes through: it is never logged
// and never stored, whatever prints or encodes it.
type Token string

const hidden = "[hidden]"

// Reveal gives the token itself, for the one request that needs it.
func (t Token) Reveal() string { return string(t) }

// String hides the token.
func (t Token) String() string { return hidden }

// GoString hides the token.
func (t Token) GoString() string { return hidden }

// LogValue hides the token.
func (t Token) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText hides the token.
func (t Token) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// Context is what a tool may know about the turn that calls it.
type Context struct {
	User        string // DID of the caller, who alone gives a tool its rights
	SessionID   string
	RequestID   string
	RunID       string
	Timezone    string // IANA name, or empty
	HomeServer  string
	Metadata    jsontext.Value // object of the message, or nothing
	MatrixToken Token

	// Emit sends an event to the sockets of the session. It may be nil; use
	// Send.
	Emit func(event string, payload any)
}

// Send emits an event to the sockets of the session, where there are any.
func (c Context) Send(event string, payload any) {
	if c.Emit != nil {
		c.Emit(event, payload)
	}
}

type contextKey struct{}

// With gives a context that carries c.
func With(ctx context.Context, c Context) context.Context {
	return context.WithValue(ctx, contextKey{}, &c)
}

// From gives what With put into ctx, the zero Context without.
func From(ctx context.Context) Context {
	if c, ok := ctx.Value(contextKey{}).(*Context); ok {
		return *c
	}
	return Context{}
}
