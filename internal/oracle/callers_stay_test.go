package oracle_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

// TestStay: a socket may remain as long as the last token of its handshake that
// would have let it in.
func TestStay(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	user, other := signer(t, "", 1), signer(t, "", 3)
	soon, later, first := now.Add(10*time.Minute), now.Add(time.Hour), now.Add(time.Minute)
	good := mint(t, user, invocation(oracleDID, soon))
	for _, tt := range []struct {
		name, invocation, delegation string
		want                         time.Time
	}{
		{"invocation", good, "", soon},
		{"delegation", "", mint(t, user, delegation(oracleDID, later)), later},
		{"both", good, mint(t, user, delegation(oracleDID, later)), later},
		{"a delegation that ends first", good, mint(t, user, delegation(oracleDID, first)), soon},
		{"somebody else's delegation", good, mint(t, other, delegation(oracleDID, later)), soon},
		{"a bad delegation", good, "x", soon},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID})
			who, err := s.Handshake(t.Context(), tt.invocation, tt.delegation)
			if err != nil {
				t.Fatal(err)
			}
			got := s.Stay(who)
			if !got.Until.Equal(tt.want) {
				t.Errorf("Until = %v, want %v", got.Until, tt.want)
			}
			if got.Check != nil {
				t.Error("a did:key has its key for ever, but Check is not nil")
			}
		})
	}
}

// twin is a DID whose keys can be taken away.
type twin struct {
	keys atomic.Pointer[[]ed25519.PublicKey]
	down atomic.Bool
}

func (w *twin) set(keys ...ed25519.PublicKey) { w.keys.Store(&keys) }

func (w *twin) lookup(_ context.Context, id did.DID) ([]ed25519.PublicKey, error) {
	switch keys := *w.keys.Load(); {
	case w.down.Load():
		return nil, errors.New("database is gone")
	case id != userDID || len(keys) == 0:
		return nil, ucan.ErrUnknownDID
	default:
		return keys, nil
	}
}

// clock is a time that tests move.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time        { return time.UnixMilli(c.at.Load()) }
func (c *clock) add(d time.Duration)   { c.at.Add(d.Milliseconds()) }
func newClock(at time.Time) (c *clock) { c = &clock{}; c.at.Store(at.UnixMilli()); return c }

// TestStayKeyRemoved: who loses the key of their token is told to go, who only
// gets another one beside it is not, and nobody is because we cannot look.
func TestStayKeyRemoved(t *testing.T) {
	t.Parallel()
	c := newClock(time.Now())
	w := &twin{}
	w.set(public(1))
	s := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID, Local: w.lookup, Now: c.now, Failures: 1})
	token := mint(t, signer(t, userDID, 1), invocation(oracleDID, c.now().Add(14*time.Minute)))
	who, err := s.Handshake(at(t, home), token, "")
	if err != nil {
		t.Fatal(err)
	}
	stay := s.Stay(who)
	if stay.Check == nil {
		t.Fatal("Check is nil for a DID whose keys can change")
	}
	// A flood of bad tokens blocks an address, but not the look at who is in.
	for range 3 {
		_, _ = s.Handshake(at(t, home), "x", "")
	}
	check := func(want string) {
		t.Helper()
		if got := fault.CodeOf(stay.Check(at(t, home))); got != want {
			t.Errorf("Check() = %q, want %q", got, want)
		}
	}
	check("")
	w.set(public(2), public(1))
	check("")
	w.down.Store(true)
	check("UCAN_KEYS_UNAVAILABLE")
	w.down.Store(false)
	w.set(public(2))
	check("UCAN_INVALID")
	w.set()
	check("UCAN_INVALID")
}

// TestStayByDelegation: once the invocation has ended the delegation is what is
// looked at.
func TestStayByDelegation(t *testing.T) {
	t.Parallel()
	c := newClock(time.Now())
	w := &twin{}
	w.set(public(1), public(2))
	s := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID, Local: w.lookup, Now: c.now})
	token := mint(t, signer(t, userDID, 1), invocation(oracleDID, c.now().Add(5*time.Minute)))
	who, err := s.Handshake(at(t, home), token, mint(t, signer(t, userDID, 2), delegation(oracleDID, c.now().Add(time.Hour))))
	if err != nil {
		t.Fatal(err)
	}
	stay := s.Stay(who)
	c.add(6 * time.Minute)
	w.set(public(2)) // the invocation's key is gone, but it is over anyway
	if err := stay.Check(t.Context()); err != nil {
		t.Errorf("Check() = %v, want the delegation to count", err)
	}
	c.add(time.Minute)
	w.set(public(1))
	if got := fault.KindOf(stay.Check(t.Context())); got != fault.Unauthenticated {
		t.Errorf("Check() = %v, want unauthenticated", got)
	}
}

// TestStill: a token that was good counts until it ends or its key is taken from
// the DID, at once and whatever is remembered of it.
func TestStill(t *testing.T) {
	t.Parallel()
	c, w := newClock(time.Now()), &twin{}
	w.set(public(1))
	s := oracle.NewCallers(oracle.CallersConfig{DID: oracleDID, Local: w.lookup, Now: c.now})
	token := mint(t, signer(t, userDID, 1), invocation(oracleDID, c.now().Add(10*time.Minute)))
	who, err := s.Handshake(t.Context(), token, "")
	if err != nil {
		t.Fatal(err)
	}
	check := func(still, again string) {
		t.Helper()
		if got := fault.CodeOf(s.Still(t.Context(), who)); got != still {
			t.Errorf("Still() = %q, want %q", got, still)
		}
		if _, err := s.Handshake(t.Context(), token, ""); fault.CodeOf(err) != again {
			t.Errorf("the same token again: %v, want %q", err, again)
		}
	}
	check("", "")
	w.set(public(2))
	check("UCAN_INVALID", "UCAN_INVALID")
	w.set(public(2), public(1))
	check("", "")
	w.down.Store(true)
	check("UCAN_KEYS_UNAVAILABLE", "UCAN_KEYS_UNAVAILABLE")
	w.down.Store(false)
	c.add(10 * time.Minute)
	check("UCAN_EXPIRED", "UCAN_INVALID")
}
