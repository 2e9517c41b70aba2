package ucan

import (
	"context"
	"strings"
)

// Credentials are a caller's tokens as they were sent, in the headers or in the
// handshake of a socket.
type Credentials struct {
	AuthType      string // X-Auth-Type; only "ucan" counts
	Authorization string // "Bearer <invocation>"
	Delegation    string // x-ucan-delegation
}

// Login is an authenticated caller.
type Login struct {
	Caller *Grant // its Issuer is who calls

	// Delegation is what the caller lets us do for them, and DelegationText its
	// token; nil and "" when there was none, or none that is valid and their
	// own.
	Delegation     *Grant
	DelegationText string
}

// Login authenticates a caller. An invocation decides alone: a bad one is
// refused even beside a valid delegation. Without one a valid delegation is
// enough. A refusal is an *Error whose Public text may be shown; it is of kind
// Missing when there was no invocation and no valid delegation. Throttled and
// Unavailable are passed on unchanged.
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
