package e2e

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/test/server"
)

// TestBackup copies a store that is being written to, verifies the copy,
// restores it elsewhere and serves it: every key that was acknowledged before
// the copy began works there.
func TestBackup(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var wait sync.WaitGroup
		acks := make(chan string, 100000)
		for range 4 {
			wait.Go(func() { load(ctx, t, s, acks) })
		}
		var before []string
		for range 100 {
			before = append(before, receive(t, acks, "acknowledged writes"))
		}
		file := filepath.Join(t.TempDir(), "copy")
		printed := ok(t, storeEnv(o), "backup", "create", file)
		cancel()
		wait.Wait()
		if got := field(printed, "file"); got != file {
			t.Errorf("backup create printed\n%s\nwant the file %s", printed, file)
		}
		if text := ok(t, storeEnv(o), "backup", "verify", file); !strings.Contains(text, "The backup is whole.") || field(text, "sha256") != field(printed, "sha256") {
			t.Errorf("backup verify printed\n%s\nwant that it is whole, with the same hash", text)
		}
		if got := run(t, storeEnv(o), "backup", "restore", file); got.code != 1 {
			t.Errorf("restore over a store in use: code %d, %q; want 1", got.code, got.out)
		}
		to := server.Options{Dir: filepath.Join(t.TempDir(), "new")}
		if o.DatabaseURL != "" {
			to.DatabaseURL = dbtest.URL(t)
		}
		ok(t, storeEnv(to), "backup", "restore", file)
		// A backup opens nothing by itself: the server's own key is not in it.
		if got := run(t, storeEnv(to), "db", "migrate"); got.code != 1 || !strings.Contains(got.err, "server key is not the one") {
			t.Errorf("a restored store with a new server key: code %d, %q; want it refused", got.code, got.err)
		}
		key, err := os.ReadFile(filepath.Join(s.Dir, "server.key"))
		if err == nil {
			err = os.WriteFile(filepath.Join(to.Dir, "server.key"), key, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		restored := owner(t, server.Run(t, to))
		for _, id := range before {
			if _, err := restored.Keys.Get(t.Context(), id); err != nil {
				t.Fatalf("a key acknowledged before the backup began: %v", err)
			}
		}
		if text := ok(t, storeEnv(to), "db", "check"); strings.Contains(text, "WRONG") {
			t.Errorf("db check of the restored store:\n%s", text)
		}
	})
}

// TestBackupDamage flips one bit of a copy, at a different place each time:
// verify and restore must both see it, and restore must leave the store alone.
func TestBackupDamage(t *testing.T) {
	t.Parallel()
	o := server.Options{Dir: t.TempDir()}
	s := server.Run(t, o)
	if _, err := owner(t, s).Keys.Create(t.Context(), draft("kept")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "copy")
	ok(t, storeEnv(o), "backup", "create", file)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		bad := append([]byte(nil), good...)
		at, bit := rand.IntN(len(bad)), rand.IntN(8)
		bad[at] ^= 1 << bit
		if err := os.WriteFile(file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := run(t, storeEnv(o), "backup", "verify", file); got.code != 1 || strings.Contains(got.out, "whole") {
			t.Errorf("bit %d of byte %d is wrong: verify gave code %d, %q", bit, at, got.code, got.out)
		}
	}
	empty := server.Options{Dir: filepath.Join(t.TempDir(), "new")}
	if got := run(t, storeEnv(empty), "backup", "restore", file); got.code != 1 {
		t.Errorf("restore of a damaged copy: code %d, %q", got.code, got.out)
	}
	if _, err := os.Stat(filepath.Join(empty.Dir, "hearth.db")); err == nil {
		t.Error("restore of a damaged copy left a store")
	}
	if err := os.WriteFile(file, good[:len(good)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(t, storeEnv(o), "backup", "verify", file); got.code != 1 {
		t.Errorf("half a copy: verify gave code %d, %q", got.code, got.out)
	}
}

// TestRestoreBesideServer refuses to replace the store of a running server,
// and puts the old one aside when there is none.
func TestRestoreBesideServer(t *testing.T) {
	t.Parallel()
	o := server.Options{Dir: t.TempDir()}
	s := server.Run(t, o)
	file := filepath.Join(t.TempDir(), "copy")
	ok(t, storeEnv(o), "backup", "create", file)
	after, err := owner(t, s).Keys.Create(t.Context(), draft("after the copy"))
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, storeEnv(o), "backup", "restore", file); got.code != 1 || !strings.Contains(got.err, "another server uses this folder") {
		t.Errorf("restore beside a server: code %d, %q; want 1 and the reason", got.code, got.err)
	}
	if _, err := owner(t, s).Keys.Get(t.Context(), after.ID); err != nil {
		t.Errorf("the store after a refused restore: %v", err)
	}
	if err := s.Stop(patience); err != nil {
		t.Fatal(err)
	}
	text := ok(t, storeEnv(o), "backup", "restore", file)
	_, aside, found := strings.Cut(text, "What was there before is at ")
	if _, err := os.Stat(strings.TrimSuffix(strings.TrimSpace(aside), ".")); !found || err != nil {
		t.Errorf("restore printed\n%s\nwant where the old store is (%v)", text, err)
	}
	if _, err := owner(t, server.Run(t, o)).Keys.Get(t.Context(), after.ID); err == nil {
		t.Error("a key made after the copy is in the restored store")
	}
}

// TestBackupFolder names no file: the copy goes into the backup folder.
func TestBackupFolder(t *testing.T) {
	t.Parallel()
	o := server.Options{Dir: t.TempDir()}
	s := server.Run(t, o)
	if text := ok(t, storeEnv(o), "backup", "list"); !strings.Contains(text, "There are no backups") {
		t.Errorf("backup list printed\n%s", text)
	}
	printed := ok(t, storeEnv(o), "backup", "create")
	file := field(printed, "file")
	if filepath.Dir(file) != filepath.Join(s.Dir, "backups") {
		t.Errorf("backup create printed\n%s\nwant a file in the backup folder", printed)
	}
	if text := ok(t, storeEnv(o), "backup", "list"); !strings.Contains(text, file) {
		t.Errorf("backup list printed\n%s\nwant %s in it", text, file)
	}
	if got := run(t, storeEnv(o), "backup", "verify", filepath.Join(s.Dir, "none")); got.code != 1 {
		t.Errorf("verify of a file that is not there: code %d, want 1", got.code)
	}
}
