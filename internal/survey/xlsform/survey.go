package xlsform

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// entry is a row of the survey, with the rows inside it.
type entry struct {
	*row
	word     string // the type, in its usual spelling
	list     string
	orOther  bool
	external bool   // the list is one of the sheet external_choices
	file     string // that has the choices instead of a list
	search   *xnode // the call that says which of them are offered
	kids     []*entry

	name string   // as the file has it
	id   string   // what became of it
	kept []*entry // those of kids that are questions, in the order of the template

	group   string // id of the group or section it is in
	again   bool   // another question of the section has the name
	counted bool   // a row of ours before it asks how often it is repeated
	twin    bool   // a row before it in the same group has the same name
}

// typeAliases are other spellings of types, in lower case with single spaces.
var typeAliases = map[string]string{
	"string": "text", "tel": "text", "imei": "deviceid", "int": "integer", "datetime": "dateTime", "gps": "geopoint", "location": "geopoint", "photo": "image", "picture": "image", "add image prompt": "image",
	"trigger": "acknowledge", "bar code": "barcode", "begin group": "begin_group", "begin_group": "begin_group", "group": "begin_group", "end group": "end_group", "end_group": "end_group",
	"begin repeat": "begin_repeat", "begin_repeat": "begin_repeat", "repeat": "begin_repeat", "end repeat": "end_repeat", "end_repeat": "end_repeat", "add note prompt": "note",
	"end loop": "end_loop", "begin lgroup": "begin_group", "end lgroup": "end_group", "device id": "deviceid", "phone number": "phonenumber", "sim id": "simserial", "subscriber id": "subscriberid",
}

// selects are the beginnings of types that name a list of choices.
var selects = [][2]string{
	{"select_one_from_file", "select_one"},
	{"select one from file", "select_one"},
	{"select_multiple_from_file", "select_multiple"},
	{"select multiple from file", "select_multiple"},
	{"select_one_external", "select_external"},
	{"select one external", "select_external"},
	{"select_one", "select_one"},
	{"select one from", "select_one"},
	{"select one", "select_one"},
	{"select1", "select_one"},
	{"select_multiple", "select_multiple"},
	{"select multiple from", "select_multiple"},
	{"select multiple", "select_multiple"},
	{"select all that apply from", "select_multiple"},
	{"select all that apply", "select_multiple"},
	{"rank", "rank"},
	{"osm", "osm"},
}

// parseType understands a cell of the column type.
func (e *entry) parseType() {
	text := strings.Join(strings.Fields(e.get("type")), " ")
	folded := strings.ToLower(text)
	for _, s := range selects {
		if folded == s[0] || strings.HasPrefix(folded, s[0]+" ") {
			e.word = s[1]
			words := strings.Fields(text[len(s[0]):])
			e.list, e.orOther = cutOther(strings.Join(words, " "))
			if strings.HasSuffix(s[0], "file") {
				e.file, e.list = e.list, ""
			}
			if e.word == "select_external" { // a select whose list is in a sheet of its own
				e.word, e.external = "select_one", true
			}
			return
		}
	}
	for _, begin := range []string{"begin loop over ", "begin_loop over ", "begin loop ", "begin_loop "} {
		if strings.HasPrefix(folded, begin) {
			e.word, e.list = loopWord, text[len(begin):]
			return
		}
	}
	e.word = strings.TrimPrefix(folded, "uri:") // what metadata had in front of it in old forms
	if alias, ok := typeAliases[folded]; ok {
		e.word = alias
	}
}

// cutOther takes the words off a list that let people answer in their own.
func cutOther(list string) (string, bool) {
	for _, words := range []string{" or_other", " or other", " or specify other"} {
		if at := len(list) - len(words); at > 0 && strings.EqualFold(list[at:], words) {
			return list[:at], true
		}
	}
	return list, false
}

// metaWords are the types of metadata, what they are in CEL ("" when they are
// nothing), and where the response has them.
var metaWords = map[string][2]string{
	"start": {"response.startedAt", "startedAt of the response"}, "end": {"response.submittedAt", "submittedAt of the response"}, "today": {"today", "the day of the response"},
	"username": {"response.collector", "collector of the response"}, "deviceid": {"", "deviceId of the response"}, "email": {"", ""}, "phonenumber": {"", ""}, "simserial": {"", ""},
	"subscriberid": {"", ""}, "audit": {"", ""}, "start-geopoint": {"", "location of the response"}, "background-audio": {"", ""}, "xml-external": {"", ""}, "csv-external": {"", ""},
}

const maxNesting = 20

// readSurvey reads the rows of the survey into sections.
func (im *importer) readSurvey() {
	im.unknown(im.survey, folded(surveyOrder, []string{"required_message", "media::image", "media::audio", "media::video", "media::big-image", "guidance_hint", "trigger", "disabled"}))
	im.consented = im.named("hearth_type", string(form.Consent))
	im.assemble(im.tree())
	im.advise()
	if len(im.t.Sections) == 0 {
		im.stopped = true
		if im.report.errors == 0 {
			im.survey.item(0, "", Error, "empty", "The survey has no question.")
		}
	}
}

// translate fills the expressions of the template, and has the form check it.
func (im *importer) translate() {
	im.rename()
	im.t.Files = im.files.kept() // those found so far, which our own workbook names all
	tr := &translator{report: im.report, t: im.t, sections: im.sections, entity: im.entity, files: im.files, names: NewNames(im.t), unbalanced: im.unbalanced}
	tr.names.Alias, tr.names.Meta, tr.names.lists, tr.names.files = im.alias, im.meta, im.lists, im.files
	tr.expressions()
	tr.compile()
}

// tree puts rows into the groups they stand in.
func (im *importer) tree() []*entry {
	top := &entry{}
	stack := []*entry{top}
	for _, r := range im.survey.rows {
		e := &entry{row: r, name: r.get("name")}
		if e.parseType(); e.word == "" {
			if e.name == "" && r.get("label") == "" {
				continue
			}
			r.item("type", Error, "required", "The row has no type.")
			e.word = "text" // so that other rows can name it
		}
		if off, _ := form.YesNo(r.get("disabled")); off {
			r.item("disabled", Note, "row_ignored", "The row is disabled.")
			continue
		}
		at := stack[len(stack)-1]
		switch e.word {
		case "begin_group", "begin_repeat", loopWord:
			if len(stack) > maxNesting {
				r.item("type", Error, "too_deep", "Groups nest at most %d deep.", maxNesting)
				im.stopped = true
				return nil
			}
			at.kids = append(at.kids, e)
			stack = append(stack, e)
		case "end_group", "end_repeat", "end_loop":
			if len(stack) == 1 {
				r.item("type", Error, "unbalanced", "There is no open group or repeat that could end here.")
				continue
			}
			if at.word[len("begin"):] != e.word[len("end"):] {
				r.item("type", Error, "unbalanced", "This row does not match the %[2]s in row %[1]d.", at.line, at.word)
			}
			if stack = stack[:len(stack)-1]; at.word == loopWord {
				im.unroll(at)
			}
		default:
			at.kids = append(at.kids, e)
		}
	}
	im.unbalanced = len(stack) > 1
	for _, open := range stack[1:] {
		open.item("type", Error, "unbalanced", "The group or repeat that begins here never ends.")
	}
	return top.kids
}

// assemble makes sections: each group of the first level is one, and so is what
// stands between two of them.
func (im *importer) assemble(root []*entry) {
	var all []*entry
	var loose *entry
	seen := map[string]bool{}
	for _, e := range root {
		if e.word == "begin_group" && e.ours("hearth_type") == "" {
			im.identify(e, seen, true)
			all, loose = append(all, e), nil
			continue
		}
		if loose == nil {
			loose = &entry{row: e.row}
			all = append(all, loose)
		}
		loose.kids = append(loose.kids, e)
	}
	for _, e := range all {
		s := im.section(e)
		if len(e.kept) == 0 {
			continue
		}
		if e.word == "" {
			e.id = free("main", seen)
			s.ID, seen[e.id] = e.id, true
		}
		im.t.Sections, im.sections = append(im.t.Sections, s), append(im.sections, e)
		if len(im.sections) > form.MaxSections {
			e.item("type", Error, "too_many", "A template may have at most %d sections: groups of the first level, and what stands between them.", form.MaxSections)
			im.stopped = true
			return
		}
	}
}

// section makes a section of a group, or of rows outside groups.
func (im *importer) section(e *entry) form.Section {
	s := form.Section{ID: e.id}
	if e.word != "" {
		s.Title, s.Hint = e.text("label", im.def), e.text("hint", im.def)
		s.Flag, s.Relevant = e.ours("hearth_flag"), e.cell("hearth_relevant").Text
		im.references(e.row, "label", "hint")
		e.ignored("repeat_count", "appearance", "default", "constraint", "calculation", "choice_filter")
	}
	s.Questions = im.questions(e, map[string]bool{})
	if len(e.kept) == 0 && e.word != "" {
		e.item("type", Warning, "empty_group", "The group has no question and is left out.")
	}
	return s
}

// free makes an id that is not taken.
func free(id string, seen map[string]bool) string {
	out := id
	for i := 2; seen[out]; i++ {
		out = fmt.Sprintf("%s_%d", id, i)
	}
	return out
}

var (
	idPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,63}$`)
	// taken are words that CEL needs; taken2 are those no section may have.
	taken  = strings.Fields("true false null in as break const continue else for function if import let loop package namespace return var void while")
	taken2 = strings.Fields("household response today index math bool bytes double dyn int list map null_type string type uint")
)

const maxID = 64

// wordRune reports whether r may stand in an id.
func wordRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
}

// identify makes an id of a name. One that another group of the section has gets
// the name of its group too; names that repeat in a group are an error.
func (im *importer) identify(e *entry, seen map[string]bool, section bool) {
	if e.name == "" && (e.word == "note" || e.word == "begin_group") {
		e.name = fmt.Sprintf("%s_row_%d", strings.TrimPrefix(e.word, "begin_"), e.line)
		e.item("name", Note, "name_made", "The row has no name; it became %s.", e.name)
	}
	if e.name == "" {
		e.item("name", Error, "required", "The row has no name.")
	}
	id := e.name
	if !idPattern.MatchString(id) {
		id = strings.Map(func(r rune) rune {
			if wordRune(r) {
				return r
			}
			return '_'
		}, id)
		if id = strings.TrimLeft(id, "_0123456789"); id == "" {
			id = fmt.Sprintf("row_%d", e.line)
		}
		id = id[:min(len(id), maxID)]
	}
	if slices.Contains(taken, id) || section && slices.Contains(taken2, id) {
		id += "_"
	}
	if seen[id] { // with another id everything else can be checked
		if section || e.twin {
			e.item("name", Error, "duplicate", "Two rows have the name %s.", shorten(id))
			id = free(id, seen)
		} else { // ids are for all of the section, names for a group
			id = free(strings.TrimRight((e.group + "_" + id)[:min(len(e.group)+1+len(id), maxID-4)], "_"), seen)
			if e.again = true; !im.unbalanced { // a group without an end contains too much
				e.item("name", Note, "renamed", "Another group of the section has the name: answers stand under %s. Files of other programs are read by the name.", id)
			}
		}
		e.id, seen[id] = id, true
		return
	}
	seen[id] = true
	if e.id = id; id != e.name && e.name != "" {
		im.alias[e.name] = id
		e.item("name", Warning, "id_changed", "The name became %s.", id)
	}
}

// ignored reports cells that have no place in a template.
func (e *entry) ignored(bases ...string) {
	for _, base := range bases {
		if e.get(base) == "" && e.text(base, "") == nil {
			continue
		}
		level, detail := Note, "The cell is not carried over."
		switch base {
		case "required_message":
			detail = "There is one message for all required questions."
		case "trigger", "choice_filter", "repeat_count", "calculation", "default", "constraint":
			level = Warning
		}
		e.item(base, level, base+"_ignored", "%s", detail)
	}
}

// questions makes the questions of a group.
func (im *importer) questions(e *entry, seen map[string]bool) []form.Question {
	var out []form.Question
	names := map[string]bool{}
	for i, kid := range e.kids {
		kid.twin, names[kid.name], kid.group = names[kid.name], true, e.id
		if i+1 < len(e.kids) && kid.counts(e.kids[i+1]) {
			e.kids[i+1].counted = true
			continue
		}
		if meta, ok := metaWords[kid.word]; ok {
			im.metadata(kid, meta)
			continue
		}
		if im.count++; im.count > form.MaxQuestions {
			if im.count == form.MaxQuestions+1 {
				kid.item("type", Error, "too_many", "A template may have at most %d questions.", form.MaxQuestions)
			}
			im.stopped = true
			return out
		}
		q, ok := im.question(kid, seen)
		if ok {
			out, e.kept = append(out, q), append(e.kept, kid)
		}
	}
	return out
}

// metadata notes a row for which the response has a member, or that is not
// needed.
func (im *importer) metadata(e *entry, meta [2]string) {
	if e.name != "" {
		im.meta[e.name] = meta[0]
	}
	switch {
	case strings.HasPrefix(e.name, MetaPrefix):
	case meta[1] != "":
		e.item("type", Note, "metadata", "The row is left out: it is %s.", meta[1])
	default:
		e.item("type", Note, "metadata", "The row is left out: a response has no such member.")
	}
}
