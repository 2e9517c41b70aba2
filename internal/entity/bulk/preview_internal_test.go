package bulk

import (
	"context"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Two previews work at a time, one of a workspace; others wait until one ends,
// and are sent away when none does.
func TestGlances(t *testing.T) {
	t.Parallel()
	g := newGlances()
	take := func(ws string, wait time.Duration) (func(), error) {
		ctx, stop := context.WithTimeout(t.Context(), wait)
		defer stop()
		return g.take(ctx, ws)
	}
	leaveA, err := take("a", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := take("a", 10*time.Millisecond); fault.CodeOf(err) != "TOO_MANY_PREVIEWS" || fault.As(err).RetryAfter <= 0 {
		t.Errorf("a second one of a workspace: %v", err)
	}
	leaveB, err := take("b", time.Second)
	if err != nil {
		t.Fatalf("one of another workspace: %v", err)
	}
	if _, err := take("c", 10*time.Millisecond); fault.CodeOf(err) != "TOO_MANY_PREVIEWS" {
		t.Errorf("a third one: %v", err)
	}
	time.AfterFunc(20*time.Millisecond, leaveA)
	leaveC, err := take("c", time.Minute)
	if err != nil {
		t.Fatalf("after one has ended: %v", err)
	}
	leaveB()
	leaveC()
	if len(g.busy) != 0 {
		t.Errorf("%v are busy", g.busy)
	}
}

// What is counted is never less than what is sent.
func TestQuoted(t *testing.T) {
	t.Parallel()
	for r := rune(0); r < 0x3000; r++ {
		text := "a" + string(r)
		if out, err := json.Marshal(text); err != nil || len(out) > quoted(text) {
			t.Errorf("%q takes %d bytes (%v), counted %d", text, len(out), err, quoted(text))
		}
	}
}
