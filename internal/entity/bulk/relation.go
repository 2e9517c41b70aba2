package bulk

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// A table has a column for each role, relationships.project, with the DIDs of
// the targets, and relationships.project.externalIds.erp with what another
// system calls them. Several stand in one cell with this between them.
const targetSeparator = ";"

// maxTargets is how many targets a cell names.
const maxTargets = 1000

// refColumn is the part of the path of a column that names twins by external
// ids.
const refColumn = "externalIds"

// target is a cell, or a part of it, that names another twin.
type target struct {
	role   string
	column string // as the file has it
	value  string // as the cell has it
	scheme string // of an external id; "" when the value is a DID
}

// fault says that the target of a cell is wrong.
func (t *target) fault(code, detail string) fault.Field {
	return fault.Field{Pointer: t.column, Code: code, Detail: fmt.Sprintf("%q: %s", fault.Echo(t.value), detail)}
}

// readTargets parses the relationships of a row of a table. A single JSON text
// does not change.
func (p *importJob) readTargets(r *row) error {
	v := r.members["relationships"]
	if p.Format == sheet.NDJSON || v.Kind() != '{' {
		return nil
	}
	var roles map[string]jsontext.Value
	if err := json.Unmarshal(v, &roles); err != nil {
		return fmt.Errorf("read relationships: %w", err)
	}
	var c fault.Checks
	for _, role := range slices.Sorted(maps.Keys(roles)) {
		path := pathOf("relationships", role)
		if roles[role].Kind() == '"' {
			r.targets = append(r.targets, p.targets(path, role, "", text(roles[role]))...)
			continue
		}
		var named map[string]map[string]string
		if json.Unmarshal(roles[role], &named) != nil || len(named) != 1 || named[refColumn] == nil {
			c.Add(p.columnOf(path), "unknown_column", "A role has DIDs in the column "+path+", or external ids in "+path+"."+refColumn+".<system>.")
			continue
		}
		for _, scheme := range slices.Sorted(maps.Keys(named[refColumn])) {
			r.targets = append(r.targets, p.targets(pathOf("relationships", role, refColumn, scheme), role, scheme, named[refColumn][scheme])...)
		}
	}
	if len(r.targets) > maxTargets {
		c.Add("relationships", "too_many", fmt.Sprintf("A row names at most %d other twins.", maxTargets))
	}
	drafts := []entity.RelationDraft{}
	for i := range r.targets {
		switch t := &r.targets[i]; {
		case t.scheme != "":
		case !did.Valid(t.value):
			f := t.fault("not_a_did", "The value must be a DID. Other names of twins go into columns such as "+pathOf("relationships", t.role, refColumn, "erp")+".")
			c.Add(f.Pointer, f.Code, f.Detail)
		default:
			drafts = append(drafts, entity.RelationDraft{Role: t.role, Target: t.value})
		}
	}
	if err := c.Err("ROW_INVALID", "The row cannot be read."); err != nil {
		return err
	}
	clean, err := json.Marshal(drafts)
	r.members["relationships"] = clean
	return err
}

// targets returns the targets a cell names.
func (p *importJob) targets(path, role, scheme, cell string) []target {
	var out []target
	for value := range strings.SplitSeq(cell, targetSeparator) {
		if value = strings.TrimSpace(value); value != "" {
			out = append(out, target{role: role, column: p.columnOf(path), value: value, scheme: scheme})
		}
	}
	return out
}

// columnOf is the column of the file that has a path.
func (p *importJob) columnOf(path string) string {
	for name, mapped := range p.Mapping {
		if mapped == path {
			return name
		}
	}
	return path
}

// pathOf joins names to a path. A dot in a name is written "\.".
func pathOf(names ...string) string {
	for i, name := range names {
		names[i] = strings.NewReplacer(`\`, `\\`, `.`, `\.`).Replace(name)
	}
	return strings.Join(names, ".")
}

// externals notes where the twins of a table are that another system has names
// for.
func (ca *carrier) externals(record jsontext.Value, at int64) {
	if ca.p.Format == sheet.NDJSON || !bytes.Contains(record, []byte(refColumn)) {
		return
	}
	var named struct {
		ExternalIDs map[string]string `json:"externalIds"`
	}
	if json.Unmarshal(record, &named) != nil || len(named.ExternalIDs) > twin.MaxExternals {
		return // the row is refused
	}
	for scheme, value := range named.ExternalIDs {
		ca.lines[maphash.String(ca.seed, externalName(scheme, value))] = at
	}
}

// refer finds the twins a row names by external ids. Those of rows of the same
// file are known once all rows are stored: waits reports whether there are some,
// which are found when stored is true.
func (ca *carrier) refer(ctx context.Context, q db.Querier, r *row, stored bool) (found []entity.RelationDraft, waits bool, err error) {
	var c fault.Checks
	for i := range r.targets {
		t := &r.targets[i]
		if t.scheme == "" {
			continue
		}
		_, here := ca.lines[maphash.String(ca.seed, externalName(t.scheme, t.value))]
		if here != stored { // this is for the other pass
			waits = waits || here
			continue
		}
		held, err := ca.held(ctx, q, &entity.Draft{ExternalIDs: map[string]string{t.scheme: t.value}})
		if err != nil {
			return nil, false, err
		}
		if held == nil {
			f := t.fault("not_found", "No twin has this external id of "+t.scheme+". Import that twin first, or in the same file.")
			c.Add(f.Pointer, f.Code, f.Detail)
			continue
		}
		found = append(found, entity.RelationDraft{Role: t.role, Target: held.DID})
		r.found = append(r.found, foundTarget{held.DID, t})
	}
	return found, waits, c.Err("ROW_INVALID", "A column names a twin that is not there.")
}

// foundTarget is the twin that was found for a cell.
type foundTarget struct {
	did string
	of  *target
}

// inTable says what a table needs where a fault speaks of members: properties are
// columns such as properties.name, and what no row has is given for all of them.
func (p *importJob) inTable(f *fault.Error) *fault.Error {
	if f == nil || p.Format == sheet.NDJSON {
		return f
	}
	told := *f
	told.Fields = slices.Clone(f.Fields)
	for i := range told.Fields {
		d := &told.Fields[i]
		name, nested := strings.TrimPrefix(d.Pointer, "/"), strings.Count(d.Pointer, "/") > 1
		switch {
		case f.Code == "UNKNOWN_MEMBER" && !nested:
			column := p.columnOf(name)
			d.Detail = fmt.Sprintf("No member of a twin is called %s. A property goes into a column properties.%s: rename the column, or send mapping={%q:%q}; \"\" leaves it out.", fault.Echo(name), fault.Echo(name), fault.Echo(column), "properties."+fault.Echo(name))
		case d.Code == "required" && (name == "protocol" || name == "type"):
			d.Detail = fmt.Sprintf("Every row needs it: add a column %s, or send ?%s= for all rows.", name, name)
		}
	}
	return &told
}

// inColumns makes a fault about the relationships of a row of a table name the
// columns and their content, because the row has no list of relationships.
func (r *row) inColumns(f *fault.Error) *fault.Error {
	if f == nil || r == nil || len(r.targets) == 0 {
		return f
	}
	all, told := r.relations(), *f
	told.Fields = nil
	for _, d := range f.Fields {
		rest, ok := strings.CutPrefix(d.Pointer, "/relationships/")
		n, _, _ := strings.Cut(rest, "/")
		if i, err := strconv.Atoi(n); ok && err == nil && i >= 0 && i < len(all) {
			if t := r.targetOf(all[i]); t != nil {
				d = t.fault(d.Code, d.Detail)
			}
		}
		told.Fields = append(told.Fields, d)
	}
	return &told
}

// targetOf is the cell a relationship comes from; nil when none does.
func (r *row) targetOf(d entity.RelationDraft) *target {
	for i := range r.targets {
		if t := &r.targets[i]; t.scheme == "" && t.role == d.Role && t.value == d.Target {
			return t
		}
	}
	for _, f := range r.found {
		if f.of.role == d.Role && f.did == d.Target {
			return f.of
		}
	}
	return nil
}

// tableRelations is the list of relationships of a record as columns of a table
// have it: role to DIDs. It is the list itself when that says more.
func tableRelations(list jsontext.Value) jsontext.Value {
	var all []entity.Relationship
	if json.Unmarshal(list, &all) != nil {
		return list
	}
	roles := map[string]string{}
	for _, r := range all {
		if !r.Since.IsZero() || !r.Until.IsZero() || r.Unconfirmed || strings.Contains(r.Target, targetSeparator) {
			return list
		}
		if roles[r.Role] != "" {
			roles[r.Role] += targetSeparator
		}
		roles[r.Role] += r.Target
	}
	out, err := json.Marshal(roles, json.Deterministic(true))
	if err != nil {
		return list
	}
	return out
}

// refers reports whether a row names twins of other rows by external ids.
func (ca *carrier) refers(r *row) bool {
	return slices.ContainsFunc(r.targets, func(t target) bool {
		_, here := ca.lines[maphash.String(ca.seed, externalName(t.scheme, t.value))]
		return t.scheme != "" && here
	})
}

// blame has the fault of one relationship of a row of a table name its column.
func (r *row) blame(d entity.RelationDraft, err error) error {
	f, t := fault.As(err), r.targetOf(d)
	if f == nil || t == nil {
		return err
	}
	told := *f
	told.Fields = nil
	for _, d := range f.Fields {
		told.Fields = append(told.Fields, t.fault(d.Code, d.Detail))
	}
	if len(told.Fields) == 0 {
		told.Fields = []fault.Field{t.fault("refused", f.Message)}
	}
	return &told
}
