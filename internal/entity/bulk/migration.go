package bulk

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxRenames bounds what a draft names.
const maxRenames = 100

// MigrationDraft describes a migration to make.
type MigrationDraft struct {
	From     string             `json:"from,omitzero" doc:"Only twins of this version; without it, of all older versions."`
	To       string             `json:"to,omitzero" doc:"Version to migrate to; the newest published one by default." example:"1.0.0"`
	DryRun   bool               `json:"dryRun,omitzero" doc:"Check every twin and change none."`
	Filter   string             `json:"filter,omitzero" doc:"Only these twins; as in the list of twins."`
	Rename   map[string]*string `json:"rename,omitzero" doc:"Properties that have another name in the target: old → new, at most 100. Null drops the property."`
	Defaults entity.Object      `json:"defaults,omitzero" doc:"Values for properties a twin does not have, at most 100. A property that the target requires and has a default for needs none."`
	Reason   string             `json:"reason,omitzero" doc:"Why, for the history; at most 1,000 characters."`
}

// SchemaName is the name that clients know it by.
func (MigrationDraft) SchemaName() string { return "MigrationDraft" }

// validate holds a draft against the target version.
func (d *MigrationDraft) validate(target *protocol.Protocol) error {
	var c fault.Checks
	if len(d.Rename) > maxRenames {
		c.Add("/rename", "too_many", fmt.Sprintf("At most %d properties are renamed.", maxRenames))
	}
	defaults, err := d.defaults()
	if err != nil {
		c.Add("/defaults", "wrong_type", "The value must be an object.")
	}
	if len(defaults) > maxRenames {
		c.Add("/defaults", "too_many", fmt.Sprintf("At most %d defaults are given.", maxRenames))
	}
	check.Short(&c, "/reason", d.Reason, check.MaxReason)
	if d.From != "" && d.From == target.Version {
		c.Add("/from", "invalid", "The twins have the target version already. Name an older version, or leave it out.")
	}
	taken := map[string]bool{}
	for _, old := range slices.Sorted(maps.Keys(d.Rename)) {
		name := d.Rename[old]
		if name == nil {
			continue
		}
		switch {
		case target.Kind(*name) == "" && !target.Open():
			c.Add("/rename/"+check.Escape(old), "unknown_property", "The target does not declare this property.")
		case taken[*name]:
			c.Add("/rename/"+check.Escape(old), "duplicate", "Another property gets this name.")
		}
		taken[*name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(defaults)) {
		if target.Kind(name) == "" && !target.Open() {
			c.Add("/defaults/"+check.Escape(name), "unknown_property", "The target does not declare this property.")
		}
	}
	return c.Err("MIGRATION_INVALID", "The migration is not valid.")
}

// defaults are the values for properties a twin does not have.
func (d *MigrationDraft) defaults() (map[string]jsontext.Value, error) {
	var m map[string]jsontext.Value
	if d.Defaults.IsZero() {
		return nil, nil
	}
	err := json.Unmarshal(d.Defaults.Value, &m)
	return m, err
}

// filling returns the defaults of what the target requires, replaced by those
// of the draft.
func (d *MigrationDraft) filling(target *protocol.Protocol) (map[string]jsontext.Value, error) {
	own, err := d.defaults()
	if err != nil {
		return nil, fmt.Errorf("read defaults: %w", err)
	}
	all := map[string]jsontext.Value{}
	for name, v := range target.Defaults() {
		text, err := web.Encode(v)
		if err != nil {
			return nil, err
		}
		all[name] = text
	}
	maps.Copy(all, own)
	return all, nil
}

// change is the merge patch that converts properties to the target. A property
// that would replace another is a fault.
func (d *MigrationDraft) change(target *protocol.Protocol, props map[string]jsontext.Value) (map[string]jsontext.Value, error) {
	patch := map[string]jsontext.Value{}
	var c fault.Checks
	for _, old := range slices.Sorted(maps.Keys(d.Rename)) {
		v, has := props[old]
		if !has {
			continue
		}
		name := d.Rename[old]
		if name != nil {
			_, there := props[*name]
			if _, goes := d.Rename[*name]; there && !goes {
				c.Add("/properties/"+check.Escape(*name), "exists", "The twin has both the old property and the new one.")
				continue
			}
			patch[*name] = v
		}
		if _, set := patch[old]; !set {
			patch[old] = jsontext.Value("null")
		}
	}
	defaults, err := d.filling(target)
	if err != nil {
		return nil, err
	}
	for name, v := range defaults {
		_, there := props[name]
		if set, ok := patch[name]; ok && string(set) != "null" || there && !ok {
			continue
		}
		patch[name] = v
	}
	return patch, c.Err("PROPERTY_SCHEMA_VIOLATION", "The properties do not fit the protocol.")
}

// properties returns a record's properties in the target version. The fault names
// everything that does not fit.
func (d *MigrationDraft) properties(target *protocol.Protocol, e *entity.Entity) (entity.Object, error) {
	var props map[string]jsontext.Value
	if err := json.Unmarshal(e.Properties.Value, &props); err != nil {
		return entity.Object{}, fmt.Errorf("read properties of %s: %w", e.DID, err)
	}
	patch, err := d.change(target, props)
	if err != nil {
		return entity.Object{}, err
	}
	next := []byte(e.Properties.Value)
	if len(patch) > 0 {
		text, err := web.Encode(patch)
		if err != nil {
			return entity.Object{}, err
		}
		if next, err = web.MergePatch(next, text); err != nil {
			return entity.Object{}, err
		}
	}
	var values any
	if err := json.Unmarshal(next, &values); err != nil {
		return entity.Object{}, fmt.Errorf("read properties of %s: %w", e.DID, err)
	}
	if fields := target.Check(values); len(fields) > 0 {
		return entity.Object{}, fault.New(fault.Invalid, "PROPERTY_SCHEMA_VIOLATION", "The properties do not fit the protocol.").With(fields...)
	}
	if !target.Fits(e.Type) {
		return entity.Object{}, fault.New(fault.Invalid, "ENTITY_INVALID", "The entity is not valid.").
			With(fault.Field{Pointer: "/type", Code: "not_applicable", Detail: "The protocol is not for twins of this type."})
	}
	return entity.Object{Value: jsontext.Value(next)}, nil
}
