package chat_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// begin begins a turn that nobody has answered yet.
func (g *rig) begin(user, session, text string) chat.Begun {
	g.t.Helper()
	said, err := chat.Said(llm.Message{Role: llm.User, Content: text}, g.now)
	if err != nil {
		g.t.Fatal(err)
	}
	var b chat.Begun
	err = g.db.InTx(g.t.Context(), func(tx *db.Tx) (err error) {
		if b, err = chat.BeginTurn(g.t.Context(), tx, chat.Opening{User: user, Session: session, Run: "run", At: g.now.UnixMilli()}); err != nil {
			return err
		}
		return chat.Say(g.t.Context(), tx, b, said, nil)
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return b
}

// answer ends a turn.
func (g *rig) answer(b chat.Begun, answers ...llm.Message) {
	g.t.Helper()
	entries, err := chat.Answered(answers, chat.Whole, g.now)
	if err == nil {
		err = g.db.InTx(g.t.Context(), func(tx *db.Tx) error {
			_, err := chat.Answer(g.t.Context(), tx, b, entries, g.now.UnixMilli())
			return err
		})
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

// TestHistoryIsRemembered plays conversations by chance: a store that remembers
// gives the same history as one that has never read the session, whatever is
// asked in whatever order, also of turns that are answered late or by another
// instance.
func TestHistoryIsRemembered(t *testing.T) {
	t.Parallel()
	g := newRig(t, dbtest.SQLite(t))
	rapid.Check(t, func(rt *rapid.T) {
		sessions := []string{g.session(ann).ID, g.session(ann).ID}
		var late []chat.Begun
		words := rapid.StringMatching(`[a-z ]{0,300}`)
		answers := func() []llm.Message {
			switch rapid.IntRange(0, 3).Draw(rt, "answer") {
			case 0:
				return nil // aborted before a word
			case 1:
				return []llm.Message{
					{Role: llm.Assistant, Content: "look", ToolCalls: []tool.Call{{ID: "c", Name: "n", Args: jsontext.Value(`{"a":1}`)}}},
					{Role: llm.Tool, ToolCallID: "c", ToolName: "n", Content: words.Draw(rt, "output"), Failed: true},
					ai(words.Draw(rt, "text") + "."),
				}
			}
			return []llm.Message{ai(words.Draw(rt, "text") + ".")}
		}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			s := rapid.SampledFrom(sessions).Draw(rt, "session")
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0, 1:
				g.answer(g.begin(ann, s, words.Draw(rt, "said")), answers()...)
			case 2:
				late = append(late, g.begin(ann, s, words.Draw(rt, "said")))
			case 3:
				if n := len(late); n > 0 {
					i := rapid.IntRange(0, n-1).Draw(rt, "which")
					g.answer(late[i], answers()...)
					late = append(late[:i], late[i+1:]...)
				}
			default:
				before := rapid.SampledFrom([]int64{1 << 40, 1 << 40, 1 << 40, 1, 3, 7}).Draw(rt, "before")
				bytes := rapid.SampledFrom([]int{1 << 20, 1 << 20, 3000, 3000, 1000, 1}).Draw(rt, "bytes")
				got, err := g.s.History(t.Context(), ann, s, before, bytes)
				if err != nil {
					rt.Fatal(err)
				}
				want, err := g.store("k").History(t.Context(), ann, s, before, bytes)
				if err != nil {
					rt.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					rt.Fatalf("History(%d, %d) (-want +got):\n%s", before, bytes, diff)
				}
			}
		}
	})
}

// What is remembered is its own user's, and goes with the session.
func TestRememberedIsForOneUser(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		g, ctx := newRig(t, d), t.Context()
		s := g.session(ann).ID
		g.say(ann, s, "secret", ai("yes"))
		for range 2 {
			if got, err := g.s.History(ctx, ann, s, 2, 1<<20); err != nil || len(got) != 2 {
				t.Fatalf("History() = %v, %v; want two messages", got, err)
			}
		}
		if got, err := g.s.History(ctx, bob, s, 2, 1<<20); fault.CodeOf(err) != "SESSION_NOT_FOUND" {
			t.Errorf("somebody else's History() = %v, %v", got, err)
		}
		if err := g.store("k").DeleteSession(ctx, ann, s); err != nil { // another instance
			t.Fatal(err)
		}
		if got, err := g.s.History(ctx, ann, s, 2, 1<<20); fault.CodeOf(err) != "SESSION_NOT_FOUND" {
			t.Errorf("History() of a deleted session = %v, %v", got, err)
		}
	})
}

// Memory is bounded, and a conversation that is too long for it is still whole.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	g, ctx := newRig(t, dbtest.SQLite(t)), t.Context()
	big := strings.Repeat("x", 256<<10)
	var sessions []string
	for range 24 {
		s := g.session(ann).ID
		sessions = append(sessions, s)
		g.say(ann, s, "hi", ai(big))
		for range 2 {
			got, err := g.s.History(ctx, ann, s, 2, 2<<20)
			if err != nil || len(got) != 2 || got[1].Content != big {
				t.Fatalf("History() = %d messages, %v", len(got), err)
			}
		}
		if n := chat.Remembered(g.s); n > 4<<20 {
			t.Fatalf("%d bytes are remembered, want at most 4 MiB", n)
		}
	}
	if n := chat.Remembered(g.s); n < 3<<20 {
		t.Errorf("%d bytes are remembered of 6 MiB, want most of 4", n)
	}
	for _, s := range sessions {
		if err := g.s.DeleteSession(ctx, ann, s); err != nil {
			t.Fatal(err)
		}
	}
	if n := chat.Remembered(g.s); n != 0 {
		t.Errorf("%d bytes are remembered of deleted sessions", n)
	}
}

// BenchmarkHistory is what a turn reads of a conversation of 100 turns.
func BenchmarkHistory(b *testing.B) {
	g := newRig(b, dbtest.SQLite(b))
	s := g.session(ann).ID
	for range 100 {
		g.say(ann, s, strings.Repeat("word ", 100), ai(strings.Repeat("word ", 100)))
	}
	for name, store := range map[string]func() *chat.Store{"first": func() *chat.Store { return g.store("k") }, "again": func() *chat.Store { return g.s }} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got, err := store().History(b.Context(), ann, s, 101, 1<<20); err != nil || len(got) != 200 {
					b.Fatalf("History() = %d messages, %v", len(got), err)
				}
			}
		})
	}
}

// A deleted conversation is forgotten, also by a turn that has read it just
// before, and by other instances once they hear of it.
func TestDeletedIsForgotten(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		g, ctx := newRig(t, d), t.Context()
		s, other := g.session(ann).ID, g.session(ann).ID
		g.say(ann, s, "secret", ai("yes"))
		g.say(ann, other, "hi", ai("yes"))
		elsewhere := g.store("k")
		for _, store := range []*chat.Store{g.s, elsewhere} {
			if _, err := store.History(ctx, ann, s, 2, 1<<20); err != nil {
				t.Fatal(err)
			}
		}
		var gone chat.Gone
		g.s.Attach(chat.Part{Deleted: func(_ context.Context, c chat.Gone) { gone = c }})
		n, err := chat.HistoryWhile(ctx, g.s, ann, s, func() {
			if err := g.s.DeleteSession(ctx, ann, s); err != nil {
				t.Error(err)
			}
		})
		if err != nil || n != 2 {
			t.Fatalf("a history gives %d messages, %v; want the 2 it has read", n, err)
		}
		if n := chat.Remembered(g.s); n != 0 {
			t.Errorf("%d bytes are remembered of a session that was deleted while it was read", n)
		}
		if _, err := chat.HistoryWhile(ctx, elsewhere, ann, other, func() { elsewhere.Forget(gone.Number) }); err != nil {
			t.Fatal(err)
		}
		if n := chat.Remembered(elsewhere); n != 0 {
			t.Errorf("%d bytes are remembered elsewhere of a deleted session", n)
		}
		if _, err := elsewhere.History(ctx, ann, other, 2, 1<<20); err != nil {
			t.Fatal(err)
		}
		if n := chat.Remembered(elsewhere); n == 0 {
			t.Error("nothing is remembered of a session that is there")
		}
		elsewhere.ForgetAll()
		if n := chat.Remembered(elsewhere); n != 0 {
			t.Errorf("%d bytes are remembered after ForgetAll", n)
		}
	})
}
