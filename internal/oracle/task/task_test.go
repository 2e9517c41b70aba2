package task_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/task"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/plugin"
)

const (
	amina  = "did:key:zAmina"
	baraka = "did:key:zBaraka"
)

// rig is an oracle that answers nothing and notes what it is asked.
type rig struct {
	t *testing.T
	d *db.DB

	mu    sync.Mutex
	now   time.Time
	asked []task.Message
	told  []string
	busy  bool
	stand error
	send  error
	await chan struct{} // nil: answers end at once
}

func newRig(t *testing.T, d *db.DB) *rig {
	t.Helper()
	return &rig{t: t, d: d, now: time.Date(2026, 11, 17, 5, 30, 0, 0, time.UTC)}
}

// locked reads or changes what the oracle of the rig does.
func (r *rig) locked(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// instance is one server with the plugin.
func (r *rig) instance(settings map[string]string) *task.Plugin {
	r.t.Helper()
	p := task.New(task.Source{
		DB:     r.d,
		Now:    func() time.Time { r.mu.Lock(); defer r.mu.Unlock(); return r.now },
		Stands: func(context.Context, task.Owner) error { r.mu.Lock(); defer r.mu.Unlock(); return r.stand },
		Busy: func(context.Context, string, string) (bool, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.busy, nil
		},
		Send: func(_ context.Context, m task.Message) (task.Sent, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.asked = append(r.asked, m)
			return task.Sent{Run: "run_" + m.Key, Session: "$1"}, r.send
		},
		Await: func(ctx context.Context, _, _ string) (string, error) {
			if r.await != nil {
				select {
				case <-r.await:
				case <-ctx.Done():
				}
			}
			return "", nil
		},
		Tell: func(_ context.Context, _ task.Message, text string) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.told = append(r.told, text)
			return nil
		},
	})
	values, err := plugin.Read(p.Settings(), settings)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := p.Start(r.t.Context(), plugin.Host{Log: slog.New(slog.DiscardHandler), Settings: values}); err != nil {
		r.t.Fatal(err)
	}
	return p
}

// at moves the clock and has servers look for what is due, all at once.
func (r *rig) at(clock string, all ...*task.Plugin) {
	r.t.Helper()
	now, err := time.Parse(time.RFC3339, clock)
	if err != nil {
		r.t.Fatal(err)
	}
	r.locked(func() { r.now = now })
	var group sync.WaitGroup
	for _, p := range all {
		group.Go(func() {
			if err := p.Pass(r.t.Context()); err != nil {
				r.t.Error(err)
			}
		})
	}
	group.Wait()
}

// serve sends a request of a user to a route of the plugin.
func (r *rig) serve(p *task.Plugin, user, route, body string, head ...string) (string, error) {
	r.t.Helper()
	method, path, _ := strings.Cut(route, " ")
	req := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(head); i += 2 {
		req.Header.Set(head[i], head[i+1])
	}
	req = req.WithContext(tool.With(req.Context(), tool.Context{User: user, Talker: user, Signer: user, Whole: true, Timezone: req.Header.Get("X-Timezone")}))
	for _, one := range p.Routes() {
		pattern := one.Path
		if before, _, ok := strings.Cut(pattern, "{"); ok && strings.HasPrefix(path, before) {
			req.SetPathValue("taskId", strings.TrimPrefix(path, before))
			pattern = path
		}
		if one.Method != method || pattern != path {
			continue
		}
		v, err := one.Serve(&plugin.Request{Request: req, User: user, Content: []byte(body)})
		text, bad := json.Marshal(v)
		return string(text), errors.Join(err, bad)
	}
	r.t.Fatalf("no route %s", route)
	return "", nil
}

// make makes a task of Amina.
func (r *rig) make(p *task.Plugin, body string) api.Task {
	r.t.Helper()
	var out api.Task
	text, err := r.serve(p, amina, "POST /tasks", body)
	if err = errors.Join(err, json.Unmarshal([]byte(text), &out)); err != nil {
		r.t.Fatal(err)
	}
	return out
}

// read reads a task of Amina.
func (r *rig) read(p *task.Plugin, id string) api.Task {
	r.t.Helper()
	var out api.Task
	text, err := r.serve(p, amina, "GET /tasks/"+id, "")
	if err = errors.Join(err, json.Unmarshal([]byte(text), &out)); err != nil {
		r.t.Fatal(err)
	}
	return out
}

const morning = `{"title":"Silent stoves","prompt":"Which stoves fell silent?","cron":"0 9 * * *","timezone":"Africa/Nairobi"}`

// Each time is asked once by however many servers, and what passed while none ran
// is made up for once.
func TestTimes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		a, b := r.instance(nil), r.instance(nil)
		made := r.make(a, morning)
		if made.Status != "active" || made.NextRunAt.Format(time.RFC3339) != "2026-11-17T06:00:00Z" {
			t.Fatalf("made %+v", made)
		}
		r.at("2026-11-17T05:59:59Z", a, b)
		r.at("2026-11-17T06:00:00Z", a, b, a, b)
		r.at("2026-11-17T06:00:30Z", a, b)
		r.at("2026-11-20T12:00:00Z", a, b, a, b) // three times have passed
		if len(r.asked) != 2 || r.asked[0].Key == r.asked[1].Key || r.asked[0].Text != "Which stoves fell silent?" || r.asked[0].User != amina || r.asked[0].Zone != "Africa/Nairobi" {
			t.Errorf("asked %+v, want two times", r.asked)
		}
		got := r.read(b, made.ID)
		if got.NextRunAt.Format(time.RFC3339) != "2026-11-21T06:00:00Z" || got.LastRunAt.Format(time.RFC3339) != "2026-11-20T12:00:00Z" || got.LastRunID != "run_"+r.asked[1].Key || got.SessionID != "$1" {
			t.Errorf("it stands as %+v", got)
		}
		once := r.make(a, `{"title":"Once","prompt":"x","at":"2026-11-20T15:30","timezone":"Africa/Nairobi"}`)
		r.at("2026-11-20T12:30:00Z", a, b)
		r.at("2026-11-20T13:30:00Z", a, b)
		if got := r.read(a, once.ID); len(r.asked) != 3 || got.Status != "done" || !got.NextRunAt.IsZero() || got.At.Format(time.RFC3339) != "2026-11-20T12:30:00Z" {
			t.Errorf("the one for once was asked %d times and stands as %+v", len(r.asked)-2, got)
		}
	})
}

// However many tasks of one owner, or of DIDs that cost nothing, are due before, the
// first of everybody else is asked.
func TestTurns(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		r.await = make(chan struct{})
		p := r.instance(map[string]string{"maxPerUser": "1000"})
		add := func(user string, n int) {
			t.Helper()
			for range n {
				if _, err := r.serve(p, user, "POST /tasks", `{"title":"x","prompt":"x","at":"2026-11-17T06:00:00Z"}`); err != nil {
					t.Fatal(err)
				}
			}
		}
		add("did:key:zGreedy", 30)
		for i := range 30 {
			add(fmt.Sprintf("did:key:zFree%d", i), 1)
		}
		add("ws did:key:zKeeper rights", 5)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		r.locked(func() { r.now = time.Date(2026, 11, 17, 6, 0, 0, 0, time.UTC) })
		go func() { ended <- p.Serve(ctx) }()
		count := func() (all int, by map[string]int) {
			by = map[string]int{}
			r.locked(func() {
				for _, m := range r.asked {
					by[m.User]++
				}
				all = len(r.asked)
			})
			return all, by
		}
		until := func(want string, ok func(all int, by map[string]int) bool) {
			t.Helper()
			for end := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
				all, by := count()
				if ok(all, by) {
					return
				}
				if time.Now().After(end) {
					t.Fatalf("asked %v, want %s", by, want)
				}
			}
		}
		until("12 of those who sign, at most 2 of each owner, and 2 of the one with a key", func(all int, by map[string]int) bool {
			return all == 14 && by["did:key:zGreedy"] <= 2 && by["ws did:key:zKeeper rights"] == 2
		})
		close(r.await) // from now on answers end at once
		until("all", func(all int, _ map[string]int) bool { return all == 65 })
		last := map[string]int{}
		for i, m := range r.asked {
			last[m.User] = i
		}
		if last["did:key:zFree29"] > last["did:key:zGreedy"] {
			t.Error("whoever has one task waits for all of somebody else")
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A server that dies with a task in hand loses nothing: another one asks with the
// same key, which finds what was begun.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		a, b := r.instance(nil), r.instance(nil)
		made := r.make(a, morning)
		r.locked(func() { r.send = errors.New("killed") }) // after the message was stored
		r.at("2026-11-17T06:00:00Z", a)
		r.locked(func() { r.send = nil })
		r.at("2026-11-17T06:00:30Z", b) // the dead one has it still
		if len(r.asked) != 1 {
			t.Fatalf("asked %d times, want one", len(r.asked))
		}
		r.at("2026-11-17T06:01:01Z", b)
		if len(r.asked) != 2 || r.asked[0].Key != r.asked[1].Key || r.asked[0].Key == "" {
			t.Errorf("asked %+v, want the same key twice", r.asked)
		}
		if got := r.read(b, made.ID); got.NextRunAt.Format(time.RFC3339) != "2026-11-18T06:00:00Z" || got.LastRunID == "" {
			t.Errorf("it stands as %+v", got)
		}
	})
}

// When what the owner came with no longer counts the task pauses and says why;
// when that cannot be found out, it waits.
func TestRightsEnd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		p := r.instance(nil)
		made := r.make(p, morning)
		r.locked(func() { r.stand = fault.New(fault.Unavailable, "UCAN_KEYS_UNAVAILABLE", "Later.") })
		r.at("2026-11-17T06:00:00Z", p)
		if got := r.read(p, made.ID); got.Status != "active" || len(r.told) != 0 {
			t.Errorf("where nobody can say it stands as %+v", got)
		}
		r.locked(func() { r.stand = fault.New(fault.Unauthenticated, "KEY_INVALID", "The key is revoked.") })
		r.at("2026-11-17T06:02:00Z", p)
		got := r.read(p, made.ID)
		if got.Status != "paused" || !strings.Contains(got.Reason, "The key is revoked.") || !got.NextRunAt.IsZero() || len(r.asked) != 0 {
			t.Errorf("asked %d times, it stands as %+v", len(r.asked), got)
		}
		if len(r.told) != 1 || !strings.Contains(r.told[0], "paused") {
			t.Errorf("the conversation was told %q", r.told)
		}
		r.locked(func() { r.stand = nil })
		r.at("2026-11-19T12:00:00Z", p)
		if _, err := r.serve(p, amina, "PATCH /tasks/"+made.ID, `{"status":"active"}`); err != nil {
			t.Fatal(err)
		}
		r.at("2026-11-20T06:00:00Z", p)
		if got := r.read(p, made.ID); len(r.asked) != 1 || got.Status != "active" || got.Reason != "" {
			t.Errorf("resumed, it was asked %d times and stands as %+v", len(r.asked), got)
		}
	})
}

// A time waits for the answer to the one before, and is left out after a while.
func TestWaits(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		p := r.instance(map[string]string{"runLock": "60s"})
		made := r.make(p, morning)
		r.locked(func() { r.busy = true })
		r.at("2026-11-17T06:00:00Z", p)
		r.at("2026-11-17T06:00:20Z", p)
		r.at("2026-11-17T06:01:30Z", p)
		if got := r.read(p, made.ID); len(r.asked) != 0 || !strings.HasPrefix(got.LastError, "It was skipped") || got.NextRunAt.Format(time.RFC3339) != "2026-11-18T06:00:00Z" {
			t.Errorf("asked %d times, it stands as %+v", len(r.asked), got)
		}
		r.locked(func() { r.busy, r.send = false, fault.New(fault.Forbidden, "ANSWER_REFUSED", "Pay first.") })
		r.at("2026-11-18T06:00:00Z", p)
		if got := r.read(p, made.ID); got.LastError != "Pay first." || got.Status != "active" {
			t.Errorf("refused, it stands as %+v", got)
		}
	})
}

// What is not right is named; tasks are of one user, and there are not too many.
func TestRoutes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		p := r.instance(map[string]string{"maxPerUser": "2"})
		made := r.make(p, morning)
		for _, tt := range []struct{ user, route, body, want string }{
			{amina, "POST /tasks", `{}`, "title should not be empty; prompt should not be empty; either cron or at must be provided"},
			{amina, "POST /tasks", `{"title":"a","prompt":"b","cron":"* * * * *"}`, "cron must leave at least 5m0s between two times"},
			{amina, "POST /tasks", `{"title":"a","prompt":"b","cron":"0 9 * *"}`, "cron must have five fields"},
			{amina, "POST /tasks", `{"title":"a","prompt":"b","cron":"@everysecond"}`, "cron must have five fields"},
			{amina, "POST /tasks", `{"title":"a","prompt":"b","cron":"99 9 * * *"}`, "cron must have five fields"},
			{amina, "POST /tasks", `{"title":"a","prompt":"b","cron":"0 0 31 2 *"}`, "a time that comes"},
			{amina, "POST /tasks", `{"title":"a","prompt":"b","cron":"0 9 * * *","at":"2027-01-01T00:00"}`, "exclude each other"},
			{amina, "POST /tasks", `{"title":"a","prompt":"b","at":"2026-11-17T05:00:00Z"}`, "at must be a time in the future"},
			{amina, "POST /tasks", `{"title":"a","prompt":"b","at":"tomorrow"}`, "at must be a time in the future"},
			{amina, "POST /tasks", `{"title":"a\u0007","prompt":"` + strings.Repeat("x", 4001) + `","cron":"0 9 * * *","timezone":"Mars/Base"}`, "title must not hold control characters; prompt must be shorter than or equal to 4000 characters; timezone must be an IANA name"},
			{amina, "POST /tasks", `{"title":"a","prompt":"b","cron":"0 9 * * *","owner":"x"}`, "there is no member /owner"},
			{baraka, "GET /tasks", "", `{"tasks":[]}`},
			{baraka, "GET /tasks/" + made.ID, "", "Task not found"},
			{baraka, "PATCH /tasks/" + made.ID, `{"status":"paused"}`, "Task not found"},
			{baraka, "DELETE /tasks/" + made.ID, "", "Task not found"},
			{"", "POST /tasks", morning, "the request has no user"},
			{amina, "PATCH /tasks/" + made.ID, `{"status":"done"}`, "status must be one of"},
			{amina, "PATCH /tasks/" + made.ID, `{"status":"paused"}`, `"status":"paused"`},
			{amina, "PATCH /tasks/" + made.ID, `{"status":"active","timezone":"Europe/Berlin"}`, `"nextRunAt":"2026-11-17T08:00:00Z"`},
			{amina, "PATCH /tasks/" + made.ID, `{"at":"2026-12-01T09:00"}`, `"at":"2026-12-01T08:00:00Z"`},
			{amina, "POST /tasks", `{"title":"a","prompt":"b","cron":"0 9 * * *"}`, `"timezone":"UTC"`},
			{amina, "POST /tasks", `{"title":"c","prompt":"b","cron":"0 9 * * *"}`, "You already have 2 tasks"},
			{amina, "DELETE /tasks/" + made.ID, "", "Task cancelled"},
			{amina, "DELETE /tasks/" + made.ID, "", "Task not found"},
		} {
			got, err := r.serve(p, tt.user, tt.route, tt.body)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, tt.want) {
				t.Errorf("%s of %s with %.80s = %s, want %s", tt.route, tt.user, tt.body, got, tt.want)
			}
		}
		first, err1 := r.serve(p, amina, "POST /tasks", morning, "Idempotency-Key", "k1", "X-Timezone", "Africa/Lagos")
		again, err2 := r.serve(p, amina, "POST /tasks", morning, "Idempotency-Key", "k1")
		if err := errors.Join(err1, err2); err != nil || first != again {
			t.Errorf("the same key gave %s and %s, %v", first, again, err)
		}
	})
}

// The tools do what the routes do, for the user of the run; and everything goes
// with its person.
func TestTools(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		p := r.instance(nil)
		call := func(user, name, args string) string {
			t.Helper()
			ctx := tool.With(t.Context(), tool.Context{User: user, Talker: user, Signer: user, Whole: true, Timezone: "Africa/Kampala"})
			for _, one := range p.Tools() {
				if one.Name != name {
					continue
				}
				v, err := one.Run(ctx, plugin.Call{Turn: plugin.Turn{RunID: "run_1"}, ID: "call_1", Args: []byte(args)})
				if err != nil {
					return err.Error()
				}
				text, _ := json.Marshal(v)
				return string(text)
			}
			t.Fatalf("no tool %s", name)
			return ""
		}
		for range 2 { // a call that is made again makes one task
			if got := call(amina, "create_task", `{"title":"Silent","prompt":"x","cron":"30 8 * * *"}`); !strings.Contains(got, `"timezone":"Africa/Kampala"`) || !strings.Contains(got, `"nextRunAt":"2026-11-18T05:30:00Z"`) {
				t.Errorf("create_task = %s", got)
			}
		}
		var all api.TaskList
		if err := json.Unmarshal([]byte(call(amina, "list_tasks", `{}`)), &all); err != nil || len(all.Tasks) != 1 {
			t.Fatalf("list_tasks = %+v, %v", all, err)
		}
		id := all.Tasks[0].ID
		if got := call(baraka, "cancel_task", `{"id":"`+id+`"}`); got != "Task not found" {
			t.Errorf("cancel_task of another user = %s", got)
		}
		if got := call(amina, "update_task", `{"id":"`+id+`","status":"paused"}`); !strings.Contains(got, `"status":"paused"`) {
			t.Errorf("update_task = %s", got)
		}
		if err := d.InTx(t.Context(), func(tx *db.Tx) error { return task.Erase(t.Context(), tx, "default", amina) }); err != nil {
			t.Fatal(err)
		}
		if got := call(amina, "list_tasks", `{}`); got != `{"tasks":[]}` {
			t.Errorf("after the erasure = %s", got)
		}
	})
}
