package e2e

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// TestStreamSurvivesKill follows the events of a server that is killed and
// started again several times while keys are made: each key that was
// acknowledged is seen once, and numbers have no gap.
func TestStreamSurvivesKill(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o server.Options) {
		o.Env = append(o.Env, "HEARTH_SERVER_KEY="+strings.Repeat("s", 43))
		s := server.Run(t, o)
		o.Env = append(o.Env, "PORT="+strconv.Itoa(s.Port))
		c := owner(t, s)
		events := make(chan client.Event, 1000)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- follow(ctx, c, events) }()

		acked := map[string]bool{}
		for round := range 3 {
			for i := range 10 {
				k, err := c.Keys.Create(t.Context(), draft(fmt.Sprintf("round %d key %d", round, i)))
				if err != nil {
					t.Fatal(err)
				}
				acked[k.ID] = true
			}
			if err := s.Kill(); err != nil {
				t.Fatal(err)
			}
			s = server.Run(t, o)
		}
		seen := map[string]int{}
		next := int64(1)
		for len(acked) > 0 {
			ev := receive(t, events, "the events of acknowledged keys")
			if ev.Seq != next {
				t.Fatalf("event %d after %d, want %d", ev.Seq, next-1, next)
			}
			next++
			if ev.Type == "key.created" {
				seen[ev.Subject]++
			}
			delete(acked, ev.Subject)
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("the creation of %s was seen %d times", id, n)
			}
		}
		cancel()
		if err := receive(t, ended, "the end of the stream"); !errors.Is(err, context.Canceled) {
			t.Errorf("the stream ended with %v, want the cancellation", err)
		}
	})
}

// follow sends what a stream yields and returns its last error.
func follow(ctx context.Context, c *client.Client, to chan<- client.Event) error {
	for ev, err := range c.Events.Stream(ctx, client.StreamQuery{}) {
		if err != nil {
			return err
		}
		to <- ev
	}
	return nil
}

// receive takes one value, or fails the test after a while.
func receive[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case v := <-from:
		return v
	case <-timer.C:
		t.Fatalf("waited %s in vain for %s", patience, what)
		panic("not reached")
	}
}

func TestStreamFilter(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{})
	boss := owner(t, s)
	if _, err := boss.Workspaces.Create(t.Context(), client.WorkspaceDraft{ID: "kitui", Name: "K"}); err != nil {
		t.Fatal(err)
	}
	for ev, err := range boss.Events.Stream(t.Context(), client.StreamQuery{Types: []string{"workspace.*"}}) {
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(ev.Type, "workspace.") {
			t.Errorf("event %s through the filter workspace.*", ev.Type)
		}
		if ev.Subject == "kitui" {
			break
		}
	}
	reader, err := boss.Keys.Create(t.Context(), client.KeyDraft{Name: "reader", Scopes: []string{"events:read"}})
	if err != nil {
		t.Fatal(err)
	}
	changes, err := with(t, s.URL, reader.Text).Events.Changes(t.Context(), client.ChangesQuery{Types: []string{"key.*"}, Limit: 1})
	if err != nil || len(changes.Items) != 1 || !changes.HasMore {
		t.Errorf("changes = %+v, %v; want one of several", changes, err)
	}
	if _, err := boss.Events.Changes(t.Context(), client.ChangesQuery{After: 1 << 40}); client.CodeOf(err) != "EVENTS_AHEAD" {
		t.Errorf("changes after the end: %v, want EVENTS_AHEAD", err)
	}
}

// TestStreamOfRevokedKey ends a stream when its key is not valid any more.
func TestStreamOfRevokedKey(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{})
	boss := owner(t, s)
	reader, err := boss.Keys.Create(t.Context(), client.KeyDraft{Name: "reader", Scopes: []string{"events:read"}})
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan client.Event, 100)
	ended := make(chan error, 1)
	go func() { ended <- follow(t.Context(), with(t, s.URL, reader.Text), events) }()
	receive(t, events, "the first event")
	if _, err := boss.Keys.Revoke(t.Context(), reader.ID); err != nil {
		t.Fatal(err)
	}
	if err := receive(t, ended, "the end of the stream"); client.CodeOf(err) != "KEY_INVALID" {
		t.Errorf("the stream of a revoked key ended with %v, want KEY_INVALID", err)
	}
	for len(events) > 0 {
		if e := <-events; e.Type == "key.revoked" {
			t.Error("a revoked key was still told of an event")
		}
	}
}
