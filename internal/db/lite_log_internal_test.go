package db

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// The file that is synced is the one that has the name, also when that is
// another one than before.
func TestSyncFollowsTheName(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s.db-wal")
	log := syncedLog{Path: path}
	defer log.Close()
	if err := log.Sync(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Sync without a file: %v, want that it is missing", err)
	}
	for _, want := range []string{"first", "second"} {
		// Both exist at once, so that they cannot have the same number.
		if err := os.WriteFile(path+"-new", []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+"-new", path); err != nil {
			t.Fatal(err)
		}
		log.Anew()
		for range 2 {
			if err := log.Sync(); err != nil {
				t.Fatalf("Sync: %v", err)
			}
			text := make([]byte, len(want))
			if _, err := log.file.ReadAt(text, 0); err != nil || string(text) != want {
				t.Errorf("the file that was synced holds %q, %v; want %q", text, err, want)
			}
		}
	}
}

func TestSyncFolder(t *testing.T) {
	t.Parallel()
	if err := syncFolder(t.TempDir()); err != nil {
		t.Errorf("syncFolder: %v", err)
	}
}

// Rewriting changes no byte, whatever the length.
func TestRewrite(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, rewriteChunk - 1, rewriteChunk, rewriteChunk + 1, 3*rewriteChunk + 7} {
		path := filepath.Join(t.TempDir(), "s.db-wal")
		want := make([]byte, size)
		for i := range want {
			want[i] = byte(i * 7)
		}
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
		log := syncedLog{Path: path}
		if err := log.Rewrite(); err != nil {
			t.Errorf("Rewrite of %d bytes: %v", size, err)
		}
		log.Close()
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes were rewritten as %d others, %v", size, len(got), err)
		}
	}
}
