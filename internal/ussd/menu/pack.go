// Package menu holds the menu pack: what a USSD line shows and asks, as one
// YAML file that a person can edit without code. It reads and checks packs,
// renders their screens, keeps the current pack with hot reload, and offers the
// tools an editor needs: JSON Schema, lint and graphs. It does not walk a pack;
// package machine does.
//
// It knows what fits on the screen of a handset: it counts a text in the units of
// the network, replaces typographic characters that would halve the screen, and
// spreads what is too long over pages.
package menu

import (
	"slices"
)

// Draft is the target of an option that continues the walk that was kept when
// an earlier call dropped. Only options of the resume node may have it.
const Draft = "@draft"

// The keys that the machine understands on every screen where they apply.
const (
	KeyBack = "0"
	KeyExit = "*"
	KeyMore = "98"
)

// The words of guards that are no variables.
const (
	Authenticated = "authenticated" // a customer is logged in
	HasDraft      = "draft"         // a walk of an earlier call is kept
)

// Held is the result of actions for a number that an operator has blocked. A
// pack may leave it out: older packs show their target for blocked, or for
// full.
const Held = "held"

// Language is the variable that holds the code of the language; setting it
// changes the language.
const Language = "language"

// Caller is the variable that holds the number of the handset.
const Caller = "caller"

// Empty is the result of actions that found no row. A pack that leaves it out
// uses its target for success.
const Empty = "empty"

// Already is the result of actions for what was done before. Where there may also be
// no row, a pack that leaves it out uses its target for Empty.
const Already = "already"

// Refused is the result of actions that another server refused. A pack that
// leaves it out uses its target for Failed.
const (
	Refused = "refused"
	Failed  = "failed"
)

// Later is the result of actions whose answer is not there yet, Limit that for a
// number that asks too often. A pack that leaves Limit out uses its target for
// Failed.
const (
	Later = "later"
	Limit = "limit"
)

// App is the variable that holds the title of the pack.
const App = "app"

// Text is a text by language code.
type Text map[string]string

// In is the text in lang, or in fallback when it has none.
func (t Text) In(lang, fallback string) string {
	if s, ok := t[lang]; ok {
		return s
	}
	return t[fallback]
}

// Pack is a checked menu pack. It never changes after Parse, so that any
// number of sessions may use it at once.
type Pack struct {
	Name string `json:"pack"`
	// Version is 12 hex digits of the hash of the pack's content; comments and
	// the layout of the file do not count.
	Version    string         `json:"-"`
	Title      Text           `json:"title"`
	Languages  []string       `json:"languages"` // the first is the default
	Start      string         `json:"start"`
	Resume     string         `json:"resume"`            // shown on a redial with a draft; "" is none
	Login      string         `json:"login,omitzero"`    // where a caller logs in to go on with a draft of a login; "" is nowhere
	LoginSay   Text           `json:"loginSay,omitzero"` // why, above that screen
	Limits     Limits         `json:"limits"`
	Navigation Navigation     `json:"navigation"`
	Longest    map[string]int `json:"vars"` // characters that a variable has at most, for lint
	List       []*Node        `json:"nodes"`

	nodes   map[string]*Node
	answers []string
}

// Navigation has the texts that the machine adds to screens.
type Navigation struct {
	Back    Text `json:"back"`
	Exit    Text `json:"exit"`
	More    Text `json:"more"`
	Goodbye Text `json:"goodbye"` // closing text of exit
	Invalid Text `json:"invalid"` // notice for a key that is not an option
	// NotKept is the notice to a customer who logged in to continue, and has
	// nothing to continue: the walk belongs to another customer of the same
	// phone, or is gone. A pack without it shows no notice.
	NotKept Text `json:"notKept,omitzero"`
}

// Kind is the function of a node. Every node has exactly one.
type Kind string

// The kinds of nodes.
const (
	KindMenu  Kind = "menu"  // shows options and waits for a key
	KindInput Kind = "input" // asks for a text
	KindDo    Kind = "do"    // runs an action, without a screen
	KindEnd   Kind = "end"   // shows a closing text
	kindCases Kind = "cases" // branches by conditions; in a pack that is read it does Decide
)

// Node is one place in the menu.
type Node struct {
	ID      string            `json:"id"`
	State   string            `json:"state"` // documented name, shown to operators
	Text    Text              `json:"text"`
	Options []Option          `json:"options"`
	List    *List             `json:"list,omitzero"`
	Any     string            `json:"any"` // the target of every key that is not an option
	Input   *Input            `json:"input"`
	Do      string            `json:"do"` // action
	With    map[string]string `json:"with"`
	Results map[string]Target `json:"results"`
	Cases   []*Expression     `json:"cases,omitempty"` // of a node that does Decide
	Answer  []Pick            `json:"answer,omitempty"`
	Clear   []string          `json:"clear"` // variables dropped after the action ran
	To      string            `json:"to"`    // after an input
	Back    string            `json:"back"`  // "" is no way back
	Keys    map[string]string `json:"keys"`  // key → node, over everything else
	Exit    bool              `json:"exit"`  // `*` ends the session and is shown
	End     bool              `json:"end"`
	Draft   bool              `json:"draft"` // the walk is kept when the call drops here
	// Login says that the draft belongs to the customer who is logged in, and
	// continues after the next login of the same customer. Without it a draft is
	// kept only when nobody is logged in.
	Login bool `json:"login,omitzero"`

	pack   *Pack
	line   int      // where it begins in the file
	looks  []look   // one for each language of the pack
	unsure bool     // a way out of it could not be read
	tells  bool     // With is a text by language
	idle   []string // constants that the action does not use, for lint
	fills  bool     // With shows variables
}

// Kind returns the kind of n.
func (n *Node) Kind() Kind {
	switch {
	case n.Do != "":
		return KindDo
	case n.Input != nil:
		return KindInput
	case n.End:
		return KindEnd
	}
	return KindMenu
}

// HasKey reports whether a key has a meaning of its own on n, whether or not it is
// shown right now.
func (n *Node) HasKey(key string) bool {
	_, given := n.Keys[key]
	return given || slices.ContainsFunc(n.Options, func(o Option) bool { return o.Key == key })
}

// Option is one line of a menu.
type Option struct {
	Key  string            `json:"key"`
	Text Text              `json:"text"`
	If   Guard             `json:"if"`
	When *Expression       `json:"when,omitzero"` // on values; nil always holds
	Set  map[string]string `json:"set"`
	To   string            `json:"to"`
}

// Guard is a list of conditions that must all hold; an empty one always does.
type Guard []Condition

// Condition is one word of a guard: Authenticated, HasDraft, or the name of a
// variable that must not be empty.
type Condition struct {
	Word string `json:"word"`
	Not  bool   `json:"not"`
}

// Input is a question for a text.
type Input struct {
	Name   string `json:"name"`  // variable that takes the answer
	Check  string `json:"check"` // name of the validator
	Secret bool   `json:"secret"`
	Error  Text   `json:"error"` // notice on an answer that fails the check
	Skip   *Skip  `json:"skip"`
	// Choices names a variable with lines that are shown below the text, such as
	// the options of a question from outside the pack; "" means none.
	Choices string `json:"choices,omitempty"`
}

// Skip is a key that leaves an optional input empty.
type Skip struct {
	Key  string `json:"key"`
	Text Text   `json:"text"`
}

// Pick is a value that a node extracts from the JSON of an action's result.
type Pick struct {
	Var string `json:"var"`
	At  string `json:"at"` // JSON Pointer; "" is the whole answer
	// Columns are extracted from each row of a list, to which At leads. Without
	// them one value is extracted.
	Columns []Column `json:"columns,omitempty"`
}

// Target is the target for a result of an action.
type Target struct {
	To  string `json:"to"`
	Say Text   `json:"say"` // notice above the next screen
}

// Known is what the program offers to packs.
type Known struct {
	Actions map[string][]string                           // action → its results
	Takes   map[string][]string                           // action → the constants it takes; an action that is not there takes any
	Checks  []string                                      // names of validators, without what follows a colon
	Secrets []string                                      // checks for secret answers
	Vars    []string                                      // variables that actions set
	Texts   []string                                      // actions that are given a text in every language
	Answers []string                                      // actions from whose answer a node may extract values
	Valid   map[string]func(with map[string]string) error // what is wrong with the constants of an action
}

// Node finds a node by its id; nil when there is none.
func (p *Pack) Node(id string) *Node { return p.nodes[id] }

// Answers are the variables with data from answers, or a row of them: they may
// be about the customer who was logged in then.
func (p *Pack) Answers() []string { return p.answers }

// Nodes lists the nodes in the order of the file.
func (p *Pack) Nodes() []*Node { return p.List }

// Default is the code of the default language.
func (p *Pack) Default() string { return p.Languages[0] }

// Speaks reports whether the pack has texts in lang.
func (p *Pack) Speaks(lang string) bool { return p.language(lang) >= 0 }

func (p *Pack) language(lang string) int {
	for i, l := range p.Languages {
		if l == lang {
			return i
		}
	}
	return -1
}
