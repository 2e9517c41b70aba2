package job_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestDraft(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		in   job.Draft
		ok   bool
	}{
		{"plain", job.Draft{Kind: "export"}, true},
		{"dotted", job.Draft{Kind: "survey.export-2"}, true},
		{"no kind", job.Draft{}, false},
		{"capital", job.Draft{Kind: "Export"}, false},
		{"comma", job.Draft{Kind: "a,b"}, false},
		{"wildcard", job.Draft{Kind: "a%"}, false},
		{"one-letter wildcard", job.Draft{Kind: "a_b"}, false},
		{"end", job.Draft{Kind: "a."}, false},
		{"attempts", job.Draft{Kind: "a", MaxAttempts: -1}, false},
		{"key", job.Draft{Kind: "a", Key: strings.Repeat("k", 256)}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if err := tt.in.Validate(); (err == nil) != tt.ok {
				t.Errorf("Validate() = %v, want ok %v", err, tt.ok)
			}
		})
	}
}

func TestRunnerConfig(t *testing.T) {
	t.Parallel()
	s := job.New(job.Config{})
	h := func(context.Context, *job.Run) error { return nil }
	for _, tt := range []struct {
		name string
		in   job.RunnerConfig
		ok   bool
	}{
		{"good", job.RunnerConfig{Handlers: map[string]job.Handler{"a": h}, Every: []job.Every{{Kind: "a", Interval: time.Second}}}, true},
		{"kind", job.RunnerConfig{Handlers: map[string]job.Handler{"A": h}}, false},
		{"no function", job.RunnerConfig{Handlers: map[string]job.Handler{"a": nil}}, false},
		{"every without handler", job.RunnerConfig{Every: []job.Every{{Kind: "a", Interval: time.Second}}}, false},
		{"every moment", job.RunnerConfig{Handlers: map[string]job.Handler{"a": h}, Every: []job.Every{{Kind: "a"}}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := s.NewRunner(tt.in); (err == nil) != tt.ok {
				t.Errorf("NewRunner() = %v, want ok %v", err, tt.ok)
			}
		})
	}
}

func TestEnqueueBelongsToItsTransaction(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		undo := errors.New("undo")
		err := d.InTx(t.Context(), func(tx *db.Tx) error {
			if _, err := r.Enqueue(t.Context(), tx, work); err != nil {
				return err
			}
			return undo
		})
		if !errors.Is(err, undo) || r.count(t) != 0 {
			t.Fatalf("err = %v with %d jobs, want the error and none", err, r.count(t))
		}
		ran := make(chan string, 10)
		r.start(t, one(func(ctx context.Context, run *job.Run) error {
			ran <- run.ID
			return nil
		}))
		id := r.enqueue(t, ann, work)
		if got := <-ran; got != id {
			t.Errorf("ran %s, want %s", got, id)
		}
		j := r.awaitStatus(t, id, job.Succeeded)
		if j.CreatedBy != ann.DID || j.Attempts != 1 || j.StartedAt.IsZero() || j.FinishedAt.IsZero() || j.Links.Cancel != "" {
			t.Errorf("job = %+v", j)
		}
	})
}

func TestHandlerActsForItsCaller(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		type payload struct {
			Survey string `json:"survey"`
		}
		limited := ann
		limited.Projects = []string{"p1"}
		got := make(chan web.Caller, 1)
		r.start(t, one(func(ctx context.Context, run *job.Run) error {
			var p payload
			if err := run.Decode(&p); err != nil {
				return err
			}
			run.SetResult(map[string]string{"survey": p.Survey})
			got <- web.CallerFrom(ctx)
			return nil
		}))
		id := r.enqueue(t, limited, job.Draft{Kind: "test.work", Payload: payload{"s1"}})
		c := <-got
		if c.Workspace != "w" || c.DID != ann.DID || c.Key != ann.Key || len(c.Projects) != 1 || !c.May("jobs:read") {
			t.Errorf("caller = %+v, want ann limited to p1", c)
		}
		j := r.awaitStatus(t, id, job.Succeeded)
		if text, ok := j.Result.(interface{ String() string }); !ok || text.String() != `{"survey":"s1"}` {
			t.Errorf("result = %v", j.Result)
		}
	})
}

func TestKeyDeduplicates(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d, nil)
		other := web.Caller{Workspace: "v", DID: "did:x:bob"}
		first := r.enqueue(t, ann, job.Draft{Kind: "test.work", Key: "k"})
		for _, tt := range []struct {
			name string
			c    web.Caller
			d    job.Draft
			same bool
		}{
			{"same", ann, job.Draft{Kind: "test.work", Key: "k"}, true},
			{"other kind", ann, job.Draft{Kind: "test.other", Key: "k"}, false},
			{"other workspace", other, job.Draft{Kind: "test.work", Key: "k"}, false},
			{"other key", ann, job.Draft{Kind: "test.work", Key: "k2"}, false},
			{"no key", ann, job.Draft{Kind: "test.work"}, false},
		} {
			if got := r.enqueue(t, tt.c, tt.d); (got == first) != tt.same {
				t.Errorf("%s: id %s, first %s, want same %v", tt.name, got, first, tt.same)
			}
		}
		if n := r.count(t); n != 5 {
			t.Errorf("jobs = %d, want 5", n)
		}
	})
}

func TestPayloadLimit(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.SQLite(t), nil)
	err := r.db.InTx(t.Context(), func(tx *db.Tx) error {
		_, err := r.Enqueue(t.Context(), tx, job.Draft{Kind: "test.work", Payload: strings.Repeat("x", 64<<10)})
		return err
	})
	if err == nil || r.count(t) != 0 {
		t.Errorf("Enqueue() = %v with %d jobs, want an error and none", err, r.count(t))
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	bad := fault.New(fault.Invalid, "ROW_INVALID", "A row is wrong.").With(fault.Field{Pointer: "/3/name", Code: "required", Detail: "It is required."})
	for _, tt := range []struct {
		name     string
		end      func(*job.Run) error
		attempts int // of at most 2
		code     string
	}{
		{"invalid", func(*job.Run) error { return bad.Wrap(errors.New("hunter2")) }, 1, "ROW_INVALID"},
		{"permanent", func(*job.Run) error { return job.Permanent(fault.New(fault.Conflict, "TAKEN", "Taken.")) }, 1, "TAKEN"},
		{"permanent and internal", func(*job.Run) error { return job.Permanent(errors.New("hunter2")) }, 1, "INTERNAL"},
		{"fault", func(*job.Run) error { return fault.New(fault.Conflict, "TAKEN", "Taken.").Wrap(errors.New("hunter2")) }, 2, "TAKEN"},
		{"internal", func(*job.Run) error { return errors.New("hunter2") }, 2, "INTERNAL"},
		{"panic", func(*job.Run) error { panic("hunter2") }, 2, "INTERNAL"},
		{"payload", func(r *job.Run) error { return r.Decode(new(int)) }, 1, "INTERNAL"},
		{"result is no JSON", func(r *job.Run) error { r.SetResult(make(chan int)); return nil }, 1, "INTERNAL"},
		{"message is no text", func(*job.Run) error { return fault.New(fault.Invalid, "BAD", "\xff") }, 1, "INTERNAL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				r := newRig(t, d, nil)
				cfg := one(func(_ context.Context, run *job.Run) error { return tt.end(run) })
				cfg.Backoff = func(int) time.Duration { return 0 }
				r.start(t, cfg)
				id := r.enqueue(t, ann, job.Draft{Kind: "test.work", Payload: "text", MaxAttempts: 2})
				j := r.awaitStatus(t, id, job.Failed)
				if j.Attempts != tt.attempts || len(j.Errors) != 1 || j.Errors[0].Code != tt.code || strings.Contains(j.Errors[0].Message, "hunter2") {
					t.Errorf("attempts %d errors %+v, want %d with %s", j.Attempts, j.Errors, tt.attempts, tt.code)
				}
				if tt.name == "invalid" && (len(j.Errors[0].Fields) != 1 || j.Errors[0].Fields[0].Pointer != "/3/name") {
					t.Errorf("fields = %+v, want /3/name", j.Errors[0].Fields)
				}
				await(t, "the event is there", func() bool { return len(r.recorded()) == 1 })
				if got, want := r.recorded()[0], "job.failed "+id+" of w"; got != want {
					t.Errorf("event = %q, want %q", got, want)
				}
			})
		})
	}
}
