package menu

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// The members of each part of a pack. The JSON Schema has the same.
var (
	packFields       = []string{"pack", "title", "languages", "start", "resume", "login", "limits", "navigation", "vars", "nodes"}
	limitFields      = []string{"gsm7", "ucs2"}
	navigationFields = []string{"back", "exit", "more", "goodbye", "invalid", "notKept"}
	nodeFields       = []string{
		"state", "text", "options", "any", "input", "do", "with", "results", "clear", "to", "back", "keys", "exit", "end", "draft", "cases", "else", "answer", "list",
	}
	optionFields = []string{"key", "text", "if", "when", "set", "to"}
	listFields   = []string{"of", "text", "set", "to"}
	caseFields   = []string{"when", "to", "say"}
	inputFields  = []string{"name", "check", "secret", "error", "skip", "choices"}
	skipFields   = []string{"key", "text"}
	targetFields = []string{"to", "say"}
)

// kindFields are the members that a node of each kind may have.
var kindFields = map[Kind][]string{
	KindMenu:  {"state", "text", "options", "list", "any", "back", "keys", "exit", "draft"},
	KindInput: {"state", "text", "input", "to", "back", "keys", "exit", "draft"},
	KindDo:    {"state", "do", "with", "answer", "results", "clear"},
	KindEnd:   {"state", "text", "end"},
	kindCases: {"state", "cases", "else"},
}

func (r *reader) node(n *Node, m member, path string) {
	o := r.object(m.value, path, nodeFields)
	if o == nil {
		return
	}
	o[""] = &value{spot: m.spot}
	n.End = r.flag(o["end"], path+".end", false)
	kind := r.kind(o, n.End, path)
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if name != "" && name != "end" && !slices.Contains(kindFields[kind], name) {
			r.bad(o[name].spot, join(path, name), "a node of kind %s has no %s", kind, name)
		}
	}
	n.State, _, _ = strings.Cut(n.ID, ".")
	if v := o["state"]; v != nil {
		n.State = r.scalar(v, path+".state")
	}
	if n.State != "" && !stateForm.MatchString(n.State) {
		r.bad(o.get("state").spot, path+".state", "%s does not have the form %s", strconv.Quote(n.State), stateForm)
	}
	switch kind {
	case KindDo:
		r.action(n, o, path)
		return
	case kindCases:
		r.cases(n, o, path)
		return
	}
	n.Text = r.text(o.get("text"), path+".text")
	if kind == KindEnd {
		return
	}
	n.Exit = r.flag(o["exit"], path+".exit", true)
	r.draft(n, o["draft"], path+".draft")
	if v := o["back"]; v != nil {
		n.Back = r.target(v, path+".back")
	}
	r.keys(n, o["keys"], path+".keys")
	if kind == KindInput {
		r.input(n, o.get("input"), path+".input")
		if n.Login && n.Input.Secret {
			r.bad(o["draft"].spot, path+".draft", "a question for a secret is not kept for whoever is logged in")
		}
		n.To = r.target(o.get("to"), path+".to")
		return
	}
	r.options(n, o["options"], path+".options")
	if v := o["list"]; v != nil {
		r.listOf(n, v, path+".list")
	}
	if v := o["any"]; v != nil {
		n.Any = r.target(v, path+".any")
	}
}

// draft reads whether the walk is kept at n: true, false, or login for who is
// logged in.
func (r *reader) draft(n *Node, v *value, path string) {
	if v == nil || v.kind != ast.StringType || v.text != "login" {
		n.Draft = r.flag(v, path, false)
		return
	}
	n.Draft, n.Login = true, true
	if r.pack.Login == "" {
		r.bad(v.spot, path, "the pack does not say with login where customers log in")
	}
}

// kind finds out what the node is, by the members only one kind has.
func (r *reader) kind(o object, end bool, path string) Kind {
	var kinds []Kind
	if o["do"] != nil {
		kinds = append(kinds, KindDo)
	}
	if o["cases"] != nil || o["else"] != nil {
		kinds = append(kinds, kindCases)
	}
	if o["input"] != nil {
		kinds = append(kinds, KindInput)
	}
	if end {
		kinds = append(kinds, KindEnd)
	}
	if o["options"] != nil || o["list"] != nil || o["any"] != nil {
		kinds = append(kinds, KindMenu)
	}
	if len(kinds) > 1 {
		r.unread++
		r.bad(o[""].spot, path, "is %s and %s at once", kinds[0], kinds[1])
	}
	if len(kinds) == 0 {
		return KindMenu
	}
	return kinds[0]
}

func (r *reader) options(n *Node, v *value, path string) {
	if v == nil {
		return
	}
	items := r.list(v, path)
	if v.kind != ast.SequenceType {
		r.unread++
	}
	if len(items) > maxOptions {
		r.bad(v.spot, path, "%d options, at most %d", len(items), maxOptions)
	}
	for i, item := range items {
		at := path + "[" + strconv.Itoa(i) + "]"
		o := r.object(item, at, optionFields)
		if o == nil {
			r.unread++
			continue
		}
		opt := Option{Key: r.key(o.get("key"), at+".key"), Text: r.line(o.get("text"), at+".text"), To: r.choice(n, o.get("to"), at+".to")}
		if g := o["if"]; g != nil {
			opt.If = r.guard(g, at+".if")
		}
		if w := o["when"]; w != nil {
			opt.When = r.condition(w, at+".when")
		}
		if s := o["set"]; s != nil {
			opt.Set = r.set(s, at+".set")
		}
		n.Options = append(n.Options, opt)
	}
}

// key reads the key of an option. Keys and words with a meaning on every
// screen are refused.
func (r *reader) key(v *value, path string) string {
	k := r.form(v, path, keyForm)
	if k == "" {
		r.unread++
	}
	switch strings.ToLower(k) {
	case KeyBack, KeyMore, "back", "exit":
		r.bad(v.spot, path, "%s has a meaning of its own; use back, exit or keys", k)
	}
	return k
}

// keys reads what overrides the usual meaning of keys.
func (r *reader) keys(n *Node, v *value, path string) {
	if v == nil {
		return
	}
	n.Keys = map[string]string{}
	for _, m := range r.members(v, path) {
		at := join(path, m.name)
		if m.name != KeyExit && !keyForm.MatchString(m.name) || m.name == KeyMore {
			r.bad(m.spot, at, "not a key that can be given another meaning")
		}
		n.Keys[m.name] = r.choice(n, m.value, at)
	}
}

func (r *reader) guard(v *value, path string) Guard {
	var g Guard
	for _, item := range r.strings(v, path) {
		word, not := strings.CutPrefix(item.text, "!")
		if word != Authenticated && word != HasDraft && item.text != "" {
			r.uses(word, item.spot, path)
		}
		g = append(g, Condition{Word: word, Not: not})
	}
	return g
}

func (r *reader) set(v *value, path string) map[string]string {
	out := r.constants(v, path)
	for _, m := range v.members {
		at := join(path, m.name)
		r.sets(m.name, m.spot, at)
		r.vars[m.name] = true
		if m.name == Language && !r.foreign && !slices.Contains(r.pack.Languages, out[Language]) {
			r.bad(m.value.spot, at, "the pack does not list the language %s", strconv.Quote(out[Language]))
		}
	}
	return out
}

func (r *reader) input(n *Node, v *value, path string) {
	o := r.object(v, path, inputFields)
	n.Input = &Input{}
	if o == nil {
		return
	}
	in := n.Input
	in.Name = r.scalar(o.get("name"), path+".name")
	if in.Name != "" {
		r.sets(in.Name, o["name"].spot, path+".name")
	}
	if in.Name == Language {
		r.bad(o["name"].spot, path+".name", "%s cannot be asked for; use an option with set", Language)
	}
	in.Check = r.scalar(o.get("check"), path+".check")
	name, _, _ := strings.Cut(in.Check, ":")
	private := slices.Contains(r.known.Secrets, name)
	if in.Secret = r.flag(o["secret"], path+".secret", private); private && !in.Secret {
		r.bad(o["secret"].spot, path+".secret", "what %s checks is always secret: leave secret out", name)
		in.Secret = true
	}
	if was, ok := r.inputs[in.Name]; ok && was != in.Secret {
		r.bad(o["name"].spot, path+".name", "%s is secret in one place and not in another", in.Name)
	}
	if was, ok := r.inputs[in.Name]; !ok || r.numbers[in.Name] && was == in.Secret {
		r.numbers[in.Name] = name == "integer"
	}
	r.inputs[in.Name] = in.Secret
	if name != "" && !slices.Contains(r.known.Checks, name) {
		r.bad(o["check"].spot, path+".check", "no check has the name %s; there are %s", strconv.Quote(name), strings.Join(r.known.Checks, ", "))
	}
	if arg, ok := strings.CutPrefix(in.Check, "integer:"); ok && !isRange(arg) {
		r.bad(o["check"].spot, path+".check", "%s is no range of whole numbers, such as 1..30", strconv.Quote(arg))
	}
	in.Error = r.text(o.get("error"), path+".error")
	if c := o["choices"]; c != nil {
		if in.Choices = r.form(c, path+".choices", variableForm); in.Choices != "" {
			r.uses(in.Choices, c.spot, path+".choices")
		}
	}
	if o["skip"] == nil {
		return
	}
	if s := r.object(o["skip"], path+".skip", skipFields); s != nil {
		in.Skip = &Skip{Key: r.key(s.get("key"), path+".skip.key"), Text: r.line(s.get("text"), path+".skip.text")}
	}
}

// isRange reports whether s is two whole numbers that fit, the smaller first.
func isRange(s string) bool {
	from, to, _ := strings.Cut(s, "..")
	least, err1 := strconv.ParseInt(from, 10, 64)
	most, err2 := strconv.ParseInt(to, 10, 64)
	return err1 == nil && err2 == nil && least <= most
}

// action reads a node that runs an action.
func (r *reader) action(n *Node, o object, path string) {
	n.Do = r.scalar(o["do"], path+".do")
	results, known := r.known.Actions[n.Do]
	if n.Do == "" {
		n.Do = "?" // it is an action, whichever
	} else if !known {
		r.bad(o["do"].spot, path+".do", "no action has the name %s; there are %s", strconv.Quote(n.Do), strings.Join(slices.Sorted(maps.Keys(r.known.Actions)), ", "))
	}
	n.tells = slices.Contains(r.known.Texts, n.Do)
	if v := o["with"]; v != nil {
		n.With = r.constants(v, path+".with")
		for _, m := range v.members {
			r.placeholders(n.With[m.name], m.value.spot, path+".with."+m.name)
			n.fills = n.fills || strings.Contains(n.With[m.name], "{")
			r.taken(n, m.name)
		}
	}
	if check := r.known.Valid[n.Do]; check != nil {
		if err := check(n.With); err != nil {
			r.bad(o.get("with").spot, path+".with", "%v", err)
		}
	}
	if v := o["answer"]; v != nil {
		r.answer(n, v, path+".answer")
	}
	if v := o["clear"]; v != nil {
		for _, item := range r.strings(v, path+".clear") {
			n.Clear = append(n.Clear, item.text)
			r.clears(item, path+".clear")
		}
	}
	n.Results = map[string]Target{}
	v := o.get("results")
	if v.kind != ast.MappingType {
		r.unread++
	}
	for _, m := range r.members(v, path+".results") {
		at := path + ".results." + m.name
		if known && !slices.Contains(results, m.name) {
			r.bad(m.spot, at, "%s has no such result; it has %s", n.Do, strings.Join(results, ", "))
		}
		n.Results[m.name] = r.result(m.value, at)
	}
	for name, kin := range map[string][]string{Held: {"blocked", "full"}, Refused: {Failed}, Limit: {Failed}, Empty: results} {
		if slices.Contains(results, name) {
			n.standIn(name, kin...)
		}
	}
	if slices.Contains(results, Already) && slices.Contains(results, Empty) {
		n.standIn(Already, Empty)
	}
	for _, name := range results {
		if _, ok := n.Results[name]; !ok && v.kind == ast.MappingType {
			r.bad(v.spot, path+".results", "%s may end with %s, which leads nowhere", n.Do, name)
		}
	}
}

// taken notes a constant that does nothing.
func (r *reader) taken(n *Node, name string) {
	takes, known := r.known.Takes[n.Do]
	switch {
	case !known || slices.Contains(takes, name) || n.tells && slices.Contains(r.pack.Languages, name):
	case n.tells:
		n.idle = append(n.idle, fmt.Sprintf("with.%s does nothing: %s takes a text in each language, %s", name, n.Do, strings.Join(r.pack.Languages, ", ")))
	case len(takes) == 0:
		n.idle = append(n.idle, fmt.Sprintf("with.%s does nothing: %s takes no constants", name, n.Do))
	default:
		n.idle = append(n.idle, fmt.Sprintf("with.%s does nothing: %s takes %s", name, n.Do, strings.Join(takes, ", ")))
	}
}

// standIn gives a node without a result that of the nearest kin.
func (n *Node) standIn(name string, kins ...string) {
	for _, kin := range kins {
		t, ok := n.Results[kin]
		if _, given := n.Results[name]; ok && !given {
			n.Results[name] = t
		}
	}
}

// answer reads what a node takes out of the answer of its action.
func (r *reader) answer(n *Node, v *value, path string) {
	if !slices.Contains(r.known.Answers, n.Do) {
		r.bad(v.spot, path, "%s gives no answer to take values of; %s do", n.Do, strings.Join(slices.Sorted(slices.Values(r.known.Answers)), ", "))
	}
	members := r.members(v, path)
	if len(members) > maxPicks {
		r.bad(v.spot, path, "%d values, at most %d", len(members), maxPicks)
	}
	for _, m := range members {
		at := join(path, m.name)
		r.sets(m.name, m.spot, at)
		if m.name == Language {
			r.bad(m.spot, at, "%s cannot be set by an answer", Language)
		}
		n.Answer = append(n.Answer, r.pick(m, at))
	}
}

// clears checks later that there is such a variable; secrets are fine here.
func (r *reader) clears(v *value, path string) {
	r.later = append(r.later, func() {
		_, listed := r.lists[v.text]
		if _, asked := r.inputs[v.text]; !asked && !listed && !r.vars[v.text] && v.text != "" {
			r.bad(v.spot, path, "nothing sets the variable %s", strconv.Quote(v.text))
		}
	})
}

func (r *reader) result(v *value, path string) Target {
	if v.kind == ast.StringType {
		return Target{To: r.target(v, path)}
	}
	o := r.object(v, path, targetFields)
	if o == nil {
		r.unread++
		return Target{}
	}
	return r.aim(o, path)
}

// aim reads the members to and say.
func (r *reader) aim(o object, path string) Target {
	t := Target{To: r.target(o.get("to"), path+".to")}
	if s := o["say"]; s != nil {
		t.Say = r.text(s, path+".say")
	}
	return t
}
