package ucan_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

// source counts questions and answers as its test says.
type source struct {
	asked  atomic.Int32
	answer func(ctx context.Context) ([]ed25519.PublicKey, error)
}

func (s *source) Resolve(ctx context.Context, _ did.DID) ([]ed25519.PublicKey, error) {
	s.asked.Add(1)
	return s.answer(ctx)
}

var one = []ed25519.PublicKey{make(ed25519.PublicKey, ed25519.PublicKeySize)}

func found(context.Context) ([]ed25519.PublicKey, error)   { return one, nil }
func unknown(context.Context) ([]ed25519.PublicKey, error) { return nil, ucan.ErrUnknownDID }
func down(context.Context) ([]ed25519.PublicKey, error)    { return nil, errors.New("down") }

func TestRingRemembers(t *testing.T) {
	t.Parallel()
	type move struct {
		wait   time.Duration
		answer func(context.Context) ([]ed25519.PublicKey, error)
		ok     bool
		asked  int32 // so far
	}
	for _, tt := range []struct {
		name  string
		moves []move
	}{
		{"fresh keys", []move{{0, found, true, 1}, {9 * time.Minute, down, true, 1}, {time.Minute, found, true, 2}}},
		{"unknown", []move{{0, unknown, false, 1}, {29 * time.Second, found, false, 1}, {time.Second, found, true, 2}}},
		{"no keys are unknown", []move{{0, func(context.Context) ([]ed25519.PublicKey, error) { return nil, nil }, false, 1}, {29 * time.Second, found, false, 1}}},
		{"down at first", []move{{0, down, false, 1}, {time.Second, found, false, 1}, {time.Second, found, true, 2}}},
		{"down later", []move{
			{0, found, true, 1},
			{10 * time.Minute, down, true, 2},
			{time.Second, down, true, 2},
			{40 * time.Minute, down, true, 3},
			{10 * time.Minute, down, false, 4},
		}},
		{"gone later", []move{{0, found, true, 1}, {10 * time.Minute, unknown, false, 2}, {time.Second, down, false, 2}, {time.Minute, down, false, 3}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			now := time.Unix(1e9, 0)
			s := &source{}
			r := ucan.NewRing(ucan.RingConfig{Source: s, Now: func() time.Time { return now }})
			for i, m := range tt.moves {
				now = now.Add(m.wait)
				s.answer = m.answer
				keys, err := r.Resolve(t.Context(), "did:ixo:a")
				if (err == nil) != m.ok || m.ok && len(keys) != 1 || s.asked.Load() != m.asked {
					t.Errorf("move %d: got %d keys, %v after %d questions, want ok %v after %d", i, len(keys), err, s.asked.Load(), m.ok, m.asked)
				}
			}
		})
	}
}

func TestRingAsksOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		s := &source{answer: func(context.Context) ([]ed25519.PublicKey, error) { <-gate; return one, nil }}
		r := ucan.NewRing(ucan.RingConfig{Source: s})
		var good, left atomic.Int32
		impatient, leave := context.WithCancel(t.Context())
		for i := range 20 {
			ctx := t.Context()
			if i >= 10 {
				ctx = impatient
			}
			go func() {
				if _, err := r.Resolve(ctx, "did:ixo:a"); err == nil {
					good.Add(1)
				} else if errors.Is(err, context.Canceled) {
					left.Add(1)
				}
			}()
			synctest.Wait() // the first one asks, the others find it asking
		}
		leave()
		synctest.Wait()
		if left.Load() != 10 {
			t.Errorf("%d left, want 10", left.Load())
		}
		close(gate)
		synctest.Wait()
		if good.Load() != 10 || s.asked.Load() != 1 {
			t.Errorf("%d answers after %d questions, want 10 after 1", good.Load(), s.asked.Load())
		}
	})
}

// TestRingGoesOn: who asks leaves, but those who wait get their answer; a
// source that hangs is given up.
func TestRingGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &source{answer: func(ctx context.Context) ([]ed25519.PublicKey, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		r := ucan.NewRing(ucan.RingConfig{Source: s})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start := time.Now()
		if _, err := r.Resolve(ctx, "did:ixo:a"); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != ucan.DefaultWait {
			t.Errorf("got %v after %v, want the deadline after %v", err, time.Since(start), ucan.DefaultWait)
		}
	})
}

func TestRingSurvivesPanic(t *testing.T) {
	t.Parallel()
	now := time.Unix(1e9, 0)
	s := &source{answer: func(context.Context) ([]ed25519.PublicKey, error) { panic("source") }}
	r := ucan.NewRing(ucan.RingConfig{Source: s, Now: func() time.Time { return now }})
	func() {
		defer func() { _ = recover() }()
		_, _ = r.Resolve(t.Context(), "did:ixo:a")
	}()
	s.answer = found
	if _, err := r.Resolve(t.Context(), "did:ixo:a"); err == nil {
		t.Error("a panic counts as a failure, for a while")
	}
	now = now.Add(2 * time.Second)
	if _, err := r.Resolve(t.Context(), "did:ixo:a"); err != nil {
		t.Errorf("after a panic: got %v, want none", err)
	}
}

func TestRingIsBounded(t *testing.T) {
	t.Parallel()
	s := &source{answer: found}
	r := ucan.NewRing(ucan.RingConfig{Source: s, Entries: 10})
	ask := func(id string) {
		if _, err := r.Resolve(t.Context(), did.DID("did:ixo:"+id)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		ask("busy")
		ask(strconv.Itoa(i))
	}
	if got := s.asked.Load(); got != 101 {
		t.Errorf("%d questions, want 101: a DID in use stays known", got)
	}
	ask("0")
	if got := s.asked.Load(); got != 102 {
		t.Errorf("%d questions, want 102: a DID of long ago is forgotten", got)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	const document = `[
		{"id":"#1","type":"Ed25519VerificationKey2018","publicKeyMultibase":"z6Mkon3Necd6NkkyfoGoHxid2znGc59LU3K7mubaRcFbLfLX"},
		{"id":"#2","type":"Ed25519VerificationKey2020","publicKeyHex":"8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c"},
		{"id":"#3","type":"Ed25519VerificationKey2018","publicKeyBase58":"AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9"},
		{"id":"#4","type":"JsonWebKey2020","publicKeyJwk":{"kty":"OKP","crv":"Ed25519","x":"iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w"}},
		{"id":"#signing","type":"Multikey","publicKeyMultibase":"z6Mkon3Necd6NkkyfoGoHxid2znGc59LU3K7mubaRcFbLfLX"},
		{"id":"#6","type":"Multikey","publicKeyMultibase":"z6Mkon3Necd6NkkyfoGoHxid2znGc59LU3K7mubaRcFbLfLX"},
		{"id":"#7-signing","type":"EcdsaSecp256k1VerificationKey2019","publicKeyHex":"02b97c30de767f084ce3080168ee293053ba33b235d7116a3263d29f1450936b71"},
		{"id":"#8","type":"Ed25519VerificationKey2018","publicKeyMultibase":"zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme"},
		{"id":"#9","type":"Ed25519VerificationKey2018","publicKeyBase58":"0OIl"},
		{"id":"#10","type":"Ed25519VerificationKey2018","publicKeyHex":"zz"},
		{"id":"#11","type":"Ed25519VerificationKey2018","publicKeyBase58":"zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"},
		{"id":"#12","type":"Ed25519VerificationKey2018"}
	]`
	var methods []ucan.KeyMethod
	if err := json.Unmarshal([]byte(document), &methods); err != nil {
		t.Fatal(err)
	}
	want, err := did.DID("did:key:z6Mkon3Necd6NkkyfoGoHxid2znGc59LU3K7mubaRcFbLfLX").Ed25519()
	if err != nil {
		t.Fatal(err)
	}
	got := ucan.KeysOf(methods)
	if len(got) != 5 {
		t.Errorf("%d keys, want 5", len(got))
	}
	for i, key := range got {
		if !key.Equal(want) {
			t.Errorf("key %d is %x, want %x", i, key, want)
		}
	}
}
