package ussd

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"strings"
	"sync"
)

// part is one answer inside an accumulated text. end is where it ends there.
type part struct {
	text string
	end  int
}

// tidy removes the blanks around the separators of a text: the gateway trims
// the newest answer, which is in the middle of the text the next time.
func tidy(text string) string {
	if !strings.Contains(text, " *") && !strings.Contains(text, "* ") {
		return text
	}
	parts := strings.Split(text, "*")
	for i, p := range parts {
		parts[i] = strings.TrimSpace(p)
	}
	return strings.Join(parts, "*")
}

// split takes the answers out of text from a place on. Only at the very end a
// star is an answer, the one that exits; elsewhere two stars have a blank
// answer between them.
func split(text string, from int) []part {
	end, exit := len(text), false
	if rest := text[from:]; rest == "*" {
		return []part{{"*", end}}
	} else if strings.HasSuffix(rest, "**") {
		end, exit = end-2, true
	}
	out := make([]part, 0, 1+strings.Count(text[from:end], "*"))
	for {
		i := strings.IndexByte(text[from:end], '*')
		if i < 0 {
			break
		}
		out = append(out, part{text[from : from+i], from + i})
		from += i + 1
	}
	out = append(out, part{text[from:end], end})
	if exit {
		out = append(out, part{"*", len(text)})
	}
	return out
}

// mark recognises a text without storing it, because it may hold a PIN: its
// length and the beginning of a keyed hash.
type mark struct {
	length int
	mac    uint64
}

// marker makes keyed hashes. It is safe for many goroutines.
type marker struct{ pool sync.Pool }

type hasher struct {
	h   hash.Hash
	in  []byte
	out [sha256.Size]byte
}

func newMarker(key []byte) *marker {
	return &marker{pool: sync.Pool{New: func() any { return &hasher{h: hmac.New(sha256.New, key)} }}}
}

// sum hashes the session, what the hash is for, a number and a text.
func (m *marker) sum(k *key, purpose byte, n int64, text string) [sha256.Size]byte {
	h := m.pool.Get().(*hasher)
	in := append(h.in[:0], purpose)
	in = binary.AppendVarint(in, n)
	in = appendText(in, k.id)
	h.in = append(in, text...)
	h.h.Reset()
	h.h.Write(h.in)
	h.h.Sum(h.out[:0])
	clear(h.in)
	out := h.out
	m.pool.Put(h)
	return out
}

// mark is the mark of a text in a session.
func (m *marker) mark(k *key, text string) mark {
	sum := m.sum(k, 't', 0, text)
	return mark{len(text), binary.LittleEndian.Uint64(sum[:])}
}

// effect is the key of the i-th action that one input leads to. The input is
// identified by the whole text up to it or, where text does not accumulate, by
// the number of the step.
func (m *marker) effect(k *key, call int64, at place, i int) string {
	purpose := byte('e')
	if at.text == "" {
		purpose = 's'
	}
	sum := m.sum(k, purpose, call, string(binary.AppendVarint(binary.AppendVarint(nil, int64(at.step)), int64(i)))+at.text)
	return hex.EncodeToString(sum[:16])
}

// place is where in its session an input stands.
type place struct {
	text string // accumulated up to it; "" where text does not accumulate
	step int    // 0 where it does
}
