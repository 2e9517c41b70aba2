package chat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
)

func TestDelegation(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		ctx := t.Context()
		token := chat.Delegation{Raw: "OqJlcm9vdHOB", Expires: g.now.Add(time.Hour).Truncate(time.Second).UTC()}
		look := func(when string, s *chat.Store, user string, want chat.Delegation) {
			t.Helper()
			got, ok, err := s.Delegation(ctx, user)
			if err != nil || ok != (want.Raw != "") || got != want {
				t.Errorf("%s: Delegation() = %+v, %v, %v; want %+v", when, got, ok, err, want)
			}
		}
		look("before", g.s, ann, chat.Delegation{})
		if err := g.s.PutDelegation(ctx, ann, chat.Delegation{Raw: "x"}); err == nil {
			t.Error("a delegation without an end is kept")
		}
		for range 2 {
			if err := g.s.PutDelegation(ctx, ann, token); err != nil {
				t.Fatal(err)
			}
		}
		look("kept", g.s, ann, token)
		look("of somebody else", g.s, bob, chat.Delegation{})
		look("with another key", g.store("z"), ann, chat.Delegation{})
		var sealed []byte
		if err := d.QueryRow(ctx, `SELECT sealed FROM chat_delegations WHERE user_did = $1`, ann).Scan(&sealed); err != nil || strings.Contains(string(sealed), token.Raw) {
			t.Errorf("stored %q, %v; want it sealed", sealed, err)
		}
		// A row moved to another user opens nothing.
		if _, err := d.Exec(ctx, `INSERT INTO chat_delegations(user_did, sealed, expires_at, updated_at) VALUES ($1, $2, $3, 0)`, bob, sealed, token.Expires.Unix()); err != nil {
			t.Fatal(err)
		}
		look("moved", g.s, bob, chat.Delegation{})
		g.now = token.Expires
		look("expired", g.s, ann, chat.Delegation{})
		if n, err := g.s.Sweep(ctx, 1); n != 1 || err != nil {
			t.Errorf("Sweep() = %d, %v; want 1", n, err)
		}
		g.now = token.Expires.Add(-time.Minute)
		if err := g.s.PutDelegation(ctx, ann, token); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := g.s.DeleteDelegation(ctx, ann); err != nil {
				t.Fatal(err)
			}
			look("deleted", g.s, ann, chat.Delegation{})
		}
	})
}

// A deleted session is gone at once, also when its rows cannot be removed, and
// the sweep removes them later.
func TestDelete(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		ctx := t.Context()
		s, other := g.session(ann).ID, g.session(ann).ID
		for i := range 120 {
			g.say(ann, s, fmt.Sprint(i), ai("yes"))
		}
		g.say(ann, other, "hi")
		var gone []chat.Gone
		broken, rows := errors.New("disk full"), 2
		g.s.Attach(chat.Part{Deleted: func(_ context.Context, c chat.Gone) { gone = append(gone, c) }})
		g.s.Attach(chat.Part{Shrink: func(_ context.Context, _ *db.Tx, _ int64, limit int) (int64, error) {
			if rows--; rows < 0 {
				return 0, broken
			}
			return 60, nil
		}})
		for user, id := range map[string]string{bob: s, ann: "$unknown"} {
			if err := g.s.DeleteSession(ctx, user, id); fault.CodeOf(err) != "SESSION_NOT_FOUND" {
				t.Errorf("foreign DeleteSession() = %v, want SESSION_NOT_FOUND", err)
			}
		}
		if err := g.s.DeleteSession(ctx, ann, s); err != nil {
			t.Fatal(err)
		}
		if len(gone) != 1 || gone[0].User != ann || gone[0].Session != s || gone[0].Number == 0 {
			t.Errorf("parts heard %+v, want the session once", gone)
		}
		if n := g.count("chat_messages"); n != 240-80+1 {
			t.Errorf("%d messages are left after two chunks, want %d", n, 240-80+1)
		}
		if _, err := g.s.Session(ctx, ann, s); fault.CodeOf(err) != "SESSION_NOT_FOUND" {
			t.Errorf("Session() of a half removed one = %v, want SESSION_NOT_FOUND", err)
		}
		if m, err := g.s.Messages(ctx, ann, s); err != nil || len(m) != 0 {
			t.Errorf("Messages() of a half removed session = %d, %v; want none", len(m), err)
		}
		if list, total, err := g.s.ListSessions(ctx, ann, 20, 0); err != nil || total != 1 || len(list) != 1 || list[0].ID != other {
			t.Errorf("ListSessions() = %v, %d, %v; want the other", list, total, err)
		}
		if err := g.s.DeleteSession(ctx, ann, s); fault.CodeOf(err) != "SESSION_NOT_FOUND" {
			t.Errorf("a second DeleteSession() = %v, want SESSION_NOT_FOUND", err)
		}
		if _, total, err := g.s.ListSessions(ctx, ann, 20, 0); err != nil || total != 1 {
			t.Errorf("total = %d, %v; want 1", total, err)
		}
		sweeper := g.store("k") // after a restart
		for {
			n, err := sweeper.Sweep(ctx, 50)
			if err != nil {
				t.Fatal(err)
			} else if n == 0 {
				break
			} else if n > 51 {
				t.Errorf("one transaction removed %d rows, want at most 50 and the trace", n)
			}
		}
		if n, left := g.count("chat_messages"), g.count("chat_trash"); n != 1 || left != 0 {
			t.Errorf("%d messages and %d traces are left, want those of the other session", n, left)
		}
	})
}

// A client that hangs up once its session is gone does not keep the parts from
// hearing of it, nor its rows from being removed.
func TestDeleteGoesOnWithoutItsClient(t *testing.T) {
	t.Parallel()
	g := newRig(t, dbtest.SQLite(t))
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	s := g.session(ann).ID
	g.say(ann, s, "hi", ai("yes"))
	var heard []error
	for range 2 {
		g.s.Attach(chat.Part{Deleted: func(ctx context.Context, _ chat.Gone) {
			hangUp()
			heard = append(heard, ctx.Err())
		}})
	}
	if err := g.s.DeleteSession(ctx, ann, s); err != nil {
		t.Fatal(err)
	}
	if len(heard) != 2 || heard[0] != nil || heard[1] != nil {
		t.Errorf("parts were told with contexts that are %v, want two that go on", heard)
	}
	if n := g.count("chat_messages"); n != 0 {
		t.Errorf("%d messages are left", n)
	}
}

// A turn of a session that was deleted meanwhile leaves nothing.
func TestAnswerAfterDelete(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		ctx := t.Context()
		s := g.session(ann).ID
		var b chat.Begun
		err := d.InTx(ctx, func(tx *db.Tx) (err error) {
			b, err = chat.BeginTurn(ctx, tx, chat.Opening{User: ann, Session: s, Run: "run_1"})
			return err
		})
		if err != nil || b.Turn != 1 || b.Before != "" {
			t.Fatalf("BeginTurn() = %+v, %v", b, err)
		}
		if err := g.s.DeleteSession(ctx, ann, s); err != nil {
			t.Fatal(err)
		}
		entries, err := chat.Answered([]llm.Message{ai("late")}, chat.Whole, g.now)
		if err != nil {
			t.Fatal(err)
		}
		stored := true
		err = d.InTx(ctx, func(tx *db.Tx) (err error) {
			stored, err = chat.Answer(ctx, tx, b, entries, 0)
			return err
		})
		if err != nil || stored || g.count("chat_messages") != 0 {
			t.Errorf("Answer() = %v, %v and %d messages; want nothing stored", stored, err, g.count("chat_messages"))
		}
	})
}
