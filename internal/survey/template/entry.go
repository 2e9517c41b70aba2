package template

import (
	"strings"
	"sync"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

const (
	maxCached     = 64 << 20 // bytes of compiled templates in the cache, about
	weightPerByte = 32       // what a byte of a template weighs compiled, about, without its expressions
	cachedBase    = 16 << 10 // what else a template weighs
	maxSelections = 32       // selections of sections that one template keeps
)

// cacheKey names a version of a template; 0 is the one used when none is
// named.
type cacheKey struct {
	ws, id  string
	version int
}

// entry is a version, compiled. It never changes but for the selections it
// keeps; share it freely.
type entry struct {
	v    *Version
	body []byte // the version as it is sent
	form *form.Form

	mu       sync.Mutex
	selected map[string]*form.Form
}

func newEntry(v *Version, body []byte, f *form.Form) *entry {
	return &entry{v: v, body: body, form: f, selected: map[string]*form.Form{}}
}

// of is the form with these sections only; none means all.
func (e *entry) of(sections []string) (*form.Form, error) {
	if len(sections) == 0 {
		return e.form, nil
	}
	key := strings.Join(sections, "\x00")
	e.mu.Lock()
	f := e.selected[key]
	e.mu.Unlock()
	if f != nil {
		return f, nil
	}
	f, err := e.form.Select(sections)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.selected) >= maxSelections {
		clear(e.selected)
	}
	e.selected[key] = f
	return f, nil
}

func (e *entry) weight() int { return weightPerByte*len(e.body) + cachedBase + e.form.Weight() }
