package did_test

import (
	"bytes"
	"encoding/hex"
	"testing"

	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/did"
)

// TestEncodeMultibase: the vectors of draft-msporny-base58, and what has no digits.
func TestEncodeMultibase(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ hex, want string }{
		{"", "z"},
		{"00", "z1"},
		{"0000287fb4cd", "z11233QC4"},
		{hex.EncodeToString([]byte("Hello World!")), "z2NEpo7TZRRrLZSi2U"},
		{hex.EncodeToString([]byte("The quick brown fox jumps over the lazy dog.")), "zUSm3fpXnKG5EUBx2ndxBDMPVciP5hGey2Jh4NDv6gmeo1LkMeiKrLJUUBk6Z"},
	} {
		raw, err := hex.DecodeString(tt.hex)
		if err != nil {
			t.Fatal(err)
		}
		if got := did.EncodeMultibase(raw); got != tt.want {
			t.Errorf("EncodeMultibase(%s) = %s, want %s", tt.hex, got, tt.want)
		}
	}
}

// TestMultibaseComesBack: whatever is encoded is decoded to the same bytes.
func TestMultibaseComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := append(make([]byte, rapid.IntRange(0, 9).Draw(t, "zeros")), rapid.SliceOfN(rapid.Byte(), 0, 90).Draw(t, "bytes")...)
		got, err := did.DecodeMultibase(did.EncodeMultibase(want))
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%x comes back as %x, %v", want, got, err)
		}
	})
}
