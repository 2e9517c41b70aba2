package account

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/scrypt"
)

const (
	keySize       = 32
	minPassphrase = 12 // characters
	keyIDSize     = 4  // bytes of a hash; twice as many digits
)

// The cost of a passphrase, paid once at the start of the server: 32 MiB and
// about a tenth of a second.
const (
	scryptN = 1 << 15
	scryptR = 8
	scryptP = 1
	// passphraseSalt is fixed: there is one key for the whole store, and every
	// instance must come to the same one from the setting alone.
	passphraseSalt = "hearth ussd pin key passphrase"
)

// errKeyForm says which texts are keys, without repeating the text.
var errKeyForm = errors.New("want 64 hexadecimal digits, base64 of 32 bytes, exactly 32 characters, or a passphrase of 12 characters or more")

// Key seals PINs with AES-256-GCM. It is safe for many goroutines.
type Key struct {
	id   string
	aead cipher.AEAD
}

// ParseKey makes a key from the text of a setting: 64 hexadecimal digits,
// base64 of 32 bytes (43 or 44 characters), exactly 32 bytes taken literally,
// or a passphrase of 12 characters or more. A text that fits two forms is read
// as the first of them.
func ParseKey(text string) (Key, error) {
	if raw, ok := rawKey(text); ok {
		return newKey(raw), nil
	}
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) < minPassphrase {
		return Key{}, errKeyForm
	}
	raw, err := scrypt.Key([]byte(text), []byte(passphraseSalt), scryptN, scryptR, scryptP, keySize)
	if err != nil {
		return Key{}, fmt.Errorf("derive PIN key: %w", err)
	}
	return newKey(raw), nil
}

// rawKey reads the forms that hold the key itself.
func rawKey(text string) ([]byte, bool) {
	switch len(text) {
	case keySize:
		return []byte(text), true
	case 2 * keySize:
		raw, err := hex.DecodeString(text)
		return raw, err == nil
	case 43, 44:
		digits := strings.TrimRight(text, "=")
		for _, e := range []*base64.Encoding{base64.RawStdEncoding.Strict(), base64.RawURLEncoding.Strict()} {
			if raw, err := e.DecodeString(digits); err == nil && len(raw) == keySize {
				return raw, true
			}
		}
	}
	return nil, false
}

// newKey makes a key of 32 bytes. Its id distinguishes keys in the store and
// reveals nothing about them.
func newKey(raw []byte) Key {
	block, err := aes.NewCipher(raw)
	if err != nil {
		panic(err) // keys always have 32 bytes
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES always has the right block size
	}
	h := sha256.New()
	h.Write(raw)
	h.Write([]byte("pin-key-id"))
	return Key{id: hex.EncodeToString(h.Sum(nil)[:keyIDSize]), aead: aead}
}

// seal encrypts text. bind is authenticated but not stored, so that a sealed
// PIN is worth nothing in another account's row.
func (k Key) seal(bind, text string) []byte {
	size := k.aead.NonceSize()
	nonce := make([]byte, size, size+len(text)+k.aead.Overhead())
	_, _ = rand.Read(nonce) // never fails: the program ends instead
	return k.aead.Seal(nonce, nonce, []byte(text), []byte(bind))
}

// errSealed says that a sealed value does not open: another key made it, it
// belongs to another account, or it was changed.
var errSealed = errors.New("sealed PIN does not open")

func (k Key) open(bind string, sealed []byte) ([]byte, error) {
	n := k.aead.NonceSize()
	if len(sealed) < n {
		return nil, errSealed
	}
	text, err := k.aead.Open(nil, sealed[:n], sealed[n:], []byte(bind))
	if err != nil {
		return nil, errSealed
	}
	return text, nil
}

// keyring is the key that seals and those that only open.
type keyring struct {
	current Key
	old     []Key
}

// find gives the key with an id.
func (r keyring) find(id string) (Key, bool) {
	if id == r.current.id {
		return r.current, true
	}
	for _, k := range r.old {
		if k.id == id {
			return k, true
		}
	}
	return Key{}, false
}
