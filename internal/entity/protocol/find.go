package protocol

import (
	"context"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol/schema"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Find returns a protocol of a workspace, or a bundled one, that twins may be
// made from. Without a version it is the newest published one, or a deprecated
// one when there is no other. Faults: PROTOCOL_NOT_FOUND,
// PROTOCOL_NOT_PUBLISHED, PROTOCOL_VERSION_RETIRED.
func (fd *finder) Find(ctx context.Context, ws, id, version string) (*Protocol, error) {
	p, err := fd.FindAny(ctx, ws, id, version)
	if err == nil && p.unusable() && fd.protocols.Doubt(ws, cacheKey{ws, id, version}) && fd.protocols.Doubt(ws, cacheKey{ws, id, p.Version}) {
		p, err = fd.FindAny(ctx, ws, id, version)
	}
	if err != nil {
		return nil, err
	}
	switch p.Status {
	case StatusDraft:
		return nil, fault.New(fault.Unprocessable, "PROTOCOL_NOT_PUBLISHED",
			"The protocol is a draft. Publish it with POST /v1/protocols/{did}/publish, then make twins from it.")
	case StatusRetired:
		return nil, fault.New(fault.Unprocessable, "PROTOCOL_VERSION_RETIRED", "This version of the protocol is retired: no more twins can be made from it. Name a newer version.")
	}
	return p, nil
}

// unusable reports whether no twins are made from p now.
func (p *Protocol) unusable() bool { return p.Status == StatusDraft || p.Status == StatusRetired }

// FindAny is Find for drafts and retired versions too: for reading twins and
// for migrations. Faults: PROTOCOL_NOT_FOUND, and PROTOCOL_NOT_PUBLISHED for a
// draft of which the protocol it extends is missing.
func (fd *finder) FindAny(ctx context.Context, ws, id, version string) (*Protocol, error) {
	return fd.FindAnyIn(ctx, fd.db, ws, id, version)
}

// FindAnyIn is FindAny inside a transaction: it reads through q what is not
// cached, and so needs no second connection. It does not cache what it has read
// there: first read what many will need with FindAny.
func (fd *finder) FindAnyIn(ctx context.Context, q db.Querier, ws, id, version string) (*Protocol, error) {
	return fd.load(ctx, q, cacheKey{ws, id, version}, 0)
}

// keeps reports whether data read through q may be cached. Only data from the
// store itself may: a transaction may see what is never stored, or no longer.
func (fd *finder) keeps(q db.Querier) bool { return q == db.Querier(fd.db) }

// load finds, compiles and keeps a version. level counts the descendants that
// ask: a draft may be part of a circle that was never published.
func (fd *finder) load(ctx context.Context, q db.Querier, k cacheKey, level int) (*Protocol, error) {
	if shipped().has(k.did) {
		if p := shipped().find(k.did, k.version); p != nil {
			return p, nil
		}
		return nil, notFound()
	}
	if p := fd.protocols.Get(k.ws, k); p != nil {
		return p, nil
	}
	if level > maxAncestors {
		return nil, tooDeep()
	}
	gen := fd.protocols.Begin(k.ws)
	r, body, err := read(ctx, q, k)
	if err != nil {
		return nil, err
	}
	exact := cacheKey{k.ws, k.did, r.Version}
	p := fd.protocols.Get(k.ws, exact)
	if p == nil {
		if p, err = fd.build(ctx, q, k.ws, r, level); err != nil {
			return nil, err
		}
		p.body = body
	}
	if fd.keeps(q) {
		fd.protocols.Put(k.ws, exact, p, gen)
		fd.protocols.Put(k.ws, k, p, gen)
	}
	return p, nil
}

// read finds the stored record of a version, or of the one that is used when
// none is named.
func read(ctx context.Context, q db.Querier, k cacheKey) (*Record, []byte, error) {
	if k.version != "" {
		return find(ctx, q, k.ws, k.did, k.version)
	}
	all, err := steps(ctx, q, k.ws, k.did)
	if err != nil {
		return nil, nil, err
	}
	best, ok := choose(all)
	if !ok {
		return nil, nil, notFound()
	}
	return find(ctx, q, k.ws, k.did, best.version)
}

// build compiles a stored record with its ancestors.
func (fd *finder) build(ctx context.Context, q db.Querier, ws string, r *Record, level int) (*Protocol, error) {
	var parent *Protocol
	if r.Extends != "" {
		var err error
		parent, err = fd.load(ctx, q, cacheKey{ws, r.Extends, r.ExtendsVersion}, level+1)
		if fault.KindOf(err) == fault.NotFound {
			return nil, fault.New(fault.Unprocessable, "PROTOCOL_NOT_PUBLISHED", "The protocol that this one extends does not exist yet.")
		} else if err != nil {
			return nil, err
		}
	}
	var c fault.Checks
	p, err := compile(*r, parent, &c)
	if err != nil {
		return nil, err
	}
	if err := c.Err("PROTOCOL_INVALID", "The protocol is not valid."); err != nil {
		if r.Status == StatusDraft { // its parent was changed since
			return nil, err
		}
		return nil, fmt.Errorf("stored protocol %s %s: %+v", r.DID, r.Version, fault.As(err).Fields)
	}
	return p, nil
}

func tooDeep() error {
	return fault.New(fault.Invalid, "PROTOCOL_INVALID", "The protocol is not valid.").With(fault.Field{
		Pointer: "/extends", Code: "too_deep", Detail: fmt.Sprintf("A protocol may have at most %d ancestors.", maxAncestors),
	})
}

func notFound() error {
	return fault.New(fault.NotFound, "PROTOCOL_NOT_FOUND", "No protocol has this DID and version.")
}

// At adds to a fault of Find and similar functions where the protocol was named,
// and which one. Other errors do not change.
func At(err error, pointer, id, version string) error {
	f := fault.As(err)
	if f == nil || len(f.Fields) > 0 {
		return err
	}
	name := fault.Echo(id)
	if version != "" {
		name += ", version " + fault.Echo(version)
	}
	field := fault.Field{Pointer: pointer}
	switch f.Code {
	case "PROTOCOL_NOT_FOUND":
		field.Code, field.Detail = "not_found", "There is no protocol "+name+". GET /v1/protocols lists those there are."
	case "PROTOCOL_NOT_PUBLISHED":
		field.Code, field.Detail = "not_published", "The protocol "+name+" is not published yet."
	case "PROTOCOL_VERSION_RETIRED":
		field.Code, field.Detail = "retired", "The protocol "+name+" is retired."
	default:
		return err
	}
	return f.With(field)
}

// Declared is a property as one protocol declares it.
type Declared struct {
	Protocol string // DID
	Kind     string // type name; "mixed" when versions differ
	Indexed  bool   // in every version whose twins can have it
}

// Cell is what a cell of a table holds for a declared type; "" when unknown.
func Cell(kind string) string { return schema.Cell(kind) }

// Declaring lists the protocols of a workspace, shipped ones too, of which a
// published version declares a property. open says that some protocol allows
// undeclared properties. Do not change the list.
func (fd *finder) Declaring(ctx context.Context, ws, property string) (found []Declared, open bool, err error) {
	k := question{"property", property}
	if a := fd.answers.Get(ws, k); a != nil {
		return a.declared, a.open, nil
	}
	gen := fd.answers.Begin(ws)
	a := &answer{}
	if a.declared, err = declaring(ctx, fd.db, ws, property); err != nil {
		return nil, false, err
	}
	if a.open, err = someOpen(ctx, fd.db, ws); err != nil {
		return nil, false, err
	}
	for _, p := range shipped().list {
		a.open = a.open || p.set.Open
		if kind := p.Kind(property); kind != "" {
			a.declared = append(a.declared, Declared{Protocol: p.DID, Kind: kind, Indexed: p.isIndexed(property)})
		}
	}
	if len(property) <= 64 { // longer ones do not exist, and are not worth a place
		fd.answers.Put(ws, k, a, gen)
	}
	return a.declared, a.open, nil
}

func (p *Protocol) isIndexed(name string) bool {
	return slices.ContainsFunc(p.indexed, func(ix Indexed) bool { return ix.Name == name })
}

// OfClass lists the DIDs of the published protocols of a class, shipped ones
// too, sorted. A protocol keeps its class over all its versions. Do not change
// the list.
func (fd *finder) OfClass(ctx context.Context, ws, class string) ([]string, error) {
	k := question{"class", class}
	if a := fd.answers.Get(ws, k); a != nil {
		return a.dids, nil
	}
	if !slices.Contains(classes(), class) {
		return nil, nil
	}
	gen := fd.answers.Begin(ws)
	dids, err := ofClass(ctx, fd.db, ws, class)
	if err != nil {
		return nil, err
	}
	for _, p := range shipped().list {
		if p.Class() == class {
			dids = append(dids, p.DID)
		}
	}
	slices.Sort(dids)
	fd.answers.Put(ws, k, &answer{dids: dids}, gen)
	return dids, nil
}

// Holds reports whether a DID belongs to a protocol of a workspace, in any state,
// or to a bundled one. It is cheap: the DIDs are few and cached.
func (fd *finder) Holds(ctx context.Context, ws, id string) (bool, error) {
	if shipped().has(id) {
		return true, nil
	}
	k := question{"dids", ""}
	a := fd.answers.Get(ws, k)
	if a == nil {
		gen := fd.answers.Begin(ws)
		dids, err := allDIDs(ctx, fd.db, ws)
		if err != nil {
			return false, err
		}
		slices.Sort(dids) // the two databases do not sort texts alike
		a = &answer{dids: dids}
		fd.answers.Put(ws, k, a, gen)
	}
	_, found := slices.BinarySearch(a.dids, id)
	return found, nil
}
