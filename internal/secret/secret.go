// Package secret holds the server's own key and everything derived from it,
// such as the keys for cursor signatures, sealed webhook secrets and stored
// answers. The key lives beside the database or in the environment, never in
// it, so a stolen backup opens nothing.
package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Key is a server's root key. Its uses never share a derived key.
type Key struct{ root []byte }

// ErrOpen means that a sealed value cannot be opened: another key made it, it
// belongs elsewhere, or it was changed.
var ErrOpen = errors.New("sealed value does not open")

// Parse makes a key from any text of 32 characters or more.
func Parse(text string) (Key, error) {
	if len(text) < 32 {
		return Key{}, errors.New("a server key needs 32 characters or more")
	}
	sum := sha256.Sum256([]byte("hearth server key\n" + text))
	return Key{root: sum[:]}, nil
}

// Load reads the key file at path, and makes one when there is none; made
// reports that. The file is written whole or not at all.
func Load(path string) (k Key, made bool, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		fresh := base64.RawURLEncoding.EncodeToString(random(32))
		err := WriteFile(path, []byte(fresh+"\n"))
		if errors.Is(err, fs.ErrExist) {
			return Load(path) // another process was faster
		} else if err != nil {
			return Key{}, false, fmt.Errorf("write server key: %w", err)
		}
		k, err = Parse(fresh)
		return k, true, err
	} else if err != nil {
		return Key{}, false, fmt.Errorf("read server key: %w", err)
	}
	if k, err = Parse(strings.TrimSpace(string(text))); err != nil {
		return Key{}, false, fmt.Errorf("read server key %s: %w", path, err)
	}
	return k, false, nil
}

// Derive returns the 32-byte key for one purpose.
func (k Key) Derive(purpose string) []byte {
	b, err := hkdf.Expand(sha256.New, k.root, "hearth "+purpose, 32)
	if err != nil {
		panic(err) // only a length past 255 hashes can fail
	}
	return b
}

// Seal encrypts text for one purpose with AES-256-GCM. bind is authenticated
// but not stored: Open needs the same, so a sealed value cannot be moved to
// another row.
func (k Key) Seal(purpose, bind string, text []byte) []byte { return k.Box(purpose).Seal(bind, text) }

// Open decrypts what Seal made. It returns ErrOpen for anything else.
func (k Key) Open(purpose, bind string, sealed []byte) ([]byte, error) {
	return k.Box(purpose).Open(bind, sealed)
}

// Box seals and opens for one purpose. It is for frequent use, because making
// one costs more than using it. It is safe for many goroutines.
type Box struct{ gcm cipher.AEAD }

// Box returns the box for a purpose.
func (k Key) Box(purpose string) Box {
	block, err := aes.NewCipher(k.Derive(purpose))
	if err != nil {
		panic(err) // the key always has 32 bytes
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES always has the right block size
	}
	return Box{gcm}
}

// Seal is Key.Seal.
func (b Box) Seal(bind string, text []byte) []byte {
	size := b.gcm.NonceSize()
	nonce := make([]byte, size, size+len(text)+b.gcm.Overhead())
	_, _ = rand.Read(nonce) // never fails: the program ends instead
	return b.gcm.Seal(nonce, nonce, text, []byte(bind))
}

// Open is Key.Open.
func (b Box) Open(bind string, sealed []byte) ([]byte, error) {
	if len(sealed) < b.gcm.NonceSize() {
		return nil, ErrOpen
	}
	text, err := b.gcm.Open(nil, sealed[:b.gcm.NonceSize()], sealed[b.gcm.NonceSize():], []byte(bind))
	if err != nil {
		return nil, ErrOpen
	}
	return text, nil
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: the program ends instead
	return b
}

// place gives a finished file its name, unless something has it. A rename
// would replace that; where hard links are missing, as on many sticks, the
// name is taken first.
func place(from, path string) error {
	err := os.Link(from, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Rename(from, path))
}

// WriteFile writes a private file durably: to a temporary name, synced, then
// renamed over path. It never replaces an existing file.
func WriteFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already after the link
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(0o600), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := place(f.Name(), path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	_ = dir.Sync() // not every system can sync a folder
	return dir.Close()
}
