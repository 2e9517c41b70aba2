package bulk

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// maxShared limits how many different twins are distinguished: a file may have
// a million of them.
const maxShared = 10_000

// takenNames are the names that rows have taken, by their hash: a file may have a
// million.
type takenNames struct {
	seed    maphash.Seed
	twins   map[uint64]*entity.Row // nil where nothing is known of one
	told    map[uint64]twinPast
	members []string
	shared  map[string]*entity.Row // most twins are alike in these members
}

// newTakenNames makes a set of names. Of twins it remembers their status and
// some members.
func newTakenNames(members ...string) *takenNames {
	return &takenNames{seed: maphash.MakeSeed(), twins: map[uint64]*entity.Row{}, told: map[uint64]twinPast{}, members: append(members, "status"), shared: map[string]*entity.Row{}}
}

// namesOf are the names a draft takes for itself.
func namesOf(d *entity.Draft) []string {
	var out []string
	if d.DID != "" {
		out = append(out, d.DID)
	}
	for scheme, value := range d.ExternalIDs {
		out = append(out, externalName(scheme, value))
	}
	return out
}

// externalName is the name another system has for a twin.
func externalName(scheme, value string) string { return scheme + "\x00" + value }

func (n *takenNames) hash(name string) uint64 { return maphash.String(n.seed, name) }

// take takes the names of a draft.
func (n *takenNames) take(d *entity.Draft) {
	for _, name := range namesOf(d) {
		n.twins[n.hash(name)] = n.twins[n.hash(name)]
	}
}

// free gives the names of a draft back: nothing came of it.
func (n *takenNames) free(d *entity.Draft) {
	for _, name := range namesOf(d) {
		delete(n.twins, n.hash(name))
		delete(n.told, n.hash(name))
	}
}

// hashOf is the hash of what a row says, for twinPast.
func (n *takenNames) hashOf(says []byte) uint64 { return maphash.Bytes(n.seed, says) }

// has reports whether a name is taken.
func (n *takenNames) has(name string) bool {
	_, ok := n.twins[n.hash(name)]
	return ok
}

// note remembers what the twin of a draft is.
func (n *takenNames) note(d *entity.Draft, record []byte) error {
	return n.keep(d, record, func(map[string]jsontext.Value) error { return nil })
}

// expect remembers what is known about a twin whose relationships lead to
// others that are not stored: not its status, but its future project.
func (n *takenNames) expect(d *entity.Draft, edges []entity.RelationDraft, record []byte) error {
	return n.keep(d, record, func(members map[string]jsontext.Value) (err error) {
		delete(members, "status")
		i := slices.IndexFunc(edges, func(r entity.RelationDraft) bool { return relationship.Belongs(r.Role, "project") })
		if i >= 0 {
			members["project"], err = jsontext.AppendQuote(nil, edges[i].Target)
		}
		return err
	})
}

func (n *takenNames) keep(d *entity.Draft, record []byte, change func(map[string]jsontext.Value) error) error {
	names := namesOf(d)
	if len(names) == 0 {
		return nil
	}
	var all map[string]jsontext.Value
	if err := json.Unmarshal(record, &all); err != nil {
		return fmt.Errorf("read record: %w", err)
	}
	if err := change(all); err != nil {
		return fmt.Errorf("change outline: %w", err)
	}
	twin, err := n.outline(all)
	for _, name := range names {
		n.twins[n.hash(name)] = twin
	}
	return err
}

// twin is what is remembered about the twin of a draft, with the members in its
// Body; nil for nothing.
func (n *takenNames) twin(d *entity.Draft) *entity.Row {
	for _, name := range namesOf(d) {
		if twin := n.twins[n.hash(name)]; twin != nil {
			return twin
		}
	}
	return nil
}

// outline keeps the members of a record that are remembered. Twins that are
// alike share one.
func (n *takenNames) outline(all map[string]jsontext.Value) (*entity.Row, error) {
	some := map[string]jsontext.Value{}
	for _, name := range n.members {
		if v, ok := all[name]; ok {
			some[name] = v
		}
	}
	text, err := json.Marshal(some, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("write outline: %w", err)
	}
	if known := n.shared[string(text)]; known != nil {
		return known, nil
	}
	if len(n.shared) >= maxShared {
		return nil, nil // nothing is known of this one
	}
	row := &entity.Row{Body: text}
	var said struct {
		Status entity.Status `json:"status"`
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return nil, fmt.Errorf("read outline: %w", err)
	}
	row.Status = said.Status
	n.shared[string(text)] = row
	return row, nil
}

// clash finds names that earlier rows of the file have taken.
func (n *takenNames) clash(d *entity.Draft) *fault.Error {
	var f *fault.Error
	if d.DID != "" && n.has(d.DID) {
		f = fault.New(fault.Conflict, "ENTITY_EXISTS", "An earlier row has this DID.").
			With(fault.Field{Pointer: "/did", Code: "exists", Detail: "An earlier row has this DID."})
	}
	for _, scheme := range slices.Sorted(maps.Keys(d.ExternalIDs)) {
		if !n.has(externalName(scheme, d.ExternalIDs[scheme])) {
			continue
		}
		if f == nil {
			f = fault.New(fault.Conflict, "EXTERNAL_ID_EXISTS", "An earlier row has this external id.")
		}
		f = f.With(fault.Field{Pointer: "/externalIds/" + check.Escape(scheme), Code: "exists", Detail: "An earlier row has this external id."})
	}
	return f
}

// withClash names everything that is wrong with a row at once: why it is
// refused, and the names it may not have.
func withClash(f, clash *fault.Error) *fault.Error {
	switch {
	case f == nil:
		return clash
	case clash == nil:
		return f
	}
	return f.With(clash.Fields...)
}

// pending reports whether a dry run fails only because it has not stored an
// earlier row this one refers to.
func (n *takenNames) pending(err error, all []entity.RelationDraft) bool {
	switch fault.CodeOf(err) {
	case "RELATIONSHIP_TARGET_NOT_FOUND", "REFERENCE_NOT_FOUND":
		return slices.ContainsFunc(all, func(r entity.RelationDraft) bool { return n.has(r.Target) })
	}
	return false
}
