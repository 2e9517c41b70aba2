//go:build unix

package menu_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, size := range map[string]int{"empty": 0, "small": 5, "full": menu.MaxFile, "over": menu.MaxFile + 1} {
		if err := os.WriteFile(at(name), []byte(strings.Repeat("x", size)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link": "small", "linked pipe": "pipe"} {
		if err := os.Symlink(at(to), at(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		path, want string // want is part of the error
		size       int
	}{
		{at("empty"), "", 0},
		{at("small"), "", 5},
		{at("full"), "", menu.MaxFile},
		{at("over"), "more than 262144 bytes", 0},
		{at("pipe"), "not a regular file", 0},
		{at("linked pipe"), "not a regular file", 0},
		{at("link"), "", 5},
		{dir, "not a regular file", 0},
		{"/dev/zero", "not a regular file", 0},
	} {
		got, err := menu.ReadFile(tt.path)
		if len(got) != tt.size || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Read(%s) = %d bytes, %v, want %d and %q", tt.path, len(got), err, tt.size, tt.want)
		}
	}
	if _, err := menu.ReadFile(at("nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v, want ErrNotExist", err)
	}
}
