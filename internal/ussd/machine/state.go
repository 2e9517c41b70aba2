// Package machine is the interpreter of menu packs: from a state and what the
// caller typed it computes the next state and its screen. It is pure. Anything
// with an effect is an action, which the caller of the machine runs for it. It
// knows no store, no clock and no gateway.
package machine

import "github.com/hearth-dmrv/hearth/internal/ussd/menu"

// State is the state of one session. It is stored between two steps, so the
// names in its JSON are short. A State is a value: the machine copies the maps
// it changes.
type State struct {
	Pack    string            `json:"p"`
	Version string            `json:"v"`
	Node    string            `json:"n"`
	Page    int               `json:"g,omitzero"` // of a screen that has several; 0 is the first
	Notice  string            `json:"m,omitzero"` // above a screen of several pages
	Lang    string            `json:"l"`
	Vars    map[string]string `json:"d,omitempty"`
	// Secrets are answers to questions marked secret: PINs, codes. Only actions
	// receive them. The code that stores a State seals them.
	Secrets map[string]string `json:"-"`
	Caller  string            `json:"-"`          // number of the handset; not stored, set for each step
	Account string            `json:"a,omitzero"` // id of the account that is logged in
	Proof   string            `json:"f,omitzero"` // what the login proved, for checking whether it still counts
	Kept    string            `json:"k,omitzero"` // node to continue at, while the resume node asks or the login is under way
	Step    int               `json:"s,omitzero"` // inputs taken so far
	Done    bool              `json:"x,omitzero"` // the session has ended
}

// Authenticated reports whether a customer is logged in.
func (s *State) Authenticated() bool { return s.Account != "" }

// Screen is the next screen of the handset.
type Screen struct {
	Text  string // without CON or END
	End   bool   // the session is over
	Node  string // id of the node it shows
	State string // documented name of the node's state
	Units int    // of the screen's alphabet, as limits count them
	// Refused says that the node could not accept the input.
	Refused bool
}

// Call is an action that a pack asks for. Its maps are for reading only.
type Call struct {
	Action  string
	With    map[string]string // arguments of the node, filled in
	Answer  []menu.Pick       // what to take of the answer of another server
	Vars    map[string]string
	Secrets map[string]string
	Lang    string
	Default string // language of the pack for texts missing in Lang
	Account string
}

// Arg returns an argument of the call: a constant of the node, else a variable.
func (c Call) Arg(name string) string {
	if v, ok := c.With[name]; ok {
		return v
	}
	return c.Vars[name]
}

// Result is the result of an action.
type Result struct {
	Name    string            `json:"n"`           // one of the results the action documents
	Set     map[string]string `json:"s,omitempty"` // variables to set; "" removes one
	Account *string           `json:"a,omitempty"` // logs in, or out with ""
	Proof   string            `json:"f,omitempty"` // of a login
	Lang    string            `json:"l,omitempty"` // changes the language
}

// Taken is the result of the action menu.Draft, which the machine itself calls
// after a login: the draft at the node belongs to the account, and Set has the
// variables of its walk.
const Taken = "taken"

// Runner runs the action a pack asks for.
type Runner func(Call) (Result, error)
