package config

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/did"
)

const production = "production"

// environment is a short word; the short forms of the usual ones are understood.
func environment() kind[string] {
	form := regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)
	return kind[string]{
		name: "word", want: "a word such as development, test or production",
		parse: func(s string) (string, error) {
			s = strings.ToLower(s)
			switch s {
			case "prod":
				return production, nil
			case "dev":
				return "development", nil
			}
			if !form.MatchString(s) {
				return "", errForm
			}
			return s, nil
		},
		format: same,
	}
}

// area is the letter of one area.
func area() kind[string] {
	k := oneOf("a", "b", "c", "d")
	k.name = "areas"
	return k
}

// channel is a mode of surveys in which households answer themselves.
func channel() kind[string] {
	k := oneOf("ussd", "web", "chat")
	k.name = "channels"
	return k
}

// textMode says what the text of a USSD request holds. Automatic detection is
// no longer an option, because two equal first keys cannot be distinguished
// from one that the network sent twice.
func textMode() kind[string] {
	k := oneOf("accumulated", "latest")
	parse := k.parse
	k.parse = func(s string) (string, error) {
		if strings.EqualFold(s, "auto") {
			return "", errors.New("is no longer a mode: write latest if your gateway sends the newest answer alone, else leave the setting out")
		}
		return parse(s)
	}
	return k
}

// oracleDID is empty or a DID.
func oracleDID() kind[string] {
	return kind[string]{
		name: "did", want: "a DID such as did:ixo:entity:0123…",
		parse: func(s string) (string, error) {
			if s == "" {
				return "", nil
			}
			if !did.Valid(s) {
				return "", errForm
			}
			return s, nil
		},
		format: same,
	}
}

// route is the method and the path of a route.
func route() kind[string] {
	form := regexp.MustCompile(`^(GET|POST|PUT|PATCH|DELETE) /[!-~]{1,255}$`)
	return kind[string]{
		name: "route", want: "routes such as GET /weather/now, with commas between them",
		parse: func(s string) (string, error) {
			s = strings.Join(strings.Fields(s), " ")
			if !form.MatchString(s) {
				return "", errForm
			}
			return s, nil
		},
		format: same,
	}
}

// mnemonic is empty or a BIP-39 phrase. The words and their checksum are
// checked where the key is made.
func mnemonic() kind[Secret] {
	word := regexp.MustCompile(`^[a-z]{3,8}$`)
	return kind[Secret]{
		name: "secret", want: "12, 15, 18, 21 or 24 words in lower case",
		parse: func(s string) (Secret, error) {
			if s == "" {
				return "", nil
			}
			words := strings.Fields(s)
			if len(words) < 12 || len(words) > 24 || len(words)%3 != 0 {
				return "", errors.New("has the wrong number of words")
			}
			for _, w := range words {
				if !word.MatchString(w) {
					return "", errors.New("has a word no phrase can hold")
				}
			}
			return Secret(strings.Join(words, " ")), nil
		},
		format: Secret.Reveal,
	}
}

// serviceCode is what one dials.
func serviceCode() kind[string] {
	form := regexp.MustCompile(`^\*[0-9]+(\*[0-9]+)*#$`)
	return kind[string]{
		name: "service codes", want: "a code such as *2233# or *384*1#",
		parse: func(s string) (string, error) {
			if len(s) > 32 || !form.MatchString(s) {
				return "", errForm
			}
			return s, nil
		},
		format: same,
	}
}

// leastPassphrase is the shortest text a key is stretched from, in characters.
const leastPassphrase = 16

// pinKey is empty, a 32-byte key or a passphrase, kept as it was written:
// PINs taken over from elsewhere were sealed with the text itself.
func pinKey() kind[Secret] {
	return kind[Secret]{
		name: "secret", want: "32 random bytes (64 hexadecimal digits, base64 of 32 bytes, or exactly 32 characters; make one with: openssl rand -hex 32), or a passphrase of 16 characters or more",
		parse: func(s string) (Secret, error) {
			if s == "" {
				return "", nil
			}
			key, ok := decodeKey(s)
			switch {
			case ok:
			case hexOnly(s):
				return "", errors.New("is not 32 bytes long")
			case len([]rune(s)) < leastPassphrase:
				return "", errors.New("is neither 32 bytes long nor a passphrase of 16 characters")
			default:
				key = []byte(s)
			}
			if weak(key) {
				return "", errors.New("is too easy to guess")
			}
			return Secret(s), plain(s)
		},
		format: Secret.Reveal,
	}
}

// hexOnly distinguishes a key with a digit too few or too many from a
// passphrase.
func hexOnly(s string) bool {
	return strings.Trim(s, "0123456789abcdefABCDEF") == ""
}

// decodeKey reads the three forms of a 32-byte key. Their lengths differ (64,
// 43 or 44, and 32 characters), so no text can be read in two ways.
func decodeKey(s string) ([]byte, bool) {
	switch len(s) {
	case 32:
		return []byte(s), true
	case 64:
		key, err := hex.DecodeString(s)
		return key, err == nil
	case 43, 44:
		s = strings.TrimRight(s, "=")
		for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if key, err := enc.DecodeString(s); err == nil && len(key) == 32 {
				return key, true
			}
		}
	}
	return nil, false
}

// weak finds keys that are not random: few different bytes, a repeated piece, a
// counting row, or the words of an example.
func weak(key []byte) bool {
	seen := map[byte]bool{}
	for _, b := range key {
		seen[b] = true
	}
	if len(seen) < 8 {
		return true
	}
	if counts(key) {
		return true
	}
	for period := 1; period <= len(key)/2; period++ {
		if string(key[period:]) == string(key[:len(key)-period]) {
			return true
		}
	}
	lower := strings.ToLower(string(key))
	for _, w := range []string{"change", "example", "password", "secret", "default", "your", "encryption"} {
		if strings.Contains(lower, w) {
			return true
		}
	}
	return false
}

// counts reports whether all neighbours differ by the same amount.
func counts(key []byte) bool {
	step := key[1] - key[0]
	for i := 1; i < len(key); i++ {
		if key[i]-key[i-1] != step {
			return false
		}
	}
	return true
}
