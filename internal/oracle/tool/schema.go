package tool

import (
	"errors"
	"fmt"
	"net/url"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits of a schema whose arguments are checked. A client's schema that
// exceeds them is passed to the model unchanged, and the client itself must
// check.
const (
	maxSchema       = 64 << 10 // bytes
	maxDepth        = 32       // levels of its JSON
	maxExpanded     = 2000     // values, references put in
	maxPatternSize  = 2000     // instructions of all its patterns
	maxCheckSteps   = 4 << 20  // values of the schema times values of the arguments
	maxPatternSteps = 50 << 20 // instructions times bytes
)

// Parameters is the schema in the form that model servers require: an object
// schema with properties. Some clients send schemas without a type.
func (s Spec) Parameters() jsontext.Value {
	const empty = `{"type":"object","properties":{}}`
	out := make([]byte, 0, len(s.Schema)+len(empty))
	out = append(out, '{')
	var typed, listed bool
	d := jsontext.NewDecoder(strings.NewReader(string(s.Schema)))
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '{' {
		return jsontext.Value(empty)
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return jsontext.Value(empty)
		}
		key := name.String()
		v, err := d.ReadValue()
		switch {
		case err != nil:
			return jsontext.Value(empty)
		case key == "$schema": // some servers refuse it
			continue
		case key == "type" && string(v) != `"object"`:
			continue
		}
		typed, listed = typed || key == "type", listed || key == "properties"
		out = member(out, key, v)
	}
	if !typed {
		out = member(out, "type", jsontext.Value(`"object"`))
	}
	if !listed {
		out = member(out, "properties", jsontext.Value(`{}`))
	}
	return append(out, '}')
}

func member(out []byte, key string, v jsontext.Value) []byte {
	if len(out) > 1 {
		out = append(out, ',')
	}
	if quoted, err := jsontext.AppendQuote(out, key); err == nil {
		out = quoted
	}
	return append(append(out, ':'), v...)
}

// CheckSchema reports whether raw can be the schema of a tool of ours: a JSON
// Schema of an object, within the limits. An empty one means any object.
func CheckSchema(raw jsontext.Value) error { return NewChecker().CheckSchema(raw) }

// CheckSchema is the function of that name, with a cache for repeated schemas.
func (c *Checker) CheckSchema(raw jsontext.Value) error {
	s := c.schema(raw)
	if s.compiled == nil {
		return s.why
	}
	return nil
}

// schema is a compiled schema. It does not change.
type schema struct {
	compiled *jsonschema.Schema // nil: only objects are asked for
	why      error              // why it is nil
	cost     int
	patterns int
}

var errRemote = errors.New("a schema reaches no other document")

// loader refuses every document but the one given.
type loader struct{}

func (loader) Load(string) (any, error) { return nil, errRemote }

// compile makes a schema ready. One that cannot be trusted or understood
// compiles to the demand for an object.
func compile(raw jsontext.Value) *schema {
	if len(raw) > maxSchema {
		return &schema{why: fmt.Errorf("the schema has more than %d bytes", maxSchema)}
	}
	s := &schema{}
	var v any
	if err := json.Unmarshal(Spec{Schema: raw}.Parameters(), &v); err != nil {
		return &schema{why: fmt.Errorf("read schema: %w", err)}
	}
	if len(raw) > 0 && raw.Kind() != '{' {
		return &schema{why: errors.New("the schema is no object")}
	}
	w := &walker{root: v}
	s.cost = w.walk(v, 0)
	if w.why != nil {
		return &schema{why: w.why}
	}
	s.patterns = w.patterns
	c := jsonschema.NewCompiler()
	c.UseLoader(loader{})
	c.DefaultDraft(jsonschema.Draft2020)
	const at = "tool:arguments"
	if err := c.AddResource(at, v); err != nil {
		return &schema{why: fmt.Errorf("add schema: %w", err)}
	}
	compiled, err := c.Compile(at)
	if err != nil {
		return &schema{why: fmt.Errorf("compile schema: %w", err)}
	}
	s.compiled = compiled
	return s
}

// walker finds out whether a schema ends, reaches outside itself or is slow.
type walker struct {
	root     any
	open     []string // references on the way to here
	patterns int
	nodes    int
	why      error
}

func (w *walker) refuse(format string, args ...any) int {
	if w.why == nil {
		w.why = fmt.Errorf(format, args...)
	}
	return 0
}

// walk counts the values of v with references put in.
func (w *walker) walk(v any, depth int) int {
	if w.nodes++; w.why != nil || w.nodes > maxExpanded {
		return w.refuse("the schema has more than %d parts", maxExpanded)
	}
	if depth > maxDepth {
		return w.refuse("the schema nests more than %d levels", maxDepth)
	}
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			n += w.keyword(name, e) + w.walk(e, depth+1)
		}
	case []any:
		for _, e := range v {
			n += w.walk(e, depth+1)
		}
	}
	return n
}

// keyword looks at members that make a schema more than a tree.
func (w *walker) keyword(name string, v any) int {
	text, isText := v.(string)
	switch name {
	case "$ref":
		if isText {
			return w.follow(text)
		}
	case "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef":
		if isText {
			return w.refuse("the schema uses %s", name)
		}
	case "pattern":
		w.pattern(text)
	case "patternProperties":
		m, _ := v.(map[string]any)
		for p := range m {
			w.pattern(p)
		}
	}
	return 0
}

func (w *walker) follow(ref string) int {
	path, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
	if !strings.HasPrefix(ref, "#/") || err != nil {
		return w.refuse("the schema refers to something outside itself")
	}
	for _, open := range w.open {
		if open == path {
			return w.refuse("the schema refers to itself")
		}
	}
	target, ok := lookup(w.root, path)
	if !ok {
		return w.refuse("the schema refers to nothing")
	}
	w.open = append(w.open, path)
	n := w.walk(target, len(w.open))
	w.open = w.open[:len(w.open)-1]
	return n
}

// lookup follows a JSON pointer.
func lookup(v any, path string) (any, bool) {
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		switch node := v.(type) {
		case map[string]any:
			e, ok := node[part]
			if !ok {
				return nil, false
			}
			v = e
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(node) {
				return nil, false
			}
			v = node[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func (w *walker) pattern(text string) {
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		w.refuse("the schema has a pattern that cannot be read")
		return
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		w.refuse("the schema has a pattern that cannot be compiled")
		return
	}
	if w.patterns += len(prog.Inst); w.patterns > maxPatternSize {
		w.refuse("the patterns of the schema are too large")
	}
}
