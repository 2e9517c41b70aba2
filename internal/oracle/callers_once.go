package oracle

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

const (
	// maxInvocations limits the invocations of tools in one message.
	maxInvocations = 32
	// onceTTL is how far away the end of such an invocation may be. It is how
	// long its use is remembered.
	onceTTL = time.Hour
)

// TicketUse identifies the request that spends tokens. A repeated request with the
// same key may show its tokens again; without a key no request is the same as
// another.
type TicketUse struct {
	Caller  string // DID
	Session string
	Key     string // of the idempotent request; "" when it has none
	Hash    [sha256.Size]byte
}

// Tickets are checked invocations that are not spent yet.
type Tickets struct {
	names  []string // by tool
	grants []*ucan.Grant
}

// Grants returns the checked invocations by the name of their tool.
func (t *Tickets) Grants() map[string]*ucan.Grant {
	out := make(map[string]*ucan.Grant, len(t.names))
	for i, name := range t.names {
		out[name] = t.grants[i]
	}
	return out
}

// Invocations checks tokens by tool: each must be an invocation by the caller,
// for the oracle, signed, in time, with an end at most an hour away. The fault
// INVOCATION_INVALID names all that are not. Spend finds out whether they were
// used before.
func (s *Callers) Invocations(ctx context.Context, callerDID string, tokens map[string]string) (*Tickets, error) {
	t := &Tickets{}
	var c fault.Checks
	for _, name := range slices.Sorted(maps.Keys(tokens)) {
		g, err := s.invocation(ctx, did.DID(callerDID), tokens[name])
		if err == nil && slices.ContainsFunc(t.grants, func(o *ucan.Grant) bool { return o.Once == g.Once }) {
			c.Add("/mcpInvocations/"+name, "used", pathOf(name)+" must not repeat the token of another tool")
			continue
		}
		switch kind := ucan.KindOf(err); {
		case err == nil:
			t.names, t.grants = append(t.names, name), append(t.grants, g)
		case kind == ucan.Throttled || kind == ucan.Unavailable || kind == "":
			return nil, s.Refuse(ctx, err)
		default:
			c.Add("/mcpInvocations/"+name, string(kind), pathOf(name)+" "+onceText(kind))
		}
	}
	return t, c.Err("INVOCATION_INVALID", "An invocation of a tool is not valid.")
}

// pathOf is the name of a member for a validation message. It does not repeat
// texts that are too long to be the name of a tool.
func pathOf(name string) string {
	return "mcpInvocations." + fault.Echo(name)
}

func (s *Callers) invocation(ctx context.Context, who did.DID, text string) (*ucan.Grant, error) {
	token, err := ucan.Parse(text)
	if err != nil {
		s.guard.Failed(ctx)
		return nil, err
	}
	// Somebody else's token proves nothing about this caller.
	if token.Issuer != who {
		return nil, &ucan.Error{Kind: ucan.Untrusted, Detail: "issued by somebody else"}
	}
	first := token.Capabilities[0]
	return s.checker.Claim(ctx, text, ucan.Want{Can: first.Can, With: first.With, Roots: []did.DID{who}, MaxTTL: onceTTL})
}

// Claims reports whether a token is a caller's invocation of an ability on a
// resource. It does not check whether it was used before: Spend has done that.
func (s *Callers) Claims(ctx context.Context, callerDID, text, can, with string) error {
	_, err := s.checker.Claim(ctx, text, ucan.Want{Can: can, With: with, Roots: []did.DID{did.DID(callerDID)}, MaxTTL: onceTTL})
	return err
}

// onceText says what is wrong with an invocation, because it is the caller's
// own.
func onceText(kind ucan.Kind) string {
	switch kind {
	case ucan.WrongAudience:
		return "must be addressed to this oracle"
	case ucan.Expired:
		return "has expired"
	case ucan.NotYet:
		return "is not valid yet"
	case ucan.Endless, ucan.TooLong:
		return "must expire within 3600 seconds"
	case ucan.Untrusted:
		return "must be issued by the caller"
	case ucan.BadSignature, ucan.UnknownIssuer:
		return "must be signed by its issuer"
	}
	return "must be a base64 encoded CAR of a UCAN invocation"
}

// Spend spends the tickets, once: the fault INVOCATION_USED names those that
// another request has spent before, and then none of them is spent.
func (s *Callers) Spend(ctx context.Context, t *Tickets, use TicketUse) error {
	if len(t.grants) == 0 {
		return nil
	}
	bound := use.bound()
	return s.cfg.DB.InTx(ctx, func(tx *db.Tx) error {
		var c fault.Checks
		for i, g := range t.grants {
			mine, err := spendTicket(ctx, tx, g, bound)
			if err != nil {
				return err
			}
			if !mine {
				c.Add("/mcpInvocations/"+t.names[i], "used", pathOf(t.names[i])+" was used before")
			}
		}
		return c.Err("INVOCATION_USED", "An invocation of a tool was used before.")
	})
}

// bound is what all sendings of one request have in common.
func (u TicketUse) bound() []byte {
	if u.Key == "" {
		b := make([]byte, sha256.Size)
		_, _ = rand.Read(b) // never fails
		return b
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %x", u.Caller, u.Session, u.Key, u.Hash))
	return sum[:]
}

// Expire forgets at most limit uses of tokens that ended before a moment.
func (s *Callers) Expire(ctx context.Context, before time.Time, limit int) (int, error) {
	n, err := s.cfg.DB.Exec(ctx, expireUsed, before.UnixMilli(), limit)
	return int(n), db.Wrap("forget used tokens", err)
}
