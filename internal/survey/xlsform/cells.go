package xlsform

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// grouped reports whether a question is a group in XLSForm, which has no answer
// of its own.
func grouped(q *form.Question) bool {
	return strings.HasPrefix(form.KindOf(q.Type).XLSForm.Word, beginWord)
}

// ranged reports whether a question is a range in XLSForm: numbers that have a
// distance between two bounds.
func ranged(q *form.Question) bool {
	v := q.Validation
	return form.KindOf(q.Type).XLSForm.Range && v.Min != nil && v.Max != nil && v.Step != nil && *v.Step > 0 && *v.Max-*v.Min >= *v.Step
}

// wordOf is the type of XLSForm for a question.
func wordOf(q *form.Question) string {
	if ranged(q) {
		return rangeWord
	}
	return form.KindOf(q.Type).XLSForm.Word
}

// filterable reports whether XLSForm can offer a part of the choices of a
// question.
func filterable(q *form.Question) bool {
	k := form.KindOf(q.Type)
	return k.Options && !k.Rows && !k.Ordered
}

// Types of XLSForm that rows are compared with.
const (
	rangeWord = "range"
	beginWord = "begin_"
	endWord   = "end_"
)

// cellWriter writes the expressions of a template as cells.
type cellWriter struct {
	names *Names
	used  map[string]bool            // members of a response that were named
	lost  func(column, cause string) // is called for what no cell can hold; may be nil
}

// noValue is the calculation of a value that only we can calculate: XLSForm
// requires one, and other expressions may name the question.
const noValue = `""`

// native are the cells of XLSForm of a question but for its texts and its type.
func (w cellWriter) native(q *form.Question) map[string]string {
	at := w.names.Question(q)
	cells := map[string]string{"relevant": w.condition("relevant", q.Relevant, at), "appearance": form.KindOf(q.Type).XLSForm.Appearance, "default": defaultText(q)}
	if q.ReadOnly {
		cells["read_only"] = "yes"
	}
	if wordOf(q) == rangeWord {
		cells["parameters"] = rangeParameters(q.Validation)
	}
	if grouped(q) {
		w.group(q, cells)
		return cells
	}
	cells["required"], cells["constraint"] = w.required(q), w.constraint(q)
	if filterable(q) {
		cells["choice_filter"] = w.expression("choice_filter", q.ChoiceFilter, Place{At: at, Choice: q}, Condition)
		if w.names.respelled(q, cells["choice_filter"]) {
			w.lose("choice_filter", "it compares with options that have other names there")
		}
	}
	if o := q.OptionsFrom; o != nil {
		cells["parameters"] = fileParameters(*o)
	}
	if q.Calculate != "" {
		if cells["calculation"] = w.expression("calculation", q.Calculate, Place{At: at}, Value); cells["calculation"] == "" {
			cells["calculation"] = noValue
		} else if q.Once {
			cells["calculation"] = "once(" + cells["calculation"] + ")"
		}
	}
	return cells
}

// group fills the cells that only groups and repeats have.
func (w cellWriter) group(q *form.Question, cells map[string]string) {
	count := w.repeatCount(q)
	cells["repeat_count"] = count
	if q.Constraint != "" && (count == "" || w.names.Count(q.Constraint, w.names.Question(q)) == "") {
		w.lose("constraint", "groups and repeats have none")
	}
	k := form.KindOf(q.Type)
	if count == "" && !q.Required.IsZero() && k.Nested && !(k.Repeated && w.names.exact()) {
		w.lose("required", "groups and repeats cannot be required")
	}
}

// repeatCount is how often a group is repeated, "" when people decide.
func (w cellWriter) repeatCount(q *form.Question) string {
	if !form.KindOf(q.Type).Repeated {
		return ""
	}
	if count := w.names.Count(q.Constraint, w.names.Question(q)); count != "" {
		return count
	}
	if q.MinRepeats > 0 && q.MinRepeats == q.MaxRepeats {
		return strconv.Itoa(q.MinRepeats)
	}
	return ""
}

func (w cellWriter) lose(column, cause string) {
	if w.lost != nil {
		w.lost(column, cause)
	}
}

// expression is the XPath of CEL, "" without an equivalent.
func (w cellWriter) expression(column, cel string, p Place, want Want) string {
	if cel == "" {
		return ""
	}
	p.Used = w.used
	text, err := w.names.FromCEL(cel, p, want)
	if err != nil {
		w.lose(column, err.Error())
		return ""
	}
	return text
}

func (w cellWriter) condition(column, cel string, at *Named) string {
	return w.expression(column, cel, Place{At: at}, Condition)
}

// fileParameters name the columns of the choices in a file.
func fileParameters(o form.OptionsFrom) string {
	var all []string
	if o.Value != "" {
		all = append(all, "value="+o.Value)
	}
	if o.Label != "" {
		all = append(all, "label="+o.Label)
	}
	return strings.Join(all, " ")
}

func (w cellWriter) required(q *form.Question) string {
	if q.Required.When != "" {
		return w.condition("required", q.Required.When, w.names.Question(q))
	}
	if q.Required.Always {
		return "yes"
	}
	return ""
}

// constraint joins the constraint with the checks that our forms make
// automatically.
func (w cellWriter) constraint(q *form.Question) string {
	var all []string
	v, at := q.Validation, w.names.Question(q)
	if wordOf(q) != rangeWord {
		all = w.bounds(v)
	}
	if v.Regex != "" {
		all = append(all, "regex(., "+Quote(w.regex(v.Regex))+")")
	}
	if v.MaxLength > 0 {
		all = append(all, "string-length(.) <= "+strconv.Itoa(v.MaxLength))
	}
	if v.MinSelections > 0 {
		all = append(all, "count-selected(.) >= "+strconv.Itoa(v.MinSelections))
	}
	if v.MaxSelections > 0 {
		all = append(all, "count-selected(.) <= "+strconv.Itoa(v.MaxSelections))
	}
	for _, o := range q.Options {
		if o.Exclusive && form.KindOf(q.Type).Selections {
			all = append(all, "not(selected(., "+Choice(at, o.Value)+") and count-selected(.) > 1)")
		}
	}
	want := Condition
	if len(all) > 0 {
		want = Conjunct
	}
	if text := w.expression("constraint", q.Constraint, Place{At: at, Self: true}, want); text != "" {
		all = append(all, text)
	}
	return strings.Join(all, " and ")
}

// regex is a regular expression as other programs match it.
func (w cellWriter) regex(re string) string {
	if !w.names.exact() {
		return re
	}
	whole, ok := pattern(re)
	if !ok {
		w.lose("constraint", "the regular expression says something that other programs do not know")
	}
	return whole
}

// bounds are the conditions a number must meet.
func (w cellWriter) bounds(v form.Validation) []string {
	var all []string
	if v.Min != nil {
		all = append(all, ". >= "+signed(*v.Min))
	}
	if v.Max != nil {
		all = append(all, ". <= "+signed(*v.Max))
	}
	switch {
	case v.Step == nil:
	case !whole(v.Step) || v.Min != nil && !whole(v.Min):
		w.lose("constraint", "a step that is a fraction needs two bounds")
	default:
		from := "."
		if v.Min != nil && *v.Min != 0 {
			from = "(. - " + signed(*v.Min) + ")"
		}
		all = append(all, from+" mod "+signed(*v.Step)+" = 0")
	}
	return all
}

func signed(f float64) string {
	if f < 0 {
		return "(" + decimal(f) + ")"
	}
	return decimal(f)
}

// decimal writes a number so that it is read back as the same one.
func decimal(f float64) string {
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func whole(f *float64) bool { return *f == math.Trunc(*f) }

// rangeParameters are the numbers of a range: 1 to 5 unless it says others.
func rangeParameters(v form.Validation) string {
	low, high, step := Range(v)
	return "start=" + low + " end=" + high + " step=" + step
}

// defaultText is the default answer as XLSForm writes it, "" when it cannot. One
// that begins like a formula would get an apostrophe; as a call it does not.
func defaultText(q *form.Question) string {
	text := plainDefault(q)
	if strings.IndexAny(text, "=+-@") == 0 && !negative(text) {
		return "string(" + Quote(text) + ")"
	}
	return text
}

func plainDefault(q *form.Question) string {
	v := q.Default.Value
	switch v.Kind() {
	case '"':
		var s string
		if json.Unmarshal(v, &s) != nil {
			return ""
		}
		if name, ok := optionNames(q)[s]; ok {
			return name
		}
		return s
	case '0', 't', 'f':
		return string(v)
	case '[':
		var all []string
		if json.Unmarshal(v, &all) != nil {
			return ""
		}
		for i, s := range all {
			if name, ok := optionNames(q)[s]; ok {
				all[i] = name
			}
		}
		return strings.Join(all, " ")
	case '{':
		return geoText(v)
	}
	return ""
}

func optionNames(q *form.Question) map[string]string {
	_, names := Spell(q.Options)
	return names
}

// geoText is a place as XLSForm writes it: lat lon altitude accuracy.
func geoText(v jsontext.Value) string {
	var g struct {
		Lat, Lon           *float64
		Altitude, Accuracy float64
	}
	if json.Unmarshal(v, &g, json.MatchCaseInsensitiveNames(true)) != nil || g.Lat == nil || g.Lon == nil {
		return ""
	}
	return strings.Join([]string{decimal(*g.Lat), decimal(*g.Lon), decimal(g.Altitude), decimal(g.Accuracy)}, " ")
}

// parseDefault reads a default answer of XLSForm; false when it is not one.
func parseDefault(q *form.Question, text string) (form.Value, bool) {
	values, _ := Spell(q.Options)
	value := func(s string) string {
		if v, ok := values[s]; ok {
			return v
		}
		return s
	}
	parse := form.KindOf(q.Type).Parse
	if parse == nil {
		return form.Value{}, false
	}
	v, ok := parse(text, value)
	return jsonValue(v), ok
}

func jsonValue(v any) form.Value {
	out, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return form.Value{}
	}
	return form.Value{Value: out}
}

// Lists of words in one cell: separated by commas, or as JSON when a word has
// one.

func joinList(words []string) string {
	plain := true
	for i, w := range words {
		if w == "" || strings.TrimSpace(w) != w || strings.Contains(w, ",") || i == 0 && strings.HasPrefix(w, "[") {
			plain = false
		}
	}
	if plain {
		return strings.Join(words, ", ")
	}
	return string(jsonValue(words).Value)
}

func splitList(text string) []string {
	if strings.HasPrefix(text, "[") {
		var words []string
		if json.Unmarshal([]byte(text), &words) == nil {
			return words
		}
	}
	var words []string
	for w := range strings.SplitSeq(text, ",") {
		if w = strings.TrimSpace(w); w != "" {
			words = append(words, w)
		}
	}
	return words
}

var xmlName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
