package protocol

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

//go:embed shipped/*.json shipped/claims/*.json
var shippedFiles embed.FS

// shippedVersion is the first version of all bundled protocols. It never changes: the
// files in shipped/claims say what later versions add.
const shippedVersion = "1.0.0"

// library is the shipped protocols.
type library struct {
	byDID map[string][]*Protocol // versions, oldest first
	list  []*Protocol            // the newest of each, by DID
}

// find returns a version, the newest when none is named; nil when there is
// none.
func (l *library) find(did, version string) *Protocol {
	all := l.byDID[did]
	for i := len(all) - 1; i >= 0; i-- {
		if version == "" || all[i].Version == version {
			return all[i]
		}
	}
	return nil
}

// has reports whether a DID belongs to a bundled protocol.
func (l *library) has(did string) bool { return l.byDID[did] != nil }

// shipped is the library, compiled when it is first needed: it never changes.
var shipped = sync.OnceValue(loadShipped)

// Prepare compiles the bundled protocols, so that no request waits for it.
func Prepare() { shipped() }

// loadShipped reads the files in this package. One that is wrong is a mistake
// in the program, found by the first test that starts a service.
func loadShipped() *library {
	l := &library{byDID: map[string][]*Protocol{}}
	names, err := fs.Glob(shippedFiles, "shipped/*.json")
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		all, err := readShipped(name)
		if err != nil {
			panic(fmt.Sprintf("shipped protocol %s: %v", name, err))
		}
		p := all[len(all)-1]
		l.byDID[p.DID] = all
		l.list = append(l.list, p)
	}
	slices.SortFunc(l.list, func(a, b *Protocol) int { return strings.Compare(a.DID, b.DID) })
	return l
}

// readShipped reads the versions of a shipped protocol, oldest first.
func readShipped(name string) ([]*Protocol, error) {
	text, err := shippedFiles.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var d Draft
	if err := json.Unmarshal(text, &d, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	d.Version = shippedVersion
	first, err := ship(d)
	if err != nil {
		return nil, err
	}
	text, err = shippedFiles.ReadFile("shipped/claims/" + path.Base(name))
	if errors.Is(err, fs.ErrNotExist) {
		return []*Protocol{first}, nil
	} else if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &d, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	next, err := ship(d)
	return []*Protocol{first, next}, err
}

// ship compiles a version of a shipped protocol. Whether it makes sense a test says:
// to compile all rubrics for that would hold up the start.
func ship(d Draft) (*Protocol, error) {
	var c fault.Checks
	d.check(&c)
	r := d.record()
	r.Status, r.Shipped, r.Revision = StatusPublished, true, 1
	p, err := compile(r, nil, &c)
	if err != nil {
		return nil, err
	}
	if err := c.Err("PROTOCOL_INVALID", "The protocol is not valid."); err != nil {
		return nil, fmt.Errorf("%w: %+v", err, fault.As(err).Fields)
	}
	return p, p.settle()
}
