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
	// Manifest describes the plugin. It gives the same answer each time.
	Manifest() Manifest
}

// Manifest is what a plugin says about itself.
type Manifest struct {
	Name    string // lower-case words with hyphens between them, at most 40 characters: "user-preferences"
	Version string
	Title   string
	Summary string // one sentence, at most 120 characters

	// WhenToUse tells the model what the plugin is good for, and WhenNotToUse what
	// it is not. A plugin whose tools are not always present needs the first.
	WhenToUse    []string
	WhenNotToUse []string
	Examples     []Example
	Tags         []string // lower case
	Visibility   Visibility
	Stability    Stability

	// OptIn plugins are off unless the operator enables them, by
	// plugins.<name>.enabled.
	OptIn bool

	// Needs are the names of plugins that must be present and are started before
	// this one.
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
	// OnDemand tools are available once the model has asked for them with
	// load_capability, for the rest of the conversation. It is the default,
	// because tools that nobody needs cost tokens in every answer.
	OnDemand Visibility = "on-demand"
	// Always is for tools that most conversations need.
	Always Visibility = "always"
	// Silent plugins have no tools, and the model does not learn of them.
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

// RequestTools is a plugin whose tools depend on the user or on the message. It is
// asked at the beginning of each answer and must not block. A tool whose name is
// taken is left out. The same slice may be returned again and again, which costs
// nothing, but its contents must not change then.
type RequestTools interface {
	RequestTools(ctx context.Context, turn Turn) []Tool
}

// Prompts is a plugin that has something to tell the model before a conversation,
// such as how its user wants to be addressed. Text that people wrote must go
// through Data. More than MaxPrompt bytes are cut.
type Prompts interface {
	Prompt(ctx context.Context, turn Turn) (string, error)
}

// MaxPrompt limits the bytes that a plugin may tell the model.
const MaxPrompt = 8 << 10

// Gates is a plugin that may refuse an answer before it begins, for example to a
// user who has to pay first. An *Error is the refusal, with its status, its
// message and its members; any other error refuses too, without its text. It is
// asked again when a message is sent again.
type Gates interface {
	Before(ctx context.Context, turn Turn) error
}

// Events is a plugin that sends events of its own to the pages of a conversation,
// with Host.Emit. Sockets get their names in a catalogue.
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

// Checks is a plugin that can find mistakes in its settings without being started,
// beyond their form, such as a missing file. `hearth config check` calls it.
type Checks interface {
	Check(settings Values) error
}

// Starts is a plugin that needs something from the server. It is started once,
// after the plugins it needs; an error stops the server.
type Starts interface {
	Start(ctx context.Context, host Host) error
}

// Closes is a plugin that has something to finish when the server stops. The
// plugins that need it are closed before it.
type Closes interface {
	Close(ctx context.Context) error
}
