package oracle_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

// TestRunEndsWithItsKey: an answer ends when the key that asked for it is taken
// from the DID, with what was said until then. That its token has ended, or that
// nobody can look, does not end it.
func TestRunEndsWithItsKey(t *testing.T) {
	t.Parallel()
	const id = did.DID("did:ixo:entity:0123456789abcdef0123456789abcdef")
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	public, _ := key.Public().(ed25519.PublicKey)
	var ahead atomic.Int64 // of the clock the tokens are checked by
	var gone, down atomic.Bool
	asked := make(chan struct{}, 1)
	lookup := func(context.Context, did.DID) ([]ed25519.PublicKey, error) {
		select {
		case asked <- struct{}{}:
		default:
		}
		switch {
		case down.Load():
			return nil, errors.New("database is gone")
		case gone.Load():
			return nil, ucan.ErrUnknownDID
		}
		return []ed25519.PublicKey{public}, nil
	}
	h := small(t, modeltest.NewFake(hanging("Half an ans")), func(c *oracle.Config, _ *run.Config) {
		c.Recheck = time.Millisecond
		c.Callers = oracle.NewCallers(oracle.CallersConfig{
			DID: oracleDID, Local: lookup, Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
		})
	})
	signer, err := ucan.NewSigner(id, key)
	if err != nil {
		t.Fatal(err)
	}
	u := &user{signer: signer}
	u.token = u.mint(t, ucan.Draft{Audience: oracleDID, Expires: time.Now().Add(10 * time.Minute), Capabilities: []ucan.Capability{{Can: "*", With: "ixo:oracle"}}})
	s := h.session(u)
	r, _ := h.stream(u, "POST", "/messages/"+s, streamed)
	r.until("message")
	ahead.Store(int64(time.Hour))
	down.Store(true)
	for range 5 {
		<-asked
	}
	if h.runs.Live() != 1 {
		t.Error("the run has ended with its token, or because nobody could look")
	}
	down.Store(false)
	gone.Store(true)
	frames := r.until("done")
	if done := frames[len(frames)-1].raw; done != `{"status":"aborted","partialText":"Half an ans","aborted":true}` {
		t.Errorf("done %s", done)
	}
}
