package web

import (
	"crypto/sha256"
	"encoding"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// bodyRules says how a route reads its body.
type bodyRules struct {
	max     int64
	lenient bool
	// patch: a merge patch; jsonPatch: or a JSON patch, which goes to RawBody
	patch, jsonPatch bool
}

// binder fills a handler's input from a request. It is made once per route.
// Mistakes in the tags of the type are programming mistakes, so making one
// panics rather than fails.
type binder struct {
	params []param
	known  []string // query names
	body   []int    // index of Body; nil when the route takes none
	// optional: Body is a pointer, and stays nil when there is no body
	optional bool
	raw      []int // index of RawBody
	// misfit: index of Misfit, an error that says which members of the body
	// do not fit; Body has the others. Without it the handler is not called.
	misfit []int
	rules  bodyRules
}

type param struct {
	in, name, doc string
	full          bool // not "" when it is given
	least         int64
	index         []int
}

func newBinder(t reflect.Type, rules bodyRules, path string) *binder {
	b := &binder{rules: rules}
	names := pathNames(path)
	for _, f := range reflect.VisibleFields(t) {
		switch f.Name {
		case "Body":
			b.body, b.optional = f.Index, f.Type.Kind() == reflect.Pointer
			continue
		case "RawBody":
			b.raw = f.Index
			continue
		case "Misfit":
			b.misfit = f.Index
			continue
		}
		for _, in := range []string{"path", "query", "header"} {
			name, ok := f.Tag.Lookup(in)
			if !ok {
				continue
			}
			if in == "path" && !slices.Contains(names, name) {
				panic(fmt.Sprintf("%s has no path value %q", path, name))
			}
			if in == "query" {
				b.known = append(b.known, name)
			}
			b.params = append(b.params, param{in: in, name: name, doc: f.Tag.Get("doc"), full: f.Tag.Get("minLength") != "", least: minimum(f), index: f.Index})
		}
	}
	if rules.jsonPatch && b.raw == nil {
		panic(path + " takes JSON patches but has no RawBody")
	}
	return b
}

// minimum is the least value of a whole number. A parameter that is left out is 0 to the
// handler, so one that says 0 is told apart here.
func minimum(f reflect.StructField) int64 {
	text, given := f.Tag.Lookup("minimum")
	if !given {
		return math.MinInt64
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("the minimum of %s is %q", f.Name, text))
	}
	return n
}

// bind reads r into in. It returns the request whose context carries the
// Idempotency-Key. Every wrong parameter is named at once.
func (b *binder) bind(w http.ResponseWriter, r *http.Request, in reflect.Value) (*http.Request, error) {
	var c fault.Checks
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return r, fault.New(fault.Invalid, "INVALID_QUERY", "The query string is not well-formed.").Wrap(err)
	}
	if !b.rules.lenient {
		b.refuseUnknown(query, &c)
	}
	for _, p := range b.params {
		text, given := p.read(r, query, &c)
		if !given {
			continue
		}
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			c.Add(p.in+"/"+p.name, "not_text", "The value must be UTF-8 text without U+0000.")
			continue
		}
		if text == "" && p.full {
			c.Add(p.in+"/"+p.name, "empty", "The value must not be empty. Leave the parameter out instead.")
			continue
		}
		v := in.FieldByIndex(p.index)
		if detail := setText(v, text); detail != "" {
			c.Add(p.in+"/"+p.name, "invalid", strings.TrimSpace(detail+" "+p.doc))
		} else if v.CanInt() && v.Int() < p.least {
			c.Add(p.in+"/"+p.name, "out_of_range", fmt.Sprintf("The value must be at least %d. %s", p.least, p.doc))
		}
	}
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return r, err
	}
	return b.bindBody(w, r, in)
}

// Bind reads the path, query and header of r into a new I, as typed routes do
// for their input. It is for plain handlers, which read their body themselves.
func Bind[I any](r *http.Request) (*I, error) {
	in := new(I)
	b := newBinder(reflect.TypeFor[I](), bodyRules{}, r.Pattern)
	b.body, b.raw = nil, nil
	_, err := b.bind(nil, r, reflect.ValueOf(in).Elem())
	return in, err
}

func (b *binder) refuseUnknown(query url.Values, c *fault.Checks) {
	for name := range query {
		if !slices.Contains(b.known, name) {
			c.Add("query/"+name, "unknown", "This query parameter is not known here.")
		}
	}
}

func (p param) read(r *http.Request, query url.Values, c *fault.Checks) (string, bool) {
	switch p.in {
	case "path":
		return r.PathValue(p.name), true
	case "query":
		if len(query[p.name]) > 1 {
			c.Add("query/"+p.name, "repeated", "This parameter is given more than once.")
		}
		return query.Get(p.name), query.Has(p.name)
	}
	return r.Header.Get(p.name), r.Header.Get(p.name) != ""
}

// bindBody reads the body once, checks its media type and decodes it.
func (b *binder) bindBody(w http.ResponseWriter, r *http.Request, in reflect.Value) (*http.Request, error) {
	if b.body == nil && b.raw == nil {
		return withIdempotency(r, nil)
	}
	body, err := ReadBody(w, r, b.rules.max)
	if err != nil {
		return r, err
	}
	operations := false
	if len(body) > 0 {
		if operations, err = b.rules.checkMedia(r, body); err != nil {
			return r, err
		}
	}
	if b.raw != nil {
		in.FieldByIndex(b.raw).SetBytes(body)
	}
	if operations {
		// A list of operations is not a Body; the handler applies it to what is
		// stored.
		r = fill(r, func(q *request) { q.jsonPatch = true })
	} else if b.body != nil && !(len(body) == 0 && b.optional) {
		v := in.FieldByIndex(b.body)
		err := decode(body, v.Addr().Interface(), reading{lenient: b.rules.lenient, patch: b.rules.patch})
		if b.misfit != nil && IsMisfit(err) && !v.IsZero() {
			in.FieldByIndex(b.misfit).Set(reflect.ValueOf(err))
		} else if err != nil {
			return r, err
		}
	}
	return withIdempotency(r, body)
}

// ReadBody reads the whole body, at most limit bytes of it. Compressed bodies
// are refused: a small one could unpack to a large one.
func ReadBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, fault.New(fault.Unsupported, "UNSUPPORTED_ENCODING", "Send the body without a content encoding.").
			With(fault.Field{Pointer: "header/Content-Encoding", Code: "unsupported", Detail: "Only identity is accepted."})
	}
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close") // the rest is not read
		return nil, tooLarge(limit)
	}
	body, err := readAll(w, r, limit)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge(limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fault.New(fault.TooSlow, "BODY_TOO_SLOW", "The body did not arrive in time.").Wrap(err)
	case err != nil:
		return nil, fault.New(fault.Invalid, "BODY_UNREADABLE", "The body could not be read to its end.").Wrap(err)
	}
	return body, nil
}

// readAll reads a body of a known length, which the server holds the client
// to, in one go.
func readAll(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength <= 0 || r.ContentLength > firstBuffer {
		return io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	}
	body := make([]byte, r.ContentLength+1) // one more, to see the end with the last byte
	n := 0
	for {
		m, err := r.Body.Read(body[n:])
		n += m
		switch {
		case errors.Is(err, io.EOF):
			return body[:n:n], nil
		case err != nil:
			return nil, err
		case n == len(body): // no server lets this pass
			return nil, errors.New("the body is longer than its Content-Length")
		}
	}
}

// firstBuffer is the most that is set aside for a body before it arrives.
const firstBuffer = 64 << 10

func tooLarge(limit int64) error {
	return fault.New(fault.TooLarge, "BODY_TOO_LARGE", fmt.Sprintf("The body is larger than %d bytes.", limit))
}

// withIdempotency puts the Idempotency-Key and the hash of the request into
// its context.
func withIdempotency(r *http.Request, body []byte) (*http.Request, error) {
	key := r.Header.Get("Idempotency-Key")
	if key == "" || r.Method != http.MethodPost {
		return r, nil
	}
	if len(key) > 255 || strings.ContainsFunc(key, func(c rune) bool { return c < 0x20 || c > 0x7e }) {
		return r, fault.New(fault.Invalid, "INVALID_IDEMPOTENCY_KEY", "The Idempotency-Key must be 1 to 255 printable ASCII characters.").
			With(fault.Field{Pointer: "header/Idempotency-Key", Code: "invalid", Detail: "1 to 255 printable ASCII characters."})
	}
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%s %s\n", r.Method, r.URL.RequestURI()) // a hash never fails
	_, _ = h.Write(body)
	return fill(r, func(q *request) {
		q.idem.Key = key
		h.Sum(q.idem.Hash[:0])
	}), nil
}

// setText parses text into v. It returns what is wrong, "" for nothing.
func setText(v reflect.Value, text string) string {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		if u.UnmarshalText([]byte(text)) == nil {
			return ""
		}
		if _, whole := u.(*Number); whole {
			return "The value must be a whole number."
		}
		return "The value is not well-formed."
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		if text != "true" && text != "false" {
			return "The value must be true or false."
		}
		v.SetBool(text == "true")
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return "The value must be a whole number."
		}
		v.SetInt(n)
	case reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return "The value must be a number."
		}
		v.SetFloat(n)
	case reflect.Slice: // comma-separated strings
		v.Set(reflect.ValueOf(strings.Split(text, ",")))
	default:
		panic("no way to read a " + v.Type().String() + " from text")
	}
	return ""
}
