package web

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// nodeWork is what taking one value out of its text costs, in bytes of memory.
const nodeWork = 64

// tree is a JSON value that is taken apart only where a patch reaches into it.
type patchTree struct {
	raw    jsontext.Value // nil once taken apart
	object bool
	names  []string // of an object; a removed member has no child
	index  map[string]int
	kids   []*patchTree
}

// parsePointer splits a JSON pointer (RFC 6901) into its tokens.
func patchPointer(s string) ([]string, bool) {
	if s == "" {
		return nil, true
	}
	if s[0] != '/' || strings.Count(s, "/") > maxDepth {
		return nil, false
	}
	tokens := strings.Split(s[1:], "/")
	for i, t := range tokens {
		for j := 0; j < len(t); j++ {
			if t[j] == '~' && (j+1 == len(t) || t[j+1] != '0' && t[j+1] != '1') {
				return nil, false
			}
		}
		tokens[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(t)
	}
	return tokens, true
}

// open parses one level of t. A scalar does not change.
func (p *patching) open(t *patchTree) error {
	kind := t.raw.Kind()
	if t.raw == nil || kind != '{' && kind != '[' {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(t.raw), jsontext.AllowDuplicateNames(true)) // checked when it came
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	made := patchTree{object: kind == '{'}
	if made.object {
		made.index = map[string]int{}
	}
	for dec.PeekKind() != '}' && dec.PeekKind() != ']' {
		if err := p.spend(nodeWork); err != nil {
			return err
		}
		if made.object {
			name, err := dec.ReadToken()
			if err != nil {
				return err
			}
			made.index[name.String()] = len(made.names)
			made.names = append(made.names, name.String())
		}
		v, err := dec.ReadValue()
		if err != nil {
			return err
		}
		made.kids = append(made.kids, &patchTree{raw: v.Clone()})
	}
	*t = made
	return nil
}

// isArray reports whether an opened tree is an array.
func (t *patchTree) isArray() bool { return t.raw == nil && !t.object }

// child finds what a token names in an opened tree; -1 when nothing does.
func (t *patchTree) child(token string) int {
	if t.object {
		if at, ok := t.index[token]; ok && t.kids[at] != nil {
			return at
		}
		return -1
	}
	if at, ok := arrayIndex(token); ok && t.isArray() && at < len(t.kids) {
		return at
	}
	return -1
}

// arrayIndex reads the number of an element: digits, no zero in front.
func arrayIndex(token string) (int, bool) {
	if token == "" || len(token) > 9 || len(token) > 1 && token[0] == '0' || strings.Trim(token, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(token)
	return n, err == nil
}

// get finds the value at path.
func (p *patching) get(path []string) (*patchTree, error) {
	t := p.root
	for _, token := range path {
		if err := p.open(t); err != nil {
			return nil, err
		}
		at := t.child(token)
		if at < 0 {
			return nil, errNoPlace
		}
		t = t.kids[at]
	}
	return t, nil
}

// parent finds the opened container of the last token of path.
func (p *patching) parent(path []string) (*patchTree, string, error) {
	t, err := p.get(path[:len(path)-1])
	if err == nil {
		err = p.open(t)
	}
	return t, path[len(path)-1], err
}

// add puts v at path: into an array it is inserted, an object's member is set.
func (p *patching) add(path []string, v *patchTree) error {
	if len(path) == 0 {
		p.root = v
		return nil
	}
	t, token, err := p.parent(path)
	if err != nil {
		return err
	}
	if t.object {
		t.set(token, v)
		return nil
	}
	at, ok := arrayIndex(token)
	if token == "-" {
		at, ok = len(t.kids), true
	}
	if !ok || !t.isArray() || at > len(t.kids) {
		return errNoPlace
	}
	if err := p.spend(len(t.kids) - at); err != nil {
		return err
	}
	t.kids = append(t.kids, nil)
	copy(t.kids[at+1:], t.kids[at:])
	t.kids[at] = v
	return nil
}

// set sets a member of an object; an existing one keeps its place.
func (t *patchTree) set(name string, v *patchTree) {
	if at, ok := t.index[name]; ok && t.kids[at] != nil {
		t.kids[at] = v
		return
	}
	t.index[name] = len(t.names)
	t.names = append(t.names, name)
	t.kids = append(t.kids, v)
}

// take removes the value at path, which is not the root, and returns it.
func (p *patching) take(path []string) (*patchTree, error) {
	t, token, err := p.parent(path)
	if err != nil {
		return nil, err
	}
	at := t.child(token)
	if at < 0 {
		return nil, errNoPlace
	}
	v := t.kids[at]
	if t.object {
		t.kids[at] = nil
		return v, nil
	}
	if err := p.spend(len(t.kids) - at); err != nil {
		return nil, err
	}
	t.kids = append(t.kids[:at], t.kids[at+1:]...)
	return v, nil
}

// write encodes t. What was taken apart may have grown deeper than anything
// that was sent, operation by operation, so its depth is checked here.
func (t *patchTree) write(enc *jsontext.Encoder) error {
	if t.raw != nil {
		return enc.WriteValue(t.raw)
	}
	if enc.StackDepth() >= maxDepth {
		return errTooDeep
	}
	begin, end := jsontext.BeginArray, jsontext.EndArray
	if t.object {
		begin, end = jsontext.BeginObject, jsontext.EndObject
	}
	if err := enc.WriteToken(begin); err != nil {
		return err
	}
	for i, kid := range t.kids {
		if kid == nil {
			continue
		}
		if t.object {
			if err := enc.WriteToken(jsontext.String(t.names[i])); err != nil {
				return err
			}
		}
		if err := kid.write(enc); err != nil {
			return err
		}
	}
	return enc.WriteToken(end)
}

// equal compares as RFC 6902, 4.6 says: numbers by value, objects in any
// order. Both are taken apart on the way.
func (p *patching) equal(a, b *patchTree) (bool, error) {
	if err := p.open(a); err != nil {
		return false, err
	}
	if err := p.open(b); err != nil {
		return false, err
	}
	switch {
	case a.raw != nil && b.raw != nil:
		return sameScalar(a.raw, b.raw), nil
	case a.raw != nil || b.raw != nil || a.object != b.object || a.size() != b.size():
		return false, nil
	}
	for i, kid := range a.kids {
		if kid == nil {
			continue
		}
		at := i
		if a.object {
			at = b.child(a.names[i])
		}
		if at < 0 {
			return false, nil
		}
		if same, err := p.equal(kid, b.kids[at]); !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

// size is how many children there are.
func (t *patchTree) size() int {
	if !t.object {
		return len(t.kids)
	}
	n := 0
	for _, kid := range t.kids {
		if kid != nil {
			n++
		}
	}
	return n
}

func sameScalar(a, b jsontext.Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case '"':
		x, errA := jsontext.AppendUnquote(nil, a)
		y, errB := jsontext.AppendUnquote(nil, b)
		return errA == nil && errB == nil && bytes.Equal(x, y)
	case '0':
		return sameNumber(string(a), string(b))
	}
	return true // both null, both true or both false
}

// sameNumber compares two JSON numbers by value, whatever their size: the text
// "1e999999999" must not become a number with that many digits.
func sameNumber(a, b string) bool {
	x, y := decimalOf(a), decimalOf(b)
	return x == y
}

// decimal is a number in its one form: 0.digits × 10^exp, no zero at either
// end of the digits.
type decimal struct {
	negative bool
	digits   string
	exp      int64
	far      string // the exponent as written, when it is out of any range
}

func decimalOf(s string) decimal {
	var d decimal
	s, d.negative = strings.CutPrefix(s, "-")
	mantissa, exp, _ := strings.Cut(strings.ToLower(s), "e")
	whole, frac, _ := strings.Cut(mantissa, ".")
	d.digits = strings.TrimLeft(whole+frac, "0")
	// The point stands len(whole) digits in, less the zeros cut in front.
	point := int64(len(whole)) - int64(len(whole)+len(frac)-len(d.digits))
	d.digits = strings.TrimRight(d.digits, "0")
	if d.digits == "" {
		return decimal{} // every zero is the same, -0 too
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(exp, "+"), 10, 64)
	if exp != "" && (err != nil || n > math.MaxInt32 || n < math.MinInt32) {
		d.far = exp
	}
	if d.far == "" {
		d.exp = point + n
	}
	return d
}
