// Package mask hides what is personal in twins from callers who may not see it.
//
// A protocol marks properties as personal. A caller who neither has the scope
// entities:pii nor controls a twin gets its record without them, and with their
// names in the member withheld. Members of metadata with the same names are
// hidden too, because the name of a twin may be in either place. Nobody else
// may filter or sort by what is withheld, or guessing would reveal it.
//
// Every package that lets a record, or a part of one, leave the server asks
// here. It decides by the scope first and by the protocol next, so that most
// records leave as they are stored. It changes nothing that is stored.
package mask

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Scope is the scope for reading personal properties.
const Scope = "entities:pii"

// Protocols is the part of package protocol that a Mask needs.
type Protocols interface {
	Personal(ctx context.Context, q db.Querier, ws, id string) ([]string, error)
	Declaring(ctx context.Context, ws, property string) (found []protocol.Declared, open bool, err error)
}

// Mask decides what callers do not see. It is safe for many goroutines.
type Mask struct {
	protocols  Protocols
	controlsAs func(ctx context.Context, q db.Querier, c web.Caller) ([]string, error)
}

// New makes a Mask. controlsAs returns the DIDs as which a member may act
// besides its own, as in entity.Config; nil means none.
func New(p Protocols, controlsAs func(ctx context.Context, q db.Querier, c web.Caller) ([]string, error)) *Mask {
	if controlsAs == nil {
		controlsAs = func(context.Context, db.Querier, web.Caller) ([]string, error) { return nil, nil }
	}
	return &Mask{protocols: p, controlsAs: controlsAs}
}

// Record returns the record of a twin made from a protocol as the caller of ctx
// may see it. Mostly that is body itself.
func (m *Mask) Record(ctx context.Context, q db.Querier, protocol string, body []byte) ([]byte, error) {
	c := web.CallerFrom(ctx)
	if c.May(Scope) {
		return body, nil
	}
	if names, err := m.protocols.Personal(ctx, db.Primary(q), c.Workspace, protocol); err != nil || len(names) == 0 {
		return body, err
	}
	return m.See(ctx).Record(ctx, q, protocol, body)
}

// See returns the view that the caller of ctx has of twins.
func (m *Mask) See(ctx context.Context) *Sight {
	c := web.CallerFrom(ctx)
	return &Sight{m: m, c: c, all: c.May(Scope)}
}

// Sight is the view of one caller, for one request: it remembers its lookups.
// It is not safe for many goroutines.
type Sight struct {
	m        *Mask
	c        web.Caller
	all      bool
	personal map[string][]string // by protocol
	as       []string            // DIDs the caller acts as
	asked    bool
}

// All reports whether the caller sees everything.
func (s *Sight) All() bool { return s.all }

// Personal lists what a protocol marks as personal and the caller sees only in
// twins it controls.
func (s *Sight) Personal(ctx context.Context, q db.Querier, protocol string) ([]string, error) {
	if s.all {
		return nil, nil
	}
	if names, ok := s.personal[protocol]; ok {
		return names, nil
	}
	names, err := s.m.protocols.Personal(ctx, db.Primary(q), s.c.Workspace, protocol)
	if err != nil {
		return nil, err
	}
	if s.personal == nil {
		s.personal = map[string][]string{}
	}
	s.personal[protocol] = names
	return names, nil
}

// Name is the name of a twin in a summary, which does not consider controllers:
// "" unless everybody may see it or the caller has the scope.
func (s *Sight) Name(ctx context.Context, q db.Querier, protocol, name string) (string, error) {
	names, err := s.Personal(ctx, q, protocol)
	if err != nil || slices.Contains(names, "name") {
		return "", err
	}
	return name, nil
}

// Hidden lists the personal properties that the caller does not see in a twin.
// body is its newest record: former controllers do not count.
func (s *Sight) Hidden(ctx context.Context, q db.Querier, protocol string, body []byte) ([]string, error) {
	names, err := s.Personal(ctx, q, protocol)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	controllers, err := twin.ControllersOf(body)
	if err != nil {
		return nil, err
	}
	return s.hidden(ctx, q, names, controllers)
}

func (s *Sight) hidden(ctx context.Context, q db.Querier, names, controllers []string) ([]string, error) {
	if s.c.DID != "" && slices.Contains(controllers, s.c.DID) {
		return nil, nil
	}
	if !s.asked && s.c.DID != "" {
		as, err := s.m.controlsAs(ctx, db.Primary(q), s.c)
		if err != nil {
			return nil, err
		}
		s.as = as
	}
	s.asked = true
	if slices.ContainsFunc(s.as, func(d string) bool { return slices.Contains(controllers, d) }) {
		return nil, nil
	}
	return names, nil
}

// Record is the newest record of a twin as the caller may see it.
func (s *Sight) Record(ctx context.Context, q db.Querier, protocol string, body []byte) ([]byte, error) {
	names, err := s.Hidden(ctx, q, protocol, body)
	if err != nil {
		return nil, err
	}
	return privacy.Without(body, names)
}

// Entity takes out of a decoded newest record what the caller may not see.
func (s *Sight) Entity(ctx context.Context, q db.Querier, e *twin.Entity) error {
	names, err := s.Personal(ctx, q, e.Protocol)
	if err != nil || len(names) == 0 {
		return err
	}
	if names, err = s.hidden(ctx, q, names, e.Controllers); err != nil {
		return err
	}
	return strip(e, names)
}

// MayAsk refuses a question whose answer depends on what the caller may not
// see: a filter or an order by a path of the record. protocols are those the
// twins are made from; nil: any. The fault SCOPE_MISSING names the path, under
// pointer.
func (s *Sight) MayAsk(ctx context.Context, q db.Querier, pointer string, protocols, path []string) error {
	if s.all || len(path) == 0 || path[0] != "properties" && path[0] != "metadata" {
		return nil
	}
	by, err := s.marking(ctx, q, protocols, path)
	if err != nil || by == "" {
		return err
	}
	return Missing().With(fault.Field{Pointer: pointer, Code: "scope_missing", Detail: fmt.Sprintf(
		"%s is personal in %s. Name a protocol in which it is not, or use a key with the scope %s.", strings.Join(path, "."), by, Scope)})
}

// marking finds a protocol in which a path of a record leads to something
// personal, "" when there is none.
func (s *Sight) marking(ctx context.Context, q db.Querier, protocols, path []string) (string, error) {
	if protocols == nil {
		if len(path) == 1 {
			return "some protocols", nil // those that are shipped are enough
		}
		found, _, err := s.m.protocols.Declaring(ctx, s.c.Workspace, path[1])
		if err != nil {
			return "", err
		}
		for _, d := range found {
			protocols = append(protocols, d.Protocol)
		}
	}
	for _, id := range protocols {
		names, err := s.Personal(ctx, q, id)
		switch {
		case fault.KindOf(err) == fault.NotFound: // nothing is made from it
		case err != nil:
			return "", err
		case len(path) == 1 && len(names) > 0, len(path) > 1 && slices.Contains(names, path[1]):
			return id, nil
		}
	}
	return "", nil
}

// Missing is the fault for a caller without the scope.
func Missing() *fault.Error {
	return fault.New(fault.Forbidden, "SCOPE_MISSING", "This needs the scope "+Scope+", which you do not have.")
}

// strip is privacy.Without for a decoded record.
func strip(e *twin.Entity, names []string) (err error) {
	if len(names) == 0 {
		return nil
	}
	for _, o := range []struct {
		name  string
		value *twin.Object
	}{{"properties", &e.Properties}, {"metadata", &e.Metadata}} {
		if o.value.IsZero() {
			continue
		}
		if o.value.Value, e.Withheld, err = privacy.Drop(o.value.Value, o.name, names, e.Withheld); err != nil {
			return err
		}
	}
	return nil
}
