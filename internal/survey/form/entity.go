package form

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/cel"
)

// Entity says what the answers of a form propose for a twin, like the sheet
// entities of XLSForm: to make one, or to change one. It changes nothing itself:
// a principal who may change the twin decides.
type Entity struct {
	List   string `json:"list" doc:"The entity list of the survey that the twin belongs to." example:"stoves"`
	Label  string `json:"label,omitzero" doc:"CEL expression: the name of the twin. Needed where twins are made." example:"serial"`
	ID     string `json:"id,omitzero" doc:"CEL expression: the DID of the twin to change, usually the answer to an entity_ref question. When absent, a new twin is made." example:"stove"`
	Create string `json:"create,omitzero" doc:"CEL expression: a twin is made when it is true. When there is no id, a twin is always made by default." example:"working == true"`
	Update string `json:"update,omitzero" doc:"CEL expression: the twin that id names changes when it is true. By default always, unless create is given."`
}

// Creates reports whether answers may propose a new twin.
func (e *Entity) Creates() bool { return e.ID == "" || e.Create != "" }

// Updates reports whether answers may propose a change of one.
func (e *Entity) Updates() bool { return e.ID != "" }

// listForm is the form of the names of entity lists and of the properties that
// answers are saved to: they are names of files, columns and elements elsewhere.
var listForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// IsList reports whether a text can be the name of an entity list. Names that
// begin with two underscores, or with hearth_, are reserved.
func IsList(name string) bool {
	return listForm.MatchString(name) && !strings.HasPrefix(name, "__") && !strings.HasPrefix(name, "hearth_")
}

// IsSaved reports whether a text can be the name of a property in an entity list:
// name and label are columns of every list.
func IsSaved(name string) bool {
	return listForm.MatchString(name) && !strings.HasPrefix(name, "__") && !strings.EqualFold(name, "name") && !strings.EqualFold(name, "label")
}

const (
	listText  = "The value must be a letter or underscore, then letters, digits, underscores and hyphens, at most 64 together; it may not begin with two underscores or with hearth_."
	savedText = "The value must be a letter or underscore, then letters, digits, underscores and hyphens, at most 64 together. name, label and what begins with two underscores are columns of every list."
)

// saved is a question whose answer becomes a property of a twin.
type saved struct {
	property string
	path     []string // in the answers
	node     *node
}

// asking is what a form asks of twins, compiled.
type asking struct {
	label, id, create, update *cel.Program
	saved                     []saved
	private                   bool // the label contains personal data
}

// entityRules checks what a template says about twins.
func entityRules(c *compiler) {
	e := c.t.Entity
	if e == nil {
		return
	}
	listRules(c, "/entity/list", e.List)
	if e.Label == "" && e.Creates() {
		c.problem("/entity/label", "required", "A new twin needs a name.")
	}
	if e.Update != "" && e.ID == "" {
		c.problem("/entity/id", "required", "A change needs id, the twin to change.")
	}
	if e.Create != "" && e.ID != "" && e.Update == "" {
		c.problem("/entity/update", "required", "With id and create, update must say when the twin changes instead.")
	}
	for _, x := range [...][2]string{{"label", e.Label}, {"id", e.ID}, {"create", e.Create}, {"update", e.Update}} {
		c.expression("/entity/"+x[0], x[1])
	}
}

// listRules checks the name of an entity list, which is the name of a file in a
// form.
func listRules(c *compiler, at, name string) {
	if !IsList(name) {
		c.problem(at, "invalid", "%s", listText)
	}
	for i := range c.t.Files {
		if c.t.Files[i].Has(name) {
			c.problem(at, "duplicate", "A file of the template has the name of the list.")
		}
	}
}

// compileEntity compiles it, and finds the questions that are saved.
func compileEntity(c *compiler) {
	seen := map[string]bool{}
	var all []saved
	for _, n := range c.nodes {
		name, at := n.q.SaveTo, n.pointer+"/saveTo"
		if name == "" {
			continue
		}
		switch {
		case c.t.Entity == nil:
			c.problem(at, "not_allowed", "The template neither makes nor changes twins: it has no member entity.")
		case !IsSaved(name):
			c.problem(at, "invalid", "%s", savedText)
		case n.place == "":
			c.problem(at, "not_allowed", "An answer inside a repeat cannot be saved to a twin: a response changes only one.")
		case n.kind.Nested || n.kind.Rows || n.kind.Media || n.kind.Shown:
			c.problem(at, "not_allowed", "The answer of a question of type %s cannot be a property of a twin.", n.q.Type)
		case seen[name]:
			c.problem(at, "duplicate", "Another question is saved to this property.")
		}
		seen[name] = true
		all = append(all, saved{name, strings.Split(strings.TrimPrefix(n.place, "/responses/"), "/"), n})
	}
	e := c.t.Entity
	if e == nil {
		return
	}
	c.asking = &asking{
		label: c.compile("/entity/label", e.Label, nil, cel.Result), id: c.compile("/entity/id", e.ID, nil, cel.Result),
		create: c.compile("/entity/create", e.Create, nil, cel.Condition), update: c.compile("/entity/update", e.Update, nil, cel.Condition),
		saved: all,
	}
}

// Asked is what the answers of a response propose for a twin.
type Asked struct {
	List       string
	Create     bool
	Update     bool
	ID         string // of the twin that is to change
	Label      string
	Properties map[string]jsontext.Value
	Personal   []string // those of them that identify a person
}

// Proposed returns what the answers propose for a twin, nil for nothing.
func (r *Result) Proposed() *Asked {
	a, t := r.ev.f.asking, r.ev.f.t
	if a == nil {
		return nil
	}
	b := &block{ev: r.ev}
	holds := func(p *cel.Program, otherwise bool) bool {
		if p == nil {
			return otherwise
		}
		held, _, err := p.Holds(b)
		return held && err == nil
	}
	out := &Asked{List: t.Entity.List, ID: Twin(b.text(a.id)), Label: strings.Join(strings.Fields(b.text(a.label)), " ")}
	out.Create = t.Entity.Creates() && holds(a.create, true)
	out.Update = t.Entity.Updates() && out.ID != "" && holds(a.update, a.create == nil)
	if !out.Create && !out.Update {
		return nil
	}
	var answers map[string]jsontext.Value
	if err := json.Unmarshal(r.Answers, &answers); err != nil {
		return nil // they are ours
	}
	out.Properties = map[string]jsontext.Value{}
	for _, s := range a.saved {
		v, ok := said(answers, s.path)
		if !ok {
			continue
		}
		out.Properties[s.property] = v
		if s.node.private {
			out.Personal = append(out.Personal, s.property)
		}
	}
	if a.private && out.Label != "" {
		out.Personal = append(out.Personal, LabelName)
	}
	return out
}

// LabelName is the name of the label among the properties of a list: no property
// that answers are saved to has this name.
const LabelName = "label"

// text is what an expression gives as a text, "" for nothing.
func (b *block) text(p *cel.Program) string {
	if p == nil {
		return ""
	}
	v, err := b.eval(p)
	if err != nil {
		return ""
	}
	raw, ok := result(nil, v)
	if !ok {
		return ""
	}
	if text := jsontext.Value(raw); text.Kind() == '"' {
		var s string
		if json.Unmarshal(text, &s) == nil {
			return s
		}
	}
	return string(raw)
}

// said returns an answer that was chosen, or given in other words.
func said(answers map[string]jsontext.Value, path []string) (jsontext.Value, bool) {
	v, ok := answers[path[0]]
	for _, step := range path[1:] {
		var inner map[string]jsontext.Value
		if !ok || v.Kind() != '{' || json.Unmarshal(v, &inner) != nil {
			return nil, false
		}
		v, ok = inner[step]
	}
	if !ok || v.Kind() != '{' {
		return v, ok
	}
	var aside map[string]jsontext.Value
	if json.Unmarshal(v, &aside) != nil || aside["noAnswer"] != nil {
		return nil, false
	}
	if other, ok := aside["other"]; ok {
		return other, true
	}
	return v, true
}

var uuidForm = regexp.MustCompile(`^(uuid:)?[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$`)

// IsUUID reports whether a text is a UUID, as other programs use to name
// entities.
func IsUUID(text string) bool { return uuidForm.MatchString(text) }

// Twin returns the DID of the twin for an id: a UUID names a twin that was made
// here, or is to be made.
func Twin(id string) string {
	if !IsUUID(id) {
		return id
	}
	return "did:ixo:entity:" + strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(id, "uuid:"), "-", ""))
}

// Lists returns the entity lists that the form names.
func (f *Form) Lists() []string {
	var out []string
	add := func(name string) {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if f.t.Entity != nil {
		add(f.t.Entity.List)
	}
	for _, s := range f.sections {
		s.each(func(n *node) { add(n.q.List) })
	}
	return out
}

// Saved returns the properties that answers are saved to.
func (f *Form) Saved() []string {
	var out []string
	if f.asking != nil {
		for _, s := range f.asking.saved {
			out = append(out, s.property)
		}
	}
	return out
}
