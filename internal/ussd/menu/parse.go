package menu

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/goccy/go-yaml/ast"
)

// The bounds of a pack.
const (
	maxNodes     = 2000
	maxLongest   = 400 // characters of a value, some pages of a screen
	maxLanguages = 16
	maxOptions   = 60
	maxText      = 1000 // characters of one text
	maxPicks     = 20   // values that a node takes out of an answer
	maxProblems  = 100  // reported at once
	leastLimit   = 40   // units of a screen that can hold anything
)

var (
	packForm     = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	nodeForm     = regexp.MustCompile(`^[a-z][A-Za-z0-9_.-]{0,63}$`)
	stateForm    = regexp.MustCompile(`^[a-z][A-Za-z0-9_-]{0,63}$`)
	variableForm = regexp.MustCompile(`^[a-z][A-Za-z0-9]{0,31}$`)
	languageForm = regexp.MustCompile(`^[a-z]{2,3}(-[A-Z]{2})?$`)
	keyForm      = regexp.MustCompile(`^[0-9A-Za-z#]{1,4}$`)
	gatewayForm  = regexp.MustCompile(`(?m)^gateway:`)
	pointerForm  = regexp.MustCompile(`^(/[^/{}]{1,64}){1,8}$`)
	numberForm   = regexp.MustCompile(`^[0-9]{1,6}$`)
)

// Parse reads a pack and checks it against what the program knows. The error is
// Problems: everything that is wrong, with its place. name is the name of the
// file.
func Parse(name string, data []byte, k Known) (*Pack, error) {
	p, problems := read(name, data, k)
	if len(problems) > 0 {
		return nil, problems
	}
	return p, p.finish()
}

// read makes a pack of a file as far as that can be done. With problems it is
// one to look at, never one to serve; nil is not even that.
func read(name string, data []byte, k Known) (*Pack, Problems) {
	root, problems := readTree(data)
	r := &reader{
		decoder: decoder{file: name, problems: problems}, known: k, pack: &Pack{nodes: map[string]*Node{}},
		vars: map[string]bool{App: true, Language: true, Caller: true}, inputs: map[string]bool{}, numbers: map[string]bool{}, lists: map[string][]string{},
	}
	for _, v := range k.Vars {
		r.vars[v] = true
	}
	if root != nil {
		r.read(root)
		r.settle()
	}
	for i := range r.problems {
		r.problems[i].File = name
	}
	r.problems.sort()
	if len(r.pack.Languages) == 0 {
		return nil, r.problems.cut()
	}
	return r.pack, r.problems.cut()
}

// finish computes the derived parts of a pack that has been read.
func (p *Pack) finish() error {
	canonical, err := json.Marshal(p, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("hash pack %s: %w", p.Name, err)
	}
	sum := sha256.Sum256(canonical)
	p.Version = hex.EncodeToString(sum[:6])
	p.answers = nil
	for _, n := range p.List {
		n.pack = p
		n.prepare()
		for _, a := range n.Answer {
			p.answers = append(p.answers, a.Var)
		}
		if n.List != nil {
			p.answers = slices.AppendSeq(p.answers, maps.Keys(n.List.Set))
		}
	}
	return nil
}

// reader turns the tree into a pack and collects problems. What can be judged
// only when all is read waits in later.
type reader struct {
	decoder
	known      Known
	pack       *Pack
	vars       map[string]bool     // variables that something sets
	inputs     map[string]bool     // input → whether it is secret
	numbers    map[string]bool     // inputs whose answers are whole numbers wherever they are asked for
	lists      map[string][]string // lists that answers give → their columns
	rowText    bool                // the text at work shows columns of a row
	later      []func()
	conditions []located
	foreign    bool // not all languages could be read: texts may have others
	mute       bool // nor could the default
}

// settle runs the checks that had to wait.
func (r *reader) settle() {
	for _, check := range r.later {
		check()
	}
	r.compile()
}

func (r *reader) read(root *value) {
	o := r.object(root, "", packFields)
	if o == nil {
		return
	}
	p := r.pack
	p.Name = r.form(o.get("pack"), "pack", packForm)
	r.languages(o.get("languages"))
	p.Title = r.line(o.get("title"), "title")
	r.constant(p.Title, o.get("title"), "title")
	p.Limits = r.limits(o["limits"])
	r.navigation(o.get("navigation"))
	r.longest(o["vars"])
	if v := o["login"]; v != nil {
		t := r.result(v, "login")
		p.Login, p.LoginSay = t.To, t.Say
		r.shown(p.Login, v, "login")
	}
	r.nodes(o.get("nodes"))
	p.Start = r.target(o.get("start"), "start")
	r.shown(p.Start, o.get("start"), "start")
	if v := o["resume"]; v != nil {
		p.Resume = r.target(v, "resume")
		r.shown(p.Resume, v, "resume")
	}
}

// shown requires that the node id has a screen.
func (r *reader) shown(id string, v *value, path string) {
	r.later = append(r.later, func() {
		if n := r.pack.nodes[id]; n != nil && (n.Kind() == KindDo || n.Kind() == KindEnd) {
			r.bad(v.spot, path, "%s is not a menu or an input", id)
		}
	})
}

func (r *reader) languages(v *value) {
	for i, item := range r.list(v, "languages") {
		path := "languages[" + strconv.Itoa(i) + "]"
		code := r.form(item, path, languageForm)
		r.foreign, r.mute = r.foreign || code == "", r.mute || code == "" && i == 0
		if slices.Contains(r.pack.Languages, code) {
			r.bad(item.spot, path, "%s is listed twice", code)
		} else if code != "" {
			r.pack.Languages = append(r.pack.Languages, code)
		}
	}
	if n := len(r.pack.Languages); n == 0 {
		if v.kind == ast.SequenceType && len(v.list) == 0 {
			r.bad(v.spot, "languages", "want at least one language")
		}
		r.pack.Languages, r.foreign, r.mute = []string{"en"}, true, true // so that the rest can be judged
	} else if n > maxLanguages {
		r.bad(v.spot, "languages", "%d languages, at most %d", n, maxLanguages)
	}
}

// constant requires a text without variables.
func (r *reader) constant(t Text, v *value, path string) {
	for _, s := range t {
		if len(names(s)) > 0 {
			r.bad(v.spot, path, "shows no variables")
			return
		}
	}
}

func (r *reader) limits(v *value) Limits {
	l := Limits{GSM7: StandardGSM7, UCS2: StandardUCS2}
	if v == nil {
		return l
	}
	o := r.object(v, "limits", limitFields)
	if n := r.number(o["gsm7"], "limits.gsm7", leastLimit, StandardGSM7); n > 0 {
		l.GSM7 = n
	}
	if n := r.number(o["ucs2"], "limits.ucs2", leastLimit, StandardUCS2); n > 0 {
		l.UCS2 = n
	}
	return l
}

func (r *reader) navigation(v *value) {
	o := r.object(v, "navigation", navigationFields)
	if o == nil {
		return
	}
	word := func(name string) Text { return r.text(o.get(name), "navigation."+name) }
	r.pack.Navigation = Navigation{
		Back: word("back"), Exit: word("exit"), More: word("more"), Goodbye: word("goodbye"), Invalid: word("invalid"),
	}
	if v := o["notKept"]; v != nil {
		r.pack.Navigation.NotKept = r.text(v, "navigation.notKept")
	}
	for name, t := range map[string]Text{"back": r.pack.Navigation.Back, "exit": r.pack.Navigation.Exit, "more": r.pack.Navigation.More} {
		for _, s := range t {
			if utf8.RuneCountInString(s) > leastLimit/4 || strings.ContainsAny(s, "{\n") {
				r.bad(o[name].spot, "navigation."+name, "want one short word without variables, at most %d characters", leastLimit/4)
				break
			}
		}
	}
}

func (r *reader) longest(v *value) {
	r.pack.Longest = map[string]int{}
	if v == nil {
		return
	}
	for _, m := range r.members(v, "vars") {
		path := "vars." + m.name
		r.pack.Longest[m.name] = max(1, r.number(m.value, path, 1, maxLongest))
		r.later = append(r.later, func() {
			for _, columns := range r.lists {
				if slices.Contains(columns, m.name) {
					return
				}
			}
			r.used(m.name, m.spot, path)
		})
	}
}

func (r *reader) nodes(v *value) {
	members := r.members(v, "nodes")
	if v.kind == ast.MappingType && len(members) == 0 {
		r.bad(v.spot, "nodes", "want at least one node")
	}
	if len(members) > maxNodes {
		r.bad(v.spot, "nodes", "%d nodes, at most %d", len(members), maxNodes)
		return
	}
	for _, m := range members {
		path := "nodes." + m.name
		if !nodeForm.MatchString(m.name) {
			r.bad(m.spot, path, "an id has the form %s", nodeForm)
		}
		n := &Node{ID: m.name, line: m.line}
		r.pack.nodes[m.name] = n
		r.pack.List = append(r.pack.List, n)
		before := r.unread
		r.node(n, m, path)
		n.unsure = r.unread > before
	}
}

// target reads the id of a node and checks later that there is one.
func (r *reader) target(v *value, path string) string {
	id := r.scalar(v, path)
	if id == "" {
		r.unread++
		return ""
	}
	r.later = append(r.later, func() {
		if r.pack.nodes[id] == nil {
			r.bad(v.spot, path, "no node has the id %s", strconv.Quote(id))
		}
	})
	return id
}

// choice reads where an option or a key of n leads. On the resume node that
// may be the draft.
func (r *reader) choice(n *Node, v *value, path string) string {
	if v.kind != ast.StringType || v.text != Draft {
		return r.target(v, path)
	}
	r.later = append(r.later, func() {
		if r.pack.Resume != n.ID {
			r.bad(v.spot, path, "only the resume node leads to %s", Draft)
		}
	})
	return Draft
}

// uses schedules the check that something sets the variable, and that it is not
// secret.
func (r *reader) uses(name string, at spot, path string) {
	r.later = append(r.later, func() { r.used(name, at, path) })
}

func (r *reader) used(name string, at spot, path string) {
	secret, asked := r.inputs[name]
	_, listed := r.lists[name]
	switch {
	case listed:
		r.bad(at, path, "%s is a list; a node with list shows its rows", name)
	case secret:
		r.bad(at, path, "%s is secret and is never shown", name)
	case !asked && !r.vars[name]:
		r.bad(at, path, "nothing sets the variable %s", strconv.Quote(name))
	}
}

// sets notes that a variable is set, and refuses names that have a meaning of
// their own.
func (r *reader) sets(name string, at spot, path string) {
	switch {
	case !variableForm.MatchString(name):
		r.bad(at, path, "a variable has the form %s", variableForm)
	case name == App || name == Caller || name == Authenticated || name == HasDraft:
		r.bad(at, path, "%s cannot be set", name)
	}
}
