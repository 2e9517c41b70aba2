package extend

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/plugin"
)

const (
	// mintLife is how long an invocation is good, at most.
	mintLife = time.Hour
	// mintSpare is how long before its end an invocation is no longer used, because the
	// service has its own clock, and the request takes a while.
	mintSpare = time.Minute
	// maxMinted is how many invocations, and as many users who were asked, are remembered.
	maxMinted = 10_000
	// DefaultPause is how long a user who was asked for an authorisation is not asked
	// again.
	DefaultPause = 6 * time.Hour
)

// EventDelegation tells the pages of a conversation that a delegation is required.
const EventDelegation = "delegation_required"

// DelegationRequired is the payload of EventDelegation.
type DelegationRequired struct {
	SessionID string `json:"sessionId"`
	RequestID string `json:"requestId"`
	Service   string `json:"service" doc:"DID of the service to be called."`
	Can       string `json:"can"`
	With      string `json:"with"`
}

// SchemaName is the name that clients know it by.
func (DelegationRequired) SchemaName() string { return "DownstreamRequired" }

// MintEvents describes what the sockets of a conversation receive.
func MintEvents() []web.Message {
	return []web.Message{{Name: EventDelegation, About: "A tool needs a capability at another service that you have not delegated to the oracle: sign a delegation for it and send it to POST /delegation.", Payload: DelegationRequired{}}}
}

// MintConfig configures a Minter. Zero values are the defaults.
type MintConfig struct {
	DID did.DID            // of the oracle
	Key ed25519.PrivateKey // nil: nothing can be signed
	Ask time.Duration      // between two questions to a user; DefaultPause
	Now func() time.Time   // the clock
}

// Minter makes invocations of other services from what users have delegated to the
// oracle. An invocation is for one service, one ability and one resource, which the
// user's delegation must cover. It ends within an hour and with the delegation. A
// delegation that was withdrawn is no longer used, however new an invocation made with
// it is, and the key is never given out. A user who must authorise something again is
// asked for it from time to time, not each time it is missing. It is safe for
// concurrent use.
type Minter struct {
	cfg    MintConfig
	signer *ucan.Signer // nil: nothing can be signed
	names  names

	mu    sync.Mutex
	kept  map[mintKey]plugin.Invocation
	asked map[string]time.Time // when users were asked last
}

// mintKey identifies a cached invocation. A delegation that replaces another has
// a different key.
type mintKey struct {
	delegation [sha256.Size]byte
	service    did.DID
	can, with  string
}

// NewMinter makes a Minter.
func NewMinter(c MintConfig) (*Minter, error) {
	if c.Ask <= 0 {
		c.Ask = DefaultPause
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Minter{cfg: c, kept: map[mintKey]plugin.Invocation{}, asked: map[string]time.Time{}, names: names{now: c.Now}}
	if c.Key == nil {
		return s, nil
	}
	var err error
	s.signer, err = ucan.NewSigner(c.DID, c.Key)
	return s, err
}

// Mint makes an invocation for the user of ctx; client reaches the service to ask
// for its DID. If the user has to act, the error is a *plugin.Error.
func (s *Minter) Mint(ctx context.Context, client *http.Client, w plugin.Want) (plugin.Invocation, error) {
	if w.Can == "" {
		w.Can = "*"
	}
	switch {
	case ctx.Err() != nil:
		return plugin.Invocation{}, context.Cause(ctx)
	case s.signer == nil:
		return plugin.Invocation{}, plugin.Unavailable("The oracle has no key to sign with: ORACLE_MNEMONIC is not set.")
	case w.With == "":
		return plugin.Invocation{}, errors.New("mint an invocation: with is empty")
	}
	service, err := s.names.resolve(ctx, client, w.Service)
	if err != nil {
		return plugin.Invocation{}, err
	}
	user := tool.From(ctx)
	given, ok, err := user.Delegated(ctx) // each time: it may have been taken back
	if err != nil {
		return plugin.Invocation{}, err
	}
	if !ok {
		return plugin.Invocation{}, s.refuse(user, service, w)
	}
	k := mintKey{sha256.Sum256([]byte(given.Token.Reveal())), service, w.Can, w.With}
	if out, ok := s.find(k); ok && !w.Fresh {
		return out, nil
	}
	return s.mint(user, given.Token, k, w)
}

// mint signs an invocation and keeps it.
func (s *Minter) mint(user tool.Context, given tool.Token, k mintKey, w plugin.Want) (plugin.Invocation, error) {
	grant, err := ucan.Parse(given.Reveal())
	if err != nil {
		return plugin.Invocation{}, s.refuse(user, k.service, w)
	}
	token, err := s.signer.Downstream(s.cfg.Now(), ucan.Call{
		Grant: grant, Service: k.service, Capability: ucan.Capability{Can: w.Can, With: w.With}, TTL: mintLife,
	})
	switch kind := ucan.KindOf(err); {
	case kind == ucan.NotCapable || kind == ucan.Expired || kind == ucan.WrongAudience:
		return plugin.Invocation{}, s.refuse(user, k.service, w)
	case err != nil:
		return plugin.Invocation{}, err
	}
	out := plugin.Invocation{Token: token.Text(), Service: k.service.String(), Expires: token.Expires()}
	if !w.Fresh {
		s.keep(k, out)
	}
	return out, nil
}

func (s *Minter) find(k mintKey) (plugin.Invocation, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, ok := s.kept[k]
	if ok && !s.cfg.Now().Before(out.Expires.Add(-mintSpare)) {
		delete(s.kept, k)
		return plugin.Invocation{}, false
	}
	return out, ok
}

func (s *Minter) keep(k mintKey, v plugin.Invocation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	makeRoom(s.kept)
	s.kept[k] = v
}

// makeRoom removes an arbitrary entry of many: a missing one is made again.
func makeRoom[K comparable, V any](m map[K]V) {
	for k := range m {
		if len(m) < maxMinted {
			return
		}
		delete(m, k)
	}
}

// refuse reports that the user has not delegated something. It tells the user's
// pages, and tells the model to ask the user, unless that was done a while ago.
func (s *Minter) refuse(user tool.Context, service did.DID, w plugin.Want) error {
	what := w.Can + " on " + w.With + " at " + service.String()
	if !s.mayAsk(user.User) {
		return &plugin.Error{Status: http.StatusUnauthorized, Message: "The user has not allowed " + what + ", and was asked for it a while ago. Do not ask again: continue without it."}
	}
	user.Send(EventDelegation, DelegationRequired{SessionID: user.SessionID, RequestID: user.RequestID, Service: service.String(), Can: w.Can, With: w.With})
	return &plugin.Error{
		Status: http.StatusUnauthorized, Message: "The user has not allowed " + what + ", or no longer does. Tell them to authorise it in their app (POST /delegation), and to ask again then.",
		Members: map[string]any{"delegation": map[string]string{"service": service.String(), "can": w.Can, "with": w.With}},
	}
}

// mayAsk reports whether a user may be asked now, and notes that they are.
func (s *Minter) mayAsk(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.cfg.Now()
	if at, ok := s.asked[user]; ok && now.Before(at.Add(s.cfg.Ask)) {
		return false
	}
	makeRoom(s.asked)
	s.asked[user] = now
	return true
}
