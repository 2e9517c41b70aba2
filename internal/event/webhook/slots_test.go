package webhook

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// taker takes one slot in the background; got is closed when it has it.
func taker(ctx context.Context, s *slots, ws string) (got chan struct{}) {
	got = make(chan struct{})
	go func() {
		if n, _, err := s.take(ctx, ws, 1); err == nil && n == 1 {
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

func TestSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(3, 2)
		if n, waited, err := s.take(t.Context(), "a", 4); n != 2 || waited || err != nil {
			t.Fatalf("take of 4 = %d, %v, %v, want the 2 of a workspace at once", n, waited, err)
		}
		a := taker(t.Context(), s, "a")
		if n, _, err := s.take(t.Context(), "b", 4); n != 1 || err != nil {
			t.Fatalf("take = %d, %v, want the 1 that is left", n, err)
		}
		b, c := taker(t.Context(), s, "b"), taker(t.Context(), s, "c")
		if has(a) || has(b) || has(c) {
			t.Fatal("a slot was given that is not there")
		}
		// a came first, but c has nothing yet; then b, for a is full again.
		s.give("a", 1)
		if !has(c) || has(a) || has(b) {
			t.Error("the slot did not go to the workspace that has the fewest")
		}
		s.give("a", 1)
		if !has(a) || has(b) {
			t.Error("the slot did not go to the workspace that waits longest")
		}
		s.give("c", 1)
		if !has(b) {
			t.Error("the slot did not go to the one who waits")
		}
		s.give("a", 1)
		s.give("b", 2)
		if s.used != 0 || len(s.spaces) != 0 || len(s.line) != 0 {
			t.Errorf("%d used, %d workspaces, %d in line, want nothing left behind", s.used, len(s.spaces), len(s.line))
		}
	})
}

func TestSlotsForgetWhoLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1, 1)
		if _, _, err := s.take(t.Context(), "a", 1); err != nil {
			t.Fatal(err)
		}
		ctx, leave := context.WithCancel(t.Context())
		gone, stays := taker(ctx, s, "b"), taker(t.Context(), s, "b")
		leave()
		if has(gone) {
			t.Error("one who left got a slot")
		}
		s.give("a", 1)
		if !has(stays) {
			t.Error("the slot did not go to the one who stayed")
		}
		s.give("b", 1)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if n, _, err := s.take(ended, "a", 1); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("take after the end = %d, %v, want none", n, err)
		}
		if s.used != 0 || len(s.spaces) != 0 || len(s.line) != 0 {
			t.Errorf("%d used, %d workspaces, %d in line, want nothing left behind", s.used, len(s.spaces), len(s.line))
		}
	})
}
