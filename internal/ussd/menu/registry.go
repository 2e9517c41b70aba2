package menu

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

//go:embed packs/*.yaml
var packs embed.FS

const (
	// kept is how many versions stay for sessions that began with them. A
	// session lives for minutes, so it rarely outlives its version.
	kept = 8
	// every is how often the file is looked at.
	every = 2 * time.Second
	// logged is how many problems of a file are logged.
	logged = 20
)

// Shipped names the bundled packs.
func Shipped() []string { return []string{"hearth", "classic"} }

// Source is the text of a bundled pack, or of a file.
func Source(nameOrPath string) ([]byte, error) {
	if slices.Contains(Shipped(), nameOrPath) {
		return packs.ReadFile("packs/" + nameOrPath + ".yaml")
	}
	return ReadFile(nameOrPath)
}

// Open reads a bundled pack by its name, or a file by its path.
func Open(nameOrPath string, k Known) (*Pack, error) {
	data, err := source(nameOrPath)
	if err != nil {
		return nil, err
	}
	return Parse(nameOrPath, data, k)
}

// ReviewFile is Review of a bundled pack by its name, or of a file by its path.
// An error means that it could not be read at all.
func ReviewFile(nameOrPath string, k Known, o LintOptions) (Report, error) {
	data, err := source(nameOrPath)
	if err != nil {
		return Report{}, err
	}
	return Review(nameOrPath, data, k, o), nil
}

// source is Source with an error for people.
func source(nameOrPath string) ([]byte, error) {
	data, err := Source(nameOrPath)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open menu pack: %q is neither a shipped pack (%s) nor a file: %w", nameOrPath, strings.Join(Shipped(), ", "), err)
	case err != nil:
		return nil, fmt.Errorf("open menu pack: %w", err)
	}
	return data, nil
}

// RegistryConfig says where the pack is.
type RegistryConfig struct {
	Source  string // a shipped name or the path of a file; "" is hearth
	Known   Known
	Log     *slog.Logger
	Changed func(*Pack) // called after the current pack has changed; may be nil
}

// Registry holds the current pack and earlier versions, so that a session keeps
// the version it began with. It is safe for concurrent use; reading costs an
// atomic load.
type Registry struct {
	c    RegistryConfig
	held atomic.Pointer[[]*Pack] // newest first

	mu   sync.Mutex // orders looks at the file
	seen stamp
}

// stamp identifies a state of the file.
type stamp struct {
	at   time.Time
	size int64
}

// NewRegistry reads the pack. A pack with problems is an error: a server starts
// with a valid one or not at all.
func NewRegistry(c RegistryConfig) (*Registry, error) {
	if c.Source == "" {
		c.Source = Shipped()[0]
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	r := &Registry{c: c}
	if !r.builtIn() {
		r.seen, _ = r.stat()
	}
	p, err := Open(c.Source, c.Known)
	if err != nil {
		return nil, err
	}
	r.held.Store(&[]*Pack{p})
	if !r.builtIn() { // those that are have been judged by our tests
		r.judge(p)
	}
	return r, nil
}

func (r *Registry) builtIn() bool { return slices.Contains(Shipped(), r.c.Source) }

// Current is the pack for new sessions.
func (r *Registry) Current() *Pack { return (*r.held.Load())[0] }

// Version finds a pack by its version; nil when it is gone.
func (r *Registry) Version(v string) *Pack {
	for _, p := range *r.held.Load() {
		if p.Version == v {
			return p
		}
	}
	return nil
}

// Reload reads the pack again, changed or not. If it has problems they are
// returned and the current pack stays.
func (r *Registry) Reload() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.load()
}

// Look reloads the pack when its file has changed since the last call. It
// reports a bad file once, not every time.
func (r *Registry) Look() error {
	if r.builtIn() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now, err := r.stat()
	if err != nil || now == r.seen {
		return err
	}
	r.seen = now
	return r.load()
}

func (r *Registry) stat() (stamp, error) {
	info, err := os.Stat(r.c.Source)
	if err != nil {
		return stamp{}, fmt.Errorf("look at menu pack: %w", err)
	}
	return stamp{info.ModTime(), info.Size()}, nil
}

func (r *Registry) load() error {
	p, err := Open(r.c.Source, r.c.Known)
	if err != nil {
		return err
	}
	old := *r.held.Load()
	if old[0].Version == p.Version {
		return nil
	}
	held := []*Pack{p}
	for _, o := range old {
		if o.Version != p.Version && len(held) < kept {
			held = append(held, o)
		}
	}
	r.held.Store(&held)
	r.c.Log.Info("menu pack changed", "menu", p.Name, "version", p.Version, "count", len(p.List))
	r.judge(p)
	if r.c.Changed != nil {
		r.c.Changed(p)
	}
	return nil
}

// Run watches the file until ctx ends. A bad file is logged and the running
// pack stays.
func (r *Registry) Run(ctx context.Context) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	missing := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		err := r.Look()
		gone := errors.Is(err, fs.ErrNotExist)
		if err != nil && !(gone && missing) { // a missing file is said once
			r.complain(err)
		}
		missing = gone
	}
}

// judge logs incomplete parts of a pack that is served nevertheless, such as a
// missing translation: that text is shown in the default language. Refusing the
// file would help nobody: the next start accepts the same file, since a line
// that answers in the default language is better than none.
func (r *Registry) judge(p *Pack) {
	found := slices.DeleteFunc(Lint(p, LintOptions{}), func(f Finding) bool { return f.Level != LevelError })
	if len(found) == 0 {
		return
	}
	r.c.Log.Warn("menu pack is served although it is not finished", "menu", p.Name, "version", p.Version, "count", len(found))
	for _, f := range found[:min(len(found), logged)] {
		r.c.Log.Warn("menu not finished", "file", r.c.Source, "reason", f.String())
	}
}

func (r *Registry) complain(err error) {
	var problems Problems
	if !errors.As(err, &problems) {
		r.c.Log.Warn("menu pack not read; the old one stays", "file", r.c.Source, "err", err)
		return
	}
	for _, p := range problems[:min(len(problems), logged)] {
		r.c.Log.Warn("menu pack has a problem; the old one stays", "file", r.c.Source, "err", p.String())
	}
}
