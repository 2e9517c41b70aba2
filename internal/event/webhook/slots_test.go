package webhook

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

// at is a seat, given as "workspace" or "workspace host".
func at(text string) seat {
	ws, host, _ := strings.Cut(text, " ")
	return seat{ws, cmp.Or(host, ws)}
}

// taker takes one slot in the background; got is closed when it has it.
func taker(ctx context.Context, s *slots, where string) (got chan struct{}) {
	got = make(chan struct{})
	go func() {
		if n, _, err := s.take(ctx, at(where), 1); err == nil && n == 1 {
			close(got)
		}
	}()
	synctest.Wait()
	return got
}

func has(got chan struct{}) bool {
	synctest.Wait()
	select {
	case <-got:
		return true
	default:
		return false
	}
}

func (s *slots) wantEmpty(t *testing.T) {
	t.Helper()
	if s.used != 0 || len(s.spaces) != 0 || len(s.hosts) != 0 || len(s.line) != 0 {
		t.Errorf("%d used, workspaces %v, hosts %v, %d in line, want nothing left behind", s.used, s.spaces, s.hosts, len(s.line))
	}
}

// TestSlotsOfAHost has three workspaces call the same host: none has all that
// the host gets, and what waits there holds up nobody elsewhere.
func TestSlotsOfAHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(limits{all: 100, perSpace: 3, perHost: 4})
		take := func(where string, ask, want int) {
			t.Helper()
			if n, waited, err := s.take(t.Context(), at(where), ask); n != want || waited || err != nil {
				t.Fatalf("take for %q = %d, %v, %v, want %d", where, n, waited, err, want)
			}
		}
		take("a host", 50, 3)
		a := taker(t.Context(), s, "a host")
		take("b host", 50, 1)
		b, c := taker(t.Context(), s, "b host"), taker(t.Context(), s, "c host")
		take("c other", 2, 2)
		if has(a) || has(b) || has(c) {
			t.Fatal("a slot was given that the host does not have")
		}
		// a came first, but b has fewer under way; then a, which waits longer than c.
		s.give(at("a host"), 1)
		if !has(b) || has(a) || has(c) {
			t.Error("the slot did not go to the workspace that has the fewest under way")
		}
		s.give(at("b host"), 1)
		if !has(a) || has(c) {
			t.Error("the slot did not go to the workspace that waits longest")
		}
		s.give(at("a host"), 1)
		if !has(c) {
			t.Error("the slot did not go to the one that waits")
		}
		for where, n := range map[string]int{"a host": 2, "b host": 1, "c host": 1, "c other": 2} {
			s.give(at(where), n)
		}
		s.wantEmpty(t)
	})
}

func TestSeatOf(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"https://example.org/a", "https://EXAMPLE.org./b", "http://example.org:8080/"} {
		if got := seatOf(&hook{ws: "w", Webhook: Webhook{URL: url}}); got != (seat{"w", "example.org"}) {
			t.Errorf("seatOf(%q) = %v, want example.org", url, got)
		}
	}
}

func TestSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(limits{all: 3, perSpace: 2, perHost: 3})
		if n, waited, err := s.take(t.Context(), at("a"), 4); n != 2 || waited || err != nil {
			t.Fatalf("take of 4 = %d, %v, %v, want the 2 of a workspace at once", n, waited, err)
		}
		a := taker(t.Context(), s, "a")
		if n, _, err := s.take(t.Context(), at("b"), 4); n != 1 || err != nil {
			t.Fatalf("take = %d, %v, want the 1 that is left", n, err)
		}
		b, c := taker(t.Context(), s, "b"), taker(t.Context(), s, "c")
		if has(a) || has(b) || has(c) {
			t.Fatal("a slot was given that is not there")
		}
		// a came first, but c has nothing yet; then b, for a is full again.
		s.give(at("a"), 1)
		if !has(c) || has(a) || has(b) {
			t.Error("the slot did not go to the workspace that has the fewest")
		}
		s.give(at("a"), 1)
		if !has(a) || has(b) {
			t.Error("the slot did not go to the workspace that waits longest")
		}
		s.give(at("c"), 1)
		if !has(b) {
			t.Error("the slot did not go to the one who waits")
		}
		s.give(at("a"), 1)
		s.give(at("b"), 2)
		s.wantEmpty(t)
	})
}

func TestSlotsForgetWhoLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(limits{all: 1, perSpace: 1, perHost: 1})
		if _, _, err := s.take(t.Context(), at("a"), 1); err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		gone, stays := taker(ctx, s, "b"), taker(t.Context(), s, "b")
		leave()
		if has(gone) {
			t.Error("one who left got a slot")
		}
		s.give(at("a"), 1)
		if !has(stays) {
			t.Error("the slot did not go to the one who stayed")
		}
		s.give(at("b"), 1)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if n, _, err := s.take(ended, at("a"), 1); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("take after the end = %d, %v, want none", n, err)
		}
		s.wantEmpty(t)
	})
}
