package app

import (
	"context"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/group"
	"github.com/hearth-dmrv/hearth/internal/entity/search"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxToolTwins is how many twins a tool shows at once.
const maxToolTwins = 20

// serverTools are what the oracle can look up here. Each has the rights of who
// talks to it, and no others.
func (a *App) serverTools() []tool.Tool {
	const text = `{"type":"string","maxLength":2000`
	return []tool.Tool{
		a.readTool("search_twins", "entities:read", "Find digital twins: households, stoves, devices, projects, organisations. Give a type, a status, a project or a filter.",
			`{"type":"object","additionalProperties":false,"properties":{`+
				`"query":`+text+`,"description":"A filter such as eq(properties.district,\"Kisumu\"), or the name of a type."},`+
				`"type":`+text+`,"description":"Type of the twin, such as Household."},`+
				`"status":`+text+`},"project":`+text+`,"description":"DID of the project."},`+
				`"limit":{"type":"integer","minimum":1,"maximum":20}}}`, a.toolSearch),
		a.readTool("read_twin", "entities:read", "Read one digital twin by its DID.",
			`{"type":"object","additionalProperties":false,"required":["did"],"properties":{"did":`+text+`,"description":"DID of the twin."}}}`, a.toolRead),
		a.readTool("survey_progress", "surveys:read", "Tell how far a survey has come: drawn, contacted, completed, verified.",
			`{"type":"object","additionalProperties":false,"required":["survey"],"properties":{"survey":`+text+`,"description":"Id of the survey."},`+
				`"round":{"type":"integer","minimum":1}}}`, a.toolProgress),
	}
}

// readTool is a tool that only reads, as its user and with a scope of hers.
func (a *App) readTool(name, scope, about, schema string, do func(context.Context, jsontext.Value) (any, error)) tool.Tool {
	return tool.Func{
		Describe: tool.Spec{Name: name, Description: about, Schema: jsontext.Value(schema), ReadOnly: true},
		Do: func(ctx context.Context, c tool.Call) (tool.Output, error) {
			ctx, err := a.asUser(ctx, scope)
			if err != nil {
				return tool.Output{}, err
			}
			found, err := do(ctx, c.Args)
			if err != nil {
				return tool.Output{}, err
			}
			data, err := json.Marshal(found)
			return tool.Output{Data: data}, err
		},
	}
}

// callerOf is a DID as a caller of the operator's workspace, with what the
// groups give that have admitted the key it signed with.
func (a *App) callerOf(ctx context.Context, did, signer string) (web.Caller, error) {
	c := web.Caller{Workspace: auth.OperatorWorkspace, DID: did, Signer: signer}
	var err error
	c.Scopes, err = group.ScopesOf(ctx, a.DB, c)
	return c, err
}

// asUser has what follows done by the user of a run, who needs a scope for it.
// Each call asks: whether the key that sent the message is still theirs, and what
// their groups give now.
func (a *App) asUser(ctx context.Context, scope string) (context.Context, error) {
	run := tool.From(ctx)
	if err := a.mind.callers.Holds(ctx, run.User, run.Signer); err != nil {
		return nil, err
	}
	c, err := a.callerOf(ctx, run.User, run.Signer)
	if err != nil {
		return nil, err
	}
	if !auth.May(c, scope) {
		return nil, fault.New(fault.Forbidden, "SCOPE_MISSING", "You have no right to see this: none of your groups gives "+scope+".")
	}
	return web.WithCaller(ctx, c), nil
}

func (a *App) toolSearch(ctx context.Context, args jsontext.Value) (any, error) {
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
	q := search.Query{Type: in.Type, Status: in.Status, Project: in.Project, Limit: min(max(in.Limit, 0), maxToolTwins)}
	if q.Limit == 0 {
		q.Limit = maxToolTwins
	}
	if isWord(in.Query) && q.Type == "" {
		q.Type = in.Query
	} else {
		q.Filter = in.Query
	}
	found, err := a.twins.search.List(ctx, a.DB, q)
	if err != nil {
		return nil, err
	}
	type answer struct {
		Twins []jsontext.Value `json:"twins"`
		More  bool             `json:"more"`
	}
	out := answer{Twins: []jsontext.Value{}, More: found.Next != nil}
	for _, b := range found.Bodies() {
		short, err := a.twins.search.Fields(ctx, &entity.Row{Workspace: auth.OperatorWorkspace}, b, "did,type,status,properties")
		if err != nil {
			return nil, err
		}
		out.Twins = append(out.Twins, short)
	}
	return out, nil
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

func (a *App) toolRead(ctx context.Context, args jsontext.Value) (any, error) {
	var in struct {
		DID string `json:"did"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	body, _, err := a.twins.entities.Read(ctx, in.DID)
	if err != nil {
		return nil, err
	}
	return jsontext.Value(body), nil
}

func (a *App) toolProgress(ctx context.Context, args jsontext.Value) (any, error) {
	var in struct {
		Survey string `json:"survey"`
		Round  int    `json:"round"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	return a.surveys.surveys.Progress(ctx, in.Survey, in.Round)
}
