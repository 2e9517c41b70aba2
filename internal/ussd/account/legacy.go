package account

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
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
	var out [aes.BlockSize]byte
	iv := sha256.Sum256([]byte(pin + l.salt))
	pad := byte(aes.BlockSize - len(pin))
	for i := range out {
		c := pad
		if i < len(pin) {
			c = pin[i]
		}
		out[i] = c ^ iv[i]
	}
	l.block.Encrypt(out[:], out[:])
	return out
}

// verify tells whether stored is the PIN in this form.
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

// table gives the PIN of 5 digits to each of its ciphertexts. That this is
// possible is what is wrong with the form; here it serves to seal imported
// PINs at once, and to tell that the key is the right one.
func (l *legacy) table() map[[aes.BlockSize]byte]string {
	all := make(map[[aes.BlockSize]byte]string, pinCount)
	for n := range pinCount {
		pin := fmt.Sprintf("%05d", n)
		all[l.encrypt(pin)] = pin
	}
	return all
}

// made tells whether some PIN of 4 or 6 digits has a ciphertext: whether the key
// is the right one although the table does not have it. It takes half a second.
func (l *legacy) made(block [aes.BlockSize]byte) bool {
	for _, size := range []int{4, 6} {
		for n, last := 0, pow10(size); n < last; n++ {
			if l.encrypt(fmt.Sprintf("%0*d", size, n)) == block {
				return true
			}
		}
	}
	return false
}

func pow10(n int) int {
	out := 1
	for range n {
		out *= 10
	}
	return out
}
