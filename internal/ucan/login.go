package ucan

import (
	"context"
	"strings"
)

// Credentials are what a caller sends to say who they are, as they stand in
// the headers or in the handshake of a socket.
type Credentials struct {
	AuthType      string // X-Auth-Type; only "ucan" counts
	Authorization string // "Bearer <invocation>"
	Delegation    string // x-ucan-delegation
}

// Login is a caller who is known.
type Login struct {
	Caller *Grant // its Issuer is who calls

	// Delegation is what the caller lets us do for them, and DelegationText its
	// token; nil and "" when none came, or none that is good and their own.
	Delegation     *Grant
	DelegationText string
}

// Login finds out who calls. An invocation decides alone: a bad one is refused
// even beside a good delegation. Without one a good delegation is enough. A
// refusal is an *Error whose Public text may be shown; it is of kind Missing
// when there was no invocation and no good delegation. Throttled and
// Unavailable are passed on as they are.
func (c *Checker) Login(ctx context.Context, in Credentials) (*Login, error) {
	invocation, sent := strings.CutPrefix(in.Authorization, "Bearer ")
	invocation = strings.TrimSpace(invocation)
	if in.AuthType != "ucan" || !sent || invocation == "" {
		return c.loginByDelegation(ctx, strings.TrimSpace(in.Delegation))
	}
	caller, err := c.Auth(ctx, invocation)
	if err != nil {
		return nil, err
	}
	login := &Login{Caller: caller}
	if text := strings.TrimSpace(in.Delegation); text != "" {
		// Somebody else's delegation, or a bad one, is as good as none.
		if g, err := c.Delegation(ctx, text); err == nil && g.Issuer == caller.Issuer {
			login.Delegation, login.DelegationText = g, text
		}
	}
	return login, nil
}

func (c *Checker) loginByDelegation(ctx context.Context, text string) (*Login, error) {
	if text == "" {
		return nil, refuse(Missing, "")
	}
	g, err := c.Delegation(ctx, text)
	switch KindOf(err) {
	case "":
		return &Login{Caller: g, Delegation: g, DelegationText: text}, err
	case Throttled, Unavailable:
		return nil, err
	}
	return nil, &Error{Kind: Missing, Detail: "bad delegation", Err: err}
}
