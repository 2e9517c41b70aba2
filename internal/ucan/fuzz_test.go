package ucan_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/internal/ucan/codec"
)

// FuzzParse gives the checker any text. It must not panic, and what it takes
// must say the same when it is written and read again.
func FuzzParse(f *testing.F) {
	g := loadGolden(f)
	for _, c := range g.Cases {
		f.Add(c.Token)
	}
	config := g.config(f)
	f.Fuzz(func(t *testing.T, text string) {
		for _, kind := range []string{"auth", "delegation", "claim"} {
			tt := goldenCase{Kind: kind, Token: text, Can: "memory/read", With: "ixo:memory"}
			if _, err := judge(t, ucan.New(config), tt); err != nil && ucan.KindOf(err) == "" {
				t.Errorf("%s: an error without a kind: %v", kind, err)
			}
		}
		token, err := ucan.Parse(text)
		if err != nil {
			return
		}
		again, err := ucan.Parse(token.Text())
		if err != nil || again.CID != token.CID || again.Issuer != token.Issuer {
			t.Errorf("read again: %v", err)
		}
	})
}

// FuzzBlock gives the reader of tokens any dag-cbor block under a right CID,
// which chance alone would not find.
func FuzzBlock(f *testing.F) {
	for _, c := range loadGolden(f).Cases {
		if token, err := ucan.Parse(c.Token); err == nil {
			f.Add(blockOf(f, token), token.CID.Codec() == codec.Raw)
		}
	}
	f.Fuzz(func(t *testing.T, block []byte, jwt bool) {
		_, _ = ucan.Parse(pack(t, block, jwt))
	})
}

func blockOf(t testing.TB, token *ucan.Token) []byte {
	t.Helper()
	raw, err := codec.DecodeText(token.Text())
	if err != nil {
		t.Fatal(err)
	}
	a, err := codec.DecodeCAR(raw)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := a.Find(token.CID)
	return b
}

// TestMemoryIsBounded: a short text that promises much gets little.
func TestMemoryIsBounded(t *testing.T) {
	deep := strings.Repeat("\x9a\x00\x00\xff\xff", 9000) // lists of 65,535 in each other
	wide := "\x99\xff\xff" + strings.Repeat("\xa0", 40000)
	for name, block := range map[string]string{"deep": deep, "wide": wide, "text": "\x7a\xff\xff\xff\xff"} {
		text := pack(t, []byte(block), false)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := ucan.Parse(text); ucan.KindOf(err) != ucan.Malformed {
			t.Errorf("%s: got %v, want %s", name, err, ucan.Malformed)
		}
		runtime.ReadMemStats(&after)
		// 64 KiB of text make 48 KiB of bytes, each at most a value of 16
		// bytes, in lists that double as they grow.
		if got := after.TotalAlloc - before.TotalAlloc; got > 8<<20 {
			t.Errorf("%s: %d bytes were allocated, want at most 8 MiB", name, got)
		}
	}
}
