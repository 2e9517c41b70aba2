package secret_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/secret"
)

func TestLoadKeepsTheKeyItMade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "server.key")
	first, made, err := secret.Load(path)
	if err != nil || !made {
		t.Fatalf("Load() made = %v, err = %v; want a new key", made, err)
	}
	second, made, err := secret.Load(path)
	if err != nil || made {
		t.Fatalf("second Load() made = %v, err = %v; want the old key", made, err)
	}
	if !bytes.Equal(first.Derive("x"), second.Derive("x")) {
		t.Error("the second Load gave another key")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v; want 0600", info.Mode(), err)
	}
	if bytes.Equal(first.Derive("x"), first.Derive("y")) {
		t.Error("two purposes share a key")
	}
}

func TestLoadRefusesAShortKey(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "server.key")
	if err := os.WriteFile(path, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := secret.Load(path); err == nil {
		t.Error("Load() took a short key")
	}
}

func TestWriteFileNeverReplaces(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	if err := secret.WriteFile(path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := secret.WriteFile(path, []byte("two")); !errors.Is(err, os.ErrExist) {
		t.Errorf("second WriteFile() = %v, want ErrExist", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "one" {
		t.Errorf("file = %q, want the first", got)
	}
}

func TestSealIsBoundToItsPlace(t *testing.T) {
	t.Parallel()
	k, err := secret.Parse("0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	sealed := k.Seal("webhook", "ws/1", []byte("text"))
	if got, err := k.Open("webhook", "ws/1", sealed); err != nil || string(got) != "text" {
		t.Fatalf("Open() = %q, %v", got, err)
	}
	flipped := bytes.Clone(sealed)
	flipped[len(flipped)-1] ^= 1
	for name, open := range map[string]func() ([]byte, error){
		"other row":     func() ([]byte, error) { return k.Open("webhook", "ws/2", sealed) },
		"other purpose": func() ([]byte, error) { return k.Open("idem", "ws/1", sealed) },
		"changed":       func() ([]byte, error) { return k.Open("webhook", "ws/1", flipped) },
		"short":         func() ([]byte, error) { return k.Open("webhook", "ws/1", []byte("x")) },
	} {
		if _, err := open(); !errors.Is(err, secret.ErrOpen) {
			t.Errorf("%s: err = %v, want ErrOpen", name, err)
		}
	}
	if bytes.Equal(sealed, k.Seal("webhook", "ws/1", []byte("text"))) {
		t.Error("the same text sealed twice gives the same bytes")
	}
}
