package tool

import (
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits of a checker and its answers.
const (
	maxCompiled = 1 << 20 // bytes of schemas kept
	maxFaults   = 5       // named at once
	maxFault    = 200     // bytes of one
	maxArgs     = 1 << 20
)

// Checker checks arguments and caches compiled schemas. It is safe for
// concurrent use.
type Checker struct {
	mu   sync.Mutex
	kept map[[32]byte]*schema
	size int // bytes of their texts
}

// NewChecker makes a checker.
func NewChecker() *Checker { return &Checker{kept: map[[32]byte]*schema{}} }

// Check says what is wrong with the arguments of a call, in words for a model;
// empty when they fit. If a client's schema exceeds our limits, only an object
// is required.
func (c *Checker) Check(s Spec, args jsontext.Value) string {
	if len(args) > maxArgs {
		return "The arguments are too large."
	}
	var v any
	if err := json.Unmarshal(args, &v); err != nil {
		return "The arguments are not valid JSON."
	}
	if _, ok := v.(map[string]any); !ok {
		return "The arguments must be a JSON object."
	}
	sch := c.schema(s.Schema)
	nodes := count(v)
	if sch.compiled == nil || nodes*sch.cost > maxCheckSteps || len(args)*sch.patterns > maxPatternSteps {
		return ""
	}
	err := sch.compiled.Validate(v)
	if err == nil {
		return ""
	}
	return faults(err)
}

func (c *Checker) schema(raw jsontext.Value) *schema {
	if len(raw) > maxSchema {
		return compile(raw) // which refuses it
	}
	key := sha256.Sum256(raw)
	c.mu.Lock()
	s, ok := c.kept[key]
	c.mu.Unlock()
	if ok {
		return s
	}
	s = compile(raw)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size += len(raw) + len(key); c.size > maxCompiled {
		clear(c.kept)
		c.size = 0
	}
	c.kept[key] = s
	return s
}

// count counts the values in v.
func count(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			n += count(e)
		}
	case []any:
		for _, e := range v {
			n += count(e)
		}
	}
	return n
}

// faults puts the faults of a check into words, sorted.
func faults(err error) string {
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return "The arguments do not fit the schema."
	}
	lines := leaves(nil, ve)
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if len(lines) == 0 {
		return "The arguments do not fit the schema."
	}
	return "The arguments do not fit the schema: " + strings.Join(lines[:min(len(lines), maxFaults)], "; ") + "."
}

// leaves puts the faults that have no others behind them into words.
func leaves(lines []string, e *jsonschema.ValidationError) []string {
	for _, cause := range e.Causes {
		if lines = leaves(lines, cause); len(lines) >= maxFaults*4 {
			return lines
		}
	}
	if len(e.Causes) > 0 {
		return lines
	}
	unit := e.BasicOutput()
	if len(unit.Errors) > 0 {
		unit = &unit.Errors[0]
	}
	if unit.Error == nil {
		return lines
	}
	line := unit.Error.String()
	if len(e.InstanceLocation) > 0 {
		line = "/" + strings.Join(e.InstanceLocation, "/") + ": " + line
	}
	if len(line) > maxFault {
		line = strings.ToValidUTF8(line[:maxFault], "") + "…"
	}
	return append(lines, line)
}
