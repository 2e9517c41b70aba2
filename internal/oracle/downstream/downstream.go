// Package downstream makes invocations of other services out of what users have
// delegated to the oracle.
//
// It promises that an invocation is for one service, one ability and one resource,
// which the delegation of the user covers; that it ends within an hour and with the
// delegation; that a delegation which was taken back is used no more, however
// young an invocation made with it is; and that nobody is given the key. A user
// who has to authorise something again is asked for it once in a while, not each
// time it is missing.
package downstream

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
	// life is how long an invocation is good, at most.
	life = time.Hour
	// spare is how long before its end an invocation is used no more: the service has a
	// clock of its own, and the request takes a while.
	spare = time.Minute
	// maxKept is how many invocations, and as many users who were asked, are remembered.
	maxKept = 10_000
	// DefaultAsk is how long a user who was asked to authorise something is not asked
	// again.
	DefaultAsk = 6 * time.Hour
)

// EventRequired tells the pages of a conversation that something must be delegated.
const EventRequired = "delegation_required"

// Required is the payload of EventRequired.
type Required struct {
	SessionID string `json:"sessionId"`
	RequestID string `json:"requestId"`
	Service   string `json:"service" doc:"DID of the service that would be called."`
	Can       string `json:"can"`
	With      string `json:"with"`
}

// Events describes what the sockets of a conversation hear.
func Events() []web.Message {
	return []web.Message{{Name: EventRequired, About: "A tool wants to do something at another service that you have not delegated to the oracle: sign a delegation for it and send it to POST /delegation.", Payload: Required{}}}
}

// Config configures a Service. Zero values are the defaults.
type Config struct {
	DID did.DID            // of the oracle
	Key ed25519.PrivateKey // nil: nothing can be signed
	Ask time.Duration      // between two questions to a user; DefaultAsk
	Now func() time.Time   // the clock
}

// Service mints invocations. It is safe for concurrent use.
type Service struct {
	cfg    Config
	signer *ucan.Signer // nil: nothing can be signed
	names  names

	mu    sync.Mutex
	kept  map[key]plugin.Invocation
	asked map[string]time.Time // when users were asked last
}

// key is what an invocation is kept by. A delegation that takes the place of
// another has its own.
type key struct {
	delegation [sha256.Size]byte
	service    did.DID
	can, with  string
}

// New makes a Service.
func New(c Config) (*Service, error) {
	if c.Ask <= 0 {
		c.Ask = DefaultAsk
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Service{cfg: c, kept: map[key]plugin.Invocation{}, asked: map[string]time.Time{}, names: names{now: c.Now}}
	if c.Key == nil {
		return s, nil
	}
	var err error
	s.signer, err = ucan.NewSigner(c.DID, c.Key)
	return s, err
}

// Mint makes an invocation for the user of ctx; client reaches the service to ask
// for its DID. What the user has to do something about is a *plugin.Error.
func (s *Service) Mint(ctx context.Context, client *http.Client, w plugin.Want) (plugin.Invocation, error) {
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
	k := key{sha256.Sum256([]byte(given.Token.Reveal())), service, w.Can, w.With}
	if out, ok := s.find(k); ok && !w.Fresh {
		return out, nil
	}
	return s.mint(user, given.Token, k, w)
}

// mint signs an invocation and keeps it.
func (s *Service) mint(user tool.Context, given tool.Token, k key, w plugin.Want) (plugin.Invocation, error) {
	grant, err := ucan.Parse(given.Reveal())
	if err != nil {
		return plugin.Invocation{}, s.refuse(user, k.service, w)
	}
	token, err := s.signer.Downstream(s.cfg.Now(), ucan.Call{
		Grant: grant, Service: k.service, Capability: ucan.Capability{Can: w.Can, With: w.With}, TTL: life,
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

func (s *Service) find(k key) (plugin.Invocation, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, ok := s.kept[k]
	if ok && !s.cfg.Now().Before(out.Expires.Add(-spare)) {
		delete(s.kept, k)
		return plugin.Invocation{}, false
	}
	return out, ok
}

func (s *Service) keep(k key, v plugin.Invocation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	makeRoom(s.kept)
	s.kept[k] = v
}

// makeRoom removes any one of many: what is missing is made again.
func makeRoom[K comparable, V any](m map[K]V) {
	for k := range m {
		if len(m) < maxKept {
			return
		}
		delete(m, k)
	}
}

// refuse says that the user has not delegated something. Their pages hear of it, and
// the model is told to ask them, unless they were asked a while ago.
func (s *Service) refuse(user tool.Context, service did.DID, w plugin.Want) error {
	what := w.Can + " on " + w.With + " at " + service.String()
	if !s.mayAsk(user.User) {
		return &plugin.Error{Status: http.StatusUnauthorized, Message: "The user has not allowed " + what + ", and was asked for it a while ago. Do not ask again: go on without it."}
	}
	user.Send(EventRequired, Required{SessionID: user.SessionID, RequestID: user.RequestID, Service: service.String(), Can: w.Can, With: w.With})
	return &plugin.Error{
		Status: http.StatusUnauthorized, Message: "The user has not allowed " + what + ", or no longer does. Tell them to authorise it in their app (POST /delegation), and to ask again then.",
		Members: map[string]any{"delegation": map[string]string{"service": service.String(), "can": w.Can, "with": w.With}},
	}
}

// mayAsk reports whether a user may be asked now, and notes that they are.
func (s *Service) mayAsk(user string) bool {
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
