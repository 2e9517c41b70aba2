package oracle

import (
	"context"
	"net/http"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

type stored struct {
	OK         bool  `json:"ok"`
	Expiration int64 `json:"expiration,omitzero" doc:"Unix seconds."`
}

type standing struct {
	Authorized bool  `json:"authorized"`
	Expiration int64 `json:"expiration,omitzero" doc:"Unix seconds."`
}

// signed runs h for callers who sign. A delegation is a token, and a key must
// not give or withdraw one for somebody else.
func signed(callers *Callers, h handler) handler {
	return func(w http.ResponseWriter, r *http.Request, q *request) error {
		if !q.who.Signed() {
			return callers.Refuse(r.Context(), &ucan.Error{Kind: ucan.Missing, Detail: "a key is no token"})
		}
		return h(w, r, q)
	}
}

// serveStoreDelegation stores what the caller lets the oracle do, after
// checking that the caller made it, for this oracle, and that it ends. The body
// must agree with the token.
func (s *Service) serveStoreDelegation(w http.ResponseWriter, r *http.Request, q *request) error {
	var bad fault.Checks
	o := newObject("", q.body, &bad, "raw", "issuer", "audience", "expiration")
	raw, issuer, audience := o.text("raw", true), o.text("issuer", false), o.text("audience", false)
	o.number("expiration") // the token knows better
	if err := o.err(); err != nil {
		return err
	}
	grant, err := s.cfg.Callers.Delegation(r.Context(), raw)
	if err != nil {
		return s.badDelegation(r, err)
	}
	if string(grant.Issuer) != q.who.DID {
		o.wrong("raw", "foreign", "raw must be issued by the caller")
	}
	if issuer != "" && issuer != string(grant.Issuer) {
		o.wrong("issuer", "differs", "issuer must be the issuer of the delegation")
	}
	if audience != "" && audience != string(grant.Audience) {
		o.wrong("audience", "differs", "audience must be the audience of the delegation")
	}
	if err := o.err(); err != nil {
		return err
	}
	if err := s.cfg.Chat.PutDelegation(r.Context(), q.who.DID, chat.Delegation{Raw: raw, Expires: grant.Expires}); err != nil {
		return err
	}
	return reply(w, http.StatusOK, stored{true, grant.Expires.Unix()})
}

// badDelegation says what is wrong with a delegation, because it is the
// caller's own.
func (s *Service) badDelegation(r *http.Request, err error) error {
	text := ""
	switch kind := ucan.KindOf(err); kind {
	case ucan.Throttled, ucan.Unavailable, "":
		return s.cfg.Callers.Refuse(r.Context(), err)
	case ucan.WrongAudience:
		text = "raw must be addressed to this oracle"
	case ucan.Expired:
		text = "raw has expired"
	case ucan.NotYet:
		text = "raw is not valid yet"
	case ucan.Endless:
		text = "raw must have an expiration"
	case ucan.TooLong:
		text = "raw must expire sooner"
	case ucan.BadSignature, ucan.UnknownIssuer:
		text = "raw must be signed by its issuer"
	case ucan.Escalated, ucan.BrokenChain, ucan.MissingProof, ucan.Untrusted:
		text = "raw must be covered by its proofs"
	default:
		text = "raw must be a base64 encoded CAR of a UCAN delegation"
	}
	return fault.New(fault.Invalid, "DELEGATION_INVALID", "The delegation is not valid.").Wrap(err).
		With(fault.Field{Pointer: "/raw", Code: string(ucan.KindOf(err)), Detail: text})
}

func (s *Service) serveDelegation(w http.ResponseWriter, r *http.Request, q *request) error {
	d, ok, err := s.cfg.Chat.Delegation(r.Context(), q.who.DID)
	if err != nil {
		return err
	}
	if !ok {
		return reply(w, http.StatusOK, standing{})
	}
	return reply(w, http.StatusOK, standing{true, d.Expires.Unix()})
}

func (s *Service) serveRevoke(w http.ResponseWriter, r *http.Request, q *request) error {
	if err := s.cfg.Chat.DeleteDelegation(r.Context(), q.who.DID); err != nil {
		return err
	}
	return reply(w, http.StatusOK, stored{OK: true})
}

// delegated finds, for the tools of a turn, what its user lets us do elsewhere:
// the delegation that came with the message, or else the stored one. It is
// checked each time, since a turn may outlast it, and only the user's own is
// ever returned.
func (s *Service) delegated(who *Identity) func(ctx context.Context) (tool.Delegation, bool, error) {
	user, sent := who.DID, who.DelegationText
	if !who.Signed() || sent == "" && !who.Whole() {
		return nil
	}
	return func(ctx context.Context) (tool.Delegation, bool, error) {
		if sent != "" {
			if d, ok, err := s.usable(ctx, user, sent); ok || err != nil {
				return d, ok, err
			}
		}
		kept, ok, err := s.cfg.Chat.Delegation(ctx, user)
		if err != nil || !ok {
			return tool.Delegation{}, false, err
		}
		return s.usable(ctx, user, kept.Raw)
	}
}

func (s *Service) usable(ctx context.Context, user, text string) (tool.Delegation, bool, error) {
	g, err := s.cfg.Callers.Delegated(ctx, user, text)
	if err != nil || g == nil {
		return tool.Delegation{}, false, err
	}
	return tool.Delegation{Token: tool.NewToken(text), Expires: g.Expires}, true, nil
}
