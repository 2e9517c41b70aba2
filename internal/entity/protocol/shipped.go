package protocol

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

// shippedVersion is the version of all shipped protocols.
const shippedVersion = "1.0.0"

// library is the shipped protocols.
type library struct {
	byDID map[string]*Protocol
	list  []*Protocol // by DID
}

func (l *library) find(did, version string) *Protocol {
	if version != "" && version != shippedVersion {
		return nil
	}
	return l.byDID[did]
}

// has reports whether a DID is that of a shipped protocol.
func (l *library) has(did string) bool { return l.byDID[did] != nil }

// shipped is the library, compiled when it is first needed: it never changes.
var shipped = sync.OnceValue(loadShipped)

// Prepare compiles the shipped protocols, so that no request waits for it.
func Prepare() { shipped() }

// loadShipped reads the files in this package. One that is wrong is a mistake
// in the program, found by the first test that starts a service.
func loadShipped() *library {
	l := &library{byDID: map[string]*Protocol{}}
	names, err := fs.Glob(shippedFiles, "shipped/*.json")
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		p, err := readShipped(name)
		if err != nil {
			panic(fmt.Sprintf("shipped protocol %s: %v", name, err))
		}
		l.byDID[p.DID] = p
		l.list = append(l.list, p)
	}
	slices.SortFunc(l.list, func(a, b *Protocol) int { return strings.Compare(a.DID, b.DID) })
	return l
}

func readShipped(name string) (*Protocol, error) {
	text, err := shippedFiles.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var d Draft
	if err := json.Unmarshal(text, &d, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	d.Version = shippedVersion
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
