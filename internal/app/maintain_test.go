package app_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/job"
)

// TestScheduledBackups lets the schedule make three backups and looks at what
// an operator has then: the newest ones, whole, and the jobs that made them.
func TestScheduledBackups(t *testing.T) {
	t.Parallel()
	const keep = 2
	b := app.Build(t, owner, func(c *config.Config) { c.Backup.Every, c.Backup.Keep = time.Second, keep })
	ctx, err := b.Auth.AsOwner(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.RunJobs(running)
	}()
	made := finished(t, ctx, b, 3)
	stop()
	<-done
	for _, j := range made {
		full, err := b.Jobs.Get(ctx, j.ID)
		if err != nil || full.Status != job.Succeeded || !strings.Contains(fmt.Sprintf("%s", full.Result), "sha256") {
			t.Errorf("job %s = %s %s, %v; want a backup with its hash", j.ID, full.Status, full.Result, err)
		}
	}
	files, err := filepath.Glob(filepath.Join(b.Dir(), "backups", "*.db"))
	if err != nil || len(files) != keep {
		t.Fatalf("backups = %v, %v; want the newest %d", files, err, keep)
	}
	for _, f := range files {
		if _, err := db.VerifyFile(t.Context(), f); err != nil {
			t.Errorf("verify: %v", err)
		}
		if _, err := os.Stat(f + ".sha256"); err != nil {
			t.Error(err)
		}
	}
}

// finished polls until n backups have ended.
func finished(t *testing.T, ctx context.Context, b *app.Built, n int) []job.Job {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		jobs, _, err := b.Jobs.List(ctx, job.Filter{Kind: "backup.create", Status: job.Succeeded}, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(jobs) >= n {
			return jobs
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d backups after a minute, want %d", len(jobs), n)
		}
	}
}
