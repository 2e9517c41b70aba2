package chat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/secret"
)

// permitRig is a store with two instances over it.
type permitRig struct {
	t       *testing.T
	db      *db.DB
	chat    *chat.Store
	here    *chat.Permits
	there   *chat.Permits
	now     atomic.Int64
	session string
	number  int64
	effects atomic.Int32
}

func newPermitRig(t *testing.T, d *db.DB) *permitRig {
	t.Helper()
	key, err := secret.Parse(strings.Repeat("k", 64))
	if err != nil {
		t.Fatal(err)
	}
	g := &permitRig{t: t, db: d, chat: chat.New(chat.Config{DB: d, Key: key})}
	g.now.Store(time.Now().UnixMilli())
	c := chat.PermitsConfig{DB: d, Chat: g.chat, Look: 5 * time.Millisecond, Now: func() time.Time { return time.UnixMilli(g.now.Load()) }}
	g.here, g.there = chat.NewPermits(c), chat.NewPermits(c)
	s, err := g.chat.CreateSession(t.Context(), ann)
	if err != nil {
		t.Fatal(err)
	}
	g.session = s.ID
	if g.number, err = g.chat.Number(t.Context(), ann, s.ID); err != nil {
		t.Fatal(err)
	}
	return g
}

// call is a call of the tool that waits for its answer.
type call struct {
	asked <-chan tool.Question
	out   <-chan tool.Output
	stop  context.CancelCauseFunc
}

// try calls the tool in a run, at the first instance.
func (g *permitRig) try(run, args string) call {
	g.t.Helper()
	return g.tryAs(tool.Context{User: ann, Whole: true}, run, args)
}

// tryAs is try for somebody else.
func (g *permitRig) tryAs(who tool.Context, run, args string) call {
	g.t.Helper()
	asked, out := make(chan tool.Question, 2), make(chan tool.Output, 1)
	burn := tool.Func{Describe: tool.Spec{Name: "burn"}, Do: func(context.Context, tool.Call) (tool.Output, error) {
		g.effects.Add(1)
		return tool.Output{Text: "burnt"}, nil
	}}
	a := tool.Asker{User: ann, Session: g.number, Run: run, Tell: func(q tool.Question) error { asked <- q; return nil }, Ended: func(cause error) bool { return !errors.Is(cause, errStops) }}
	ctx, stop := context.WithCancelCause(g.t.Context())
	go func() {
		o, err := g.here.Guard([]tool.Tool{burn}, a)[0].Run(tool.With(ctx, who), tool.Call{ID: "call", Name: "burn", Args: jsontext.Value(args)})
		if err != nil {
			o.Err = err.Error()
		}
		out <- o
	}()
	return call{asked, out, stop}
}

// ended wants the end of a call and how often the tool has run by then.
func (g *permitRig) ended(c call, effects int32, refusal string) {
	g.t.Helper()
	if o := <-c.out; !strings.Contains(o.Err, refusal) || (refusal == "") != (o.Err == "") || g.effects.Load() != effects {
		g.t.Errorf("the call gave %+v, %d effects; want %q, %d", o, g.effects.Load(), refusal, effects)
	}
}

// Whoever came with a part of the user's rights changes nothing: neither by a grant
// nor by a question, which is not asked.
func TestPartOfAUser(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		g := newPermitRig(t, d)
		if _, err := g.here.Grant(t.Context(), ann, tool.Grant{Tool: "burn"}); err != nil {
			t.Fatal(err)
		}
		g.ended(g.tryAs(tool.Context{User: ann}, "run", "{}"), 0, "does not give all capabilities")
		g.ended(g.try("run", "{}"), 1, "")
	})
}

func TestQuestion(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g, ctx := newPermitRig(t, d), t.Context()
		code := func(err error, want string) {
			t.Helper()
			if fault.CodeOf(err) != want {
				t.Errorf("error = %v, want %s", err, want)
			}
		}
		c := g.try("one", `{"a":1}`)
		if q := <-c.asked; q.Status != tool.QuestionWaiting || string(q.Arguments) != `{"a":1}` {
			t.Errorf("the question is %+v", q)
		}
		_, err := g.there.Decide(ctx, bob, "one", "call", true)
		code(err, "CONFIRMATION_NOT_FOUND")
		if list, err := g.there.Waiting(ctx, bob, "one"); err != nil || len(list) != 0 {
			t.Errorf("somebody else sees %v, %v", list, err)
		}
		// Given at the other instance, it is found at this one.
		if q, err := g.there.Decide(ctx, ann, "one", "call", true); err != nil || q.Status == tool.QuestionWaiting {
			t.Errorf("Decide = %+v, %v", q, err)
		}
		g.ended(c, 1, "")
		if q := <-c.asked; q.Status != tool.QuestionUsed {
			t.Errorf("at the end the question is %+v", q)
		}
		_, err = g.here.Decide(ctx, ann, "one", "call", false)
		code(err, "CONFIRMATION_DECIDED")

		c = g.try("two", `{"a":1}`) // what was used does not count again
		<-c.asked
		if _, err := g.here.Decide(ctx, ann, "two", "call", false); err != nil {
			t.Error(err)
		}
		g.ended(c, 1, "refused")

		c = g.try("three", `{"a":1}`)
		<-c.asked
		g.now.Add((5 * time.Minute).Milliseconds())
		g.ended(c, 1, "did not answer")
		_, err = g.here.Decide(ctx, ann, "three", "call", true)
		code(err, "CONFIRMATION_EXPIRED")
	})
}

// stranger is a tool that others describe. It counts the calls its user gave word for.
type stranger struct {
	tool.Func
	seal string
}

func (s stranger) Permitted(context.Context) bool  { return false }
func (s stranger) Seal() string                    { return s.seal }
func (s stranger) About() string                   { return "what its server says" }
func (s stranger) MayPermit(context.Context) error { return nil }

// TestStrangers: what a user permits of a tool that others describe ends when its
// description changes, and where nobody can be asked it refuses by itself.
func TestStrangers(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g, ctx := newPermitRig(t, d), t.Context()
		do := func(seal, run string, tell func(tool.Question) error) (worded bool) {
			t.Helper()
			one := stranger{tool.Func{Describe: tool.Spec{Name: "far__burn"}, Do: func(ctx context.Context, _ tool.Call) (tool.Output, error) {
				worded = tool.Worded(ctx)
				return tool.Output{Text: "ok"}, nil
			}}, seal}
			a := tool.Asker{User: ann, Session: g.number, Run: run, Tell: tell}
			if _, err := g.here.Guard([]tool.Tool{one}, a)[0].Run(tool.With(ctx, tool.Context{User: ann, Whole: true}), tool.Call{ID: "call", Name: "far__burn"}); err != nil {
				t.Fatal(err)
			}
			return worded
		}
		if do("v1", "one", nil) {
			t.Error("nobody was asked, and the tool ran by the word of its user")
		}
		yes := func(q tool.Question) error {
			if q.Status != tool.QuestionWaiting {
				return nil
			}
			if q.Description != "what its server says" {
				t.Errorf("the question is %+v", q)
			}
			_, err := g.there.Decide(ctx, ann, q.RunID, q.CallID, true)
			return err
		}
		if !do("v1", "two", yes) || do("v1", "three", nil) {
			t.Error("a confirmation counts once")
		}
		if err := g.here.Keep(ctx, ann, "two", "call"); err != nil {
			t.Fatal(err)
		}
		if seals, err := g.here.Seals(ctx, ann, g.session); err != nil || seals["far__burn"] != "v1" {
			t.Errorf("Seals = %v, %v", seals, err)
		}
		if !do("v1", "four", nil) || do("v2", "five", nil) {
			t.Error("a grant for the conversation holds as long as the tool is the same")
		}
	})
}

// errStops is why runs end that go on after a restart.
var errStops = errors.New("the server stops")

// TestAbortedQuestion: a question ends with its run, and what somebody answers
// afterwards counts for nothing.
func TestAbortedQuestion(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g, ctx := newPermitRig(t, d), t.Context()
		gone := errors.New("aborted")
		c := g.try("one", `{"a":1}`)
		<-c.asked
		c.stop(gone)
		g.ended(c, 0, gone.Error())
		if list, err := g.here.Waiting(ctx, ann, "one"); err != nil || len(list) != 0 {
			t.Errorf("of an aborted run %v wait, %v", list, err)
		}
		if _, err := g.there.Decide(ctx, ann, "one", "call", true); fault.CodeOf(err) != "CONFIRMATION_DECIDED" {
			t.Errorf("a late answer: %v", err)
		}
		again := g.try("two", `{"a":1}`)
		<-again.asked // nothing has permitted it
		again.stop(gone)
		g.ended(again, 0, gone.Error())
	})
}

// TestClosedQuestions: a user who stops a conversation is asked nothing more in it, also
// where a restart has cut off the run that asked, and nobody else can have that done.
func TestClosedQuestions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g, ctx := newPermitRig(t, d), t.Context()
		left := func(run string, confirmed bool) {
			t.Helper()
			c := g.try(run, `{"a":1}`)
			<-c.asked
			c.stop(errStops)
			g.ended(c, 0, errStops.Error())
			if confirmed {
				if _, err := g.there.Decide(ctx, ann, run, "call", true); err != nil {
					t.Fatal(err)
				}
			}
		}
		left("one", false)
		for _, other := range [][2]string{{bob, g.session}, {ann, "$unknown"}} {
			if err := g.there.Close(ctx, other[0], other[1]); err != nil {
				t.Fatal(err)
			}
		}
		if list, err := g.here.Waiting(ctx, ann, "one"); err != nil || len(list) != 1 {
			t.Errorf("somebody else has closed it: %v, %v", list, err)
		}
		if err := g.there.Close(ctx, ann, g.session); err != nil {
			t.Fatal(err)
		}
		if list, err := g.here.Waiting(ctx, ann, "one"); err != nil || len(list) != 0 {
			t.Errorf("of a conversation that was stopped %v wait, %v", list, err)
		}
		if _, err := g.here.Decide(ctx, ann, "one", "call", true); fault.CodeOf(err) != "CONFIRMATION_DECIDED" {
			t.Errorf("a late answer: %v", err)
		}
		left("two", true)
		if err := g.there.Close(ctx, ann, g.session); err != nil {
			t.Fatal(err)
		}
		again := g.try("three", `{"a":1}`)
		<-again.asked // what was confirmed before counts no more
		again.stop(errStops)
		g.ended(again, 0, errStops.Error())
	})
}

// TestManyGrants: a user has a thousand at most; those that have ended are none, and one
// can be given anew.
func TestManyGrants(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		g, ctx := newPermitRig(t, d), t.Context()
		give := func(name string, expires time.Time) string {
			_, err := g.here.Grant(ctx, ann, tool.Grant{Tool: name, ExpiresAt: expires})
			return fault.CodeOf(err)
		}
		soon := time.UnixMilli(g.now.Load()).Add(time.Hour)
		if code := give("tool_0", soon); code != "" {
			t.Fatal(code)
		}
		err := d.InTx(ctx, func(tx *db.Tx) error {
			for i := 1; i < 1000; i++ {
				_, err := tx.Exec(ctx, `INSERT INTO oracle_grants (user_did, tool, session, hash, created_at, expires_at) VALUES ($1, $2, 0, '', 0, $3)`, ann, fmt.Sprintf("tool_%d", i), soon.UnixMilli())
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if code := give("burn", time.Time{}); code != "TOO_MANY_GRANTS" {
			t.Errorf("one more = %q", code)
		}
		if code := give("tool_0", soon); code != "" {
			t.Errorf("one of them anew = %q", code)
		}
		g.now.Add(time.Hour.Milliseconds())
		if code := give("burn", time.Time{}); code != "" {
			t.Errorf("after the others have ended = %q", code)
		}
	})
}

// TestConfirmedBeforeARestart: a confirmation whose run was ended counts for the
// same call of the next run, once, and for no other.
func TestConfirmedBeforeARestart(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g, ctx := newPermitRig(t, d), t.Context()
		gone := errStops
		c := g.try("one", `{"a":1,"b":2}`)
		<-c.asked
		c.stop(gone)
		g.ended(c, 0, gone.Error())
		if _, err := g.there.Decide(ctx, ann, "one", "call", true); err != nil {
			t.Fatal(err)
		}
		other := g.try("two", `{"a":1,"b":3}`)
		<-other.asked
		other.stop(gone)
		g.ended(other, 0, gone.Error())
		g.ended(g.try("three", `{"b":2,"a":1}`), 1, "")
		again := g.try("four", `{"a":1,"b":2}`)
		<-again.asked
		again.stop(gone)
		g.ended(again, 1, gone.Error())
	})
}

// TestRowsGo: questions and grants go with their conversation, and grants with
// their user.
func TestRowsGo(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g, ctx := newPermitRig(t, d), t.Context()
		c := g.try("one", `{"a":1}`)
		<-c.asked
		c.stop(errors.New("gone"))
		<-c.out
		for _, s := range []string{"", g.session} {
			if _, err := g.here.Grant(ctx, ann, tool.Grant{Tool: "burn", SessionID: s}); err != nil {
				t.Fatal(err)
			}
		}
		g.ended(g.try("two", `{}`), 1, "") // granted
		rows := func(want int) {
			t.Helper()
			var n int
			err := d.QueryRow(ctx, `SELECT (SELECT count(*) FROM oracle_confirmations) + (SELECT count(*) FROM oracle_grants)`).Scan(&n)
			if err != nil || n != want {
				t.Errorf("%d rows, %v; want %d", n, err, want)
			}
		}
		rows(3)
		if err := g.chat.DeleteSession(ctx, ann, g.session); err != nil {
			t.Fatal(err)
		}
		for {
			n, err := g.chat.Sweep(ctx, 100)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
		}
		rows(1)
		if err := d.InTx(ctx, func(tx *db.Tx) error { return g.chat.Remove(ctx, tx, ann) }); err != nil {
			t.Fatal(err)
		}
		rows(0)
		// Somebody who never had a conversation is found by an erasure too.
		eve := chat.Talker{Workspace: "ws", DID: "did:key:eve", Rights: "r"}.User()
		if _, err := g.here.Grant(ctx, eve, tool.Grant{Tool: "burn"}); err != nil {
			t.Fatal(err)
		}
		rows(1)
		if err := d.InTx(ctx, func(tx *db.Tx) error { _, err := g.chat.Erase(ctx, tx, "ws", "did:key:eve"); return err }); err != nil {
			t.Fatal(err)
		}
		rows(0)
	})
}
