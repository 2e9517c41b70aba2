//go:build unix

package menu_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// A pipe nobody writes to would hold a look for ever, and with it the end of
// the server.
func TestRegistryTakesFilesOnly(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "menu.yaml")
	fileWith(t, path, small, 0)
	r := registry(t, menu.RegistryConfig{Source: path})
	first := r.Current()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- r.Look() }()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("a look at a pipe: %v, want that it is no file", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("a look at a pipe does not end")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	fileWith(t, path, small+strings.Repeat("# more\n", 60_000), time.Second)
	if err := r.Look(); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a look at a large file: %v, want that it is too large", err)
	}
	if r.Current() != first {
		t.Error("the pack has changed")
	}
}
