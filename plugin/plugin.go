// Package plugin is the contract between Hearth and the plugins that extend its
// oracle: what a plugin says about itself, the tools and routes it adds, and what
// it is given to work with. It imports only the standard library.
//
// A plugin is a value with a Manifest. Everything else it can do is one more small
// interface that it may implement: Tools, RequestTools, Agents, Prompts, Gates,
// Events, Routes, Settings, Schedules, Starts, Closes and others. The server looks
// for them once, when it starts. A name or a path that is already taken, a wrong
// setting or a missing plugin stops the start with a message that names the plugin.
//
// The server promises that a plugin's tools act for one user at a time and are told
// which one, that its protected routes know their caller, and that a plugin that
// panics costs one answer and nothing else.
package plugin

import "context"

// Plugin extends the oracle.
type Plugin interface {
	// Manifest says what the plugin is. It gives the same answer each time.
	Manifest() Manifest
}

// Manifest is what a plugin says about itself.
type Manifest struct {
	Name    string // lower-case words with hyphens between them, at most 40 characters: "user-preferences"
	Version string
	Title   string
	Summary string // one sentence, at most 120 characters

	// WhenToUse tells the model what the plugin is good for, and WhenNotToUse what
	// it is not. A plugin with tools that are not always there needs the first.
	WhenToUse    []string
	WhenNotToUse []string
	Examples     []Example
	Tags         []string // lower case
	Visibility   Visibility
	Stability    Stability

	// OptIn plugins are there only when the operator says so, by
	// plugins.<name>.enabled.
	OptIn bool

	// Needs are the names of plugins that must be there and are started before this
	// one.
	Needs []string
}

// Example is something a user may say, and the call that answers it.
type Example struct {
	User string `json:"user"`
	Tool string `json:"tool"`
	Args string `json:"args,omitzero"` // a JSON object
}

// Visibility says when the model has the tools of a plugin.
type Visibility string

// The visibilities.
const (
	// OnDemand tools are there once the model has asked for them with
	// load_capability, for the rest of the conversation. It is the default: tools
	// that nobody needs cost tokens in every answer.
	OnDemand Visibility = "on-demand"
	// Always is for tools that most conversations need.
	Always Visibility = "always"
	// Silent plugins have no tools, and the model is not told of them.
	Silent Visibility = "silent"
)

// Stability says how much a plugin may still change.
type Stability string

// The stabilities.
const (
	Stable       Stability = "stable" // the default
	Beta         Stability = "beta"
	Experimental Stability = "experimental"
)

// Tools is a plugin whose tools are the same for everybody.
type Tools interface {
	Tools() []Tool
}

// RequestTools is a plugin whose tools depend on who asks or on what they sent.
// It is asked at the beginning of each answer and must not wait for anybody. A
// tool whose name is taken is left out. A slice may be given again and again, which
// costs nothing; nothing in it may have changed then.
type RequestTools interface {
	RequestTools(ctx context.Context, turn Turn) []Tool
}

// Prompts is a plugin that has something to tell the model before a
// conversation, such as how its user wants to be addressed. What people wrote goes
// through Data. More than MaxPrompt bytes are cut.
type Prompts interface {
	Prompt(ctx context.Context, turn Turn) (string, error)
}

// MaxPrompt is how many bytes a plugin may tell the model.
const MaxPrompt = 8 << 10

// Gates is a plugin that may refuse an answer before it begins, such as to a user
// who has to pay first. An *Error is the refusal, with its status, its message and
// its members; any other error refuses too, without its words. A message that is
// sent again is asked about again.
type Gates interface {
	Before(ctx context.Context, turn Turn) error
}

// Events is a plugin that sends events of its own to the pages of a conversation,
// with Host.Emit. The names are in the catalogue that sockets are given.
type Events interface {
	Events() []string // 1 to 64 letters, digits and _ . : -
}

// Routes is a plugin that answers HTTP requests.
type Routes interface {
	Routes() []Route
}

// Settings is a plugin that can be configured, under plugins.<name> in the file and
// by HEARTH_PLUGIN_<NAME>_<SETTING> in the environment.
type Settings interface {
	Settings() []Setting
}

// Checks is a plugin that can say what is wrong with its settings without being
// started, where that is more than their form: a file that is missing. `hearth config
// check` asks.
type Checks interface {
	Check(settings Values) error
}

// Starts is a plugin that needs something of the server. It is started once,
// after the plugins it needs; an error stops the server.
type Starts interface {
	Start(ctx context.Context, host Host) error
}

// Closes is a plugin that has something to end when the server stops. The plugins
// that need it are closed before it.
type Closes interface {
	Close(ctx context.Context) error
}
