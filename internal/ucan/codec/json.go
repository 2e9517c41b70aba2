package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/order"
)

// AppendJSON writes v as the dag-json that JavaScript signs: no white space,
// keys sorted by UTF-16 units, texts and numbers as JSON.stringify writes them.
func AppendJSON(b []byte, v any) ([]byte, error) {
	switch x := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, x), nil
	case int64:
		return strconv.AppendInt(b, x, 10), nil
	case uint64:
		return strconv.AppendUint(b, x, 10), nil
	case float64:
		return appendFloat(b, x)
	case string:
		return appendText(b, x), nil
	case []byte:
		b = append(b, `{"/":{"bytes":"`...)
		b = base64.RawStdEncoding.AppendEncode(b, x)
		return append(b, `"}}`...), nil
	case CID:
		b = append(b, `{"/":"`...)
		return append(append(b, x.String()...), `"}`...), nil
	case []any:
		return appendList(b, x)
	case Map:
		return appendMap(b, x)
	}
	return nil, bad("no value of dag-json")
}

func appendList(b []byte, list []any) (_ []byte, err error) {
	b = append(b, '[')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = AppendJSON(b, list[i]); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

// appendMap refuses the one-key maps that dag-json keeps for links and bytes:
// they would be signed as something they are not.
func appendMap(b []byte, m Map) (_ []byte, err error) {
	if len(m) == 1 && m[0].Key == "/" {
		return nil, bad("reserved key")
	}
	if !slices.IsSortedFunc(m, byUnits) {
		m = slices.Clone(m)
		order.Sort(m, byUnits)
	}
	b = append(b, '{')
	for i := range m {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, m[i].Key), ':')
		if b, err = AppendJSON(b, m[i].Value); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// byUnits compares keys by UTF-16 units, as JavaScript does. That is the order
// of code points but for one thing: those past U+FFFF begin with a surrogate,
// which sorts before U+E000.
func byUnits(p, q Entry) int {
	a, b := p.Key, q.Key
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	x, _ := utf8.DecodeRuneInString(a[n:])
	y, _ := utf8.DecodeRuneInString(b[n:])
	if n < len(a) && n < len(b) && x >= 0xE000 && y >= 0xE000 && (x > 0xFFFF) != (y > 0xFFFF) {
		return strings.Compare(b[n:], a[n:])
	}
	return strings.Compare(a[n:], b[n:])
}

// appendFloat writes a number as JavaScript does, with ".0" if nothing else
// shows that it is a float.
func appendFloat(b []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, bad("not a number")
	}
	abs := math.Abs(f)
	if abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		b = strconv.AppendFloat(b, f, 'e', -1, 64)
		if n := len(b); n >= 4 && b[n-4] == 'e' && b[n-2] == '0' { // e-09 is e-9 in JavaScript
			b[n-2] = b[n-1]
			b = b[:n-1]
		}
		return b, nil
	}
	start := len(b)
	b = strconv.AppendFloat(b, f, 'f', -1, 64)
	if !bytes.ContainsRune(b[start:], '.') {
		b = append(b, ".0"...)
	}
	return b, nil
}

const hexDigits = "0123456789abcdef"

// appendText writes a text as JSON.stringify does. It escapes less than Go's
// own encoder: neither HTML nor U+2028.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		if n := strings.IndexByte("\"\\\b\f\n\r\t", c); n >= 0 {
			b = append(b, '\\', `"\bfnrt`[n])
		} else {
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(b, s[start:]...), '"')
}

// DecodeJSON reads dag-json. It accepts only the text that AppendJSON would
// write for the same value.
func DecodeJSON(b []byte) (any, error) {
	d := reader{json.NewDecoder(bytes.NewReader(b))}
	d.UseNumber()
	v, err := d.value(0)
	if err != nil {
		return nil, err
	}
	again, err := AppendJSON(make([]byte, 0, len(b)), v)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, b) {
		return nil, bad("another spelling of dag-json")
	}
	return v, nil
}

type reader struct{ *json.Decoder }

func (d reader) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, bad("nested too deep")
	}
	t, err := d.Token()
	if err != nil {
		return nil, bad("JSON")
	}
	switch x := t.(type) {
	case json.Number:
		return number(string(x))
	case json.Delim:
		if x == '[' {
			return d.list(depth)
		} else if x == '{' {
			return d.members(depth)
		}
		return nil, bad("JSON")
	}
	return t, nil
}

func number(text string) (any, error) {
	if !strings.ContainsAny(text, ".eE") {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, bad("number out of range")
		}
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, bad("number out of range")
	}
	return wholeIsInteger(f)
}

func (d reader) list(depth int) (any, error) {
	out := []any{}
	for d.More() {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	_, err := d.Token()
	return out, wrapJSON(err)
}

func (d reader) members(depth int) (any, error) {
	out := Map{}
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return nil, bad("JSON")
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, Entry{key, v})
	}
	if _, err := d.Token(); err != nil {
		return nil, bad("JSON")
	}
	order.Sort(out, func(a, b Entry) int { return byLength(a.Key, b.Key) })
	for i := 1; i < len(out); i++ {
		if out[i-1].Key == out[i].Key {
			return nil, bad("a key twice")
		}
	}
	if len(out) == 1 && out[0].Key == "/" {
		return special(out[0].Value)
	}
	return out, nil
}

// special converts the notations of links and bytes.
func special(v any) (any, error) {
	switch x := v.(type) {
	case string:
		return ParseCID(x)
	case Map:
		inner, _ := x.Get("bytes")
		text, ok := inner.(string)
		if len(x) != 1 || !ok {
			break
		}
		raw, err := base64.RawStdEncoding.Strict().DecodeString(text)
		if err != nil {
			return nil, bad("bytes")
		}
		return raw, nil
	}
	return nil, bad("reserved key")
}

func wrapJSON(err error) error {
	if err != nil {
		return bad("JSON")
	}
	return nil
}
