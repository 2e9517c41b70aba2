package openrosa

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
)

// Names of nodes that every form has besides its sections.
const (
	startName     = xlsform.MetaPrefix + "start"
	endName       = xlsform.MetaPrefix + "end"
	deviceName    = xlsform.MetaPrefix + "deviceid"
	userName      = xlsform.MetaPrefix + "username"
	householdName = "hearth_household"
	anotherName   = "hearth_household_other"
	anotherValue  = "other"
	householdList = "hearth_households"
)

// root is the whole instance.
func (b *builder) root() *item {
	root := &item{name: rootName, path: rootPath}
	b.entityLists()
	for _, m := range [][3]string{{startName, "timestamp", "start"}, {endName, "timestamp", "end"}, {deviceName, "property", "deviceid"}, {userName, "property", "username"}} {
		kind := "string"
		if m[1] == "timestamp" {
			kind = "dateTime"
		}
		root.add(&item{name: m[0], path: rootPath + "/" + m[0], bind: []pair{{"type", kind}, {"jr:preload", m[1]}, {"jr:preloadParams", m[2]}}})
	}
	if b.o.Households {
		b.household(root)
	}
	for i := range b.t.Sections {
		s := &b.t.Sections[i]
		at := fmt.Sprintf("/sections/%d", i)
		if s.ID == "meta" || strings.HasPrefix(s.ID, "hearth_") {
			b.checks.Add(at+"/id", "reserved", "ODK Collect cannot ask a section with this name: it is meta or begins with hearth_.")
			continue
		}
		root.add(b.section(root, s, at))
	}
	root.add(b.meta())
	return root
}

// meta is what the device says about the submission.
func (b *builder) meta() *item {
	meta := &item{name: "meta", path: rootPath + "/meta"}
	meta.add(
		&item{name: "instanceID", path: meta.path + "/instanceID", bind: []pair{{"type", "string"}, {"readonly", "true()"}, {"jr:preload", "uid"}}},
	)
	if e := b.t.Entity; e != nil {
		meta.add(b.entity(meta, e))
	}
	if settings, ok := b.audit(); ok {
		meta.add(&item{name: "audit", path: meta.path + "/audit", bind: append([]pair{{"type", "binary"}}, settings...)})
	}
	return meta
}

// auditSettings are the settings of the log of an interview, as XLSForm and Collect
// call them.
var auditSettings = []string{"location-priority", "location-min-interval", "location-max-age", "track-changes", "identify-user", "track-changes-reasons"}

// audit reports whether the template asks for the log of the interview, and how:
// the member audit of its metadata is true, or an object of settings.
func (b *builder) audit() (settings []pair, ok bool) {
	var m struct {
		Audit any `json:"audit"`
	}
	if json.Unmarshal(b.t.Metadata.Value, &m) != nil {
		return nil, false
	}
	named, isObject := m.Audit.(map[string]any)
	for _, name := range auditSettings {
		if v, there := named[name]; there {
			settings = append(settings, pair{"odk:" + name, fmt.Sprint(v)})
		}
	}
	return settings, isObject || m.Audit == true
}

// household asks which household it is.
func (b *builder) household(root *item) {
	l := b.list(householdList)
	l.src = "jr://file-csv/" + HouseholdFile
	pick := &item{
		name: householdName, path: rootPath + "/" + householdName, control: "select1", attrs: []pair{{"appearance", "minimal autocomplete"}}, label: words.household,
		bind: []pair{{"type", "string"}, {"required", "true()"}}, choices: &choices{list: l, value: "name", label: "label"},
	}
	root.add(pick, &item{
		name: anotherName, path: rootPath + "/" + anotherName, control: "input", label: words.another, wrong: words.noDID,
		bind: []pair{{"type", "barcode"}, {"required", "true()"}, {"relevant", pick.path + " = '" + anotherValue + "'"}, {"constraint", "starts-with(., 'did:')"}},
	})
}

// section makes the node of a section.
func (b *builder) section(root *item, s *form.Section, at string) *item {
	here := &item{name: s.ID, path: root.path + "/" + s.ID, role: section, id: s.ID, control: "group", label: s.Title, at: b.names.Section(s)}
	if slices.Contains(b.selected, s.ID) {
		here.bound("relevant", b.names.Condition(s, b.used, b.lost(at)))
	} else {
		here.bound("relevant", "false()")
	}
	here.bound("hearth:flag", s.Flag)
	if len(s.Hint) > 0 {
		name := free(s.Questions, "hearth_hint")
		here.add(&item{name: name, path: here.path + "/" + name, control: "input", label: s.Hint, at: here.at, bind: []pair{{"type", "string"}, {"readonly", "true()"}}})
	}
	b.questions(here, s.Questions, at)
	return here
}

// lost notes that XPath cannot say an expression.
func (b *builder) lost(at string) func(column, cause string) {
	members := map[string]string{"calculation": "calculate", "choice_filter": "choiceFilter"}
	return func(column, cause string) {
		if m, ok := members[column]; ok {
			column = m
		}
		b.checks.Add(at+"/"+column, "no_xpath", "XPath cannot express this: "+cause+".")
	}
}

func (b *builder) questions(parent *item, qs []form.Question, at string) {
	for i := range qs {
		b.question(parent, qs, &qs[i], fmt.Sprintf("%s/questions/%d", at, i))
	}
}

// question makes the nodes of a question: its own, and the additional ones.
func (b *builder) question(parent *item, siblings []form.Question, q *form.Question, at string) {
	k := form.KindOf(q.Type)
	cells := b.names.Cells(q, b.used, b.lost(at))
	here := &item{
		name: q.ID, id: q.ID, path: parent.path + "/" + q.ID, role: answer, q: q, control: k.XForm.Control, label: q.Label, hint: q.Hint, wrong: q.ConstraintMessage,
		at: b.names.Question(q), value: cells["default"],
	}
	if len(here.label) == 0 && here.control != "" && !k.Nested {
		here.label = form.Plain(q.ID)
	}
	readOnly := truth(cells["read_only"])
	if k.Shown {
		here.role, readOnly = ours, "true()"
	}
	for _, p := range []pair{{"type", k.XForm.Type}, {"relevant", cells["relevant"]}, {"constraint", cells["constraint"]}, {"required", truth(cells["required"])}, {"readonly", readOnly}, {"calculate", cells["calculation"]}} {
		here.bound(p.name, p.value)
	}
	here.bound("entities:saveto", q.SaveTo)
	b.marks(here, q)
	switch {
	case k.Repeated:
		b.repeat(parent, here, siblings, cells)
		b.questions(here, q.Questions, at)
	case k.Nested:
		here.role = nested
		b.questions(here, q.Questions, at)
	case k.Rows:
		b.matrix(here)
	case k.Units:
		b.quantity(here, at)
	default:
		b.asks(here, cells)
	}
	parent.add(here)
	b.beside(parent, here, siblings, at)
}

// truth is a cell of XLSForm as an expression.
func truth(cell string) string {
	if cell == "yes" {
		return "true()"
	}
	return cell
}

// marks are what only we know about a question.
func (b *builder) marks(here *item, q *form.Question) {
	k := form.KindOf(q.Type)
	here.bound("hearth:pii", string(q.PII))
	if k.Consent {
		here.bound("hearth:consent", "true")
	}
	if q.BackCheckClass > 0 {
		here.bound("hearth:backCheckClass", strconv.Itoa(q.BackCheckClass))
	}
	here.bound("hearth:indicators", strings.Join(q.Indicators, " "))
	here.bound("hearth:unit", q.Unit)
}

// asks fills the control of a question that has one answer.
func (b *builder) asks(here *item, cells map[string]string) {
	q, k := here.q, form.KindOf(here.q.Type)
	if a := k.XLSForm.Appearance; a != "" {
		here.attrs = append(here.attrs, pair{"appearance", a})
	}
	switch {
	case k.Options:
		here.choices = b.options(q, cells["choice_filter"])
		here.values, _ = xlsform.Spell(q.Options)
	case k.CEL == cel.Boolean:
		here.choices = b.booleans()
	case q.List != "":
		here.control, here.choices = "select1", &choices{list: b.list(q.List), value: "name", label: "label"}
		here.attrs = append(here.attrs, pair{"appearance", "minimal autocomplete"})
	case k.Media:
		here.attrs = append(here.attrs, pair{"mediatype", k.XForm.Accept})
	case k.XForm.Control == "range" || xlsform.Ranged(q):
		here.control = "range"
		low, high, step := xlsform.Range(q.Validation)
		here.attrs = append(here.attrs, pair{"start", low}, pair{"end", high}, pair{"step", step})
	}
}

// list returns the list of a name, and makes it if necessary.
func (b *builder) list(id string) *list {
	if l, ok := b.lists[id]; ok {
		return l
	}
	l := &list{id: id}
	b.lists[id], b.order = l, append(b.order, l)
	return l
}

func (b *builder) booleans() *choices {
	l := b.list("hearth_boolean")
	l.options = []form.Option{{Value: "true", Label: words.yes}, {Value: "false", Label: words.no}}
	return &choices{list: l, value: "name", label: "label"}
}

// options are the options of a question. Those of a file are served as we read
// them: with the names of the columns that expressions use.
func (b *builder) options(q *form.Question, filter string) *choices {
	if o := q.OptionsFrom; o != nil {
		for i := range b.t.Files {
			if f := &b.t.Files[i]; f.Name == o.File {
				l := b.file(f)
				value, label := o.Columns()
				if _, ok := f.Column(label); !ok {
					label = value
				}
				return &choices{list: l, value: value, label: label, filter: filter}
			}
		}
	}
	options := q.Options
	if q.Other && !slices.ContainsFunc(options, func(o form.Option) bool { return o.Value == otherValue }) {
		options = append(slices.Clone(options), form.Option{Value: otherValue, Label: words.other})
	}
	text, err := json.Marshal(options, json.Deterministic(true))
	if err != nil {
		text = []byte(q.ID) // options always have JSON
	}
	key := "\x00" + string(text)
	l, ok := b.lists[key]
	if !ok {
		id := q.ID
		for n := 2; b.lists[id] != nil; n++ {
			id = fmt.Sprintf("%s_%d", q.ID, n)
		}
		l = b.list(id)
		l.options = options
		_, l.spelled = xlsform.Spell(q.Options)
		b.lists[key] = l
	}
	if q.Other && filter != "" {
		filter = "(" + filter + ") or name = '" + otherValue + "'"
	}
	return &choices{list: l, value: "name", label: "label", filter: filter}
}

// file is the list of a file of the template.
func (b *builder) file(f *form.DataFile) *list {
	l := b.list(f.Key())
	if l.file != nil {
		return l
	}
	l.src = "jr://file-csv/" + l.id + ".csv"
	var out []byte
	line := func(cells []string) {
		for i := range f.Columns {
			if i > 0 {
				out = append(out, ',')
			}
			if i < len(cells) {
				out = sheet.AppendCSV(out, cells[i])
			}
		}
		out = append(out, '\n')
	}
	line(f.Columns)
	for _, r := range f.Cells() {
		line(r)
	}
	l.file = out
	return l
}

// otherValue is the option for an answer in other words, here as in
// expressions.
const otherValue = "other"

// matrix makes a question of each row.
func (b *builder) matrix(here *item) {
	here.role = rows
	pick := b.options(here.q, "")
	values, _ := xlsform.Spell(here.q.Options)
	required := b.required(here)
	for i, name := range xlsform.RowNames(here.q.Rows) {
		o := here.q.Rows[i]
		one := &item{name: name, path: here.path + "/" + name, role: row, q: here.q, id: o.Value, control: "select1", label: o.Label, choices: pick, values: values, at: here.at}
		if len(one.label) == 0 {
			one.label = form.Plain(o.Value)
		}
		one.bound("type", "string")
		one.bound("required", required)
		here.add(one)
	}
}

// required is when the parts of an answer must be there, seen from these.
func (b *builder) required(here *item) string {
	text, err := b.names.Required(here.q)
	if err != nil {
		b.checks.Add(here.path, "no_xpath", "XPath cannot express when this is required: "+err.Error()+".")
	}
	return truth(text)
}

// quantity makes a number and its unit.
func (b *builder) quantity(here *item, at string) {
	here.role = amount
	q := here.q
	required := b.required(here)
	value := &item{name: "value", path: here.path + "/value", role: part, q: q, id: "value", control: "input", label: here.label, hint: here.hint, wrong: here.wrong, at: here.at}
	value.bound("type", "decimal")
	value.bound("required", required)
	value.bound("constraint", b.names.Bounds(q.Validation, b.lost(at)))
	unit := &item{name: "unit", path: here.path + "/unit", role: part, q: q, id: "unit", at: here.at}
	unit.bound("type", "string")
	if len(q.Units) == 0 {
		unit.bound("calculate", xlsform.Quote(q.Unit))
	} else {
		options := make([]form.Option, len(q.Units))
		for i, u := range q.Units {
			options[i] = form.Option{Value: u}
		}
		unit.control, unit.label = "select1", words.unit
		unit.choices = b.options(&form.Question{ID: q.ID + "_unit", Options: options}, "")
		unit.values, _ = xlsform.Spell(options)
		unit.bound("required", "../value != ''")
	}
	here.hint, here.wrong = nil, nil
	here.add(value, unit)
}

// repeat says how many elements there are, where the template does.
func (b *builder) repeat(parent, here *item, siblings []form.Question, cells map[string]string) {
	here.role = repeated
	q, count := here.q, cells["repeat_count"]
	here.bind = slices.DeleteFunc(here.bind, func(p pair) bool { return p.name == "required" })
	if count == "" && q.MinRepeats == 0 && q.MaxRepeats == 0 && q.Required.IsZero() {
		return
	}
	name := free(siblings, q.ID+"_count")
	many := &item{name: name, path: parent.path + "/" + name, role: counter, q: q, at: here.at}
	many.bound("type", "int")
	if count != "" {
		many.bound("calculate", count)
	} else {
		many.control, many.label = "input", howMany(q)
		many.bound("required", "true()")
		many.bound("relevant", cells["relevant"])
		most := q.MaxRepeats
		if most == 0 {
			most = form.MaxRepeats
		}
		text := fmt.Sprintf(". >= %d and . <= %d", q.MinRepeats, most)
		if q.MinRepeats == 0 && !q.Required.IsZero() {
			if when := b.required(here); when == "true()" {
				text = fmt.Sprintf(". >= 1 and . <= %d", most)
			} else {
				text += " and (. >= 1 or not(" + when + "))"
			}
		}
		many.bound("constraint", text)
	}
	parent.add(many)
	here.count = b.names.Beside(here.at, name)
}

// howMany is what asks for the number of elements.
func howMany(q *form.Question) form.Text {
	label := form.Text{}
	for tag, s := range q.Label {
		label[tag] = s + " – " + words.count.In(tag, "en")
	}
	if len(label) == 0 {
		label = form.Plain(q.ID + ": " + words.count["en"])
	}
	return label
}

// beside adds the questions that take other kinds of answers, on the same
// screen as the question.
func (b *builder) beside(parent, here *item, siblings []form.Question, at string) {
	q := here.q
	before := len(parent.kids)
	path := b.names.Beside(here.at, here.name)
	relevant := ""
	for _, p := range here.bind {
		if p.name == "relevant" {
			relevant = p.value
		}
	}
	if q.Other && q.OptionsFrom != nil {
		b.checks.Add(at+"/other", "no_xpath", "ODK Collect cannot accept an answer outside the options when these are in a file.")
	}
	if q.Other {
		name := free(siblings, q.ID+"_other")
		here.other = name
		more := &item{name: name, path: parent.path + "/" + name, role: other, q: q, control: "input", label: words.specify, at: here.at}
		more.bound("type", "string")
		more.bound("required", "true()")
		more.bound("relevant", "selected("+path+", '"+otherValue+"')")
		more.bound("hearth:pii", string(q.PII))
		parent.add(more)
	}
	if q.DontKnow || q.Refuse {
		name := free(siblings, q.ID+"_noanswer")
		why := &item{name: name, path: parent.path + "/" + name, role: silence, q: q, control: "select1", label: words.silence, wrong: words.both, at: here.at, choices: b.silences(q)}
		why.bound("type", "string")
		why.bound("relevant", relevant)
		why.bound("constraint", here.empty(path))
		parent.add(why)
		here.unless(b.names.Beside(here.at, name))
	}
	if added := len(parent.kids) - before; added > 0 {
		here.screen, here.beside = true, added
	}
}

// unless takes back that an answer is required once there is a reason for none.
func (i *item) unless(path string) {
	for n := range i.bind {
		if i.bind[n].name != "required" {
			continue
		}
		if i.bind[n].value == "true()" {
			i.bind[n].value = path + " = ''"
		} else {
			i.bind[n].value = "(" + i.bind[n].value + ") and " + path + " = ''"
		}
	}
	if strings.HasPrefix(path, "../") {
		path = "../" + path
	}
	for _, k := range i.kids {
		k.unless(path)
	}
}

// empty is the condition that nothing was answered, as seen from a sibling
// node.
func (i *item) empty(path string) string {
	if len(i.kids) == 0 {
		return path + " = ''"
	}
	var all []string
	for _, k := range i.kids {
		if k.control != "" {
			all = append(all, path+"/"+k.name+" = ''")
		}
	}
	return strings.Join(all, " and ")
}

// silences are the reasons for no answer that a question takes.
func (b *builder) silences(q *form.Question) *choices {
	var options []form.Option
	if q.DontKnow {
		options = append(options, form.Option{Value: "dont_know", Label: words.dontKnow})
	}
	if q.Refuse {
		options = append(options, form.Option{Value: "refused", Label: words.refused})
	}
	return b.options(&form.Question{ID: "hearth_noanswer", Options: options}, "")
}
