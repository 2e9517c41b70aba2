package openrosa

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// The limits of an instance.
const (
	MaxInstance = 1 << 20 // bytes
	maxNodes    = 50_000
	maxNesting  = 24
)

// node is an element of an instance. It is a tree, as small as the limits.
type node struct {
	name     string
	template bool
	attrs    []xml.Attr
	text     strings.Builder
	kids     []*node
}

func (n *node) kid(name string) *node {
	for _, k := range n.kids {
		if k.name == name {
			return k
		}
	}
	return nil
}

// value is the text of a node below n, "" when it is not there.
func (n *node) value(names ...string) string {
	at := n
	for _, name := range names {
		if at = at.kid(name); at == nil {
			return ""
		}
	}
	return strings.TrimSpace(at.text.String())
}

func (n *node) attr(name string) string {
	for _, a := range n.attrs {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

// Instance is a device's submission, before its form is known.
type Instance struct {
	FormID     string
	Version    string
	InstanceID string // names the submission
	Deprecated string // the submission that it corrects
	root       *node
}

// badInstance names what is wrong with a submission.
func badInstance(pointer, code, detail string) error {
	return fault.New(fault.Invalid, "INSTANCE_INVALID", "The submission cannot be read as an answer to the form.").With(fault.Field{Pointer: pointer, Code: code, Detail: detail})
}

// Parse reads an instance. It takes no document type, no entities but the five
// of XML, and no more than the limits say. The fault is INSTANCE_INVALID.
func Parse(raw []byte) (*Instance, error) {
	if len(raw) > MaxInstance {
		return nil, badInstance("", "too_large", fmt.Sprintf("A submission has at most %d bytes without its files.", MaxInstance))
	}
	root, err := parseTree(raw)
	if err != nil {
		return nil, err
	}
	in := &Instance{FormID: root.attr("id"), Version: root.attr("version"), root: root}
	in.InstanceID, in.Deprecated = root.value("meta", "instanceID"), root.value("meta", "deprecatedID")
	switch {
	case in.FormID == "":
		return nil, badInstance("/@id", "required", "The first element names the form in its attribute id.")
	case in.InstanceID == "":
		return nil, badInstance("/meta/instanceID", "required", "The submission has no instanceID.")
	}
	return in, nil
}

func parseTree(raw []byte) (*node, error) {
	d := xml.NewDecoder(bytes.NewReader(raw))
	d.CharsetReader = func(string, io.Reader) (io.Reader, error) { return nil, errors.New("not UTF-8") }
	var root *node
	var path []*node
	count := 0
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) && root != nil && len(path) == 0 {
			return root, nil
		}
		if err != nil {
			return nil, badInstance("", "not_xml", "The submission is not well-formed XML in UTF-8.")
		}
		switch t := token.(type) {
		case xml.Directive:
			return nil, badInstance("", "document_type", "A submission has no document type.")
		case xml.StartElement:
			if count++; count > maxNodes || len(path) >= maxNesting {
				return nil, badInstance("", "too_large", "The submission has too many elements, or they nest too deep.")
			}
			n := &node{name: t.Name.Local, attrs: t.Attr}
			n.template = slices.ContainsFunc(t.Attr, func(a xml.Attr) bool { return a.Name.Local == "template" && a.Name.Space == "jr" })
			switch {
			case len(path) > 0:
				up := path[len(path)-1]
				up.kids = append(up.kids, n)
			case root != nil:
				return nil, badInstance("", "not_xml", "The submission has two roots.")
			default:
				root = n
			}
			path = append(path, n)
		case xml.EndElement:
			if len(path) == 0 || path[len(path)-1].name != t.Name.Local {
				return nil, badInstance("", "not_xml", "The submission is not well-formed XML: an element does not end.")
			}
			path = path[:len(path)-1]
		case xml.CharData:
			if len(path) > 0 {
				path[len(path)-1].text.Write(t)
			}
		}
	}
}

// Household is the chosen household, "" when the form does not ask.
func (in *Instance) Household() string {
	if picked := in.root.value(householdName); picked != anotherValue {
		return picked
	}
	return in.root.value(anotherName)
}

// Device is the name the device gives itself.
func (in *Instance) Device() string { return in.root.value(deviceName) }

// Times returns when the interview began and ended; zero where the device does
// not say.
func (in *Instance) Times() (start, end time.Time) {
	return moment(in.root.value(startName)), moment(in.root.value(endName))
}

func moment(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

// reader turns nodes into answers.
type reader struct {
	hash  func(name string) string // of a file; "" when it is not here
	files map[string]bool          // named in answers
	wrong fault.Checks
}

// Answers reads the answers of an instance in the form that POST /v1/responses
// takes. hash returns the SHA-256 of a file that has arrived, "" for others,
// whose answers are left out. named are all files that answers name. A value
// that cannot be read is passed on unchanged, so that the check of the answers
// refuses it. The fault is INSTANCE_INVALID: the form does not match the
// instance.
func (f *Form) Answers(in *Instance, hash func(name string) string) (answers jsontext.Value, named []string, err error) {
	r := &reader{hash: hash, files: map[string]bool{}}
	if in.root.name != f.root.name {
		r.wrong.Add("/"+in.root.name, "unknown", "The form does not have this element.")
	}
	out := map[string]any{}
	r.object(f.root, in.root, out, "")
	if err := r.wrong.Err("INSTANCE_INVALID", "The submission cannot be read as an answer to the form."); err != nil {
		return nil, nil, err
	}
	if log := in.root.value("meta", "audit"); log != "" {
		r.files[log] = true
	}
	text, err := json.Marshal(out, json.Deterministic(true))
	if err != nil {
		return nil, nil, fmt.Errorf("encode answers: %w", err)
	}
	return text, slices.Sorted(maps.Keys(r.files)), nil
}

// Audit is the name of the log of the interview, "" without one.
func (in *Instance) Audit() string { return in.root.value("meta", "audit") }

// object reads the nodes inside of one.
func (r *reader) object(at *item, n *node, out map[string]any, path string) {
	seen := map[*item]bool{}
	for _, k := range n.kids {
		i := at.kid(k.name)
		switch {
		case i == nil && at.name == rootName && k.name == "meta":
		case i == nil:
			if at.role != ours || path == "" {
				r.wrong.Add(path+"/"+k.name, "unknown", "The form does not have this element.")
			}
		case k.template:
		case seen[i]:
			r.wrong.Add(path+"/"+k.name, "duplicate", "This element appears twice, and only a repeat may.")
		default:
			seen[i] = i.role != repeated && i.role != ours
			r.node(i, k, n, out, path+"/"+k.name)
		}
	}
}

// node reads one node of an object.
func (r *reader) node(i *item, n, up *node, out map[string]any, path string) {
	text := strings.TrimSpace(n.text.String())
	switch i.role {
	case section, nested, amount, rows:
		inner := map[string]any{}
		r.object(i, n, inner, path)
		if len(inner) > 0 && (i.role != amount || inner["value"] != nil) {
			out[i.id] = inner
		}
	case repeated:
		inner := map[string]any{}
		r.object(i, n, inner, path)
		list, _ := out[i.q.ID].([]any)
		out[i.q.ID] = append(list, inner)
	case row:
		if text != "" {
			out[i.id] = i.option(text)
		}
	case part:
		if text != "" {
			out[i.id] = partValue(i, text)
		}
	case silence:
		if text != "" && out[i.q.ID] == nil {
			out[i.q.ID] = map[string]any{"noAnswer": text}
		}
	case counter:
		if text == "0" && out[i.q.ID] == nil {
			out[i.q.ID] = []any{}
		}
	case answer:
		r.answer(i, text, up, out)
	}
}

// answer reads the answer of a question.
func (r *reader) answer(i *item, text string, up *node, out map[string]any) {
	k := form.KindOf(i.q.Type)
	if text == "" || k.Calculated {
		return
	}
	if k.Media {
		r.files[text] = true
		if sum := r.hash(text); sum != "" {
			out[i.q.ID] = "sha256:" + sum
		}
		return
	}
	read := k.XForm.Read
	if read == nil {
		read = func(s string) (any, bool) { return k.Parse(s, i.option) }
	}
	v, ok := read(text)
	if !ok {
		out[i.q.ID] = text
		return
	}
	if i.q.List != "" {
		v = form.Twin(text)
	}
	if i.q.Other {
		v = inOtherWords(v, up.value(i.other))
	}
	out[i.q.ID] = v
}

// option is the value of an option by its name in the form.
func (i *item) option(name string) string {
	if v, ok := i.values[name]; ok {
		return v
	}
	return name
}

// inOtherWords puts the words of the person where the option for them was
// chosen.
func inOtherWords(v any, said string) any {
	if said == "" {
		return v
	}
	words := map[string]any{"other": said}
	switch all := v.(type) {
	case string:
		if all == otherValue {
			return words
		}
	case []string:
		out := make([]any, len(all))
		for n, one := range all {
			if out[n] = any(one); one == otherValue {
				out[n] = words
			}
		}
		return out
	}
	return v
}

// partValue reads a member of a quantity.
func partValue(i *item, text string) any {
	if i.choices != nil || i.control == "" {
		return i.option(text)
	}
	if v := jsontext.Value(text); v.IsValid() && v.Kind() == '0' {
		return v
	}
	return text
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
