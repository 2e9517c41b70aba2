package app_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/plugin"
)

// chores is a plugin that does two things by time, and fails at one of them.
type chores struct{ done, broken atomic.Int64 }

func (c *chores) Manifest() plugin.Manifest {
	return plugin.Manifest{Name: "chores", Title: "Chores", Summary: "Does what is to be done.", Visibility: plugin.Silent}
}

func (c *chores) Schedules() []plugin.Work {
	return []plugin.Work{
		{Name: "sweep", Every: 24 * time.Hour, Run: func(context.Context) error {
			c.done.Add(1)
			return nil
		}},
		{Name: "break", Every: 24 * time.Hour, Run: func(context.Context) error {
			c.broken.Add(1)
			panic("the broom is gone")
		}},
	}
}

// lines is a log that several goroutines write.
type lines struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.String()
}

// What plugins do by time is done once, also when the server starts again; a panic
// costs one run, and the metrics and the log tell of it.
func TestPluginWork(t *testing.T) {
	t.Parallel()
	work, log := &chores{}, &lines{}
	b := app.BuildTo(t, owner, log, nil, work)
	metrics := func() string { return b.Metrics() }
	for range 2 { // the second time everything of the day is done
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			b.RunJobs(ctx)
		}()
		for deadline := time.Now().Add(time.Minute); !strings.Contains(metrics(), `work="break"`) || !strings.Contains(metrics(), `work="sweep"`); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("after a minute %d and %d runs", work.done.Load(), work.broken.Load())
			}
		}
		stop()
		<-ended
	}
	if work.done.Load() != 1 || work.broken.Load() != 1 {
		t.Errorf("%d and %d runs, want one of each", work.done.Load(), work.broken.Load())
	}
	for _, want := range []string{
		`oracle_plugin_work_total{plugin="chores",result="failed",work="break"} 1`,
		`oracle_plugin_work_total{plugin="chores",result="done",work="sweep"} 1`,
	} {
		if !strings.Contains(metrics(), want) {
			t.Errorf("the metrics do not have %s", want)
		}
	}
	if got := log.String(); !strings.Contains(got, "the broom is gone") || !strings.Contains(got, "kind=plugin.chores.break") {
		t.Errorf("the log does not tell of the panic:\n%s", got)
	}
}
