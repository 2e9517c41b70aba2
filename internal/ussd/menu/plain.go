package menu

import (
	"strings"
	"unicode/utf8"
)

// Plain replaces typographic characters, which word processors and keyboards
// insert automatically, by ones of the 7-bit alphabet: one of them would halve
// the screen. Letters do not change: a name is spelled as its owner spells it.
func Plain(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf || s[i] == '`' {
			return s[:i] + plain.Replace(s[i:])
		}
	}
	return s
}

var plain = strings.NewReplacer(
	"`", "'", "´", "'", "‘", "'", "’", "'", "‚", "'", "‛", "'", "ʼ", "'", "′", "'", "‹", "'", "›", "'",
	"“", `"`, "”", `"`, "„", `"`, "‟", `"`, "″", `"`, "«", `"`, "»", `"`,
	"‐", "-", "‑", "-", "‒", "-", "–", "-", "—", "-", "―", "-", "−", "-",
	"…", "...", "•", "-", "·", ".", "×", "x", "⁄", "/",
	"\u00a0", " ", "\u2002", " ", "\u2003", " ", "\u2007", " ", "\u2009", " ", "\u200a", " ", "\u202f", " ",
	"\u00ad", "", "\u200b", "", "\u2060", "", "\ufeff", "",
)
