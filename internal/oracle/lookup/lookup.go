// Package lookup is the plugins twins and surveys: the oracle's tools that look things up
// on this server. They see what the user of the run may see: each call asks for the
// user's rights at that moment. All but two only read, apart from the user's own drafts.
package lookup

import (
	"context"
	stdjson "encoding/json"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/plugin"
)

// MaxTwins is how many twins a tool shows at once, MaxCounted how many it
// counts: past them it says "more than".
const (
	MaxTwins   = 20
	MaxCounted = 10_000
)

// TwinQuery is the input of a search for twins, or of a count.
type TwinQuery struct {
	Filter  string `json:"query"`
	Type    string `json:"type"` // also in another case, or the plural
	Status  string `json:"status"`
	Project string `json:"project"` // DID
	In      string `json:"in"`      // name of a project, or of a district
	Name    string `json:"name"`    // or part of it
	By      string `json:"by"`      // what a count is grouped by
	Next    string `json:"next"`    // where a page before ended
	Limit   int    `json:"limit"`
}

// Twins is what a search has found.
type Twins struct {
	Twins []jsontext.Value `json:"twins"`
	More  bool             `json:"more"`
	Next  string           `json:"next,omitzero"`
	How   string           `json:"how"`
}

// Count is a number of twins, in all and in each group.
type Count struct {
	Count    int     `json:"count"`
	MoreThan bool    `json:"moreThan,omitzero"` // there are more than that
	Groups   []Group `json:"groups,omitzero"`
	How      string  `json:"how"`
}

// Group is how many twins share a value.
type Group struct {
	Value string `json:"value"`
	Count int    `json:"count"`
}

// SurveyQuery asks for a page of surveys.
type SurveyQuery struct {
	Status string `json:"status"`
	Next   int64  `json:"next,string"`
}

// Surveys is a page of surveys.
type Surveys struct {
	Surveys []Survey `json:"surveys"`
	More    bool     `json:"more"`
	Next    int64    `json:"next,string,omitzero"`
}

// Survey is a survey in a list.
type Survey struct {
	ID      string `json:"survey"`
	Name    string `json:"name"`
	Stage   string `json:"stage"`
	Status  string `json:"status"`
	Round   int    `json:"round"`
	Project string `json:"project"`
}

// Source is where tools look things up. Everything is done as the user of the
// run.
type Source struct {
	// AsUser returns a context with the rights of the user of the run, who
	// needs a scope for it. It is called for each call, because rights end.
	AsUser func(ctx context.Context, scope string) (context.Context, error)
	// List reads a page of twins, and says where the next one begins.
	List func(ctx context.Context, l TwinList) (page []Twin, next string, err error)
	// TypesLike finds the types that a word may mean.
	TypesLike func(ctx context.Context, word string) ([]string, error)
	// Shorten reduces a twin to what a list shows of it.
	Shorten  func(ctx context.Context, body jsontext.Value) (jsontext.Value, error)
	ReadTwin func(ctx context.Context, did string) (jsontext.Value, error)
	Surveys  func(ctx context.Context, q SurveyQuery) (Surveys, error)
	Progress func(ctx context.Context, survey string, round int) (any, error)
	// Questions returns the questions of a survey that have figures.
	Questions func(ctx context.Context, survey string) ([]Asked, error)
	// Figures returns figures of a survey, and the words for its codes.
	Figures func(ctx context.Context, q FigureQuery) (*api.SurveyStatistics, map[string]string, error)
	// SampleSize computes a design and stores nothing.
	SampleSize func(ctx context.Context, d api.SampleDesignDraft) (*api.SampleDesign, error)
	// Usage reads a page of the use of a project's stoves, by day, and says where
	// the next one begins. Days are such as 2024-02-20, "" the last 30.
	Usage func(ctx context.Context, l UsageList) (page []StoveDay, next string, err error)
	// ExplainClaim describes what became of a claim, by its DID or CID, from the
	// record.
	ExplainClaim func(ctx context.Context, id string) (*api.ClaimExplanation, error)
	// Graph reads the surroundings of a twin.
	Graph func(ctx context.Context, q GraphQuery) (any, error)
	// Interviews are surveys that the oracle asks.
	Interviews Interviews
	// Change changes a twin by the merge patch that edit makes from its present
	// state.
	Change func(ctx context.Context, did string, edit func(body jsontext.Value) (merge jsontext.Value, err error)) error
}

// lookupTool is an entry in the table of tools, with its arguments and its function.
type lookupTool struct {
	name, scope, about string
	schema, output     string // of the arguments, and of the output
	writes             bool   // it changes something
	drafts             bool   // it changes a draft of the user and nothing else
	do                 func(ctx context.Context, s Source, args jsontext.Value) (any, error)
}

const (
	text = `{"type":"string","maxLength":2000`
	// which says which twins are meant.
	which = `"query":` + text + `,"description":"A filter such as eq(properties.district,\"Kisumu\"), or the name of a type."},` +
		`"type":` + text + `,"description":"Type of the twin, such as Household. The plural or another case will do."},` +
		`"status":` + text + `,"description":"draft, active, suspended, completed or deactivated."},` +
		`"project":` + text + `,"description":"DID of the project."},` +
		`"in":` + text + `,"description":"Name of a project, or else of a district."},` +
		`"name":` + text + `,"description":"The name of the twin, or part of it."}`
	object = `{"type":"object","additionalProperties":false,`
	// given begins what a tool gives; more may be added to it.
	given   = `{"type":"object",`
	used    = `"stoves":{"type":"integer"},"used":{"type":"integer"},"events":{"type":"integer"},"cookingHours":{"type":"number"}`
	reached = `"target":{"type":"integer"},"completed":{"type":"integer"},"verified":{"type":"integer"},"rejected":{"type":"integer"}`
)

// twinTools are those about twins.
var twinTools = []lookupTool{
	{
		name: "search_twins", scope: "entities:read", do: searchTwins,
		about:  "Find digital twins: households, stoves, devices, projects, organisations. Give a type, a status, a project, a place, a name or a filter. To go on, call it again with next.",
		schema: object + `"properties":{` + which + `,"next":` + text + `,"description":"next of the answer before, to go on."},"limit":{"type":"integer","minimum":1,"maximum":20}}}`,
		output: given + `"required":["twins","more","how"],"properties":{"twins":{"type":"array","items":{"type":"object"}},"more":{"type":"boolean"},"next":{"type":"string"},"how":{"type":"string"}}}`,
	},
	{
		name: "count_twins", scope: "entities:read", do: countTwins,
		about:  "Count digital twins, all or in groups.",
		schema: object + `"properties":{` + which + `,"by":` + text + `,"description":"type, status, project, or a property such as properties.district."}}}`,
		output: given + `"required":["count","how"],"properties":{"count":{"type":"integer"},"moreThan":{"type":"boolean"},"how":{"type":"string"},` +
			`"groups":{"type":"array","items":{"type":"object","required":["value","count"],"properties":{"value":{"type":"string"},"count":{"type":"integer"}}}}}}`,
	},
	{
		name: "read_twin", scope: "entities:read", do: readTwin,
		about:  "Read one digital twin by its DID.",
		schema: object + `"required":["did"],"properties":{"did":` + text + `,"description":"DID of the twin."}}}`,
		output: given + `"required":["did","type","status"],"properties":{"did":{"type":"string"},"type":{"type":"string"},"status":{"type":"string"},"properties":{"type":"object"}}}`,
	},
	{
		name: "fleet_usage", scope: "devices:read", do: fleetUsage,
		about: "Tell how much the stoves of a project were used: stoves that reported and that were cooked on, cooking events and hours, for each day.",
		schema: object + `"properties":{"project":` + text + `,"description":"DID of the project."},"in":` + text + `,"description":"Name of the project; the only one when absent."},` +
			`"from":` + text + `,"description":"First day, such as 2024-02-01; 30 days before the last one when absent."},` +
			`"to":` + text + `,"description":"Last day; today when absent."}}}`,
		output: given + `"required":["stoves","used","events","cookingHours","days","how"],"properties":{` + used + `,"moreThan":{"type":"boolean"},"how":{"type":"string"},` +
			`"days":{"type":"array","items":{"type":"object","required":["day"],"properties":{"day":{"type":"string"},` + used + `}}}}}`,
	},
}

// surveyTools are those about surveys.
var surveyTools = []lookupTool{
	{
		name: "list_surveys", scope: "surveys:read", do: listSurveys,
		about:  "List the surveys, newest first.",
		schema: object + `"properties":{"status":` + text + `,"description":"draft, ready, active, paused, closed or archived."},"next":` + text + `,"description":"next of the answer before, to go on."}}}`,
		output: given + `"required":["surveys","more"],"properties":{"more":{"type":"boolean"},"next":{"type":"string"},"surveys":{"type":"array","items":{"type":"object","required":["survey","name","status"],` +
			`"properties":{"survey":{"type":"string"},"name":{"type":"string"},"stage":{"type":"string"},"status":{"type":"string"},"round":{"type":"integer"},"project":{"type":"string"}}}}}}`,
	},
	{
		name: "survey_progress", scope: "surveys:read", do: surveyProgress,
		about: "Tell how far a survey has come: drawn, contacted, completed, verified.",
		schema: object + `"properties":{"survey":` + text + `,"description":"Id of the survey, or its name or part of it; the newest active ones when absent."},` +
			`"round":{"type":"integer","minimum":1}}}`,
		output: given + `"properties":{` + reached + `,"how":{"type":"string"},"surveys":{"type":"array","items":{"type":"object","required":["survey"],"properties":{"survey":{"type":"string"},"name":{"type":"string"},` + reached + `}}}}}`,
	},
}

// family is a plugin whose tools are some of the table.
type family struct {
	about  plugin.Manifest
	tools  []lookupTool
	source Source
}

var _ plugin.Tools = family{}

// NewTwins makes the plugin of digital twins, with what their devices measured.
func NewTwins(s Source) plugin.Plugin {
	return family{source: s, tools: slices.Concat(twinTools, changeTools, claimTools), about: plugin.Manifest{
		Name: "twins", Title: "Digital twins", Summary: "Finds, counts, reads and changes twins: households, stoves, devices, projects; explains what became of claims.",
		WhenToUse: []string{"Questions about households, stoves, devices, projects or organisations, or how much stoves are used.", "Questions about why a claim was approved, rejected or flagged, or what it waits for."},
		Examples: []plugin.Example{
			{User: "How many stoves are active in Kitui?", Tool: "count_twins", Args: `{"type":"stoves","status":"active","in":"Kitui"}`},
		},
		Tags: []string{"twins", "devices"}, Visibility: plugin.Always,
	}}
}

// NewSurveys makes the plugin of surveys.
func NewSurveys(s Source) plugin.Plugin {
	return family{source: s, tools: slices.Concat(surveyTools, figureTools, interviewTools), about: plugin.Manifest{
		Name: "surveys", Title: "Surveys", Summary: "Lists and asks surveys, tells how far they are, what they say with intervals, and how large a sample must be.",
		WhenToUse: []string{"Questions about surveys, interviews and their progress.", "Questions about what share of households does something, or how much on average, and how certain that is."},
		Examples: []plugin.Example{
			{User: "How far is the baseline?", Tool: "survey_progress", Args: `{"survey":"baseline"}`},
			{User: "What share of households uses the new stove daily?", Tool: "survey_statistics", Args: `{"survey":"monitoring","question":"uses daily"}`},
			{User: "I want to answer the survey stove-use.", Tool: "interview_begin", Args: `{"survey":"stove-use"}`},
			{User: "How many of 5000 households must we ask for 90/10?", Tool: "sample_size", Args: `{"population":5000,"confidence":0.9,"precision":0.1}`},
		},
		Tags: []string{"surveys"}, Visibility: plugin.Always,
	}}
}

// Manifest says what the plugin is.
func (f family) Manifest() plugin.Manifest { return f.about }

// Tools are the tools of the plugin.
func (f family) Tools() []plugin.Tool {
	out := make([]plugin.Tool, len(f.tools))
	for i, l := range f.tools {
		out[i] = plugin.Tool{
			Name: l.name, Description: l.about, Schema: l.schema, Output: l.output, ReadOnly: !l.writes && !l.drafts, Draft: l.drafts,
			Run: func(ctx context.Context, c plugin.Call) (any, error) {
				if l.scope != "" { // otherwise the function it calls checks the scope
					var err error
					if ctx, err = f.source.AsUser(ctx, l.scope); err != nil {
						return nil, err
					}
				}
				found, err := l.do(ctx, f.source, jsontext.Value(c.Args))
				if err != nil {
					return nil, err
				}
				data, err := json.Marshal(found)
				return stdjson.RawMessage(data), err
			},
		}
	}
	return out
}

func twinQuery(args jsontext.Value) (TwinQuery, error) {
	var q TwinQuery
	if err := json.Unmarshal(args, &q); err != nil {
		return q, err
	}
	if isWord(q.Filter) {
		if q.Type == "" {
			q.Type = q.Filter
		}
		q.Filter = ""
	}
	if q.Limit = min(max(q.Limit, 0), MaxTwins); q.Limit == 0 {
		q.Limit = MaxTwins
	}
	return q, nil
}

func searchTwins(ctx context.Context, s Source, args jsontext.Value) (any, error) {
	q, err := twinQuery(args)
	if err != nil {
		return nil, err
	}
	return s.find(ctx, q)
}

func countTwins(ctx context.Context, s Source, args jsontext.Value) (any, error) {
	q, err := twinQuery(args)
	if err != nil {
		return nil, err
	}
	return s.count(ctx, q)
}

// isWord distinguishes the name of a type from a filter.
func isWord(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return false
		}
	}
	return s != ""
}

func readTwin(ctx context.Context, s Source, args jsontext.Value) (any, error) {
	var in struct {
		DID string `json:"did"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	return s.ReadTwin(ctx, in.DID)
}

func listSurveys(ctx context.Context, s Source, args jsontext.Value) (any, error) {
	var q SurveyQuery
	if err := json.Unmarshal(args, &q); err != nil {
		return nil, err
	}
	return s.Surveys(ctx, q)
}
