package extend_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/extend"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/plugin"
)

// keeper is a server with the plugins a and b, and what they were given.
type keeper struct {
	db    *db.DB
	chats *chat.Store
	state *extend.State
	a, b  plugin.Store
}

func newKeeper(t *testing.T, d *db.DB) *keeper {
	t.Helper()
	key, err := secret.Parse(strings.Repeat("k", 64))
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{db: d, chats: chat.New(chat.Config{DB: d, Key: key})}
	k.chats.Attach(extend.Part())
	k.state = extend.NewState(d, k.chats)
	s, err := extend.New(extend.Config{State: k.state, Plugins: []plugin.Plugin{
		&sample{about: about("a"), start: func(h plugin.Host) error { k.a = h.Store; return nil }},
		&sample{about: about("b"), start: func(h plugin.Host) error { k.b = h.Store; return nil }},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context(), &tool.Registry{}); err != nil {
		t.Fatal(err)
	}
	return k
}

// as is the context of a call by a talker in a conversation, or of a request.
func as(t *testing.T, talker, session string) context.Context {
	t.Helper()
	return tool.With(t.Context(), tool.Context{User: chat.TalkerOf(talker).DID, Talker: talker, SessionID: session})
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// get reads a value of a user, or of a conversation, as text.
func get(t *testing.T, s plugin.Store, ctx context.Context, of string) string {
	t.Helper()
	from := s.User
	if of == "session" {
		from = s.Session
	}
	return string(must(must(from(ctx))(t).Get(ctx, "x"))(t))
}

const ann, bob = "did:key:ann", "did:key:bob"

// Nobody reads what is kept of another user, of another plugin, or of the same DID
// in another workspace or with other rights.
func TestStateIsOnesOwn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		t.Helper()
		k := newKeeper(t, d)
		talkers := []string{ann, bob, "ws1 " + ann + " r1", "ws1 " + ann + " r2", "ws2 " + ann + " r1"}
		for _, who := range talkers {
			ctx := as(t, who, "")
			if err := must(k.a.User(ctx))(t).Put(ctx, "x", []byte("of "+who)); err != nil {
				t.Fatal(err)
			}
		}
		for _, who := range talkers {
			if got := get(t, k.a, as(t, who, ""), "user"); got != "of "+who {
				t.Errorf("%s reads %q", who, got)
			}
			if got := get(t, k.b, as(t, who, ""), "user"); got != "" {
				t.Errorf("plugin b reads %q", got)
			}
		}
		if _, err := k.a.User(t.Context()); err == nil {
			t.Error("something is kept of nobody")
		}
		err := d.InTx(t.Context(), func(tx *db.Tx) error { return k.state.Erase(t.Context(), tx, "ws1", ann) })
		if err != nil {
			t.Fatal(err)
		}
		for i, who := range talkers {
			if got := get(t, k.a, as(t, who, ""), "user"); (got == "") != (i == 2 || i == 3) {
				t.Errorf("after the erasure in ws1 %s reads %q", who, got)
			}
		}
	})
}

// What is of a conversation goes with it, and a call that outlives it keeps nothing
// more.
func TestStateGoesWithTheSession(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		t.Helper()
		k := newKeeper(t, d)
		one, other := must(k.chats.CreateSession(t.Context(), ann))(t), must(k.chats.CreateSession(t.Context(), ann))(t)
		ctx := as(t, ann, one.ID)
		shelf, own := must(k.a.Session(ctx))(t), must(k.a.User(ctx))(t)
		for i := range 150 { // more than one transaction removes
			if err := shelf.Put(ctx, fmt.Sprintf("n%03d", i), []byte("v")); err != nil {
				t.Fatal(err)
			}
		}
		if err := own.Put(ctx, "x", []byte("stays")); err != nil {
			t.Fatal(err)
		}
		if got := must(shelf.Entries(ctx, "n148", 10))(t); len(got) != 1 || got[0].Name != "n149" || string(got[0].Value) != "v" || got[0].UpdatedAt.IsZero() {
			t.Errorf("the values behind n148 are %+v", got)
		}
		if got := get(t, k.a, as(t, ann, other.ID), "session"); got != "" {
			t.Errorf("another conversation reads %q", got)
		}
		if _, err := k.a.Session(as(t, bob, one.ID)); fault.CodeOf(err) != "SESSION_NOT_FOUND" {
			t.Errorf("another user gets to the conversation: %v", err)
		}
		if err := k.chats.DeleteSession(t.Context(), ann, one.ID); err != nil {
			t.Fatal(err)
		}
		if got := must(shelf.Entries(ctx, "", 1000))(t); len(got) != 0 {
			t.Errorf("of the deleted conversation %d values are left", len(got))
		}
		for name, s := range map[string]plugin.Shelf{"session": shelf, "user": own} {
			if err := s.Put(ctx, "late", []byte("v")); fault.CodeOf(err) != "SESSION_NOT_FOUND" {
				t.Errorf("a call of a deleted conversation keeps something of the %s: %v", name, err)
			}
		}
		if got := get(t, k.a, as(t, ann, ""), "user"); got != "stays" {
			t.Errorf("of the user %q is left", got)
		}
	})
}

// A value that ends is not found from then on, and is removed.
func TestStateEnds(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		t.Helper()
		k := newKeeper(t, d)
		ctx := as(t, ann, "")
		s := must(k.a.User(ctx))(t)
		for name, until := range map[string]time.Time{"past": time.Now().Add(-time.Second), "never": {}, "x": time.Now().Add(time.Hour)} {
			if err := s.PutUntil(ctx, name, []byte("v"), until); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Put(ctx, "y", []byte("v")); err != nil {
			t.Fatal(err)
		}
		if got := must(s.Entries(ctx, "", 10))(t); len(got) != 2 || got[0].Name != "x" || got[1].Name != "y" || string(must(s.Get(ctx, "past"))(t)) != "" {
			t.Errorf("the values are %v", got)
		}
		state := k.state
		if n := must(state.Expire(ctx, 1))(t); n != 1 {
			t.Errorf("%d were removed at first", n)
		}
		if n := must(state.Expire(ctx, 10))(t); n != 1 {
			t.Errorf("%d were removed then", n)
		}
		if n := must(state.Expire(ctx, 10))(t); n != 0 || get(t, k.a, ctx, "user") != "v" {
			t.Errorf("%d were removed at last", n)
		}
	})
}

// What was read once is read as it is now, few values or many, and what a plugin does
// with a value it was given changes nothing.
func TestStateIsReadAgain(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		t.Helper()
		k := newKeeper(t, d)
		ctx := as(t, ann, "")
		s := must(k.a.User(ctx))(t)
		stands := func(when string, want int, x string) {
			t.Helper()
			for range 2 {
				if got := must(s.Entries(ctx, "n", plugin.MaxEntries))(t); len(got) != want {
					t.Errorf("%s there are %d values, want %d", when, len(got), want)
				}
				got := must(s.Get(ctx, "x"))(t)
				if string(got) != x || (got == nil) != (x == "") {
					t.Errorf("%s x is %q, want %q", when, got, x)
				}
				if len(got) > 0 {
					got[0] = '!'
				}
			}
		}
		put := func(name, value string) {
			t.Helper()
			if err := s.Put(ctx, name, []byte(value)); err != nil {
				t.Fatal(err)
			}
		}
		stands("at first", 0, "")
		put("x", "one")
		stands("then", 1, "one")
		put("x", "two")
		if err := s.Put(as(t, ann, ""), "x", []byte("\xff")); err == nil {
			t.Error("no text is taken")
		}
		stands("later", 1, "two")
		for i := range 70 { // more than stay in memory
			put(fmt.Sprintf("n%02d", i), "v")
		}
		stands("with many", 71, "two")
		for i := range 70 {
			if err := s.Delete(ctx, fmt.Sprintf("n%02d", i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.PutUntil(ctx, "x", []byte("three"), time.Now().Add(-time.Second)); err != nil {
			t.Fatal(err)
		}
		stands("at last", 0, "")
	})
}

func TestStateLimits(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		t.Helper()
		k := newKeeper(t, d)
		ctx := as(t, ann, "")
		s := must(k.a.User(ctx))(t)
		for name, value := range map[string]string{
			"": "v", strings.Repeat("n", plugin.MaxName+1): "v", "a\x00": "v", "x": strings.Repeat("v", plugin.MaxValue+1), "y": "\xff", "z": "a\x00",
		} {
			if err := s.Put(ctx, name, []byte(value)); err == nil {
				t.Errorf("Put(%.10q, %.10q) is accepted", name, value)
			}
		}
		fit := plugin.MaxRead / plugin.MaxValue
		for i := range fit + 2 {
			if err := s.Put(ctx, fmt.Sprintf("big%02d", i), []byte(strings.Repeat("v", plugin.MaxValue))); err != nil {
				t.Fatal(err)
			}
		}
		first := must(s.Entries(ctx, "big", 100))(t)
		if rest := must(s.Entries(ctx, first[len(first)-1].Name, 100))(t); len(first) != fit || len(rest) != 2 {
			t.Errorf("of %d large values %d are read at once, and then %d", fit+2, len(first), len(rest))
		}
		for i := range fit + 2 {
			if err := s.Delete(ctx, fmt.Sprintf("big%02d", i)); err != nil {
				t.Fatal(err)
			}
		}
		for i := range plugin.MaxEntries {
			if err := s.Put(ctx, fmt.Sprintf("n%04d", i), []byte("v")); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Put(ctx, "n0000", []byte("w")); err != nil {
			t.Errorf("a value of a full shelf cannot be replaced: %v", err)
		}
		if err := s.Put(ctx, "one more", []byte("v")); err == nil {
			t.Error("a full shelf takes one more")
		}
		if err := s.Delete(ctx, "n0001"); err != nil {
			t.Fatal(err)
		}
		if err := s.Put(ctx, "one more", []byte("v")); err != nil {
			t.Errorf("after one was removed: %v", err)
		}
	})
}
