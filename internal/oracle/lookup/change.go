package lookup

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// maxGraph is how many twins a tool shows around one.
const maxGraph = 50

// GraphQuery asks for the surroundings of a twin.
type GraphQuery struct {
	DID   string `json:"did"`
	Depth int    `json:"depth"`
	Limit int    `json:"-"`
}

// Difference is a value of a twin before and after a change. Null: it does not
// exist.
type Difference struct {
	Path string         `json:"path"`
	From jsontext.Value `json:"from"`
	To   jsontext.Value `json:"to"`
}

// Drafted is a change that is not made yet.
type Drafted struct {
	DID     string       `json:"did"`
	Changes []Difference `json:"changes"`
	How     string       `json:"how"`
}

// changeTools read the surroundings of twins, and change twins in two steps: a draft
// shows what would differ, and the change takes exactly that. So the question whether it
// may run shows the old values next to the new ones, and it fails when the old ones have
// changed by then.
var changeTools = []lookupTool{
	{
		name: "twin_graph", scope: "entities:read", do: twinGraph,
		about:  "Read what is around a digital twin: the twins it is related to, by which roles, up to three steps away.",
		schema: object + `"required":["did"],"properties":{"did":` + text + `,"description":"DID of the twin."},"depth":{"type":"integer","minimum":1,"maximum":3,"description":"Steps away from it; 1 when absent."}}}`,
		output: given + `"required":["root","nodes","edges"],"properties":{"root":{"type":"string"},"nodes":{"type":"array","items":{"type":"object"}},"edges":{"type":"array","items":{"type":"object"}},"truncated":{"type":"boolean"}}}`,
	},
	{
		name: "draft_twin_change", scope: "entities:write", do: draftChange,
		about: "Draft a change of a digital twin: shows the values there are beside the new ones, and changes nothing. Show it to the user, then call change_twin with its did and changes.",
		schema: object + `"required":["did","set"],"properties":{"did":` + text + `,"description":"DID of the twin."},` +
			`"set":{"type":"object","minProperties":1,"maxProperties":20,"description":"New values by their path, such as {\"properties.district\":\"Kitui\",\"metadata.name\":\"Stove 7\"}; null removes one."}}}`,
		output: given + `"required":["did","changes","how"],"properties":{"did":{"type":"string"},"how":{"type":"string"},"changes":{"type":"array","items":{"type":"object"}}}}`,
	},
	{
		name: "change_twin", scope: "entities:write", do: changeTwin, writes: true,
		about: "Change a digital twin as draft_twin_change has drafted it. The user is asked first.",
		schema: object + `"required":["did","changes"],"properties":{"did":` + text + `},"changes":{"type":"array","minItems":1,"maxItems":20,"items":` + object +
			`"required":["path","from","to"],"properties":{"path":` + text + `},"from":{"description":"The value there is; null when there is none."},"to":{"description":"The new value; null removes it."}}}}}}`,
		output: given + `"required":["did","changes","how"],"properties":{"did":{"type":"string"},"how":{"type":"string"},"changes":{"type":"array","items":{"type":"object"}}}}`,
	},
}

func twinGraph(ctx context.Context, s Source, args jsontext.Value) (any, error) {
	q := GraphQuery{Limit: maxGraph}
	if err := json.Unmarshal(args, &q); err != nil {
		return nil, err
	}
	q.Depth = max(q.Depth, 1)
	return s.Graph(ctx, q)
}

func draftChange(ctx context.Context, s Source, args jsontext.Value) (any, error) {
	var in struct {
		DID string                    `json:"did"`
		Set map[string]jsontext.Value `json:"set"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	body, err := s.ReadTwin(ctx, in.DID)
	if err != nil {
		return nil, err
	}
	out := Drafted{DID: in.DID, Changes: []Difference{}, How: "Nothing is changed yet. change_twin makes these changes once the user has agreed."}
	for _, path := range slices.Sorted(maps.Keys(in.Set)) {
		from, err := valueAt(body, path)
		if err != nil {
			return nil, err
		}
		if !check.SameJSON(from, in.Set[path]) {
			out.Changes = append(out.Changes, Difference{path, from, in.Set[path]})
		}
	}
	if len(out.Changes) == 0 {
		out.How = "The twin has these values already."
	}
	return out, nil
}

func changeTwin(ctx context.Context, s Source, args jsontext.Value) (any, error) {
	var in Drafted
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	err := s.Change(ctx, in.DID, func(body jsontext.Value) (jsontext.Value, error) { return merged(body, in.Changes) })
	in.How = "Changed."
	return in, err
}

// merged is the merge patch that makes changes, if the values are still those they
// begin with.
func merged(body jsontext.Value, changes []Difference) (jsontext.Value, error) {
	patch := map[string]any{}
	for _, c := range changes {
		now, err := valueAt(body, c.Path)
		if err != nil {
			return nil, err
		}
		if !check.SameJSON(now, c.From) {
			return nil, tool.BadArgument("changes", c.Path+" is "+string(now)+" now. Draft the change again.")
		}
		parts := strings.Split(c.Path, ".")
		at := patch
		for _, part := range parts[:len(parts)-1] {
			inner, ok := at[part].(map[string]any)
			if !ok {
				inner = map[string]any{}
				at[part] = inner
			}
			at = inner
		}
		at[parts[len(parts)-1]] = c.To
	}
	return json.Marshal(patch, json.Deterministic(true))
}

// valueAt returns the value at a path of a twin, null when there is none. Only
// members that its owners write can be named.
func valueAt(body jsontext.Value, path string) (jsontext.Value, error) {
	parts := strings.Split(path, ".")
	if len(parts) < 2 || len(parts) > 6 || parts[0] != "properties" && parts[0] != "metadata" || slices.Contains(parts, "") {
		return nil, tool.BadArgument("path", "want a path such as properties.district or metadata.name, of at most six parts")
	}
	for _, part := range parts {
		var members map[string]jsontext.Value
		if json.Unmarshal(body, &members) != nil || members[part] == nil {
			return jsontext.Value("null"), nil
		}
		body = members[part]
	}
	return body, nil
}
