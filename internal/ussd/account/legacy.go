package account

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// legacy checks PINs as the server this one takes over from kept them: one
// block of AES-CBC whose IV comes from the PIN itself. Equal PINs have equal
// ciphertexts there, so nothing is ever written in this form.
type legacy struct {
	salt  string
	block cipher.Block
}

// The fixed parts of the form.
const (
	legacySuffix = "pin-salt-not-secret"
	legacyRounds = 1000
	legacySalt   = 16 // hexadecimal digits
)

// newLegacy makes the checker for the text that PIN_ENCRYPTION_KEY had there.
func newLegacy(text string) (*legacy, error) {
	sum := sha256.Sum256([]byte(text + legacySuffix))
	salt := hex.EncodeToString(sum[:])[:legacySalt]
	key, err := pbkdf2.Key(sha256.New, text, []byte(salt), legacyRounds, keySize)
	if err != nil {
		return nil, fmt.Errorf("derive the key of earlier PINs: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("derive the key of earlier PINs: %w", err)
	}
	return &legacy{salt: salt, block: block}, nil
}

// encrypt gives the one block a PIN of at most 15 bytes has in this form.
func (l *legacy) encrypt(pin string) [aes.BlockSize]byte {
	return l.encryptSalted([]byte(pin+l.salt), len(pin))
}

// encryptSalted is encrypt for a PIN of size bytes with the salt behind it.
func (l *legacy) encryptSalted(text []byte, size int) (out [aes.BlockSize]byte) {
	iv := sha256.Sum256(text)
	for i := copy(out[:], text[:size]); i < len(out); i++ {
		out[i] = byte(aes.BlockSize - size)
	}
	subtle.XORBytes(out[:], out[:], iv[:])
	l.block.Encrypt(out[:], out[:])
	return out
}

// all gives every PIN of size digits and its ciphertext. The text of a PIN is
// good until the next one.
func (l *legacy) all(size int) iter.Seq2[[]byte, [aes.BlockSize]byte] {
	return func(yield func([]byte, [aes.BlockSize]byte) bool) {
		text := append(bytes.Repeat([]byte{'0'}, size), l.salt...)
		for yield(text[:size], l.encryptSalted(text, size)) {
			i := size - 1
			for ; i >= 0 && text[i] == '9'; i-- {
				text[i] = '0'
			}
			if i < 0 {
				return
			}
			text[i]++
		}
	}
}

// verify reports whether stored is the PIN in this form.
func (l *legacy) verify(stored, pin string) bool {
	want, err := decodeLegacy(stored)
	if err != nil || len(pin) >= aes.BlockSize {
		return false
	}
	got := l.encrypt(pin)
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

var errLegacy = errors.New("not a PIN of the earlier server: want base64 of 16 bytes")

// decodeLegacy reads the stored text.
func decodeLegacy(stored string) (block [aes.BlockSize]byte, err error) {
	if strings.ContainsAny(stored, "\r\n") { // the decoder skips line ends
		return block, errLegacy
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(stored)
	if err != nil || len(raw) != aes.BlockSize {
		return block, errLegacy
	}
	return [aes.BlockSize]byte(raw), nil
}

// pinCount is how many PINs of 5 digits there are.
const pinCount = 100_000

// table maps each ciphertext to its PIN of 5 digits. That this is possible is
// the weakness of the format; here it serves to re-seal imported PINs at once,
// and to check that the key is the right one.
func (l *legacy) table() map[[aes.BlockSize]byte]string {
	pins := make(map[[aes.BlockSize]byte]string, pinCount)
	for pin, block := range l.all(5) {
		pins[block] = string(pin)
	}
	return pins
}

// made reports whether some PIN of 4 or 6 digits has a ciphertext: whether the key
// is the right one although the table does not have it. It takes up to half a second.
func (l *legacy) made(block [aes.BlockSize]byte) bool {
	for _, size := range []int{4, 6} {
		for _, other := range l.all(size) {
			if other == block {
				return true
			}
		}
	}
	return false
}
