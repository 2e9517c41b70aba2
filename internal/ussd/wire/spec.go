package wire

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// spec is the YAML of one gateway; docs and the shipped files show how it is
// written.
type spec struct {
	Gateway    string         `yaml:"gateway"`
	Title      string         `yaml:"title"`
	Unverified bool           `yaml:"unverified"`
	Mode       string         `yaml:"mode"`
	MaxText    int            `yaml:"maxText"`
	Limits     menu.Limits    `yaml:"limits"`
	Request    requestSpec    `yaml:"request"`
	Reply      replySpec      `yaml:"reply"`
	Signature  *signatureSpec `yaml:"signature"`
	Events     *eventSpec     `yaml:"events"`
}

// requestSpec says where the parts of a request stand. A list of names is
// tried in its order.
type requestSpec struct {
	Format    words     `yaml:"format"`
	Session   words     `yaml:"session"`
	Phone     words     `yaml:"phone"`
	Code      words     `yaml:"code"`
	Text      words     `yaml:"text"`
	StartText words     `yaml:"startText"`
	Dialled   bool      `yaml:"dialled"`
	Step      words     `yaml:"step"`
	Echo      words     `yaml:"echo"`
	Kind      *kindSpec `yaml:"kind"`
	Numbers   phoneSpec `yaml:"numbers"`
	Default   struct {
		Session string `yaml:"session"`
		Code    string `yaml:"code"`
	} `yaml:"default"`
}

// kindSpec says by which words of which field a request is a start, an answer
// or an end.
type kindSpec struct {
	Field words `yaml:"field"`
	Start words `yaml:"start"`
	Input words `yaml:"input"`
	End   words `yaml:"end"`
}

// phoneSpec says how numbers become E.164.
type phoneSpec struct {
	Strip   words  `yaml:"strip"`
	Plus    bool   `yaml:"plus"`
	Country string `yaml:"country"`
}

// replySpec says what an answer looks like.
type replySpec struct {
	Format   string        `yaml:"format"`
	Continue any           `yaml:"continue"`
	End      any           `yaml:"end"`
	Body     yaml.MapSlice `yaml:"body"`
}

// eventSpec says where a notification of the end of a session keeps what.
type eventSpec struct {
	Format  words `yaml:"format"`
	Session words `yaml:"session"`
	Phone   words `yaml:"phone"`
	Code    words `yaml:"code"`
	Network words `yaml:"network"`
	Status  words `yaml:"status"`
	Cost    words `yaml:"cost"`
	Millis  words `yaml:"millis"`
	Hops    words `yaml:"hops"`
	Error   words `yaml:"error"`
	At      words `yaml:"at"`
}

// words is one word or a list of them.
type words []string

// UnmarshalYAML takes a scalar or a list of scalars.
func (w *words) UnmarshalYAML(unmarshal func(any) error) error {
	var v any
	if err := unmarshal(&v); err != nil {
		return err
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, item := range list {
		switch item.(type) {
		case string, bool, int64, uint64, float64:
			*w = append(*w, fmt.Sprint(item))
		default:
			return fmt.Errorf("want a word or a list of words, not %T", item)
		}
	}
	return nil
}

// Problem is one mistake in a gateway file.
type Problem struct {
	File         string
	Line, Column int
	Path         string // such as request.phone
	Text         string
}

// String is file:line:column: path: text.
func (p Problem) String() string {
	out := fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Column)
	if p.Path != "" {
		out += p.Path + ": "
	}
	return out + p.Text
}

// Problems is everything that is wrong with a gateway file.
type Problems []Problem

// Error is one problem a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// theRest is said of a mistake that hides others.
const theRest = "; the rest could not be looked at until this is mended"

// Parse reads the gateways of one YAML file, a document each. The error is
// Problems, those of all documents at once with line and column.
func Parse(name string, data []byte) ([]*Gateway, error) {
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		p := yamlProblem(name, err)
		p.Text += theRest
		return nil, Problems{p}
	}
	var out []*Gateway
	var all Problems
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		g, problems := parseDoc(name, doc)
		all = append(all, problems...)
		if slices.ContainsFunc(out, func(o *Gateway) bool { return o.Name == g.Name && g.Name != "" }) {
			all = append(all, g.twice(name))
		}
		out = append(out, g)
	}
	all.sort()
	if len(all) > 0 {
		return nil, all
	}
	if len(out) == 0 {
		return nil, Problems{{File: name, Line: 1, Column: 1, Text: "holds no gateway"}}
	}
	return out, nil
}

// sort puts problems of one file into its order.
func (p Problems) sort() {
	order.Stable(p, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
}

// parseDoc reads one gateway as far as that can be done. With problems it is
// not one to use.
func parseDoc(name string, doc *ast.DocumentNode) (*Gateway, Problems) {
	var s spec
	c := &checker{file: name, at: map[string]spot{"": begin(doc.Body)}}
	if !c.shape(doc.Body, reflect.TypeFor[spec](), "") {
		return &Gateway{}, c.found
	}
	if err := yaml.NodeToValue(doc.Body, &s, yaml.DisallowUnknownField()); err != nil {
		return &Gateway{}, append(c.found, yamlProblem(name, err))
	}
	g := c.gateway(s)
	g.spot = c.place("gateway")
	return g, c.found
}

// yamlProblem extracts the place from an error of the YAML library.
func yamlProblem(name string, err error) Problem {
	p := Problem{File: name, Line: 1, Column: 1, Text: err.Error()}
	if e, ok := err.(yaml.Error); ok {
		p.Text = e.GetMessage()
		if t := e.GetToken(); t != nil && t.Position != nil {
			p.Line, p.Column = t.Position.Line, t.Position.Column
		}
	}
	return p
}
