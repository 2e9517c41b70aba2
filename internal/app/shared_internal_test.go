package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// TestSharedBackups: backups by time are made in a folder where every live server has its
// mark, and in no other.
func TestSharedBackups(t *testing.T) {
	t.Parallel()
	url, ours, theirs := dbtest.URL(t), t.TempDir(), t.TempDir()
	node := func(name, dir string) (a *App, stop func()) {
		d, err := db.Open(t.Context(), db.Config{URL: url, Conns: 2, Log: dbtest.Log(t)})
		if err == nil {
			err = errors.Join(d.Migrate(t.Context()), d.Join(t.Context(), db.Node{Name: name}))
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		cfg := config.Default()
		cfg.Data.DatabaseURL, cfg.Backup.Dir, cfg.Backup.Every = config.Secret(url), dir, time.Hour
		a = &App{Core: &Core{DB: d, log: dbtest.Log(t)}, cfg: cfg}
		ctx, cancel := context.WithCancel(t.Context())
		var marking sync.WaitGroup
		marking.Go(func() { markShared(ctx, a) })
		return a, sync.OnceFunc(func() { cancel(); marking.Wait(); d.Leave(context.WithoutCancel(ctx)) })
	}
	one, end := node("one", ours)
	defer end()
	if err := shared(t.Context(), one.DB, ours, time.Minute); err != nil {
		t.Fatalf("one server alone: %v", err)
	}
	two, end := node("two", ours)
	defer end()
	for _, a := range []*App{one, two} {
		if err := shared(t.Context(), a.DB, ours, time.Minute); err != nil {
			t.Errorf("both in one folder: %v", err)
		}
	}
	_, leave := node("three", theirs)
	defer leave()
	var refused *fault.Error
	if err := shared(t.Context(), one.DB, ours, 0); !errors.As(err, &refused) || refused.Code != "BACKUP_DIR_NOT_SHARED" {
		t.Errorf("a server with another folder = %v, want BACKUP_DIR_NOT_SHARED", err)
	}
	var said bytes.Buffer
	one.log = slog.New(slog.NewTextHandler(&said, nil))
	for range 3 {
		if ok, err := sharesBackups(t.Context(), one, 0); ok || err != nil {
			t.Errorf("a backup by time = %t, %v; want none, and no failure", ok, err)
		}
	}
	if n := strings.Count(said.String(), codeNotShared) + strings.Count(said.String(), "folder that all servers share"); n == 0 || strings.Count(said.String(), "level=WARN") != 1 {
		t.Errorf("three times in vain is said as %q, want one warning", &said)
	}
	leave()
	if ok, err := sharesBackups(t.Context(), one, time.Minute); !ok || err != nil {
		t.Errorf("a backup by time once it has gone = %t, %v", ok, err)
	}
	if err := shared(t.Context(), one.DB, ours, time.Minute); err != nil {
		t.Errorf("once it has gone: %v", err)
	}
	if err := os.WriteFile(filepath.Join(ours, nodeMark+"of-old"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := shared(t.Context(), two.DB, ours, time.Minute); err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob(filepath.Join(ours, nodeMark+"*"))
	if err != nil || len(left) != 2 {
		t.Errorf("marks = %v, %v; want those of the two servers", left, err)
	}
}
