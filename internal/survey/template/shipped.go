package template

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

//go:embed shipped/*.json
var shippedFiles embed.FS

// library is the shipped templates: the question bank, by stage. Each has one
// version, which is published.
type library struct {
	byID map[string]*entry
	list []*entry // by identifier
}

// find gives a version of a shipped template, 0 for the one there is.
func (l *library) find(id string, version int) *entry {
	if version != 0 && version != 1 {
		return nil
	}
	return l.byID[id]
}

// Standard is the identifier of the shipped template of a stage: baseline,
// follow-up or monitoring. For any other it is "".
func Standard(stage string) string {
	switch stage {
	case "baseline", "follow-up", "monitoring":
		return stage + "-v1"
	}
	return ""
}

// bank is the library, compiled once: it never changes.
var bank = sync.OnceValue(loadShipped)

// loadShipped reads the files in this package. One that is wrong is a mistake
// in the program, found by the first test that starts a service.
func loadShipped() *library {
	l := &library{byID: map[string]*entry{}}
	names, err := fs.Glob(shippedFiles, "shipped/*.json")
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		e, err := readShipped(name)
		if err != nil {
			panic(fmt.Sprintf("shipped template %s: %v", name, err))
		}
		l.byID[e.v.TemplateID] = e
		l.list = append(l.list, e)
	}
	slices.SortFunc(l.list, func(a, b *entry) int { return strings.Compare(a.v.TemplateID, b.v.TemplateID) })
	return l
}

func readShipped(name string) (*entry, error) {
	text, err := shippedFiles.ReadFile(name)
	if err != nil {
		return nil, err
	}
	v := &Version{Version: 1, Status: StatusPublished, Shipped: true, Revision: 1}
	if err := json.Unmarshal(text, &v.Template, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	f, err := compile(&v.Template)
	if err != nil {
		if bad := fault.As(err); bad != nil {
			err = fmt.Errorf("%w: %+v", err, bad.Fields)
		}
		return nil, err
	}
	body, err := v.render()
	if err != nil {
		return nil, err
	}
	return newEntry(v, body, f), nil
}
