package tool

import (
	"context"
	"log/slog"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// Token is a credential of the caller that is passed through: it is never
// logged and never stored, whatever prints or encodes it. The zero Token is
// none.
type Token struct {
	// A pointer, because fmt prints unexported fields without calling String.
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

// Reveal returns the token itself, for the one request that needs it.
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
	User   string     // DID of the caller, the only source of a tool's rights
	Signer string     // did:key of theirs that signed the request; "" with a key
	Talker string     // the name the user has conversations and state under: two keys of theirs may have two
	Whole  bool       // the caller signed for everything: by an invocation, or a delegation of all
	Caller web.Caller // with the rights of the API key they came with; zero of one who signed
	// Again looks up a user whom another part of the server identifies by other means
	// than tokens and keys, with their present rights. It is nil for all others.
	Again       func(ctx context.Context) (web.Caller, error)
	Preview     bool // only the tools to check a message against are needed: its run asks again
	SessionID   string
	RequestID   string
	RunID       string
	Timezone    string // IANA name, or empty
	HomeServer  string
	Metadata    jsontext.Value // object of the message, or nothing
	MatrixToken Token

	// Ends is the end of the delegation, if that was the caller's only credential; zero
	// otherwise.
	Ends time.Time

	// Invocation is the UCAN the caller sent for this tool, checked and spent; none
	// if there was none, in later calls, and once it has ended. It is for one call
	// and no other tool sees it.
	Invocation Token
	// Delegation finds what the caller has delegated to the oracle. It may be
	// nil; use Delegated.
	Delegation func(ctx context.Context) (Delegation, bool, error)

	// Emit sends an event to the sockets of the session. It may be nil; use
	// Send.
	Emit func(event string, payload any)
}

// Send emits an event to the sockets of the session, if there are any.
func (c Context) Send(event string, payload any) {
	if c.Emit != nil {
		c.Emit(event, payload)
	}
}

// Delegated returns the caller's present delegation to the oracle: checked,
// issued by the caller alone, not ended and not withdrawn. ok is false when there
// is none. Ask when it is needed and do not keep it.
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

// From returns what With put into ctx, the zero Context without.
func From(ctx context.Context) Context {
	if c, ok := ctx.Value(contextKey{}).(*Context); ok {
		return *c
	}
	return Context{}
}
