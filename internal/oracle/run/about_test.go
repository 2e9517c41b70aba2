package run_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// her is somebody who is erased in these tests, and what a tool says of her.
const (
	her    = "did:ixo:entity:0123456789abcdef0123456789abcdef"
	output = `{"did":"` + her + `","properties":{"name":"Amina Canary"}}`
)

func (g *rig) erase(did string) int64 {
	g.t.Helper()
	var n int64
	err := g.db.InTx(g.t.Context(), func(tx *db.Tx) (err error) {
		n, err = g.chat.Erase(g.t.Context(), tx, "default", did)
		return err
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return n
}

// canaries counts rows that name her.
func (g *rig) canaries() int {
	g.t.Helper()
	n := 0
	err := g.db.QueryRow(g.t.Context(), `SELECT (SELECT count(*) FROM chat_messages WHERE body LIKE '%Canary%' OR hidden LIKE '%Canary%')
		+ (SELECT count(*) FROM oracle_frames WHERE data LIKE '%Canary%') + (SELECT count(*) FROM chat_sessions WHERE title LIKE '%Canary%')
		+ (SELECT count(*) FROM chat_declared WHERE body LIKE '%Canary%')`).Scan(&n)
	if err != nil {
		g.t.Fatal(err)
	}
	return n
}

// reads is the work of a run that looks somebody up and tells of her.
func reads(s *script) {
	s.end = func() run.Result {
		return run.Result{Messages: []llm.Message{{Role: llm.Assistant, Content: "She is Amina Canary."}}}
	}
}

// TestEraseBlanksWhatKnewOfHer: the turn whose tool returned her, and those
// that follow it, are blanked; the ones before are not.
func TestEraseBlanksWhatKnewOfHer(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		session, other := g.session(ann), g.session(ann)
		turn := func(session, text, answer string, notes ...string) string {
			t.Helper()
			s := newScript()
			s.end = func() run.Result {
				return run.Result{Messages: []llm.Message{{Role: llm.Assistant, Content: answer}}}
			}
			st := g.start(g.m, message(ann, session, text), s.work)
			<-s.began
			err := s.do(func(r *run.Run) error {
				if err := r.Note(t.Context(), notes...); err != nil {
					return err
				}
				return r.Text(answer)
			})
			if err != nil {
				t.Fatal(err)
			}
			close(s.steps)
			g.follow(g.m, st.RunID)
			return st.RunID
		}
		turn(session, "hello", "Hello.")
		asked := turn(session, "who is it? Canary?", "She is Amina Canary.", output)
		turn(session, "again", "Amina Canary, as I said.")
		turn(other, "by "+her, "Amina Canary")
		turn(g.session(ann), "x", "nobody", `{"did":"did:ixo:entity:other"}`)
		if _, err := g.chat.SetTitle(t.Context(), ann, session, "About Amina Canary"); err != nil {
			t.Fatal(err)
		}
		if g.canaries() == 0 {
			t.Fatal("nothing was planted")
		}
		if n := g.erase(her); n != 2 {
			t.Errorf("Erase() = %d, want 2 conversations", n)
		}
		if n := g.canaries(); n != 0 {
			t.Errorf("%d rows still name her", n)
		}
		said := g.history(ann, session)
		if len(said) != 6 || said[1].Content != "Hello." || said[2].Content != "[erased]" || said[3].Content != "[erased]" || said[5].Content != "[erased]" || said[2].CreatedAt == "" {
			t.Errorf("history = %+v", said)
		}
		again := g.follow(g.m, asked)
		if end := last(t, again); end["status"] != "finished" || strings.Contains(show(again), "Canary") {
			t.Errorf("frames = %s, want the end alone", show(again))
		}
		if n := g.erase(her); n != 0 {
			t.Errorf("Erase() again = %d, want 0", n)
		}
		turn(session, "later "+her, "Nothing is known of "+her)
		if said := g.history(ann, session); said[7].Content == "[erased]" {
			t.Errorf("what was said after the erasure is %+v", said[7])
		}
	})
}

// TestEraseDuringARun: an answer in the making stores nothing of her, whether
// it had read her before the erasure was stored or notes so afterwards.
func TestEraseDuringARun(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, late := range []bool{false, true} {
			g := newRig(t, d)
			session := g.session(ann)
			s := newScript()
			reads(s)
			st := g.start(g.m, message(ann, session, "who?"), s.work)
			<-s.began
			note := func(r *run.Run) error { return r.Note(t.Context(), output) }
			if !late {
				if err := s.do(note); err != nil {
					t.Fatal(err)
				}
			}
			g.erase(her)
			if late {
				if err := s.do(note); !errors.Is(err, run.ErrErased) {
					t.Errorf("Note() = %v, want %v", err, run.ErrErased)
				}
			} else {
				_ = s.do(text("She is Amina Canary.")) // it may hear of it already
				close(s.steps)
			}
			f := g.join(g.m, ann, st.RunID, 0)
			within(t, "the run has ended", f.ended) // by itself: time that goes on here could end its grace first
			g.closeAll(g.m)
			if n := g.canaries(); n != 0 {
				t.Errorf("late %v: %d rows name her", late, n)
			}
			if said := g.history(ann, session); len(said) != 2 || said[0].Content != "[erased]" || said[1].Content != "[erased]" {
				t.Errorf("late %v: history = %+v", late, said)
			}
		}
	})
}

// TestEraseUser: whoever talked to the oracle goes with her conversations.
func TestEraseUser(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		for range 3 {
			session := g.session(ann)
			s := newScript()
			reads(s)
			st := g.start(g.m, message(ann, session, "I am Amina Canary"), s.finish)
			g.follow(g.m, st.RunID)
		}
		kept := g.session(bob)
		if n := g.erase(ann); n != 3 {
			t.Errorf("Erase() = %d, want 3 conversations", n)
		}
		for n := 1; n > 0; {
			var err error
			if n, err = g.chat.Sweep(t.Context(), 100); err != nil {
				t.Fatal(err)
			}
		}
		if g.canaries() != 0 || g.count("oracle_runs") != 0 || g.count("chat_sessions") != 1 || g.count("chat_users") != 1 {
			t.Errorf("left: %d canaries, %d runs, %d sessions", g.canaries(), g.count("oracle_runs"), g.count("chat_sessions"))
		}
		if said := g.history(bob, kept); len(said) != 0 {
			t.Errorf("another user's = %+v", said)
		}
	})
}

// TestEraseReachesEarlierConversations: those that were stored before it was
// noted whom they know are blanked as well, whether somebody is erased
// before they are read or afterwards.
func TestEraseReachesEarlierConversations(t *testing.T) {
	t.Parallel()
	for _, early := range []bool{false, true} {
		dbtest.Each(t, func(t *testing.T, d *db.DB) {
			g := newRig(t, d)
			exec := func(query string) {
				t.Helper()
				if _, err := d.Exec(t.Context(), query); err != nil {
					t.Fatal(err)
				}
			}
			// A turn as a server before would have stored it: nothing is noted.
			turn := func(session, text string, said ...llm.Message) {
				t.Helper()
				s := newScript()
				s.end = func() run.Result { return run.Result{Messages: said} }
				g.follow(g.m, g.start(g.m, message(ann, session, text), s.finish).RunID)
				exec(`DELETE FROM oracle_about WHERE session > 0`)
			}
			looked := []llm.Message{
				{Role: llm.Assistant, ToolCalls: []tool.Call{{ID: "1", Name: "read_twin", Args: jsontext.Value(`{"serial":"SN-1"}`)}}},
				{Role: llm.Tool, ToolCallID: "1", ToolName: "read_twin", Content: output},
				{Role: llm.Assistant, Content: "She is Amina Canary."},
			}
			session, wrote, other, deleted := g.session(ann), g.session(ann), g.session(ann), g.session(ann)
			turn(session, "hello", llm.Message{Role: llm.Assistant, Content: "Hello."})
			turn(session, "who has it?", looked...)
			turn(session, "again", llm.Message{Role: llm.Assistant, Content: "Amina Canary, as I said."})
			turn(wrote, "who is "+her+"?", llm.Message{Role: llm.Assistant, Content: "Amina Canary"})
			turn(other, "x", llm.Message{Role: llm.Assistant, Content: "nobody, or did:ixo:entity:other"})
			turn(deleted, "who?", looked...)
			exec(`UPDATE chat_sessions SET noted = 0`)
			if err := g.chat.DeleteSession(t.Context(), ann, deleted); err != nil {
				t.Fatal(err)
			}
			if g.canaries() == 0 {
				t.Fatal("nothing was planted")
			}
			backfill := func() {
				t.Helper()
				left := 3
				for n := 1; n > 0; left -= n {
					var err error
					if n, err = g.chat.Backfill(t.Context(), 2); err != nil {
						t.Fatal(err)
					}
				}
				if left != 0 {
					t.Errorf("early %v: %d sessions were left out, or read twice", early, left)
				}
			}
			if early {
				g.erase(her)
				g.clock.Advance(time.Minute)
				turn(other, "later "+her, llm.Message{Role: llm.Assistant, Content: "Nothing is known of " + her})
				backfill()
			} else {
				backfill()
				if n := g.erase(her); n != 2 {
					t.Errorf("Erase() = %d, want 2 conversations", n)
				}
			}
			if n := g.canaries(); n != 0 {
				t.Errorf("early %v: %d rows still name her", early, n)
			}
			said := g.history(ann, session)
			if len(said) != 7 || said[1].Content != "Hello." || said[2].Content != "[erased]" || said[6].Content != "[erased]" {
				t.Errorf("early %v: history = %+v", early, said)
			}
			if said := g.history(ann, other); said[1].Content == "[erased]" || early && said[3].Content == "[erased]" {
				t.Errorf("early %v: what knew nothing of her, or was said after her erasure, is %+v", early, said)
			}
		})
	}
}
