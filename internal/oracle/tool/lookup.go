package tool

import (
	"context"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxTwins is how many twins a tool shows at once.
const MaxTwins = 20

// TwinQuery is what a search for twins asks for.
type TwinQuery struct {
	Filter, Type, Status, Project string
	Limit                         int
}

// Twins is what a search has found.
type Twins struct {
	Twins []jsontext.Value `json:"twins"`
	More  bool             `json:"more"`
}

// Source is where tools look things up. All is done as the user of the run.
type Source struct {
	// AsUser gives what follows the rights of the user of the run, who needs a
	// scope for it. It is asked for each call: rights end.
	AsUser    func(ctx context.Context, scope string) (context.Context, error)
	FindTwins func(ctx context.Context, q TwinQuery) (Twins, error)
	ReadTwin  func(ctx context.Context, did string) (jsontext.Value, error)
	Progress  func(ctx context.Context, survey string, round int) (any, error)
}

// lookupTool is a tool that only reads: one value of the table, with what its
// arguments are and what it does.
type lookupTool struct {
	name, scope, about string
	schema             string
	do                 func(ctx context.Context, s Source, args jsontext.Value) (any, error)
}

const text = `{"type":"string","maxLength":2000`

// lookups is the table of all of them.
var lookups = []lookupTool{
	{
		name: "search_twins", scope: "entities:read", do: searchTwins,
		about: "Find digital twins: households, stoves, devices, projects, organisations. Give a type, a status, a project or a filter.",
		schema: `{"type":"object","additionalProperties":false,"properties":{` +
			`"query":` + text + `,"description":"A filter such as eq(properties.district,\"Kisumu\"), or the name of a type."},` +
			`"type":` + text + `,"description":"Type of the twin, such as Household."},` +
			`"status":` + text + `},"project":` + text + `,"description":"DID of the project."},` +
			`"limit":{"type":"integer","minimum":1,"maximum":20}}}`,
	},
	{
		name: "read_twin", scope: "entities:read", do: readTwin,
		about:  "Read one digital twin by its DID.",
		schema: `{"type":"object","additionalProperties":false,"required":["did"],"properties":{"did":` + text + `,"description":"DID of the twin."}}}`,
	},
	{
		name: "survey_progress", scope: "surveys:read", do: surveyProgress,
		about: "Tell how far a survey has come: drawn, contacted, completed, verified.",
		schema: `{"type":"object","additionalProperties":false,"required":["survey"],"properties":{"survey":` + text + `,"description":"Id of the survey."},` +
			`"round":{"type":"integer","minimum":1}}}`,
	},
}

// Lookups are the tools that look things up on a server.
func Lookups(s Source) []Tool {
	out := make([]Tool, len(lookups))
	for i, l := range lookups {
		out[i] = Func{
			Describe: Spec{Name: l.name, Description: l.about, Schema: jsontext.Value(l.schema), ReadOnly: true},
			Do: func(ctx context.Context, c Call) (Output, error) {
				ctx, err := s.AsUser(ctx, l.scope)
				if err != nil {
					return Output{}, err
				}
				found, err := l.do(ctx, s, c.Args)
				if err != nil {
					return Output{}, err
				}
				data, err := json.Marshal(found)
				return Output{Data: data}, err
			},
		}
	}
	return out
}

func searchTwins(ctx context.Context, s Source, args jsontext.Value) (any, error) {
	var in struct {
		Query   string `json:"query"`
		Type    string `json:"type"`
		Status  string `json:"status"`
		Project string `json:"project"`
		Limit   int    `json:"limit"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	q := TwinQuery{Type: in.Type, Status: in.Status, Project: in.Project, Limit: min(max(in.Limit, 0), MaxTwins)}
	if q.Limit == 0 {
		q.Limit = MaxTwins
	}
	if isWord(in.Query) && q.Type == "" {
		q.Type = in.Query
	} else {
		q.Filter = in.Query
	}
	return s.FindTwins(ctx, q)
}

// isWord tells the name of a type from a filter.
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

func surveyProgress(ctx context.Context, s Source, args jsontext.Value) (any, error) {
	var in struct {
		Survey string `json:"survey"`
		Round  int    `json:"round"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	return s.Progress(ctx, in.Survey, in.Round)
}
