package hostile_test

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// kind says what a JSON parser owes a document: to accept it, to refuse it, or
// that the standard leaves it open. What is open we refuse.
type kind byte

const (
	yes  kind = 'y'
	no   kind = 'n'
	open kind = 'i'
)

// document is one JSON text, good or bad.
type document struct {
	kind kind
	name string
	text string
}

// documents lists all of them.
func documents() []document {
	all := broken()
	all = append(all, badNumbers()...)
	all = append(all, badStrings()...)
	all = append(all, badEncodings()...)
	all = append(all, prefixes()...)
	all = append(all, nested()...)
	return append(all, good()...)
}

// list names the texts of one kind.
func list(k kind, what string, texts ...string) []document {
	var out []document
	for i, text := range texts {
		out = append(out, document{k, fmt.Sprintf("%s %d", what, i), text})
	}
	return out
}

// broken are structures that are none.
func broken() []document {
	out := list(no, "structure",
		`{`, `[`, `}`, `]`, `{]`, `[}`, `[1`, `[1,`, `[1,]`, `[,1]`, `[,]`, `[1 2]`, `[1,,2]`, `[1;2]`, `[[]`, `[]]`,
		`{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,"a":1}`, `{"a" 1}`, `{"a"::1}`, `{"a":1 "b":2}`, `{"a":1}}`,
		`{"a":}`, `{:1}`, `{"a",1}`, `{"a":1;"b":2}`, `{"a":{}`, `{"a":[}`, `{"a":[1}`, `{{}}`, `{[]:1}`, `{"a":1:2}`, `{"a"=1}`,
		`{a:1}`, `{'a':1}`, `{1:1}`, `{null:1}`, `{true:1}`, `{"a":'b'}`, `{"a":b}`, "{`a`:1}", `{"a":1}#`, `{"a":1} x`, `{} {}`, `[] []`, `1 2`, `"a" "b"`,
		`/* c */ {}`, `{} // c`, `{"a":/* c */1}`, `{"a":1/**/}`, `# c`+"\n{}", `<a/>`, `<?xml version="1.0"?>`, `a=b&c=d`, `*`, `\u0041`, `---`, `key: value`,
		`(1)`, `{"a":(1)}`, `{"a":1,"b"}`, `{"a":1,"b":}`, `{"a":1,"b":2,}`, `["a":1]`, `["a",`, `[1,2,3`, `callback({})`, `)]}',`+"\n{}", "{}\x00", "{\x00}", "\x00{}", "\x00",
	)
	out = append(out, list(no, "literal",
		`nul`, `nulll`, `tru`, `truee`, `fals`, `falsee`, `True`, `FALSE`, `Null`, `NULL`, `None`, `undefined`, `NaN`, `nan`, `Infinity`, `-Infinity`, `inf`,
		`[nul]`, `[NaN]`, `[-Infinity]`, `{"a":undefined}`, `{"a":True}`, `truefalse`, `nullnull`, `t`, `n`, `f`,
	)...)
	out = append(out, list(no, "space", "\f{}", "\v{}", "\u00a0{}", "\u2028{}", "\u200b{}", "\u3000{}", "{\f}", "[1,\v2]", "{\u00a0\"a\":1}", "{}\u2060")...)
	return append(out, list(no, "nothing", "", " ", "\n\t\r ", "\ufeff")...)
}

// badNumbers are numbers JSON does not have, as a member and in a list.
func badNumbers() []document {
	var out []document
	for _, n := range []string{
		`01`, `-01`, `00`, `-`, `+1`, `+`, `1.`, `.1`, `-.1`, `.`, `1e`, `1e+`, `1E-`, `1.e1`, `.e1`, `0e`, `0.e1`, `2.e+3`, `e1`, `0x1F`, `0b1`, `0o7`, `1_000`, `1 000`,
		`--1`, `-+1`, `1-`, `1+1`, `1.2.3`, `1e1.5`, `1e1e1`, `1a`, `-a`, `1/2`, `1,0`, `0,5e`, `$1`, `1f`, `1L`, `1n`, `∞`, `１`, `١`, `−1`, `1e٢`, `-NaN`, `0.3e`, `0e+-1`, `1.0e+`,
	} {
		out = append(out, document{no, "number " + n, `{"name":` + n + `}`}, document{no, "number in a list " + n, `{"scopes":[` + n + `}`})
	}
	return out
}

// badStrings have broken escapes or raw control characters.
func badStrings() []document {
	var out []document
	for _, s := range []string{
		`"`, `"a`, `a"`, `"\"`, `"a\`, `"\x41"`, `"\a"`, `"\e"`, `"\0"`, `"\'"`, `"\ "`, `"\U0041"`, `"\u"`, `"\u1"`, `"\u12"`, `"\u123"`, `"\u123g"`, `"\u{41}"`, `"\uD83D\u"`, `"\uD83D\"`, `"\ud83d\u12"`,
		`"""`, `"a""b"`, `"a" + "b"`, `'a'`, "`a`", `“a”`, `"\u00 41"`, `"\` + "\n" + `"`, "\"\\\x00\"", "\"\\\u00e9\"", `"\uqqqq"`, `"\N{DOLLAR SIGN}"`,
	} {
		out = append(out, document{no, "string " + s, `{"name":` + s + `}`})
	}
	for c := range 0x20 {
		out = append(out, document{no, fmt.Sprintf("control character %#x in a string", c), `{"name":"a` + string(rune(c)) + `b"}`})
	}
	return out
}

// badEncodings are not UTF-8, or are no text.
func badEncodings() []document {
	var out []document
	for _, b := range []string{
		"\x80", "\xbf", "\xc0\xaf", "\xc1\xbf", "\xc3", "\xc3(", "\xe2\x82", "\xe2(\xa1", "\xe0\x80\xaf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xed\xa0\x80\xed\xb0\x80",
		"\xf0\x80\x80\xaf", "\xf0\x9f\x98", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf8\x88\x80\x80\x80", "\xfc\x84\x80\x80\x80\x80", "\xfe", "\xff", "\xe9", "a\xe5",
	} {
		out = append(out,
			document{open, fmt.Sprintf("bytes %x in a string", b), `{"name":"` + b + `"}`},
			document{open, fmt.Sprintf("bytes %x in a name", b), `{"` + b + `":1}`},
			document{no, fmt.Sprintf("bytes %x outside", b), `{"name":"a"}` + b})
	}
	for _, s := range []string{`\uD800`, `\uDFFF`, `\uDC00\uD800`, `\uD800\uD800`, `a\uDBFFb`, `\ud83d\u0041`, `\uD83Dx`} {
		out = append(out, document{open, "lone surrogate " + s, `{"name":"` + s + `"}`})
	}
	text := `{"name":"a"}`
	out = append(out, document{open, "byte order mark", "\ufeff" + text})
	for _, order := range []string{"le", "be"} {
		out = append(out,
			document{no, "UTF-16 " + order, wide(text, order == "le")},
			document{no, "UTF-16 with mark " + order, wide("\ufeff"+text, order == "le")})
	}
	return append(out, document{no, "UTF-32", "{\x00\x00\x00}\x00\x00\x00"}, document{no, "gzip", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\xab\xae\x05\x00"})
}

func wide(s string, little bool) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(s)) {
		if little {
			b.Write([]byte{byte(u), byte(u >> 8)})
		} else {
			b.Write([]byte{byte(u >> 8), byte(u)})
		}
	}
	return b.String()
}

// prefixes are all beginnings of one good document.
func prefixes() []document {
	const whole = `{"name":"a\n\u00e9","scopes":["events:read"],"n":-1.5e3,"o":{"x":[true,false,null]}}`
	var out []document
	for i := 1; i < len(whole); i++ {
		out = append(out, document{no, fmt.Sprintf("the first %d bytes", i), whole[:i]})
	}
	return out
}

// nested are deep documents. 64 levels are allowed.
func nested() []document {
	var out []document
	for _, depth := range []int{65, 100, 1000, 9999, 100_000} {
		out = append(out,
			document{open, fmt.Sprintf("%d lists", depth), strings.Repeat("[", depth) + strings.Repeat("]", depth)},
			document{open, fmt.Sprintf("%d objects", depth), strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)},
			document{no, fmt.Sprintf("%d open lists", depth), strings.Repeat("[", depth)},
			document{no, fmt.Sprintf("%d open objects", depth), strings.Repeat(`{"a":`, depth)},
			document{no, fmt.Sprintf("%d closing", depth), strings.Repeat("]", depth)})
	}
	return append(out, list(open, "member twice",
		`{"name":"a","name":"b"}`, `{"name":"a","name":"a"}`, `{"name":"a","n\u0061me":"b"}`, `{"o":{"a":1,"a":2}}`, `{"":1,"":2}`, `[{"a":1,"a":1}]`)...)
}

// good are documents a parser must take. Most are no draft of anything, so
// the answer may still refuse what they say.
func good() []document {
	return list(yes, "good",
		`null`, `true`, `false`, `0`, `-0`, `1`, `-1.5`, `1e5`, `1E+5`, `0.5e-10`, `1e400`, `-1e-400`, `123456789012345678901234567890`, `0.1234567890123456789012345678901234567890`,
		`""`, `"a"`, `"\"\\\/\b\f\n\r\t"`, `"\u00e9\u20ac"`, `"\uD83D\uDE00"`, "\"\U0001F600\"", "\"\u2028\u2029\"", "\"\x7f\"", `"\uFFFF"`, `"\u0001"`, "\"\ufffe\"", `"http://x/\/"`,
		`[]`, `[ ]`, `[null]`, `[1,[2,[3]]]`, `{}`, ` { } `, "\r\n\t{\"a\"\n:\t1 }\r\n", `{"":0}`, `{"a":{"b":{"c":[]}}}`, `{"\u0061":1}`, `{"a b":1,"a\nb":2}`, `{"__proto__":{"x":1}}`, `{"constructor":1}`, `{"Name":"a"}`, `{"NAME":"a"}`,
		`[`+strings.Repeat(`1,`, 20000)+`1]`, `{"name":`+`"`+strings.Repeat("x", 100_000)+`"}`, strings.Repeat("[", 60)+strings.Repeat("]", 60), strings.Repeat(" ", 100_000)+`{}`,
	)
}
