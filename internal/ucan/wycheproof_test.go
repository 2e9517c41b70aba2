package ucan_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"testing"

	"github.com/c2sp/wycheproof"
)

// TestWycheproof runs the Ed25519 vectors of the Wycheproof project against the
// call that decides about tokens.
func TestWycheproof(t *testing.T) {
	t.Parallel()
	b, err := fs.ReadFile(wycheproof.TestVectors, "ed25519_test.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		NumberOfTests int
		TestGroups    []struct {
			PublicKey struct{ Pk string }
			Tests     []struct {
				TcID                      int
				Comment, Msg, Sig, Result string
			}
		}
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, group := range file.TestGroups {
		key := unhex(t, group.PublicKey.Pk)
		for _, tt := range group.Tests {
			count++
			sig := unhex(t, tt.Sig)
			got := len(sig) == ed25519.SignatureSize && ed25519.Verify(key, unhex(t, tt.Msg), sig)
			if got != (tt.Result == "valid") {
				t.Errorf("vector %d (%s): got %v, want %s", tt.TcID, tt.Comment, got, tt.Result)
			}
		}
	}
	if count == 0 || count != file.NumberOfTests {
		t.Errorf("ran %d vectors, want %d", count, file.NumberOfTests)
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
