package chat_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/secret"
)

const (
	ann = "did:key:ann"
	bob = "did:key:bob"
)

// rig is a store with a clock that only tests move.
type rig struct {
	t   testing.TB
	db  *db.DB
	now time.Time
	s   *chat.Store
}

func newRig(t testing.TB, d *db.DB) *rig {
	t.Helper()
	g := &rig{t: t, db: d, now: time.UnixMilli(1_800_000_000_000)}
	g.s = g.store("k")
	return g
}

// store makes a store whose key is a letter, 32 times.
func (g *rig) store(letter string) *chat.Store {
	g.t.Helper()
	key, err := secret.Parse(strings.Repeat(letter, 32))
	if err != nil {
		g.t.Fatal(err)
	}
	return chat.New(chat.Config{DB: g.db, Key: key, Now: func() time.Time { return g.now }, OracleName: "Hearth", OracleDID: "did:key:o", OracleEntityDID: "did:ixo:entity:o"})
}

func (g *rig) session(user string) chat.Session {
	g.t.Helper()
	s, err := g.s.CreateSession(g.t.Context(), user)
	if err != nil {
		g.t.Fatal(err)
	}
	return s
}

// say stores a turn: what a user said and what was answered.
func (g *rig) say(user, session, text string, answers ...llm.Message) {
	g.t.Helper()
	g.tell(user, session, llm.Message{Role: llm.User, Content: text}, answers...)
}

// tell is say with all that a message may hold.
func (g *rig) tell(user, session string, m llm.Message, answers ...llm.Message) {
	g.t.Helper()
	said, err := chat.Said(m, g.now)
	if err != nil {
		g.t.Fatal(err)
	}
	entries, err := chat.Answered(answers, chat.Whole, g.now)
	if err != nil {
		g.t.Fatal(err)
	}
	err = g.db.InTx(g.t.Context(), func(tx *db.Tx) error {
		b, err := chat.BeginTurn(g.t.Context(), tx, chat.Opening{User: user, Session: session, Run: "run_" + m.Content, At: g.now.UnixMilli()})
		if err != nil {
			return err
		}
		if err := chat.Say(g.t.Context(), tx, b, said, nil); err != nil {
			return err
		}
		_, err = chat.Answer(g.t.Context(), tx, b, entries, g.now.UnixMilli())
		return err
	})
	if err != nil {
		g.t.Fatal(err)
	}
}

func ai(text string) llm.Message { return llm.Message{Role: llm.Assistant, Content: text} }

func (g *rig) count(table string) int {
	g.t.Helper()
	n := 0
	if err := g.db.QueryRow(g.t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		g.t.Fatal(err)
	}
	return n
}

// contents are the texts of stored messages.
func contents(t testing.TB, bodies []jsontext.Value) []string {
	t.Helper()
	out := []string{}
	for _, b := range bodies {
		var m chat.Message
		if err := json.Unmarshal(b, &m, json.RejectUnknownMembers(true)); err != nil {
			t.Fatal(err)
		}
		out = append(out, m.Content)
	}
	return out
}

func TestSessions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		ctx := t.Context()
		if list, total, err := g.s.ListSessions(ctx, ann, 20, 0); err != nil || total != 0 || list == nil || len(list) != 0 {
			t.Errorf("ListSessions() of a new user = %v, %d, %v; want an empty list", list, total, err)
		}
		first := g.session(ann)
		if !regexp.MustCompile(`^\$[A-Za-z0-9_-]{43}$`).MatchString(first.ID) {
			t.Errorf("session id %q, want $ and 43 characters", first.ID)
		}
		body, err := json.Marshal(first)
		want := `{"sessionId":"` + first.ID + `","title":"Untitled","lastUpdatedAt":"2027-01-15T08:00:00.000Z","createdAt":"2027-01-15T08:00:00.000Z","oracleName":"Hearth","oracleDid":"did:key:o","oracleEntityDid":"did:ixo:entity:o"}`
		if err != nil || string(body) != want {
			t.Errorf("session = %s, %v; want %s", body, err, want)
		}
		ids := []string{first.ID}
		for range 4 {
			g.now = g.now.Add(time.Second)
			ids = append(ids, g.session(ann).ID)
		}
		g.session(bob)
		g.now = g.now.Add(time.Second)
		g.say(ann, first.ID, "hi", ai("yes")) // now the one used last
		order := []string{ids[0], ids[4], ids[3], ids[2], ids[1]}
		for _, tt := range []struct{ limit, offset int }{{20, 0}, {2, 0}, {2, 2}, {2, 4}, {3, 5}, {1000, 1}, {1, 1000}} {
			list, total, err := g.s.ListSessions(ctx, ann, tt.limit, tt.offset)
			if err != nil || total != 5 {
				t.Fatalf("ListSessions(%v) = total %d, %v; want 5", tt, total, err)
			}
			got := []string{}
			for _, s := range list {
				got = append(got, s.ID)
			}
			from := min(tt.offset, 5)
			if diff := cmp.Diff(order[from:min(from+tt.limit, 5)], got); diff != "" {
				t.Errorf("ListSessions(%v) (-want +got):\n%s", tt, diff)
			}
		}
		if s, err := g.s.Session(ctx, ann, first.ID); err != nil || s.Turns != 1 || s.Run != "run_hi" || s.LastUpdatedAt != "2027-01-15T08:00:05.000Z" {
			t.Errorf("Session() = %+v, %v", s, err)
		}
		for name, who := range map[string]string{ann: "$unknown", bob: first.ID} {
			if _, err := g.s.Session(ctx, name, who); fault.CodeOf(err) != "SESSION_NOT_FOUND" {
				t.Errorf("Session(%s) = %v, want SESSION_NOT_FOUND", name, err)
			}
			if ok, err := g.s.Owns(ctx, name, who); ok || err != nil {
				t.Errorf("Owns(%s) = %v, %v; want false", name, ok, err)
			}
		}
		if ok, err := g.s.Owns(ctx, ann, first.ID); !ok || err != nil {
			t.Errorf("Owns() = %v, %v; want true", ok, err)
		}
	})
}

func TestTitle(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		s := g.session(ann)
		for _, tt := range []struct {
			user, title string
			set         bool
			want        string
		}{
			{ann, "  \n ", false, "Untitled"},
			{bob, "Mine", false, "Untitled"},
			{ann, " Stoves\nin\x00 Lusaka ", true, "Stoves in Lusaka"},
			{ann, "Another", false, "Stoves in Lusaka"},
		} {
			set, err := g.s.SetTitle(t.Context(), tt.user, s.ID, tt.title)
			if err != nil || set != tt.set {
				t.Errorf("SetTitle(%q) = %v, %v; want %v", tt.title, set, err, tt.set)
			}
			if got, err := g.s.Session(t.Context(), ann, s.ID); err != nil || got.Title != tt.want {
				t.Errorf("title = %q, %v; want %q", got.Title, err, tt.want)
			}
		}
		long := g.session(ann)
		if _, err := g.s.SetTitle(t.Context(), ann, long.ID, strings.Repeat("é", 500)); err != nil {
			t.Fatal(err)
		}
		if got, err := g.s.Session(t.Context(), ann, long.ID); err != nil || len([]rune(got.Title)) != 200 {
			t.Errorf("a long title has %d characters, %v; want 200", len([]rune(got.Title)), err)
		}
	})
}

// Pages: any walk, backwards or forwards, sees every turn once, in order.
func TestPages(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		ctx := t.Context()
		s := g.session(ann).ID
		var all []string
		for i := range 11 {
			text := fmt.Sprint("q", i)
			answers := []llm.Message{ai(fmt.Sprint("a", i)), ai(fmt.Sprint("b", i))}[:i%3]
			g.say(ann, s, text, answers...)
			all = append(all, text)
			for _, a := range answers {
				all = append(all, a.Content)
			}
		}
		for _, limit := range []int{1, 2, 3, 7, 11, 50} {
			var back, forth []string
			r := chat.Range{Limit: limit}
			for {
				p, err := g.s.Page(ctx, ann, s, r)
				if err != nil {
					t.Fatal(err)
				}
				back = append(contents(t, p.Messages), back...)
				if p.HasOlder != (p.PrevCursor != nil) || p.HasNewer != (r.Before != "") {
					t.Errorf("limit %d before %q: %+v", limit, r.Before, p)
				}
				if !p.HasOlder {
					break
				}
				r.Before = *p.PrevCursor
			}
			if diff := cmp.Diff(all, back); diff != "" {
				t.Errorf("backwards by %d (-want +got):\n%s", limit, diff)
			}
			seen := map[string]bool{}
			for r := (chat.Range{Limit: limit, After: "0"}); ; {
				p, err := g.s.Page(ctx, ann, s, r)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range contents(t, p.Messages) {
					if !seen[c] { // the last turn comes again, and its copy wins
						seen[c] = true
						forth = append(forth, c)
					}
				}
				if !p.HasNewer {
					break
				}
				r.After = *p.NextCursor
			}
			if diff := cmp.Diff(all, forth); diff != "" {
				t.Errorf("forwards by %d (-want +got):\n%s", limit, diff)
			}
		}
		// The newest page's own cursor gives what comes after it.
		p, err := g.s.Page(ctx, ann, s, chat.Range{Limit: 2})
		if err != nil {
			t.Fatal(err)
		}
		g.say(ann, s, "new", ai("newer"))
		p, err = g.s.Page(ctx, ann, s, chat.Range{Limit: 1, After: *p.NextCursor})
		if got := strings.Join(contents(t, p.Messages), " "); err != nil || got != "q10 a10 new newer" || p.HasNewer {
			t.Errorf("after the newest page: %q, %v; want its last turn and the new one", got, err)
		}
		// Asked again with nothing new, only the cursor differs.
		again, err := g.s.Page(ctx, ann, s, chat.Range{Limit: 1, After: *p.NextCursor})
		if got := strings.Join(contents(t, again.Messages), " "); err != nil || got != "new newer" || *again.NextCursor == *p.NextCursor {
			t.Errorf("after %q: %q, cursor %q, %v; want the last turn and another cursor", *p.NextCursor, got, *again.NextCursor, err)
		}
		got, err := g.s.Messages(ctx, ann, s)
		if diff := cmp.Diff(append(all, "new", "newer"), contents(t, got)); diff != "" || err != nil {
			t.Errorf("Messages(): %v (-want +got):\n%s", err, diff)
		}
	})
}

func TestPageEdges(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		ctx := t.Context()
		s := g.session(ann).ID
		p, err := g.s.Page(ctx, ann, s, chat.Range{Limit: 20})
		body, _ := json.Marshal(p)
		if want := `{"messages":[],"prevCursor":null,"nextCursor":null,"hasOlder":false,"hasNewer":false}`; err != nil || string(body) != want {
			t.Errorf("an empty page = %s, %v; want %s", body, err, want)
		}
		g.say(ann, s, "hi", ai("yes"))
		for _, bad := range []string{"x", "-1", "01", "1.5", " 1", "9999999999999999999", "1e3", "1~x", "1~-1", "1~1~1", "x~1"} {
			for _, r := range []chat.Range{{Limit: 1, Before: bad}, {Limit: 1, After: bad}} {
				if _, err := g.s.Page(ctx, ann, s, r); fault.CodeOf(err) != "INVALID_CURSOR" {
					t.Errorf("Page(%+v) = %v, want INVALID_CURSOR", r, err)
				}
			}
		}
		for _, r := range []chat.Range{{Limit: 1, Before: "1"}, {Limit: 1, Before: "0"}, {Limit: 1, After: "9999"}} {
			if p, err := g.s.Page(ctx, ann, s, r); err != nil || len(p.Messages) != 0 || p.PrevCursor != nil {
				t.Errorf("Page(%+v) = %+v, %v; want nothing", r, p, err)
			}
		}
		for user, id := range map[string]string{bob: s, ann: "$unknown"} {
			if _, err := g.s.Page(ctx, user, id, chat.Range{Limit: 1}); fault.CodeOf(err) != "SESSION_NOT_FOUND" {
				t.Errorf("foreign Page() = %v, want SESSION_NOT_FOUND", err)
			}
			if m, err := g.s.Messages(ctx, user, id); err != nil || m == nil || len(m) != 0 {
				t.Errorf("foreign Messages() = %v, %v; want an empty list", m, err)
			}
			if _, err := g.s.History(ctx, user, id, 9, 1<<20); fault.CodeOf(err) != "SESSION_NOT_FOUND" {
				t.Errorf("foreign History() = %v, want SESSION_NOT_FOUND", err)
			}
			if a, err := g.s.Answer(ctx, user, id, 1); a != nil || err != nil {
				t.Errorf("foreign Answer() = %s, %v; want nothing", a, err)
			}
		}
		// A page ends where it is full, but a turn is whole.
		big := strings.Repeat("x", 1<<20)
		for i := range 7 {
			g.say(ann, s, fmt.Sprint(i), ai(big))
		}
		p, err = g.s.Page(ctx, ann, s, chat.Range{Limit: 20})
		if err != nil || len(p.Messages) != 6 || !p.HasOlder {
			t.Errorf("a page of 7 MiB has %d messages, more %v, %v; want 6 and more", len(p.Messages), p.HasOlder, err)
		}
		if said, err := g.s.History(ctx, ann, s, 99, 10); err != nil || len(said) != 2 {
			t.Errorf("History() of 10 bytes = %d messages, %v; want the newest turn", len(said), err)
		}
	})
}

// What is stored is what the model gets back, every call with its result.
func TestFold(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		ctx := t.Context()
		s := g.session(ann).ID
		user := llm.Message{Role: llm.User, Content: "look \x00 here", Attachments: []llm.Attachment{
			{Filename: "a.png", MIMEType: "image/png", Size: 9, MXCURI: "mxc://h/a", URL: "https://h/a"}, {Filename: "b.pdf", MIMEType: "application/pdf", EventID: "$e", Text: "inside"},
		}}
		answers := []llm.Message{
			{Role: llm.Assistant, Content: "let me see", Reasoning: "hm", ToolCalls: []tool.Call{
				{ID: "c1", Name: "find", Args: []byte(`{"q":1}`)}, {ID: "c2", Name: "read", Args: []byte(`{}`)}, {ID: "c3", Name: "lost", Args: []byte(`{}`)},
			}},
			{Role: llm.Tool, ToolCallID: "c1", ToolName: "find", Content: `{"a":[1]}`},
			{Role: llm.Tool, ToolCallID: "c2", ToolName: "read", Content: "It is \"closed\".", Failed: true},
			{Role: llm.Assistant, Content: "done"},
		}
		said, err := chat.Said(user, g.now)
		if err != nil {
			t.Fatal(err)
		}
		entries, err := chat.Answered(answers, chat.Interrupted, g.now)
		if err != nil || len(entries) != 2 {
			t.Fatalf("Answered() = %d entries, %v; want 2", len(entries), err)
		}
		err = d.InTx(ctx, func(tx *db.Tx) error {
			b, err := chat.BeginTurn(ctx, tx, chat.Opening{User: ann, Session: s, Run: "run_1", At: g.now.UnixMilli()})
			if err == nil {
				err = chat.Say(ctx, tx, b, said, []byte(`{"tools":[]}`))
			}
			if err == nil {
				_, err = chat.Answer(ctx, tx, b, entries, g.now.UnixMilli())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		bodies, err := g.s.Messages(ctx, ann, s)
		if err != nil || len(bodies) != 3 {
			t.Fatalf("Messages() = %d, %v; want 3", len(bodies), err)
		}
		ids := regexp.MustCompile(`"id":"[0-9a-f-]{36}"`)
		for i, want := range []string{
			`{"id":"","type":"human","content":"look \u0000 here","isComplete":true,"isReasoning":false,"attachments":[{"filename":"a.png","mimetype":"image/png","size":9,"mxcUri":"mxc://h/a","category":"image"},{"filename":"b.pdf","mimetype":"application/pdf","eventId":"$e","category":"document"}],"createdAt":"2027-01-15T08:00:00.000Z"}`,
			`{"id":"","type":"ai","content":"let me see","toolCalls":[{"name":"find","id":"c1","args":{"q":1},"status":"done","output":"{\"a\":[1]}"},{"name":"read","id":"c2","args":{},"status":"done","output":"\"It is \\\"closed\\\".\"","failed":true},{"name":"lost","id":"c3","args":{}}],"reasoning":"hm","isComplete":true,"isReasoning":false,"createdAt":"2027-01-15T08:00:00.000Z"}`,
			`{"id":"","type":"ai","content":"done","isComplete":true,"isReasoning":false,"createdAt":"2027-01-15T08:00:00.000Z","interrupted":true}`,
		} {
			if got := ids.ReplaceAllString(string(bodies[i]), `"id":""`); got != want {
				t.Errorf("message %d = %s\nwant %s", i, got, want)
			}
		}
		back, err := g.s.History(ctx, ann, s, 2, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		lost := llm.Message{Role: llm.Tool, ToolCallID: "c3", ToolName: "lost", Content: chat.Unfinished, Failed: true}
		want := []llm.Message{user, answers[0], answers[1], answers[2], lost, answers[3]}
		if diff := cmp.Diff(want, back); diff != "" {
			t.Errorf("History() (-want +got):\n%s", diff)
		}
		for user, want := range map[string]string{ann: `{"tools":[]}`, bob: ""} {
			if got, err := g.s.Declared(ctx, user, s); err != nil || string(got) != want {
				t.Errorf("Declared(%s) = %s, %v; want %s", user, got, err, want)
			}
		}
		if a, err := g.s.Answer(ctx, ann, s, 1); err != nil || string(a) != string(bodies[2]) {
			t.Errorf("Answer() = %s, %v; want the last message", a, err)
		}
	})
}

// TestKeepFiles: what was read out of attachments is known to later turns, not
// to clients, counts for the size of a history, and stays with its own session.
func TestKeepFiles(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g, ctx := newRig(t, d), t.Context()
		s := g.session(ann).ID
		sent := []llm.Attachment{{Filename: "a.txt", MIMEType: "text/plain", MXCURI: "https://x.example/a"}, {Filename: "b.png", MIMEType: "image/png", MXCURI: "mxc://x/b"}}
		g.say(ann, s, "first", ai("one"))
		g.tell(ann, s, llm.Message{Role: llm.User, Content: "second", Attachments: sent}, ai("two"))
		read := []llm.Attachment{sent[0], sent[1]}
		read[0].Text, read[1].Note = "what stands in it", "not readable here"
		for _, wrong := range []struct{ user, session string }{{bob, s}, {ann, "$nowhere"}} {
			if err := g.s.KeepFiles(ctx, wrong.user, wrong.session, 2, read); err != nil {
				t.Errorf("KeepFiles(%s, %s) = %v, want nothing to happen", wrong.user, wrong.session, err)
			}
		}
		history := func(bytes int) []llm.Message {
			t.Helper()
			back, err := g.s.History(ctx, ann, s, 3, bytes)
			if err != nil {
				t.Fatal(err)
			}
			return back
		}
		if got := history(1 << 20); got[2].Attachments[0].Text != "" {
			t.Errorf("somebody else has kept files here: %+v", got[2])
		}
		if err := g.s.KeepFiles(ctx, ann, s, 2, read); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(read, history(1 << 20)[2].Attachments); diff != "" {
			t.Errorf("History() (-want +got):\n%s", diff)
		}
		bodies, err := g.s.Messages(ctx, ann, s)
		if err != nil || strings.Contains(fmt.Sprint(bodies), "stands in it") {
			t.Errorf("clients see %s, %v", bodies, err)
		}
		read[0].Text = strings.Repeat("x", 4000)
		if err := g.s.KeepFiles(ctx, ann, s, 2, read); err != nil {
			t.Fatal(err)
		}
		if got := history(3000); len(got) != 2 {
			t.Errorf("a history of 3000 bytes holds %d messages, want the last turn alone", len(got))
		}
	})
}
