package sampling_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

// work runs the jobs until the test ends. Each of them is killed some times, later
// in its work every time; the answer tells how often in all.
func (v *env) work(t *testing.T, deaths int64) *atomic.Int64 {
	t.Helper()
	var killed atomic.Int64
	handlers := v.s.Handlers()
	for kind, h := range handlers {
		var n atomic.Int64
		handlers[kind] = func(ctx context.Context, run *job.Run) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			if k := n.Add(1); k <= deaths {
				ctx = dying{ctx, cancel, new(atomic.Int64), 8 * k * k}
			}
			err := h(ctx, run)
			if err != nil && ctx.Err() != nil {
				killed.Add(1)
			}
			return err
		}
	}
	runner, err := v.jobs.NewRunner(job.RunnerConfig{Handlers: handlers, Workers: 1, Backoff: func(int) time.Duration { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runner.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	return &killed
}

// dying is a context that ends after it was asked some times.
type dying struct {
	context.Context
	cancel context.CancelFunc
	n      *atomic.Int64
	after  int64
}

func (d dying) Err() error {
	if d.n.Add(1) > d.after {
		d.cancel()
	}
	return d.Context.Err()
}

// until waits for what a job makes true. It looks after every job.
func (v *env) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for !holds() {
		select {
		case <-v.done:
		case <-ctx.Done():
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// A frame from a large file and its draw are made by jobs. Killed and taken up
// again these make the same as without: nothing is lost or doubled.
func TestJobsKilled(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		killed := v.work(t, 3)
		ctx := manager(t)
		server := surveytest.Server{Handler: webtest.Handler(t, v.api)}
		v.surveyed(t, "s")
		draft := small("d")
		draft.SurveyID = "s"
		must(v.s.Create(ctx, draft))(t)
		const rows = 21_000
		text := csv(rows)
		send := func(key, body string) *httptest.ResponseRecorder {
			return server.Send(t, "ws manager", "POST /v1/sampling/designs/d/frame/file", body, "Content-Type", "text/csv", "Idempotency-Key", key)
		}
		w := send("one", text)
		var sent api.SampleFrame
		if err := json.Unmarshal(w.Body.Bytes(), &sent); err != nil || w.Code != 202 || sent.State != "building" {
			t.Fatalf("frame: %d %s", w.Code, w.Body)
		}
		if again := send("one", text); again.Body.String() != w.Body.String() {
			t.Errorf("the same file again: %d %s", again.Code, again.Body)
		}
		var frame *api.SampleFrame
		v.until(t, "frame", func() bool {
			frame = must(v.s.Frame(ctx, "d", sent.FrameID))(t)
			return frame.State != "building"
		})
		if frame.State != "frozen" || frame.Population != rows {
			t.Fatalf("frame %+v", frame)
		}
		direct := must(v.s.PutFrame(ctx, "d", api.SampleFrameDraft{CSV: text}))(t).Value
		if direct.Hash != frame.Hash || direct.FileHash != frame.FileHash {
			t.Errorf("the frame of the job has the hash %s, that of a request %s", frame.Hash, direct.Hash)
		}
		reply := must(v.s.Draw(ctx, "d", api.SampleDrawDraft{Seed: "1", FrameID: sent.FrameID}))(t)
		if reply.Status != 202 || reply.Value.State != "drawing" || reply.Value.Earlier == nil {
			t.Errorf("draw %+v", reply)
		}
		v.until(t, "draw", func() bool { return must(v.s.GetDraw(ctx, newest("d")))(t).Value.State == "drawn" })
		if units, _, err := v.s.Units(ctx, newest("d"), "", 0, 100); err != nil || len(units) != 8 {
			t.Errorf("%d units, %v", len(units), err)
		}
		if w := v.get(ctx, "/v1/surveys/s/households"); strings.Count(w.Body.String(), `"source":"drawn"`) != 8 {
			t.Errorf("list: %s", w.Body)
		}
		if n := killed.Load(); n < 3 {
			t.Errorf("%d deaths, want 3 or more", n)
		}
		v.verifiedByJob(t)
		bad := send("two", "household;stratum\nnobody;rural\n")
		if err := json.Unmarshal(bad.Body.Bytes(), &sent); err != nil {
			t.Fatal(err)
		}
		v.until(t, "a bad file", func() bool {
			frame = must(v.s.Frame(ctx, "d", sent.FrameID))(t)
			return frame.State == "failed" && len(frame.Warnings) > 0
		})
		var left int
		v.until(t, "no files left", func() bool {
			return d.QueryRow(t.Context(), `SELECT count(*) FROM transfer_files`).Scan(&left) == nil && left == 0
		})
	})
}

// verifiedByJob has a job make the newest draw again.
func (v *env) verifiedByJob(t *testing.T) {
	t.Helper()
	_, err := v.s.Verify(auditor(t), newest("d"))
	wantCode(t, "a large frame in a request", err, "VERIFY_IN_JOB")
	j := must(v.s.VerifyLater(auditor(t), newest("d")))(t).Value
	v.until(t, "verify", func() bool {
		w := v.get(auditor(t), "/v1/jobs/"+j.ID)
		if strings.Contains(w.Body.String(), `"status":"failed"`) {
			t.Fatalf("verify: %s", w.Body)
		}
		return strings.Contains(w.Body.String(), `"verified":true`)
	})
}

// A frame that is sent twice with one key is one frame.
func TestFrameOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		server := surveytest.Server{Handler: webtest.Handler(t, v.api)}
		must(v.s.Create(manager(t), small("d")))(t)
		body, err := json.Marshal(api.SampleFrameDraft{CSV: csv(40)})
		if err != nil {
			t.Fatal(err)
		}
		var first string
		for i := range 3 {
			w := server.Send(t, "ws manager", "POST /v1/sampling/designs/d/frame", string(body), "Idempotency-Key", "k")
			if w.Code != 201 || i > 0 && w.Body.String() != first {
				t.Fatalf("%d: %d %s, first %s", i, w.Code, w.Body, first)
			}
			first = w.Body.String()
		}
		for table, want := range map[string]int{"sampling_frames": 1, "sampling_pieces": 1} {
			var n int
			if err := d.QueryRow(t.Context(), fmt.Sprintf(`SELECT count(*) FROM %s`, table)).Scan(&n); err != nil || n != want {
				t.Errorf("%d rows of %s, %v", n, table, err)
			}
		}
	})
}
