package web

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Limits of a patch (RFC 6902). It is applied as a whole or not at all,
// untouched parts keep their text, and a small patch cannot cause much work.
const (
	maxOps    = 1000
	maxResult = 4 << 20 // bytes
	// maxWork bounds what all operations copy, move and take apart, in bytes:
	// without it a few hundred copies of copies would fill the memory.
	maxWork = 16 << 20
	// maxFields is how many wrong operations are named at once.
	maxFields = 20
)

// applyPatch applies operations to a document and returns the new one. Members keep
// their order, new ones come last, and numbers keep their text. Neither
// argument is changed. Faults: JSON_PATCH_NOT_APPLICABLE,
// JSON_PATCH_TEST_FAILED, JSON_PATCH_TOO_LARGE, JSON_TOO_DEEP; the pointer of a
// field names the operation: "/3/path". Any other error means that the document
// itself is broken.
func applyPatch(doc []byte, ops []patchStep) ([]byte, error) {
	if v := jsontext.Value(doc); !v.IsValid() || nestsDeep(doc) {
		return nil, errors.New("JSON patch: the document is not JSON, or nests too deep")
	}
	p := &patching{root: &patchTree{raw: bytes.TrimSpace(doc)}}
	for i, op := range ops {
		if err := p.apply(op); err != nil {
			return nil, opFault(i, op, err)
		}
	}
	return p.result()
}

// operationIn is an operation as it is sent. Unknown members are ignored, as
// the RFC requires.
type operationIn struct {
	Op    *string        `json:"op"`
	Path  *string        `json:"path"`
	From  *string        `json:"from"`
	Value jsontext.Value `json:"value"`
}

// patchStep is one well-formed operation. parsePatch makes them.
type patchStep struct {
	op         string
	path, from []string
	value      jsontext.Value
}

// parsePatch reads a patch, which nests at most 64 deep. It names every invalid
// operation: JSON_PATCH_INVALID, or JSON_PATCH_TOO_LARGE past 1,000 of them. An
// error that is not a fault comes from the decoder.
func parsePatch(patch []byte) ([]patchStep, error) {
	var in []operationIn
	if err := json.Unmarshal(patch, &in); err != nil {
		return nil, err
	}
	if in == nil { // null is a JSON text, but no list
		return nil, patchInvalid(fault.Field{Pointer: "", Code: "wrong_type", Detail: "The body must be an array of operations."})
	}
	if len(in) > maxOps {
		return nil, patchTooLarge("A patch has at most 1,000 operations.")
	}
	ops := make([]patchStep, len(in))
	var wrong []fault.Field
	for i, o := range in {
		op, fields := o.check("/" + strconv.Itoa(i))
		ops[i] = op
		if wrong = append(wrong, fields...); len(wrong) >= maxFields {
			break
		}
	}
	if len(wrong) > 0 {
		return nil, patchInvalid(wrong...)
	}
	return ops, nil
}

func patchInvalid(fields ...fault.Field) error {
	return fault.New(fault.Invalid, "JSON_PATCH_INVALID", "The body is not a JSON patch.").With(fields...)
}

func patchTooLarge(message string) error {
	return fault.New(fault.TooLarge, "JSON_PATCH_TOO_LARGE", message)
}

// check makes an operation from what was sent, or says what is wrong with it.
func (o operationIn) check(at string) (p patchStep, wrong []fault.Field) {
	add := func(name, code, detail string) {
		wrong = append(wrong, fault.Field{Pointer: at + name, Code: code, Detail: detail})
	}
	pointer := func(name string, text *string) []string {
		if text == nil {
			add(name, "required", "This member is required.")
			return nil
		}
		tokens, ok := patchPointer(*text)
		if !ok {
			add(name, "invalid", "The value must be a JSON pointer of at most 64 parts.")
		}
		return tokens
	}
	if o.Op == nil {
		add("/op", "required", "This member is required.")
		return p, wrong
	}
	p.op, p.value = *o.Op, o.Value
	p.path = pointer("/path", o.Path)
	switch p.op {
	case "add", "replace", "test":
		if o.Value == nil {
			add("/value", "required", "This member is required.")
		}
	case "move", "copy":
		p.from = pointer("/from", o.From)
		if len(wrong) == 0 && p.op == "move" && len(p.from) < len(p.path) && hasPrefix(p.path, p.from) {
			add("/from", "invalid", "A value cannot be moved into itself.")
		}
	case "remove":
		if len(p.path) == 0 && len(wrong) == 0 {
			add("/path", "invalid", "The whole document cannot be removed.")
		}
	default:
		add("/op", "unknown", "The operation must be add, remove, replace, move, copy or test.")
	}
	return p, wrong
}

func hasPrefix(path, prefix []string) bool {
	for i, token := range prefix {
		if path[i] != token {
			return false
		}
	}
	return true
}

// What can go wrong with a well-formed operation.
var (
	errNoPlace  = errors.New("the document has no such place")
	errNoSource = errors.New("the document has nothing there")
	errDiffers  = errors.New("the value is another")
	errTooMuch  = errors.New("too much work")
	errTooDeep  = errors.New("nests too deep")
)

// opFault names the operation that failed.
func opFault(i int, op patchStep, err error) error {
	at := "/" + strconv.Itoa(i)
	switch {
	case errors.Is(err, errNoPlace):
		return fault.New(fault.Unprocessable, "JSON_PATCH_NOT_APPLICABLE", "An operation cannot be applied to this document.").
			With(fault.Field{Pointer: at + "/path", Code: "not_found", Detail: "The document has no such place."})
	case errors.Is(err, errNoSource):
		return fault.New(fault.Unprocessable, "JSON_PATCH_NOT_APPLICABLE", "An operation cannot be applied to this document.").
			With(fault.Field{Pointer: at + "/from", Code: "not_found", Detail: "The document has nothing there."})
	case errors.Is(err, errDiffers):
		return fault.New(fault.Conflict, "JSON_PATCH_TEST_FAILED", "A test of the patch does not hold.").
			With(fault.Field{Pointer: at + "/value", Code: "differs", Detail: "The document has a different value there."})
	case errors.Is(err, errTooMuch):
		return patchTooLarge("The patch copies and moves too much; send it in parts.")
	case errors.Is(err, errTooDeep):
		return patchTooDeep()
	}
	return fmt.Errorf("JSON patch: operation %d, %s: %w", i, op.op, err)
}

// patching is a patch at work.
type patching struct {
	root *patchTree
	work int
}

// spend counts work.
func (p *patching) spend(n int) error {
	if p.work += n; p.work > maxWork {
		return errTooMuch
	}
	return nil
}

// result is the patched document.
func (p *patching) result() ([]byte, error) {
	text, err := p.root.text(maxResult)
	switch {
	case errors.Is(err, errTooMuch):
		return nil, patchTooLarge("The patched document would be larger than 4 MiB.")
	case errors.Is(err, errTooDeep):
		return nil, patchTooDeep()
	case err != nil:
		return nil, fmt.Errorf("JSON patch: write the document: %w", err)
	}
	return text, nil
}

// text is t as JSON, of at most limit bytes and 64 levels.
func (t *patchTree) text(limit int) ([]byte, error) {
	out := &limitedBuffer{left: limit + 1} // a line break that is cut off again
	// Names were checked when the text was read; checking them again would
	// cost more than everything else here.
	if err := t.write(jsontext.NewEncoder(out, jsontext.AllowDuplicateNames(true))); err != nil {
		return nil, err
	}
	text := bytes.TrimSpace(out.buf.Bytes())
	if nestsDeep(text) {
		return nil, errTooDeep
	}
	return text, nil
}

func patchTooDeep() error {
	return fault.New(fault.Invalid, "JSON_TOO_DEEP", "The patched document would nest deeper than 64 levels.")
}

func (p *patching) apply(op patchStep) error {
	switch op.op {
	case "add":
		return p.add(op.path, &patchTree{raw: op.value})
	case "remove":
		_, err := p.take(op.path)
		return err
	case "replace":
		t, err := p.get(op.path)
		if err == nil {
			*t = patchTree{raw: op.value}
		}
		return err
	case "move":
		return p.move(op)
	case "copy":
		return p.copy(op)
	}
	t, err := p.get(op.path)
	if err != nil {
		return err
	}
	same, err := p.equal(t, &patchTree{raw: op.value})
	if err == nil && !same {
		return errDiffers
	}
	return err
}

func (p *patching) move(op patchStep) error {
	if len(op.from) == 0 { // only the root itself: a longer path was refused
		return nil
	}
	t, err := p.take(op.from)
	if err != nil {
		return patchSource(err)
	}
	return p.add(op.path, t)
}

// copy inserts a copy, as text: parts that were parsed in the original need not
// be parsed in the copy.
func (p *patching) copy(op patchStep) error {
	t, err := p.get(op.from)
	if err != nil {
		return patchSource(err)
	}
	text, err := t.text(maxWork - p.work)
	if err != nil {
		return err
	}
	if err := p.spend(len(text)); err != nil {
		return err
	}
	return p.add(op.path, &patchTree{raw: text})
}

// limited refuses to hold more than it may.
type limitedBuffer struct {
	buf  bytes.Buffer
	left int
}

// Write keeps b if there is room.
func (l *limitedBuffer) Write(b []byte) (int, error) {
	if l.left -= len(b); l.left < 0 {
		return 0, errTooMuch
	}
	return l.buf.Write(b)
}

// source turns a missing place into a missing source.
func patchSource(err error) error {
	if errors.Is(err, errNoPlace) {
		return errNoSource
	}
	return err
}
