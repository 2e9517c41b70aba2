package menu

import (
	"strings"
	"unicode/utf8"
)

// What one USSD message carries: 160 octets, which are 182 characters of
// 7 bits or 80 of two octets. Networks may give less, never more.
const (
	StandardGSM7 = 182
	StandardUCS2 = 80
)

// Limits are the most units a screen may have in either alphabet. A zero member
// means the standard one.
type Limits struct {
	GSM7 int `json:"gsm7"`
	UCS2 int `json:"ucs2"`
}

// SchemaName is the name that clients know it by.
func (Limits) SchemaName() string { return "ScreenLimits" }

// OrStandard returns l with the standard for zero members.
func (l Limits) OrStandard() Limits {
	if l.GSM7 <= 0 {
		l.GSM7 = StandardGSM7
	}
	if l.UCS2 <= 0 {
		l.UCS2 = StandardUCS2
	}
	return l
}

// Fits reports whether s is one screen.
func (l Limits) Fits(s string) bool {
	return l.Holds(Units(s))
}

// Holds reports whether n units, as Units counted them, are one screen.
func (l Limits) Holds(n int, ucs2 bool) bool {
	l = l.OrStandard()
	if ucs2 {
		return n <= l.UCS2
	}
	return n <= l.GSM7
}

// Units counts s as the network does. One character outside the GSM 7-bit
// alphabet turns the whole text into UCS-2, counted in pairs of octets; the
// extension characters ^{}\[~]|€ and form feed take two of the 7-bit units.
func Units(s string) (n int, ucs2 bool) {
	m := measure(s)
	return m.units(), m.wide
}

// meter counts a text in both alphabets at once, so that the meters of parts
// add up to the meter of the whole.
type meter struct {
	gsm, ucs int
	wide     bool // holds a character that only UCS-2 has
}

func (m meter) units() int {
	if m.wide {
		return m.ucs
	}
	return m.gsm
}

func (m meter) plus(o meter) meter {
	return meter{gsm: m.gsm + o.gsm, ucs: m.ucs + o.ucs, wide: m.wide || o.wide}
}

func (l Limits) holds(m meter) bool {
	if m.wide {
		return m.ucs <= l.UCS2
	}
	return m.gsm <= l.GSM7
}

func measure(s string) meter {
	var m meter
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			w := ascii[c]
			m.gsm += int(w)
			m.ucs++
			m.wide = m.wide || w == 0
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		m = m.plus(measureRune(r))
		i += size
	}
	return m
}

func measureRune(r rune) meter {
	m := meter{ucs: 1}
	switch {
	case r < utf8.RuneSelf:
		m.gsm = int(ascii[r])
	case r == '€':
		m.gsm = 2
	case strings.ContainsRune(beyondASCII, r):
		m.gsm = 1
	case r > 0xFFFF:
		m.ucs = 2 // a surrogate pair
	}
	m.wide = m.gsm == 0
	return m
}

// beyondASCII are the other characters of the basic GSM 7-bit table.
const beyondASCII = "£¥èéùìòÇØøÅåΔΦΓΛΩΠΨΣΘΞÆæßÉ¤¡ÄÖÑÜ§¿äöñüà"

// ascii has the 7-bit units of each ASCII character; 0 is one the alphabet
// does not have: most control characters and the backtick.
var ascii = asciiUnits()

func asciiUnits() (t [utf8.RuneSelf]uint8) {
	for c := byte(' '); c < 0x7f; c++ {
		t[c] = 1
	}
	t['\n'], t['\r'] = 1, 1
	t['`'] = 0
	for _, c := range []byte("^{}\\[~]|\f") {
		t[c] = 2
	}
	return t
}
