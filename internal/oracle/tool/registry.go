package tool

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// Limits of a registry.
const (
	maxName   = 64  // characters of a name, the limit of model servers
	maxEvents = 256 // names of events
)

var eventPattern = regexp.MustCompile(`^[A-Za-z0-9_.:-]{1,64}$`)

// ValidName reports whether model servers accept name for a tool: 1 to 64
// letters, digits, _ and -.
func ValidName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

// Offered is implemented by a tool that only some callers are offered.
type Offered interface {
	Offered(ctx context.Context) bool
}

// Registry holds the tools of the server and those that plugins add. The zero
// value is ready; it is safe for concurrent use.
type Registry struct {
	mu     sync.RWMutex
	tools  []Tool
	names  map[string]bool
	more   []func(context.Context) []Tool
	events []string
	routes []func(*web.API)
	around func(Tool) Tool // nil: nothing
}

// Add registers tools for every run. It refuses, and adds nothing, if a name is
// taken or no model server accepts it, or a schema is not an object.
func (r *Registry) Add(tools ...Tool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	added := map[string]bool{}
	for _, t := range tools {
		s := t.Spec()
		switch {
		case !ValidName(s.Name):
			return fmt.Errorf("tool %q: want a name of 1 to %d letters, digits, _ and -", s.Name, maxName)
		case r.names[s.Name] || added[s.Name]:
			return fmt.Errorf("tool %q is registered twice", s.Name)
		}
		if err := CheckSchema(s.Schema); err != nil {
			return fmt.Errorf("tool %q: %w", s.Name, err)
		}
		added[s.Name] = true
	}
	if r.names == nil {
		r.names = map[string]bool{}
	}
	for name := range added {
		r.names[name] = true
	}
	r.tools = append(r.tools, tools...)
	return nil
}

// Reserve reserves names for tools that only some runs have, so that a grant for
// one of them is for no other tool.
func (r *Registry) Reserve(names ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.names == nil {
		r.names = map[string]bool{}
	}
	for _, name := range names {
		if r.names[name] {
			return fmt.Errorf("tool %q is registered twice", name)
		}
		r.names[name] = true
	}
	return nil
}

// Find reports whether runs of the user of ctx may get to use a tool of this name. It
// returns the tool when that depends on the user.
func (r *Registry) Find(ctx context.Context, name string) (t Tool, found bool) {
	r.mu.RLock()
	found = r.names[name]
	r.mu.RUnlock()
	if found {
		return nil, true
	}
	for _, t := range r.ForRun(ctx) {
		if t.Spec().Name == name {
			return t, true
		}
	}
	return nil, false
}

// Open finds a public tool among those of the user of ctx; nil when there is none of
// this name.
func (r *Registry) Open(ctx context.Context, name string) Tool {
	for _, t := range r.ForRun(ctx) {
		if s := t.Spec(); s.Name == name && s.Open() {
			return t
		}
	}
	return nil
}

// AddPerRun registers a source of tools that depend on the caller or the
// request; ctx carries a Context. Where names collide, the tools of Add win.
func (r *Registry) AddPerRun(source func(ctx context.Context) []Tool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.more = append(r.more, source)
}

// Wrap wraps every tool that is run: code that runs tools must run the result of
// Wrapped.
func (r *Registry) Wrap(around func(Tool) Tool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.around = around
}

// Wrapped returns tools in the form in which they are run.
func (r *Registry) Wrapped(tools []Tool) []Tool {
	r.mu.RLock()
	around := r.around
	r.mu.RUnlock()
	if around == nil {
		return tools
	}
	out := make([]Tool, len(tools))
	for i, t := range tools {
		out[i] = around(t)
	}
	return out
}

// AddEvents adds names to the catalogue of events for sockets.
func (r *Registry) AddEvents(names ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		switch {
		case !eventPattern.MatchString(name):
			return fmt.Errorf("event %q: want 1 to 64 letters, digits and _ . : -", name)
		case slices.Contains(r.events, name):
			continue
		case len(r.events) == maxEvents:
			return fmt.Errorf("event %q: there are %d already", name, maxEvents)
		}
		r.events = append(r.events, name)
	}
	return nil
}

// AddRoutes registers routes to add to the API when it is built.
func (r *Registry) AddRoutes(add func(*web.API)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.routes = append(r.routes, add)
}

// ForRun returns the tools one run may use, in the order they were added.
func (r *Registry) ForRun(ctx context.Context) []Tool {
	r.mu.RLock()
	tools, more := r.tools, r.more
	r.mu.RUnlock()
	out := make([]Tool, 0, len(tools))
	for _, t := range tools {
		if o, ok := t.(Offered); !ok || o.Offered(ctx) {
			out = append(out, t)
		}
	}
	own := len(out)
	for _, source := range more {
		out = r.merge(out, own, source(ctx))
	}
	return out
}

// merge appends the tools of a run whose names are free and valid. The first so many of
// out are of all runs: their names are taken already.
func (r *Registry) merge(out []Tool, own int, more []Tool) []Tool {
	for _, t := range more {
		name := t.Spec().Name
		r.mu.RLock()
		taken := r.names[name]
		r.mu.RUnlock()
		taken = taken || slices.ContainsFunc(out[own:], func(o Tool) bool { return o.Spec().Name == name })
		if !taken && ValidName(name) {
			out = append(out, t)
		}
	}
	return out
}

// Events lists the names of AddEvents in the order they were added.
func (r *Registry) Events() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.events)
}

// Routes adds all registered routes to a.
func (r *Registry) Routes(a *web.API) {
	r.mu.RLock()
	routes := slices.Clone(r.routes)
	r.mu.RUnlock()
	for _, add := range routes {
		add(a)
	}
}
