package menu

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/order"
)

// Level is the severity of a finding.
type Level string

// The levels of findings.
const (
	LevelError   Level = "error"
	LevelWarning Level = "warning"
)

// Finding is one finding of lint about a pack.
type Finding struct {
	File  string // "" with no line
	Line  int    // where the node begins; 0 when it is not known
	Level Level
	Node  string // "" is the pack itself
	Lang  string // "" is all languages
	Text  string
}

// String returns the finding on one line.
func (f Finding) String() string {
	where := cmp.Or(f.Node, "pack")
	if f.Lang != "" {
		where += " (" + f.Lang + ")"
	}
	text := string(f.Level) + ": " + where + ": " + f.Text
	if f.Line > 0 {
		text = f.File + ":" + strconv.Itoa(f.Line) + ": " + text
	}
	return text
}

// LintOptions are the circumstances a pack is judged for. Zero members mean the
// usual ones.
type LintOptions struct {
	Limits  Limits        // of the gateway; the pack's own are never exceeded
	Session time.Duration // how long a network keeps a session: 180 s
	Press   time.Duration // to read a menu and press a key: 8 s
	Type    time.Duration // to read a question and type the answer: 20 s
}

const (
	longestRun  = 8  // actions in a row that the machine runs
	manyPages   = 4  // a screen of more pages is hard to use
	usualLength = 30 // characters of a variable without a stated length
)

// Report is everything that can be said about a file.
type Report struct {
	Pack     *Pack // nil when there are problems
	Problems Problems
	Findings []Finding
	Gateways bool // it looks like a file of gateways, which is read by others
}

// Review reads and checks a pack as Parse and Lint do, in one go: a file that
// Parse refuses is checked as far as it could be read, so that its author sees
// all problems at once.
func Review(name string, data []byte, k Known, o LintOptions) Report {
	p, problems := read(name, data, k)
	r := Report{Problems: problems, Gateways: gatewayForm.Match(data)}
	if p == nil {
		return r
	}
	if err := p.finish(); err != nil {
		r.Problems = append(r.Problems, Problem{File: name, Line: 1, Column: 1, Text: err.Error()})
		return r
	}
	r.Findings = Lint(p, o)
	for i, f := range r.Findings {
		if n := p.nodes[f.Node]; n != nil {
			r.Findings[i].File, r.Findings[i].Line = name, n.line
		}
	}
	if len(problems) == 0 {
		r.Pack = p
	}
	return r
}

// Lint looks for problems that Parse allows and people would notice. Errors
// come first; findings of one level are in the order of the file.
func Lint(p *Pack, o LintOptions) []Finding {
	l := &linter{
		p: p, limits: p.limits(o.Limits), session: cmp.Or(o.Session, 180*time.Second),
		press: cmp.Or(o.Press, 8*time.Second), typing: cmp.Or(o.Type, 20*time.Second), depth: p.depths(), shown: p.variables(),
	}
	l.translations()
	loose := p.loose()
	for _, n := range p.List {
		if _, ok := l.depth[n.ID]; !ok && !loose {
			l.add(LevelError, n.ID, "", "cannot be reached")
		}
		l.node(n)
	}
	if loose {
		l.adrift()
	}
	l.runs()
	l.times()
	l.goodbye()
	notices := p.notices()
	for _, n := range p.List {
		if n.Do == "" {
			l.sizes(n, notices[n.ID])
		}
	}
	order.Stable(l.found, func(a, b Finding) int { return strings.Compare(string(a.Level), string(b.Level)) })
	return l.found
}

type linter struct {
	p                      *Pack
	limits                 Limits
	session, press, typing time.Duration
	depth                  map[string]int
	shown                  map[string]bool // variables in texts
	found                  []Finding
}

func (l *linter) add(level Level, node, lang, format string, args ...any) {
	f := Finding{Level: level, Node: node, Lang: lang, Text: fmt.Sprintf(format, args...)}
	if !slices.Contains(l.found, f) {
		l.found = append(l.found, f)
	}
}

func (l *linter) translations() {
	l.p.texts(func(node, path string, t Text) {
		for _, lang := range l.p.Languages[1:] { // Parse requires the first
			if _, ok := t[lang]; !ok && t != nil {
				l.add(LevelError, node, lang, "%s has no translation; it is shown in %s", path, l.p.Default())
			}
		}
	})
	for _, n := range l.p.List {
		if n.tells {
			l.message(n)
		}
	}
}

// message looks for the languages of a text that an action is given.
func (l *linter) message(n *Node) {
	for i, lang := range l.p.Languages {
		switch {
		case n.With[lang] != "":
		case i > 0 && n.With[l.p.Default()] != "":
			l.add(LevelError, n.ID, lang, "with has no translation; it is sent in %s", l.p.Default())
		default:
			l.add(LevelError, n.ID, lang, "with has no translation; nothing is sent")
		}
	}
}

// adrift names the nodes that nothing leads to while there are links that lead
// nowhere: one of those may be meant for it. What follows such a node is not
// named too.
func (l *linter) adrift() {
	if len(l.p.roots()) == 0 {
		return // nothing can be said before there is a start
	}
	led := map[string]bool{}
	for _, n := range l.p.List {
		for _, e := range n.edges() {
			led[e.to] = led[e.to] || e.to != n.ID
		}
	}
	for _, circles := range []bool{false, true} {
		for _, n := range l.p.List {
			if _, ok := l.depth[n.ID]; !ok && led[n.ID] == circles {
				l.add(LevelWarning, n.ID, "", "cannot be reached, unless a link that leads nowhere is meant for it")
				l.p.reach(n.ID, l.depth)
			}
		}
	}
}

// node checks one node alone.
func (l *linter) node(n *Node) {
	switch n.Kind() {
	case KindMenu:
		l.options(n)
	case KindInput:
		if _, taken := n.Keys[skipKey(n)]; taken {
			l.add(LevelError, n.ID, "", "key %s cannot skip: keys gives it another meaning", skipKey(n))
		}
	}
	for _, text := range n.idle {
		l.add(LevelError, n.ID, "", "%s", text)
	}
	if n.Do != "" || n.End {
		return
	}
	if !n.Exit {
		l.add(LevelError, n.ID, "", "has no exit")
	}
	draft := slices.ContainsFunc(n.Options, func(o Option) bool { return o.To == Draft })
	if len(n.edges()) == 0 && !draft && !n.unsure {
		l.add(LevelError, n.ID, "", "is a dead end: no key leads on")
	}
}

func skipKey(n *Node) string {
	if n.Input == nil || n.Input.Skip == nil {
		return ""
	}
	return n.Input.Skip.Key
}

func (l *linter) options(n *Node) {
	for i, a := range n.Options {
		if _, ok := n.Keys[a.Key]; ok {
			l.add(LevelError, n.ID, "", "option %s is never chosen: keys gives it another meaning", a.Key)
		}
		for _, b := range n.Options[i+1:] {
			if a.Key == b.Key && a.Key != "" && a.When == nil && b.When == nil && !exclude(a.If, b.If) {
				l.add(LevelError, n.ID, "", "two options have the key %s", a.Key)
			}
		}
	}
	for f := range flagged {
		v := &View{Authenticated: f&1 != 0, Draft: f&2 != 0}
		numbered := slices.ContainsFunc(n.Options, func(o Option) bool {
			return strings.Trim(o.Key, "0123456789") == "" && o.When == nil && o.If.Holds(v)
		})
		if !numbered && !n.unsure && n.List == nil {
			l.add(LevelWarning, n.ID, "", "may show no numbered option")
		}
	}
}

// exclude reports whether two guards can never hold at once.
func exclude(a, b Guard) bool {
	for _, c := range a {
		if slices.Contains(b, Condition{Word: c.Word, Not: !c.Not}) {
			return true
		}
	}
	return false
}

// runs finds actions that follow one another without end, or for too long.
func (l *linter) runs() {
	length := map[string]int{} // actions from here to a screen at most
	open := map[string]bool{}
	var visit func(n *Node) int
	visit = func(n *Node) int {
		if n == nil || n.Do == "" {
			return 0
		}
		if open[n.ID] {
			l.add(LevelError, n.ID, "", "actions lead round in a circle without a screen")
			return 0
		}
		if known, ok := length[n.ID]; ok {
			return known
		}
		open[n.ID] = true
		most := 0
		for _, e := range n.edges() {
			most = max(most, visit(l.p.nodes[e.to]))
		}
		open[n.ID] = false
		length[n.ID] = most + 1
		return most + 1
	}
	for _, n := range l.p.List {
		if visit(n) == longestRun+1 {
			l.add(LevelError, n.ID, "", "begins a run of more than %d actions without a screen", longestRun)
		}
	}
}

// times warns of nodes that cannot be reached before the network hangs up.
func (l *linter) times() {
	at := map[string]time.Duration{}
	for _, id := range l.p.roots() {
		at[id] = 0
	}
	for changed := true; changed; { // Bellman-Ford: packs are small
		changed = false
		for _, n := range l.p.List {
			from, ok := at[n.ID]
			if !ok {
				continue
			}
			arrive := from + l.cost(n)
			for _, e := range n.edges() {
				if was, ok := at[e.to]; !ok || arrive < was {
					at[e.to], changed = arrive, true
				}
			}
		}
	}
	for _, n := range l.p.List {
		if t, ok := at[n.ID]; ok && t > l.session && n.Do == "" {
			l.add(LevelWarning, n.ID, "", "is reached after about %d s; the network hangs up after %d s", int(t.Seconds()), int(l.session.Seconds()))
		}
	}
}

func (l *linter) cost(n *Node) time.Duration {
	switch n.Kind() {
	case KindMenu:
		return l.press
	case KindInput:
		return l.typing
	}
	return 0
}

// notices collects what may stand above each screen.
func (p *Pack) notices() map[string][]Text {
	out := map[string][]Text{}
	if p.LoginSay != nil {
		out[p.Login] = append(out[p.Login], p.LoginSay)
	}
	for _, n := range p.List {
		switch n.Kind() {
		case KindMenu:
			if n.Any == "" {
				out[n.ID] = append(out[n.ID], p.Navigation.Invalid)
			}
		case KindInput:
			out[n.ID] = append(out[n.ID], n.Input.Error)
		}
		for _, e := range n.edges() {
			if e.say != nil {
				p.carry(e.say, e.to, map[string]bool{}, out)
			}
		}
	}
	return out
}

// carry takes a notice through actions to the screens it may appear on.
func (p *Pack) carry(say Text, to string, seen map[string]bool, out map[string][]Text) {
	n := p.nodes[to]
	if n == nil || seen[to] {
		return
	}
	seen[to] = true
	if n.Do == "" {
		out[to] = append(out[to], say)
		return
	}
	for _, e := range n.edges() {
		if e.say == nil {
			p.carry(say, e.to, seen, out)
		}
	}
}
