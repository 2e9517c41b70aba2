package xlsform

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// A loop asks its questions once for each choice of a list: it is a group with
// a group for each choice. %(name)s and %(label)s in its texts are replaced by
// the choice.

// loopWord is the type of the row that begins a loop.
const loopWord = "begin_loop"

// unroll makes groups of a loop.
func (im *importer) unroll(e *entry) {
	e.word = "begin_group"
	list := im.lists[e.list]
	if len(list) == 0 {
		e.item("type", Error, "unknown_list", "The sheet choices has no list %s.", shorten(e.list))
		return
	}
	inside := names(e.kids)
	if im.unrolled += len(list) * (len(inside) + 1); im.unrolled > 2*form.MaxQuestions {
		e.item("type", Error, "too_many", "The loops of a form have at most %s rows together, once for each choice.", strconv.Itoa(2*form.MaxQuestions))
		im.stopped = true
		return
	}
	var groups []*entry
	for _, c := range list {
		turn := turn{choice: c.Value, label: c.Label.In(im.def, im.def), inside: inside}
		group := &entry{row: turn.row(e.row, "relevant"), word: "begin_group", name: e.name + "_" + c.Value}
		turn.set(group.row, "label", turn.label)
		for _, kid := range e.kids {
			group.kids = append(group.kids, turn.entry(kid))
		}
		groups = append(groups, group)
	}
	e.item("type", Note, "loop_unrolled", "The questions are asked for each of the %s choices; their names end in that of the choice.", strconv.Itoa(len(list)))
	e.kids = groups
}

// names are those of rows and all rows inside them.
func names(rows []*entry) []string {
	var out []string
	for _, e := range rows {
		if e.name != "" {
			out = append(out, e.name)
		}
		out = append(out, names(e.kids)...)
	}
	return out
}

// turn is one turn of a loop.
type turn struct {
	choice, label string
	inside        []string // names that end in the choice
}

// entry is a row of a loop in this turn.
func (t turn) entry(e *entry) *entry {
	out := *e
	out.row = t.row(e.row)
	if out.kids = nil; e.name != "" {
		out.name = t.name(e.name)
	}
	for _, kid := range e.kids {
		out.kids = append(out.kids, t.entry(kid))
	}
	return &out
}

func (t turn) name(name string) string { return name + "_" + t.choice }

// row is a row with the choice in its texts, and without some cells.
func (t turn) row(r *row, without ...string) *row {
	out := &row{table: r.table, line: r.line, cells: slices.Clone(r.cells)}
	fill := strings.NewReplacer("%(name)s", t.choice, "%(label)s", t.label)
	for i := range out.cells {
		if i < len(r.columns) && slices.Contains(without, r.columns[i].base) {
			out.cells[i] = sheet.Cell{}
		}
		text := form.Reference.ReplaceAllStringFunc(fill.Replace(out.cells[i].Text), func(found string) string {
			if name := form.Reference.FindStringSubmatch(found)[1]; slices.Contains(t.inside, name) {
				return "${" + t.name(name) + "}"
			}
			return found
		})
		out.cells[i].Text = text
	}
	return out
}

// set sets the cells of a text in all languages.
func (t turn) set(r *row, base, text string) {
	for i, c := range r.columns {
		if c.base == base && i < len(r.cells) {
			r.cells[i] = sheet.Cell{Text: text}
		}
	}
}

// maxIncluded is how many workbooks a form may include.
const maxIncluded = 20

// include puts the rows of other workbooks where this one names them: a row of
// the type include has the name of a workbook that comes with it.
func (im *importer) include() {
	var rows []*row
	seen := map[string]bool{}
	for _, r := range im.survey.rows {
		if !strings.EqualFold(r.get("type"), "include") {
			rows = append(rows, r)
			continue
		}
		name := r.get("name")
		switch raw := im.files.book(name); {
		case raw == nil:
			r.item("type", Error, "missing_file", "The row includes the workbook %s.xlsx, which is not here. Send it together with this one, as a part of multipart/form-data with its file name.", shorten(name))
		case seen[name] || len(seen) >= maxIncluded:
			r.item("type", Error, "duplicate", "A workbook is included once, and at most %s are.", strconv.Itoa(maxIncluded))
		default:
			rows = append(rows, im.includeBook(name, raw)...)
		}
		seen[name] = true
	}
	im.survey.rows = rows
}

// book is a workbook that came with this one, nil when none is called so.
func (f *files) book(name string) []byte {
	for given, raw := range f.beside.Files {
		if isBook(given) && strings.EqualFold(strings.TrimSuffix(strings.ToLower(given), ".xlsx"), strings.TrimSuffix(strings.ToLower(name), ".xlsx")) {
			return raw
		}
	}
	return nil
}

// includeBook reads the rows of a workbook, and keeps its choices.
func (im *importer) includeBook(name string, raw []byte) []*row {
	other := &importer{report: im.report, files: im.files}
	before := len(im.report.Items)
	err := other.open(bytes.NewReader(raw), int64(len(raw)))
	for i := before; i < len(im.report.Items); i++ {
		im.report.Items[i].Sheet = strings.TrimSpace(shorten(name) + ".xlsx " + im.report.Items[i].Sheet)
	}
	if err != nil {
		return nil
	}
	other.survey.name = shorten(name) + ".xlsx survey"
	if other.choices != nil {
		other.choices.name = shorten(name) + ".xlsx choices"
		im.included = append(im.included, other.choices)
	}
	for _, r := range other.survey.rows {
		if strings.EqualFold(r.get("type"), "include") {
			r.item("type", Error, "too_deep", "A workbook that is included may not include others.")
		}
	}
	return other.survey.rows
}
