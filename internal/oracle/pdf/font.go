package pdf

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// font says what the codes of a string mean, and how wide they are.
type font struct {
	wide   bool            // a character has two bytes
	text   map[int]string  // what codes mean
	widths map[int]float64 // in units of text space
	other  float64         // width of all others
}

// maxCodes is how many codes of a font are looked at.
const maxCodes = 1 << 16

// unknown replaces a character that cannot be read.
const unknown = string(utf8.RuneError)

func (f *file) font(d dict) *font {
	f.work.spend(256 * inStep)
	out := &font{wide: d["Subtype"] == name("Type0"), text: map[int]string{}, widths: map[int]float64{}, other: 0.5}
	if out.wide {
		f.wideWidths(out, d)
	} else {
		f.encoding(out, d)
		scale := 0.001
		if m := f.list(d["FontMatrix"]); d["Subtype"] == name("Type3") && len(m) == 6 {
			scale = f.number(m[0])
		}
		first := int(f.number(d["FirstChar"]))
		for i, w := range f.list(d["Widths"]) {
			if i >= 256 {
				break
			}
			out.widths[first+i] = f.number(w) * scale
		}
	}
	if s, ok := f.get(d["ToUnicode"]).(*stream); ok {
		f.toUnicode(out, f.unpack(s))
	}
	return out
}

// wideWidths reads the widths of a font with two bytes a character:
// "first [w w w]" and "first last w".
func (f *file) wideWidths(out *font, d dict) {
	kids := f.list(d["DescendantFonts"])
	if len(kids) == 0 {
		return
	}
	kid := f.dict(kids[0])
	out.other = 1
	if kid["DW"] != nil {
		out.other = f.number(kid["DW"]) / 1000
	}
	for list := f.list(kid["W"]); len(list) >= 2; {
		first := int(f.number(list[0]))
		if each, ok := f.get(list[1]).(array); ok {
			for i, w := range each {
				out.widths[first+i] = f.number(w) / 1000
			}
			f.work.spend(len(each) * inStep)
			list = list[2:]
			continue
		}
		if len(list) < 3 {
			return
		}
		last := min(int(f.number(list[1])), first+maxCodes)
		for c := first; c <= last && f.work.step(); c++ {
			out.widths[c] = f.number(list[2]) / 1000
		}
		list = list[3:]
	}
}

// What codes from 128 on mean in the tables that fonts are based on, where that is not
// what they mean in Latin-1. All tables of package charmap are 90 kB.
const (
	windowsCodes   = "€�‚ƒ„…†‡ˆ‰Š‹Œ�Ž��‘’“”•–—˜™š›œ�žŸ"
	macintoshCodes = "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»…\u00a0ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄€‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\uf8ffÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ"
)

// encoding gives the codes of a font with one byte a character their meaning: that of
// its table, of its differences from it, or of the font itself.
func (f *file) encoding(out *font, d dict) {
	base, _ := f.get(d["Encoding"]).(name)
	own := f.dict(d["Encoding"])
	if b, ok := f.get(own["BaseEncoding"]).(name); ok {
		base = b
	}
	table := windowsCodes
	if base == "MacRomanEncoding" {
		table = macintoshCodes
	}
	for c := range 256 {
		out.text[c] = string(rune(c))
	}
	code := 128
	for _, r := range table {
		out.text[code] = string(r)
		code++
	}
	if base == "" {
		for c, glyph := range standard {
			out.text[c] = glyph
		}
		f.builtIn(out, f.dict(d["FontDescriptor"]))
	}
	code = 0
	for _, v := range f.list(own["Differences"]) {
		switch v := f.get(v).(type) {
		case float64:
			code = int(v)
		case name:
			if string(v) != "a"+strconv.Itoa(code) {
				out.text[code] = glyph(string(v))
			} else if text, ok := dotted[code]; ok {
				out.text[code] = text
			}
			code++
		}
	}
}

// builtIn reads the table of a Type 1 font, which is its plain part: "dup 11 /ff put".
func (f *file) builtIn(out *font, descriptor dict) {
	s, ok := f.get(descriptor["FontFile"]).(*stream)
	if !ok {
		return
	}
	plain, _, _ := bytes.Cut(f.unpack(s), []byte("eexec"))
	_, table, ok := bytes.Cut(plain, []byte("/Encoding"))
	if !ok {
		return
	}
	in := scanner{in: table, work: f.work}
	for {
		v, ok := in.value(0)
		switch {
		case !ok || v == word("def") || v == word("readonly"):
			return
		case v != word("dup"):
			continue
		}
		code, _ := in.value(0)
		to, _ := in.value(0)
		c, isNumber := code.(float64)
		g, isName := to.(name)
		if isNumber && isName && c >= 0 && c < 256 {
			out.text[int(c)] = glyph(string(g))
		}
	}
}

// toUnicode reads the table that says what codes mean in Unicode.
func (f *file) toUnicode(out *font, table []byte) {
	in := scanner{in: table, work: f.work}
	var stack []any
	for len(out.text) < maxCodes {
		v, ok := in.value(0)
		if !ok {
			return
		}
		w, isWord := v.(word)
		if !isWord {
			stack = append(stack, v)
			continue
		}
		switch w {
		case "endbfchar":
			for ; len(stack) >= 2; stack = stack[2:] {
				out.span(stack[0], stack[0], stack[1], f.work)
			}
		case "endbfrange":
			for ; len(stack) >= 3; stack = stack[3:] {
				out.span(stack[0], stack[1], stack[2], f.work)
			}
		}
		stack = nil
	}
}

// span adds a range of codes, with one text that is incremented or with one for
// each.
func (o *font) span(from, to, text any, w *work) {
	low, ok := from.(string)
	high, also := to.(string)
	if !ok || !also {
		return
	}
	each, isArray := text.(array)
	for i := 0; i <= number(high)-number(low) && i < maxCodes && w.step(); i++ {
		if !isArray {
			o.means(number(low)+i, text, i)
		} else if i < len(each) {
			o.means(number(low)+i, each[i], 0)
		}
	}
}

// means enters one code: a text whose last character is so many after the given one.
func (o *font) means(code int, text any, after int) {
	t, ok := text.(string)
	if !ok || len(t) > 64 || len(t) < 2 {
		return
	}
	units := make([]uint16, len(t)/2)
	for i := range units {
		units[i] = binary.BigEndian.Uint16([]byte(t[2*i : 2*i+2]))
	}
	units[len(units)-1] += uint16(after)
	o.text[code] = string(utf16.Decode(units))
}

// number is a code as a number.
func number(code string) int {
	n := 0
	for _, b := range []byte(code[max(0, len(code)-4):]) {
		n = n<<8 | int(b)
	}
	return n
}

// glyph is what a name of a glyph means.
func glyph(g string) string {
	g, _, _ = strings.Cut(g, ".")
	if text, ok := glyphs[g]; ok {
		return text
	}
	for _, prefix := range []string{"uni", "u"} {
		if hex, ok := strings.CutPrefix(g, prefix); ok && len(hex) >= 4 && len(hex) <= 6 {
			if n, err := strconv.ParseUint(hex, 16, 32); err == nil {
				return string(rune(n))
			}
		}
	}
	if len(g) == 1 {
		return g
	}
	if mark, ok := marks[g[min(1, len(g)):]]; ok {
		return norm.NFC.String(g[:1] + mark)
	}
	return unknown
}

// marks are the words for marks after a letter.
var marks = map[string]string{
	"acute": "\u0301", "grave": "\u0300", "circumflex": "\u0302", "dieresis": "\u0308", "tilde": "\u0303", "caron": "\u030c", "cedilla": "\u0327",
	"ring": "\u030a", "macron": "\u0304", "breve": "\u0306", "dotaccent": "\u0307", "ogonek": "\u0328", "hungarumlaut": "\u030b",
}

// glyphs are the names that are no rule.
var glyphs = glyphNames()

func glyphNames() map[string]string {
	out := map[string]string{
		"ff": "ff", "fi": "fi", "fl": "fl", "ffi": "ffi", "ffl": "ffl", "endash": "–", "emdash": "—", "hyphen": "-", "minus": "−", "bullet": "•",
		"quoteleft": "‘", "quoteright": "’", "quotedblleft": "“", "quotedblright": "”", "quotesinglbase": "‚", "quotedblbase": "„",
		"guillemotleft": "«", "guillemotright": "»", "guilsinglleft": "‹", "guilsinglright": "›", "ellipsis": "…", "dagger": "†", "daggerdbl": "‡",
		"section": "§", "paragraph": "¶", "copyright": "©", "registered": "®", "trademark": "™", "degree": "°", "plusminus": "±", "multiply": "×", "divide": "÷",
		"fraction": "⁄", "onequarter": "¼", "onehalf": "½", "threequarters": "¾", "onesuperior": "¹", "twosuperior": "²", "threesuperior": "³",
		"Euro": "€", "sterling": "£", "cent": "¢", "yen": "¥", "currency": "¤", "brokenbar": "¦", "logicalnot": "¬", "periodcentered": "·", "nbspace": " ",
		"exclamdown": "¡", "questiondown": "¿", "ordfeminine": "ª", "ordmasculine": "º", "mu": "µ", "germandbls": "ß", "dotlessi": "ı",
		"AE": "Æ", "ae": "æ", "OE": "Œ", "oe": "œ", "Oslash": "Ø", "oslash": "ø", "Lslash": "Ł", "lslash": "ł", "Eth": "Ð", "eth": "ð", "Thorn": "Þ", "thorn": "þ",
		"lessequal": "≤", "greaterequal": "≥", "notequal": "≠", "approxequal": "≈", "summation": "∑", "radical": "√", "infinity": "∞", "partialdiff": "∂",
		"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon1": "ε", "epsilon": "ε", "lambda": "λ", "pi": "π", "sigma": "σ", "theta": "θ", "phi": "φ",
		"omega": "ω", "Delta": "Δ", "Sigma": "Σ", "Omega": "Ω", "arrowright": "→", "arrowleft": "←", "asteriskmath": "*", "visiblespace": " ",
	}
	enter := func(from rune, names string) {
		for i, n := range strings.Fields(names) {
			out[n] = string(from + rune(i))
		}
	}
	enter(' ', "space exclam quotedbl numbersign dollar percent ampersand quotesingle parenleft parenright asterisk plus comma hyphen period slash "+
		"zero one two three four five six seven eight nine colon semicolon less equal greater question at")
	enter('[', "bracketleft backslash bracketright asciicircum underscore grave")
	enter('{', "braceleft bar braceright asciitilde")
	return out
}

// dotted is what TeX means in fonts made of dots, whose glyphs it names by their codes.
var dotted = map[int]string{
	11: "ff", 12: "fi", 13: "fl", 14: "ffi", 15: "ffl", 16: "“", 17: "”", 21: "–", 22: "—", 27: "ff", 28: "fi", 29: "fl", 30: "ffi", 31: "ffl",
}

// standard is what the standard encoding has otherwise than Windows-1252.
var standard = map[int]string{
	0x27: "’", 0x60: "‘", 0xA4: "⁄", 0xA6: "ƒ", 0xA8: "¤", 0xA9: "'", 0xAA: "“", 0xAC: "‹", 0xAD: "›", 0xAE: "fi", 0xAF: "fl", 0xB1: "–", 0xB2: "†", 0xB3: "‡",
	0xB4: "·", 0xB7: "•", 0xB8: "‚", 0xB9: "„", 0xBA: "”", 0xBC: "…", 0xBD: "‰", 0xD0: "—", 0xE1: "Æ", 0xE8: "Ł", 0xE9: "Ø", 0xEA: "Œ", 0xF1: "æ", 0xF5: "ı",
	0xF8: "ł", 0xF9: "ø", 0xFA: "œ", 0xFB: "ß",
}
