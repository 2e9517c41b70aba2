package export

import (
	"strings"

	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Column explains a column of a table, and the value of an answer in a long
// one.
type Column struct {
	Name       string        `json:"name" doc:"Head of the column. In a long table section and question together." example:"cooking.fuels"`
	Of         string        `json:"of" enum:"response,answer" doc:"What the column describes: the response as a whole, or an answer."`
	Section    string        `json:"section,omitzero"`
	Title      form.Text     `json:"sectionTitle,omitzero"`
	Question   string        `json:"question,omitzero" doc:"The question in its section, with the groups and repeats around it."`
	Option     string        `json:"option,omitzero" doc:"The column describes this option: 1 when it was chosen, 0 when not; its place in a rank."`
	Row        string        `json:"row,omitzero" doc:"Row of a matrix."`
	Type       string        `json:"type" example:"number"`
	Label      form.Text     `json:"label,omitzero" doc:"The question in its languages."`
	Hint       form.Text     `json:"hint,omitzero"`
	Options    []form.Option `json:"options,omitzero" doc:"Values and their labels."`
	Unit       string        `json:"unit,omitzero"`
	Units      []string      `json:"units,omitzero" doc:"Units a quantity may have."`
	PII        form.PII      `json:"pii,omitzero" enum:"none,direct,indirect" doc:"Whether the answer identifies a person."`
	Indicators []string      `json:"indicators,omitzero" doc:"Indicators the answer feeds."`
	Missing    []string      `json:"missing,omitzero" doc:"Codes that stand in place of a value; see missing of the codebook."`
	Repeat     bool          `json:"repeat,omitzero" doc:"Inside a repeat."`
	Shapes     []Shape       `json:"shapes,omitzero" doc:"Shapes that have it."`
	Levels     []Level       `json:"levels,omitzero" doc:"Levels of personal data that have it."`
	Note       string        `json:"note,omitzero"`

	inside []Column       // of a repeat
	open   bool           // takes an answer in other words
	from   *form.Question // its options are in a file
	part   string         // of an answer that is an object, or of the place of the interview
}

// SchemaName is the name that clients know it by.
func (Column) SchemaName() string { return "LayoutColumn" }

// column makes a column of a question.
func (b *builder) column(q *form.Question, path []string, suffix string) Column {
	c := Column{
		Name: strings.Join(path, ".") + suffix, Of: "answer", Section: path[0], Title: b.section.Title, Question: strings.Join(path[1:], ".") + suffix,
		Type: string(q.Type), Label: q.Label, Hint: q.Hint, Options: q.Options, Unit: q.Unit, Units: q.Units,
		PII: b.marks[strings.Join(path, ".")], Indicators: q.Indicators, Shapes: []Shape{Wide, Long}, open: q.Other,
	}
	if q.OptionsFrom != nil {
		c.from = q
	}
	if q.DontKnow {
		c.Missing = append(c.Missing, dontKnow)
	}
	if q.Refuse {
		c.Missing = append(c.Missing, refused)
	}
	return c
}

// choice makes the column describe one option.
func (c *Column) choice(o *form.Option, k *form.Kind) {
	c.Option, c.Label, c.Options, c.Missing, c.Shapes = o.Value, c.labelOf(o), nil, nil, []Shape{Wide}
	c.Type = string(form.Boolean)
	if k.Ordered {
		c.Type = string(form.Integer)
	}
}

// labelOf is the label of an option, its value when it has none.
func (c *Column) labelOf(o *form.Option) form.Text {
	if len(o.Label) == 0 {
		return form.Plain(o.Value)
	}
	return o.Label
}

// Codes that stand in place of a value.
const (
	dontKnow = "dont_know"
	refused  = "refused"
)

// headColumn is a column about the response as a whole.
type headColumn struct {
	column Column
	level  Level // the least that has it
	place  bool  // a part of the location, which is one member in JSON
	get    func(l *Layout, r *Response) cell
}

// headsOf are the columns of the response in a level.
func headsOf(level Level, of Sample) []headColumn {
	rank := map[Level]int{None: 0, Pseudonymised: 1, Full: 2}
	var out []headColumn
	all := heads()
	if of.Weighted {
		all = append(all, sampleHeads(of)...)
	}
	for _, h := range all {
		if rank[h.level] > rank[level] {
			continue
		}
		h.column.Of, h.column.Shapes = "response", []Shape{Wide}
		if h.column.Name == "responseId" || h.column.Name == "recordId" || h.column.Name == "householdId" || h.column.Name == "round" {
			h.column.Shapes = []Shape{Wide, Long}
		}
		if level == Full {
			h.column.Note = ""
		}
		out = append(out, h)
	}
	return out
}

// renamed is the note on columns whose values are replaced by pseudonyms.
const renamed = "Replaced by a name that is the same in every export of the project."

// heads are all columns of a response. Notes are of the levels short of Full.
func heads() []headColumn {
	text, number, moment := string(form.FreeText), string(form.Number), string(form.DateTime)
	col := func(name, typ, label, note string) Column {
		return Column{Name: name, Type: typ, Label: form.Text{"en": label}, Note: note}
	}
	raw := func(of func(*head) string) func(*Layout, *Response) cell {
		return func(l *Layout, _ *Response) cell { return cellOf(of(&l.head)) }
	}
	return []headColumn{
		{col("responseId", text, "Response", "Replaced by the recordId, which is the same in every read and export: GET /v1/responses/{responseId} accepts it."), None, false, (*Layout).responseCell},
		{col("recordId", text, "The same in every read and export", ""), Full, false, func(_ *Layout, r *Response) cell { return word(privacy.RecordName(r.NID)) }},
		{col("round", string(form.Integer), "Round", ""), None, false, func(_ *Layout, r *Response) cell { return cell{kind: integer, n: r.Round} }},
		{col("householdId", text, "Household", renamed), Pseudonymised, false, func(l *Layout, r *Response) cell { return word(l.household(r.Household)) }},
		{col("stratum", text, "Stratum", ""), None, false, func(_ *Layout, r *Response) cell { return word(r.Stratum) }},
		{col("group", text, "Group: adopter or comparison", ""), None, false, func(_ *Layout, r *Response) cell { return word(r.Group) }},
		{col("surveyId", text, "Survey", ""), None, false, func(l *Layout, _ *Response) cell { return word(l.cfg.Survey) }},
		{col("templateVersion", string(form.Integer), "Version of the template", ""), None, false, raw(func(h *head) string { return h.templateVersion })},
		{col("status", text, "Complete, partial, or refused when there was no consent", ""), None, false, func(_ *Layout, r *Response) cell { return word(r.Status) }},
		{col("completeness", number, "Share of the questions asked that are answered", ""), None, false, raw(func(h *head) string { return h.completeness })},
		{col("timestamp", moment, "When it was given", ""), None, false, func(_ *Layout, r *Response) cell { return instant(r.SubmittedAt) }},
		{col("startedAt", moment, "When the interview began", ""), None, false, raw(func(h *head) string { return h.startedAt })},
		{col("receivedAt", moment, "When it arrived", ""), None, false, func(_ *Layout, r *Response) cell { return instant(r.ReceivedAt) }},
		{col("updatedAt", moment, "When it was last changed", ""), None, false, func(_ *Layout, r *Response) cell { return instant(r.UpdatedAt) }},
		{withUnit(col("durationSec", number, "How long the interview took", ""), "s"), None, false, raw(func(h *head) string { return h.durationSec })},
		{col("mode", text, "How it was collected", ""), None, false, raw(func(h *head) string { return h.mode })},
		{col("language", text, "Language of the interview", ""), None, false, raw(func(h *head) string { return h.language })},
		{col("collector", text, "Who asked", renamed), Pseudonymised, false, func(l *Layout, r *Response) cell { return word(l.person(r.Collector)) }},
		{col("consent", string(form.Boolean), "Consent", ""), None, false, raw(func(h *head) string { return h.consent })},
		{col("eligible", string(form.Boolean), "Meets the eligibility rule of the survey", ""), None, false, raw(func(h *head) string { return h.eligible })},
		{col("verificationStatus", text, "State of the verification", ""), None, false, func(_ *Layout, r *Response) cell { return word(r.VStatus) }},
		{col("verifier", text, "Who decided last", renamed), Pseudonymised, false, func(l *Layout, r *Response) cell { return word(l.person(r.Verifier)) }},
		{col("verifiedAt", moment, "When that was", ""), None, false, func(_ *Layout, r *Response) cell { return instant(r.VerifiedAt) }},
		{col("flags", string(form.Integer), "How many checks found something, as of now", ""), None, false, func(_ *Layout, r *Response) cell { return cell{kind: integer, n: r.Flags} }},
		{col("flagRules", text, "Names of these checks", ""), None, false, func(_ *Layout, r *Response) cell { return word(r.FlagRules) }},
		{col("revision", string(form.Integer), "Revision of the response", ""), None, false, func(_ *Layout, r *Response) cell { return cell{kind: integer, n: r.Revision} }},
		{col("supersedes", text, "The response it replaced", ""), Full, false, raw(func(h *head) string { return h.supersedes })},
		{col("submittedBy", text, "Who sent it", ""), Full, false, raw(func(h *head) string { return h.submittedBy })},
		{col("deviceId", text, "Device it was sent from", ""), Full, false, raw(func(h *head) string { return h.deviceID })},
		{partOf("lat", "degrees", col("location/lat", number, "Latitude of the interview", "")), Full, true, placeCell(func(p *Place) *float64 { return &p.Lat })},
		{partOf("lon", "degrees", col("location/lon", number, "Longitude of the interview", "")), Full, true, placeCell(func(p *Place) *float64 { return &p.Lon })},
		{withUnit(col("location/accuracy", number, "Accuracy of the position", ""), "m"), Full, true, placeCell(func(p *Place) *float64 { return p.Accuracy })},
		{col("erased", string(form.Boolean), "The household was erased: answers about a person are gone", ""), Full, false, (*Layout).erasedCell},
		{col("metadata", "object", "What the sender added, as JSON", ""), Full, false, raw(func(h *head) string { return h.metadata })},
	}
}

func withUnit(c Column, unit string) Column {
	c.Unit = unit
	return c
}

func partOf(part, unit string, c Column) Column {
	c.part, c.Unit = part, unit
	return c
}
