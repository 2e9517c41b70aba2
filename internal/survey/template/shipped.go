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
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

//go:embed shipped/*.json
var shippedFiles embed.FS

// library is the shipped templates: the question bank, by stage. All of their
// versions are published and never change.
type library struct {
	byID map[string][]*entry // versions from 1 on
	list []*entry            // the newest of each, by identifier
}

// find gives a version of a shipped template, 0 for the newest.
func (l *library) find(id string, version int) *entry {
	all := l.byID[id]
	if version == 0 {
		version = len(all)
	}
	if version < 1 || version > len(all) {
		return nil
	}
	return all[version-1]
}

// shippedVersions are the validations of each version of the bundled templates.
// In the first version, a response with next to no answers was complete. The
// threshold of the second is below what an interview with only the required
// answers has.
var shippedVersions = []form.Validations{{}, {CompletionThreshold: 0.6}}

// Standard is the identifier of the bundled template of a stage: baseline,
// follow-up or monitoring. For any other it is "".
func Standard(stage string) string {
	switch stage {
	case "baseline", "follow-up", "monitoring":
		return stage + "-v1"
	}
	return ""
}

// shipped is the library, compiled when it is first needed: it never changes.
var shipped = sync.OnceValue(loadShipped)

// Prepare compiles the bundled templates, so that no request waits for it. A
// server does this in the background of its first requests, because it takes
// longer than the rest of the start.
func Prepare() { shipped() }

// loadShipped reads the files in this package. One that is wrong is a mistake
// in the program, found by the first test that starts a service.
func loadShipped() *library {
	l := &library{byID: map[string][]*entry{}}
	names, err := fs.Glob(shippedFiles, "shipped/*.json")
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		var e *entry
		for i := range shippedVersions {
			if e, err = readShipped(name, i+1); err != nil {
				panic(fmt.Sprintf("shipped template %s: %v", name, err))
			}
			l.byID[e.v.TemplateID] = append(l.byID[e.v.TemplateID], e)
		}
		l.list = append(l.list, e)
	}
	slices.SortFunc(l.list, func(a, b *entry) int { return strings.Compare(a.v.TemplateID, b.v.TemplateID) })
	return l
}

func readShipped(name string, version int) (*entry, error) {
	text, err := shippedFiles.ReadFile(name)
	if err != nil {
		return nil, err
	}
	v := &Version{Version: version, Status: StatusPublished, Shipped: true, Revision: 1}
	if err := json.Unmarshal(text, &v.Template, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	v.Validations.CompletionThreshold = shippedVersions[version-1].CompletionThreshold
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
