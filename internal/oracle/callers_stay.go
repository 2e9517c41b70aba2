package oracle

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

// Stay says how long a caller may remain connected: a socket sends its tokens
// only when it connects.
type Stay struct {
	// Until is the end of the last token that would admit the caller. A
	// delegation that came with the invocation is one too: published clients
	// send both, and do not reconnect when the invocation ends.
	Until time.Time
	// Check reports whether the key of the token is still one of the DID. A fault of kind
	// Unauthenticated means that it is not; any other means that the check failed. It is
	// nil where keys cannot change.
	Check func(ctx context.Context) error
}

// Stay returns how long the sender of a handshake may remain.
func (s *Callers) Stay(who *Identity) Stay {
	st := Stay{Until: who.Expires}
	if s.cfg.Invoked { // the next invocation comes with a new connection
		who = &Identity{DID: who.DID, Signer: who.Signer, Expires: who.Expires}
	}
	if who.Delegation != nil && who.Delegation.Expires.After(st.Until) {
		st.Until = who.Delegation.Expires
	}
	if did.DID(who.DID).Method() == "key" {
		return st
	}
	id, signer, turn, next := who.DID, who.Signer, who.Expires, who.Signer
	if who.Delegation != nil {
		next = who.Delegation.Signer.String()
	}
	st.Check = func(ctx context.Context) error {
		if s.cfg.Now().Before(turn) {
			return s.Holds(ctx, id, signer)
		}
		return s.Holds(ctx, id, next)
	}
	return st
}

// Still reports whether the same token would still admit a caller now: it has
// not ended, and its key is still one of the DID. A fault of kind
// Unauthenticated means that it would not, UCAN_EXPIRED because it has ended;
// any other means that the check failed.
func (s *Callers) Still(ctx context.Context, who *Identity) error {
	if !s.cfg.Now().Before(who.Expires) {
		return fault.New(fault.Unauthenticated, "UCAN_EXPIRED", "The token has expired. Send a fresh one.")
	}
	return s.Holds(ctx, who.DID, who.Signer)
}

// Stands reports whether an admitted caller still counts, for an answer in
// progress: the key of the tokens is one of the DID, or the API key and the
// browser's session exist. Their planned expiry does not matter. The faults are
// those of Still and of the gate; only one of kind Unauthenticated means no.
func (s *Callers) Stands(ctx context.Context, who *Identity) error {
	if who.Again != nil {
		_, err := who.Again(ctx)
		return err
	}
	if who.Signed() {
		return s.Holds(ctx, who.DID, who.Signer)
	}
	if err := s.cfg.StillKey(ctx, who.Key); fault.CodeOf(err) != "KEY_EXPIRED" {
		return err
	}
	return nil
}

// Watch checks from time to time whether who still Stands, and once they do not
// it calls gone, until that returns true. When the check fails, nothing ends. The
// returned function ends the watch.
func (s *Callers) Watch(ctx context.Context, who *Identity, every time.Duration, gone func() bool) func() {
	if who.Again == nil && who.Signed() && did.DID(who.DID).Method() == "key" {
		return func() {} // it is its key
	}
	ctx, end := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			if fault.KindOf(s.Stands(ctx, who)) == fault.Unauthenticated && gone() {
				return
			}
		}
	})
	return func() {
		end()
		done.Wait()
	}
}

// Holds reports whether a did:key is still one of the keys of a DID. The faults
// are those of Still.
func (s *Callers) Holds(ctx context.Context, id, signer string) error {
	return s.holds(ctx, &ucan.Grant{Issuer: did.DID(id), Signer: did.DID(signer)})
}

func (s *Callers) holds(ctx context.Context, g *ucan.Grant) error {
	if g.Issuer.Method() == "key" {
		return nil // it is its key
	}
	keys, err := s.keys.Resolve(ctx, g.Issuer)
	if err != nil && !errors.Is(err, ucan.ErrUnknownDID) {
		return s.Refuse(ctx, &ucan.Error{Kind: ucan.Unavailable, Detail: "keys of " + g.Issuer.String(), Err: err})
	}
	for _, key := range keys {
		if did.FromEd25519(key) == g.Signer {
			return nil
		}
	}
	return s.Refuse(ctx, &ucan.Error{Kind: ucan.BadSignature, Detail: "the key was taken from " + g.Issuer.String()})
}

// unguarded marks the context of a check that no client has caused.
type unguarded struct{}

func isUnguarded(ctx context.Context) bool { return ctx.Value(unguarded{}) != nil }
