package tool

import (
	"context"
	"log/slog"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// Token is a credential of the caller that passes through: it is never logged
// and never stored, whatever prints or encodes it. The zero Token is none.
type Token struct {
	// A pointer, since fmt shows what is in fields it may not ask for a String.
	text *string
}

// NewToken hides a text. An empty one is no token.
func NewToken(text string) Token {
	if text == "" {
		return Token{}
	}
	return Token{&text}
}

const hidden = "[hidden]"

// Reveal gives the token itself, for the one request that needs it.
func (t Token) Reveal() string {
	if t.text == nil {
		return ""
	}
	return *t.text
}

// String hides the token.
func (t Token) String() string { return hidden }

// GoString hides the token.
func (t Token) GoString() string { return hidden }

// LogValue hides the token.
func (t Token) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText hides the token.
func (t Token) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// Delegation is what the caller lets the oracle do for them at other services: a
// UCAN by the caller, to the oracle. A tool that calls such a service mints an
// invocation of its own with it as proof.
type Delegation struct {
	Token   Token
	Expires time.Time
}

// Context is what a tool may know about the turn that calls it.
type Context struct {
	User   string     // DID of the caller, who alone gives a tool its rights
	Signer string     // did:key of theirs that signed the request; "" with a key
	Talker string     // the name the user has conversations and state under: two keys of theirs may have two
	Whole  bool       // one who signed did so for everything: by an invocation, or a delegation of all
	Caller web.Caller // with the rights of the API key they came with; zero of one who signed
	// Again finds a user whom another part of the server knows by something else than
	// tokens and keys, with the rights they have now. It is nil for all others.
	Again       func(ctx context.Context) (web.Caller, error)
	Preview     bool // only what a message is checked against is wanted: its run asks again
	SessionID   string
	RequestID   string
	RunID       string
	Timezone    string // IANA name, or empty
	HomeServer  string
	Metadata    jsontext.Value // object of the message, or nothing
	MatrixToken Token

	// Ends is when a delegation ends that was all the caller came with; zero otherwise.
	Ends time.Time

	// Invocation is the UCAN the caller sent for this tool, checked and spent;
	// none without one, in later calls, and once it has ended. It is for one call and
	// no other tool sees it.
	Invocation Token
	// Delegation finds what the caller lets the oracle do elsewhere. It may be
	// nil; use Delegated.
	Delegation func(ctx context.Context) (Delegation, bool, error)

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

// Delegated gives what the caller lets the oracle do elsewhere, as it stands now:
// checked, issued by the caller and by nobody else, not ended and not taken back.
// ok is false when there is none. Ask when it is needed and keep it no longer.
func (c Context) Delegated(ctx context.Context) (d Delegation, ok bool, err error) {
	if c.Delegation == nil {
		return Delegation{}, false, nil
	}
	return c.Delegation(ctx)
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
