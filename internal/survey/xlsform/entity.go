package xlsform

import (
	"fmt"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// entitiesSheet has one row: what the form asks of an entity, a twin here.
const entitiesSheet = "entities"

// entitiesOrder are its columns.
var entitiesOrder = []string{"list_name", "label", "entity_id", "create_if", "update_if", "hearth_label", "hearth_id", "hearth_create", "hearth_update"}

// asked is an expression of the sheet: its column, the one that keeps our CEL, and
// the member of the template.
type asked struct {
	column, kept string
	want         Want
	to           *string
}

func askedOf(e *form.Entity) []asked {
	return []asked{
		{"label", "hearth_label", Value, &e.Label},
		{"entity_id", "hearth_id", Value, &e.ID},
		{"create_if", "hearth_create", Condition, &e.Create},
		{"update_if", "hearth_update", Condition, &e.Update},
	}
}

// entityColumn is the column that a member of the entity comes from.
func entityColumn(member string) string {
	for _, a := range askedOf(&form.Entity{}) {
		if strings.TrimPrefix(a.kept, "hearth_") == member {
			return a.column
		}
	}
	return "list_name"
}

// readEntities reads the sheet entities, but for its expressions.
func readEntities(im *importer) {
	if im.entities == nil || len(im.entities.rows) == 0 {
		return
	}
	im.unknown(im.entities, append(folded(entitiesOrder), "repeat"))
	r := im.entities.rows[0]
	if len(im.entities.rows) > 1 {
		im.entities.item(im.entities.rows[1].line, "list_name", Error, "too_many", "A form makes or changes one entity here. Move the other rows to forms of their own.")
	}
	if r.get("repeat") != "" {
		r.item("repeat", Error, "not_supported", "An entity for each element of a repeat cannot be made here.")
	}
	im.entity = &entry{row: r}
	im.t.Entity = &form.Entity{List: r.get("list_name")}
}

// listed reports whether a row is a choice from the entity list of the form: the
// server has the file, and it changes with the twins.
func listed(im *importer, e *entry) bool {
	if im.t.Entity == nil || e.word != "select_one" || e.file == "" || fileStem(e.file) != im.t.Entity.List {
		return false
	}
	_, here := im.files.find(e.file)
	return !here
}

// listOf is the entity list that the type of a row names.
func listOf(e *entry) string {
	if e.file == "" {
		e.item("type", Error, "required", "A twin is chosen from an entity list, as in select_one_from_file stoves.csv.")
	}
	return fileStem(e.file)
}

func fileStem(name string) string { return strings.TrimSuffix(name, ".csv") }

// asks fills the expressions of the sheet entities. One that cannot be translated is
// an error: without it other twins would be made or changed.
func (tr *translator) asks() {
	e := tr.entity
	if e == nil {
		return
	}
	for _, a := range askedOf(tr.t.Entity) {
		kept := e.cell(a.kept).Text
		if e.get(a.column) == tr.written().expression(a.column, kept, Place{}, a.want) {
			*a.to = kept
			continue
		}
		if kept != "" {
			e.item(a.column, Warning, "changed", "The expression was changed; the column %s is left out.", a.kept)
		}
		if e.get(a.column) == "" {
			continue
		}
		if *a.to = tr.translate(e, a.column, place{pointer: "/entity/" + strings.TrimPrefix(a.kept, "hearth_")}, a.want); *a.to == "" {
			e.item(a.column, Error, "required", "Without this expression, the form would make or change other entities.")
		}
	}
}

// entity is the row of the sheet entities; none where the template asks nothing.
func (e *exporter) entity() []cells {
	if e.t.Entity == nil {
		return nil
	}
	c := cells{"list_name": e.t.Entity.List}
	w := e.cellWriter
	w.lost = func(column, cause string) {
		e.notes.add(Item{Sheet: entitiesSheet, Column: column, Level: Warning, Code: "not_in_xlsform", Detail: fmt.Sprintf("XLSForm cannot express this: %s. %s", cause, without[column])})
	}
	for _, a := range askedOf(e.t.Entity) {
		c.put(a.column, w.expression(a.column, *a.to, Place{}, a.want))
		c.put(a.kept, *a.to)
	}
	return []cells{c}
}

// Asks translates an expression of what a template proposes for twins to XPath, ""
// without one.
func (n *Names) Asks(cel string, want Want, used map[string]bool, lost func(column, cause string)) string {
	return cellWriter{names: n, used: used, lost: lost}.expression("expression", cel, Place{}, want)
}
