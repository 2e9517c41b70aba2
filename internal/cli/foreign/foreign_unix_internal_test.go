//go:build unix

package foreign

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe, on which a reader waits for ever, is named and not opened; whoever ends
// the program ends the reading.
func TestIrregular(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "farm.csv")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link.csv": "farm.csv", "there.json": "."} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	x, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if left := strings.Join(x.Left, "\n"); len(x.Left) != 3 || strings.Count(left, "not a regular file") != 3 {
		t.Errorf("left = %s", left)
	}
	if _, err := Open(t.Context(), pipe); err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Errorf("a pipe as an export = %v", err)
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Open(over, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("an export after the end = %v", err)
	}
}
