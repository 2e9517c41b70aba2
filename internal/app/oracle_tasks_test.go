package app_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
)

// tasked is a server that asks what is scheduled.
type tasked struct {
	*notesServer
	t *testing.T
}

func newTasked(t *testing.T, dsn string) *tasked {
	t.Helper()
	s := &tasked{&notesServer{app.BuildTo(t, owner, io.Discard, func(c *config.Config) { c.Data.DatabaseURL = config.Secret(dsn) })}, t}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.RunTasks(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

// schedule has something asked in a moment.
func (s *tasked) schedule(user byte, prompt string) api.Task {
	s.t.Helper()
	in := map[string]string{"title": "Look", "prompt": prompt, "at": time.Now().Add(1500 * time.Millisecond).UTC().Format(time.RFC3339Nano)}
	body, _ := json.Marshal(in)
	w := s.do(s.t, "POST", "/tasks", string(body), user)
	var made api.Task
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code != 200 || made.Status != "active" {
		s.t.Fatalf("POST /tasks = %d %s", w.Code, w.Body)
	}
	return made
}

// until reads a task until it is as wanted.
func (s *tasked) until(read func() *httptest.ResponseRecorder, ok func(api.Task) bool) api.Task {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		var got api.Task
		w := read()
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
			s.t.Fatalf("GET of a task = %d %s", w.Code, w.Body)
		}
		if ok(got) {
			return got
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("after a minute it stands as %+v", got)
		}
	}
}

// answers waits for the conversation of a task to hold a text.
func (s *tasked) answers(read func() *httptest.ResponseRecorder, want string) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		w := read()
		if strings.Contains(w.Body.String(), want) {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("after a minute the conversation has %d %s, want %q", w.Code, w.Body, want)
		}
	}
}

// A task is asked once when its time comes, its answer is in a conversation of its
// owner, and what changes something needs a grant.
func TestTasks(t *testing.T) {
	t.Parallel()
	onAny(t, func(t *testing.T, dsn string) {
		t.Helper()
		s := newTasked(t, dsn)
		get := func(user byte, path string) func() *httptest.ResponseRecorder {
			return func() *httptest.ResponseRecorder { return s.do(t, "GET", path, "", user) }
		}
		made := s.schedule('a', "/tool get_user_preferences {}")
		writes := s.schedule('a', `/tool set_user_preferences {"userName":"Mallory"}`)
		got := s.until(get('a', "/tasks/"+made.ID), func(t api.Task) bool { return t.Status == "done" && t.SessionID != "" })
		s.answers(get('a', "/messages/"+got.SessionID), "The user has said nothing about it.")
		if w := get('a', "/sessions")(); !strings.Contains(w.Body.String(), `"title":"Look"`) {
			t.Errorf("the conversations are %s", w.Body)
		}
		if w := get('b', "/messages/"+got.SessionID)(); w.Body.String() != `{"messages":[]}` {
			t.Errorf("somebody else reads %s", w.Body)
		}
		if w := get('b', "/tasks/"+made.ID)(); w.Code != 404 {
			t.Errorf("somebody else's task = %d %s", w.Code, w.Body)
		}
		got = s.until(get('a', "/tasks/"+writes.ID), func(t api.Task) bool { return t.Status == "done" && t.SessionID != "" })
		s.answers(get('a', "/messages/"+got.SessionID), "nobody can be asked here")
		if w := get('a', "/user-preferences")(); w.Body.String() != "null" {
			t.Errorf("a task has set %s without a grant", w.Body)
		}
	})
}

// A task of a key ends with the key: it pauses and says so.
func TestTaskOfKey(t *testing.T) {
	t.Parallel()
	onAny(t, func(t *testing.T, dsn string) {
		t.Helper()
		s := newTasked(t, dsn)
		server := httptest.NewServer(s.Handler)
		t.Cleanup(server.Close)
		boss, err := client.New(client.Config{BaseURL: server.URL, Key: owner})
		if err != nil {
			t.Fatal(err)
		}
		made, err := boss.Keys.Create(t.Context(), client.KeyDraft{Name: "helper", Scopes: []string{"entities:read"}})
		if err != nil {
			t.Fatal(err)
		}
		helper, err := client.New(client.Config{BaseURL: server.URL, Key: made.Text})
		if err != nil {
			t.Fatal(err)
		}
		title, prompt, at := "Look", "help", time.Now().Add(2*time.Second).UTC().Format(time.RFC3339Nano)
		one, err := helper.Oracle.CreateTask(t.Context(), client.TaskChange{Title: &title, Prompt: &prompt, At: &at})
		if err != nil {
			t.Fatal(err)
		}
		if list, err := boss.Oracle.Tasks(t.Context()); err != nil || len(list.Tasks) != 0 {
			t.Errorf("the owner sees tasks of another key: %+v, %v", list, err)
		}
		if _, err := boss.Keys.Revoke(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
		var status, reason string
		for deadline := time.Now().Add(time.Minute); status != "paused"; time.Sleep(50 * time.Millisecond) {
			if err := s.DB.QueryRow(t.Context(), `SELECT status, reason FROM oracle_tasks WHERE id = $1`, one.ID).Scan(&status, &reason); err != nil {
				t.Fatal(err)
			}
			if time.Now().After(deadline) {
				t.Fatalf("after a minute it is %s", status)
			}
		}
		if !strings.Contains(reason, "no longer valid") {
			t.Errorf("it is paused because %q", reason)
		}
		var told int
		if err := s.DB.QueryRow(t.Context(), `SELECT count(*) FROM chat_messages WHERE body LIKE '%This task is paused.%'`).Scan(&told); err != nil || told != 1 {
			t.Errorf("its conversation says so %d times, %v", told, err)
		}
	})
}

// What a task of a delegation alone makes ends when the delegation does, as the task
// itself.
func TestTaskOfTaskEnds(t *testing.T) {
	t.Parallel()
	b := app.BuildTo(t, owner, io.Discard, func(c *config.Config) { settings(t, c) })
	s := &tasked{&notesServer{b}, t}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.RunTasks(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if w := s.do(t, "PUT", "/grants/create_task", "{}", 'a'); w.Code != 200 {
		t.Fatalf("PUT /grants/create_task = %d %s", w.Code, w.Body)
	}
	body, _ := json.Marshal(map[string]string{
		"title": "parent", "prompt": `/tool create_task {"title":"child","prompt":"x","cron":"0 9 * * *"}`, "at": time.Now().Add(time.Second).UTC().Format(time.RFC3339Nano),
	})
	r := httptest.NewRequest("POST", "/tasks", strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Ucan-Delegation", token(t, b, 'a'))
	w := httptest.NewRecorder()
	if s.Handler.ServeHTTP(w, r); w.Code != 200 {
		t.Fatalf("POST /tasks = %d %s", w.Code, w.Body)
	}
	ends := map[string]string{}
	for deadline := time.Now().Add(time.Minute); len(ends) < 2; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute there are %v; %s", ends, s.do(t, "GET", "/tasks", "", 'a').Body)
		}
		for _, title := range []string{"parent", "child"} {
			var owner string
			var of struct {
				Ends string `json:"ends"`
			}
			if err := s.DB.QueryRow(t.Context(), `SELECT owner FROM oracle_tasks WHERE title = $1`, title).Scan(&owner); err == nil && json.Unmarshal([]byte(owner), &of) == nil {
				ends[title] = of.Ends
			}
		}
	}
	if ends["parent"] == "" || ends["child"] != ends["parent"] {
		t.Errorf("the tasks end at %v", ends)
	}
}
