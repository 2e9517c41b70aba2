package xlsform

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// kind is what the type of a row and its appearance say; nil when nothing is
// called so.
func (e *entry) kind() *form.Kind {
	var found *form.Kind
	words := strings.Fields(e.get("appearance"))
	for _, k := range form.Kinds() {
		x := k.XLSForm
		if len(x.Marks) == 0 && x.Word == e.word && slices.Contains(words, x.Appearance) && (x.Amid || len(words) == 1) {
			return k
		}
		if slices.Contains(x.Reads, e.word) {
			found = k
		}
	}
	return found
}

// typeOf finds the type of a row. What we kept counts as long as the row has
// the type we wrote for it.
func (im *importer) typeOf(e *entry) form.Type {
	k := e.kind()
	switch {
	case k == nil:
		e.item("type", Error, "type_unknown", "The type %s is not known.", shorten(e.get("type")))
		return form.FreeText
	}
	if listed(im, e) {
		return form.EntityRef
	}
	kept := form.Type(e.ours("hearth_type"))
	switch marks := form.KindOf(kept).XLSForm.Marks; {
	case kept == "", kept == counterType, kept == noneWord:
	case len(marks) == 0:
		e.item("hearth_type", Error, "type_unknown", "The column is for types that XLSForm does not have; %s is not one of them.", shorten(string(kept)))
	case slices.Contains(marks, e.word) && k.XLSForm.Appearance == "":
		return kept
	default:
		e.item("type", Warning, "changed", "The type was changed; it is no longer %s.", kept)
	}
	return im.consent(e, k.Type)
}

// noneWord in hearth_type says that a question is not the one it looks like.
const noneWord = "none"

// question makes the question of a row, but for its expressions.
func (im *importer) question(e *entry, seen map[string]bool) (form.Question, bool) {
	t := im.typeOf(e)
	im.identify(e, seen, false)
	q := form.Question{ID: e.id, Type: t, Label: e.text("label", im.def), Hint: e.text("hint", im.def), ConstraintMessage: e.text("constraint_message", im.def)}
	if e.ours("hearth_label") == "none" && len(q.Label) == 1 && q.Label[""] == q.ID {
		q.Label = nil
	}
	if e.again {
		q.Name = e.name
	}
	im.keptMembers(e, &q)
	im.shown(e, &q)
	switch k := form.KindOf(t); {
	case k.Rows:
		im.matrix(e, &q)
	case k.Options:
		q.Other = e.orOther
		im.choose(e, &q)
	case k.Units:
		im.quantity(e, &q)
	case k.Twin && e.word != k.XLSForm.Word:
		q.List = listOf(e)
	case k.Nested:
		q.Questions = im.questions(e, seen)
		if len(e.kept) == 0 {
			e.item("type", Warning, "empty_group", "The group has no question and is left out.")
			return q, false
		}
	}
	im.foreign(e, &q)
	im.personal(e, &q)
	return q, true
}

// keptMembers reads our own columns.
func (im *importer) keptMembers(e *entry, q *form.Question) {
	q.Relevant, q.Constraint, q.Calculate = e.cell("hearth_relevant").Text, e.cell("hearth_constraint").Text, e.cell("hearth_calculate").Text
	q.ChoiceFilter = e.cell("hearth_choicefilter").Text
	if q.Required.When = e.cell("hearth_required").Text; q.Required.When == alwaysWord {
		q.Required = form.Required{Always: true}
	}
	v := &q.Validation
	v.Min, v.Max, v.Step = e.float("hearth_min"), e.float("hearth_max"), e.float("hearth_step")
	v.Regex, v.MaxLength = e.cell("hearth_regex").Text, e.count("hearth_maxLength")
	v.MinSelections, v.MaxSelections = e.count("hearth_minSelections"), e.count("hearth_maxSelections")
	q.MinRepeats, q.MaxRepeats = e.count("hearth_minRepeats"), e.count("hearth_maxRepeats")
	if kept := e.cell("hearth_name").Text; kept != "" {
		q.Name = kept
	}
	q.Unit, q.Units = e.cell("hearth_unit").Text, e.words("hearth_units")
	q.Once = e.yes("hearth_once")
	q.DontKnow, q.Refuse = e.yes("hearth_dontKnow"), e.yes("hearth_refuse")
	q.PII, q.Indicators, q.BackCheckClass = form.PII(e.ours("hearth_pii")), e.words("hearth_indicators"), e.count("hearth_backCheckClass")
	if d := e.json("hearth_default", e.cell("hearth_default").Text); d != nil {
		q.Default = form.Value{Value: d}
	}
	yes, ok := form.YesNo(e.get("read_only"))
	if !ok {
		e.item("read_only", Warning, "read_only_ignored", "A condition for read-only is not carried over.")
	}
	q.ReadOnly = yes
	q.SaveTo = e.get("save_to")
}

// shown reports what a template has no place for.
func (im *importer) shown(e *entry, q *form.Question) {
	im.references(e.row, "label", "hint", "constraint_message")
	e.ignored("required_message", "guidance_hint", "media::image", "media::audio", "media::video", "media::big-image", "trigger")
	x := form.KindOf(q.Type).XLSForm
	if a := e.get("appearance"); a != "" && a != x.Appearance && !strings.Contains(a, "search(") {
		e.ignored("appearance")
	}
	if p := e.get("parameters"); p != "" && e.word != rangeWord && e.file == "" {
		e.ignored("parameters")
	}
	switch e.word {
	case "video":
		e.item("type", Note, "type_changed", "A video is kept as a file.")
	case "acknowledge":
		if slices.Contains(x.Reads, e.word) {
			e.item("type", Note, "type_changed", "An acknowledgement became a yes-or-no question. If it is the consent, write consent into the column hearth_type.")
		}
	case "hidden":
		q.ReadOnly = true
		e.item("type", Warning, "type_changed", "A hidden value became a read-only text.")
	case "geotrace", "geoshape", "osm":
		e.item("type", Warning, "type_changed", "Lines and areas are kept as text.")
	}
}

// foreign takes what columns of XLSForm say that our forms have another member
// for.
func (im *importer) foreign(e *entry, q *form.Question) {
	e.fixedCount(q)
	if e.word == rangeWord {
		im.parameters(e, q)
	}
	if text := e.get("default"); text != defaultText(q) {
		im.defaultAnswer(e, q, text)
	}
}

// defaultAnswer reads the column default.
func (im *importer) defaultAnswer(e *entry, q *form.Question, text string) {
	q.Default = form.Value{}
	if text == "" {
		return
	}
	v, ok := form.Value{}, false
	if !strings.Contains(text, "${") && !strings.HasSuffix(text, ")") {
		v, ok = parseDefault(q, e.cell("default").Text)
	}
	if !ok {
		e.ignored("default")
		return
	}
	q.Default = v
}

// parameters reads the numbers of a range.
func (im *importer) parameters(e *entry, q *form.Question) {
	text := e.get("parameters")
	if wordOf(q) == rangeWord && text == rangeParameters(q.Validation) {
		return
	}
	low, high, step := 1.0, 10.0, 1.0
	for _, p := range parameters(text) {
		f, err := strconv.ParseFloat(p[1], 64)
		to := map[string]*float64{"start": &low, "end": &high, "step": &step}[strings.ToLower(p[0])]
		if err != nil || to == nil {
			e.item("parameters", Warning, "parameters_ignored", "The value %s is not known.", shorten(p[0]))
			continue
		}
		*to = f
	}
	if low > high {
		low, high = high, low
	}
	if !whole(&low) || !whole(&high) || !whole(&step) {
		q.Type = form.Number
	}
	q.Validation.Min, q.Validation.Max, q.Validation.Step = &low, &high, &step
}

// unknownOptions replace a list that has an error, so that everything else can
// be checked.
func unknownOptions() []form.Option { return []form.Option{{Value: "unknown"}} }

// listKey is the name of a row's list among all lists of the workbook.
func (e *entry) listKey() string {
	if e.external {
		return externalPrefix + e.list
	}
	return e.list
}

// choose sets the choices of a question: those of a list, or of a file.
func (im *importer) choose(e *entry, q *form.Question) {
	if e.file == "" && len(im.lists[e.listKey()]) > form.MaxOptions && filterable(q) && e.searched() == nil {
		im.listFile(e)
	}
	switch {
	case e.file != "":
		im.fromFile(e, q)
	case filterable(q) && im.search(e, q):
	default:
		q.Options = im.options(e)
	}
}

// options are those of the list a row names.
func (im *importer) options(e *entry) []form.Option {
	if e.list == "" {
		e.item("type", Error, "required", "The type names no list of choices.")
		return unknownOptions()
	}
	list, ok := im.lists[e.listKey()]
	if !ok {
		e.item("type", Error, "unknown_list", "The sheet choices has no list %s.", shorten(e.list))
		return unknownOptions()
	}
	// A list comes once in the file and once for each question in the template.
	if im.offered += len(list); len(list) > form.MaxOptions || im.offered > maxOffered {
		if im.offered <= maxOffered+len(list) {
			e.item("type", Error, "too_many", "A question has at most %d choices, and all questions together %d.", form.MaxOptions, maxOffered)
		}
		return unknownOptions()
	}
	options := make([]form.Option, 0, len(list))
	seen := make(map[string]int, len(list))
	for _, c := range list {
		if !im.ours && e.get("choice_filter") == "" {
			c.Data = nil
		}
		if i, again := seen[c.Value]; again { // the filter distinguishes them
			options[i].Data = append(slices.Clip(options[i].Data), c.Data...)
			continue
		}
		seen[c.Value] = len(options)
		if e.orOther && c.Value == "other" {
			e.item("type", Note, "option_ignored", "The choice other of the list is left out: or_other brings it.")
			continue
		}
		options = append(options, c.Option)
	}
	return options
}

// matrix makes the rows of a matrix from the choices of a group.
func (im *importer) matrix(e *entry, q *form.Question) {
	for i, kid := range e.kids {
		if kid.word != "select_one" {
			kid.item("type", Error, "matrix_row", "The rows of a matrix are of the type select_one.")
			continue
		}
		o := kid.option(kid.name, im.def)
		q.Rows = append(q.Rows, o)
		if i == 0 {
			q.Options = im.options(kid)
		} else if kid.list != e.kids[0].list {
			kid.item("type", Error, "matrix_row", "All rows of a matrix have the same choices.")
		}
	}
}

// quantity takes the units from the choices of a group.
func (im *importer) quantity(e *entry, q *form.Question) {
	for _, kid := range e.kids {
		if kid.name != "unit" || kid.word != "select_one" {
			continue
		}
		q.Units = nil
		for _, o := range im.options(kid) {
			q.Units = append(q.Units, o.Value)
		}
	}
}
