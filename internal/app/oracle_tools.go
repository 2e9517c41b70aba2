package app

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/claim"
	"github.com/hearth-dmrv/hearth/internal/entity/device"
	"github.com/hearth-dmrv/hearth/internal/entity/graph"
	"github.com/hearth-dmrv/hearth/internal/entity/group"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/lookup"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// lookups is where the tools of the oracle look things up.
type lookups struct {
	core    *Core
	callers *oracle.Callers
	twins   *twins
	surveys *surveys
	// household of a customer of the line; "" for others
	household func(ctx context.Context, ws, did string) (string, error)
}

func (a *App) lookups(m *mind) lookups {
	return lookups{a.Core, m.callers, a.twins, a.surveys, householdOf(a)}
}

func (l lookups) source() lookup.Source {
	return lookup.Source{
		Interviews: chatInterviews{l}, AsUser: l.asUser, List: l.listTwins, Surveys: l.listSurveys,
		TypesLike: func(ctx context.Context, word string) ([]string, error) {
			return l.twins.search.TypesLike(ctx, l.core.DB, word)
		},
		Shorten: func(ctx context.Context, body jsontext.Value) (jsontext.Value, error) {
			return l.twins.search.Fields(ctx, &entity.Row{Workspace: web.CallerFrom(ctx).Workspace}, body, "did,type,status,metadata.name,properties")
		},
		ReadTwin: func(ctx context.Context, did string) (jsontext.Value, error) {
			body, _, err := l.twins.entities.Read(ctx, did)
			return jsontext.Value(body), err
		},
		Progress: func(ctx context.Context, survey string, round int) (any, error) {
			return l.surveys.surveys.Progress(ctx, survey, round)
		},
		ExplainClaim: func(ctx context.Context, id string) (*api.ClaimExplanation, error) {
			return claim.NewEngine(l.twins.claims).Explain(ctx, id)
		},
		Usage: l.usage, Questions: l.questions, Figures: l.figures, SampleSize: l.sampleSize,
		Graph: func(ctx context.Context, q lookup.GraphQuery) (any, error) {
			return l.twins.graph.Subgraph(ctx, graph.Walk{Root: q.DID, Depth: q.Depth, Direction: graph.Both, Limit: q.Limit})
		},
		Change: func(ctx context.Context, did string, edit func(jsontext.Value) (jsontext.Value, error)) error {
			body, revision, err := l.twins.entities.Read(ctx, did)
			if err != nil {
				return err
			}
			merge, err := edit(jsontext.Value(body))
			if err == nil {
				_, err = l.twins.entities.Patch(ctx, did, web.ETag(revision), entity.Change{Merge: merge, Reason: "asked of the oracle"})
			}
			return err
		},
	}
}

// callerOf is a DID as a caller of the operator's workspace, with what the
// groups give that have admitted the key it signed with.
func (c *Core) callerOf(ctx context.Context, did, signer string) (web.Caller, error) {
	out := web.Caller{Workspace: auth.OperatorWorkspace, DID: did, Signer: signer}
	var err error
	out.Scopes, err = group.ScopesOf(ctx, c.DB, out)
	return out, err
}

// asUser makes the user of a run act, who needs a scope for it. Each call checks
// whether the key that sent the message is still theirs, and what their groups
// give now.
func (l lookups) asUser(ctx context.Context, scope string) (context.Context, error) {
	run := tool.From(ctx)
	if run.Caller.Key != "" {
		return l.asKey(ctx, run.Caller, scope)
	}
	c, err := l.userOf(ctx, run)
	if err != nil {
		return nil, err
	}
	if !auth.May(c, scope) {
		return nil, fault.New(fault.Forbidden, "SCOPE_MISSING", "You have no right to see this: none of your groups gives "+scope+".")
	}
	return web.WithCaller(ctx, c), nil
}

// userOf is the user of a run with their present rights.
func (l lookups) userOf(ctx context.Context, run tool.Context) (web.Caller, error) {
	if run.Again != nil {
		return run.Again(ctx)
	}
	if err := l.callers.Holds(ctx, run.User, run.Signer); err != nil {
		return web.Caller{}, err
	}
	return l.core.callerOf(ctx, run.User, run.Signer)
}

// asKey is asUser for a caller with an API key: the rights are those of the key,
// as long as it has all of them.
func (l lookups) asKey(ctx context.Context, c web.Caller, scope string) (context.Context, error) {
	ctx = web.WithCaller(ctx, c)
	err := l.core.Auth.StillValid(ctx, false)
	switch kind := fault.KindOf(err); {
	case err == nil && auth.May(c, scope):
		return ctx, nil
	case err == nil:
		return nil, fault.New(fault.Forbidden, "SCOPE_MISSING", "You have no right to see this: your key does not have "+scope+".")
	case kind == fault.Unauthenticated || kind == fault.Forbidden:
		return nil, fault.New(fault.Forbidden, "KEY_CHANGED", "The key this was asked with has since ended or lost rights. Ask again.").Wrap(err)
	}
	return nil, err
}

// listTwins reads a page of twins as the caller may see them.
func (l lookups) listTwins(ctx context.Context, q lookup.TwinList) ([]lookup.Twin, string, error) {
	query := entity.Query{Filter: q.Filter, Type: q.Type, Status: q.Status, Project: q.Project, Protocol: q.Protocol, Limit: q.Limit}
	if q.After != "" {
		nid, err := strconv.ParseInt(q.After, 10, 64)
		if err != nil {
			return nil, "", tool.BadArgument("next", "The value must be next from an earlier answer.")
		}
		query.After = &entity.Place{NID: nid}
	}
	page, err := l.twins.search.List(ctx, l.core.DB, query)
	if err != nil {
		return nil, "", err
	}
	out := make([]lookup.Twin, len(page.Rows))
	for i, r := range page.Rows {
		out[i] = lookup.Twin{DID: r.DID, Type: r.Type, Status: string(r.Status), Project: r.Project, Place: strconv.FormatInt(r.NID, 10), Body: r.Body}
	}
	if page.Next == nil {
		return out, "", nil
	}
	return out, strconv.FormatInt(page.Next.NID, 10), nil
}

// usage reads a page of the days of the stoves of a project.
func (l lookups) usage(ctx context.Context, u lookup.UsageList) (page []lookup.StoveDay, next string, err error) {
	q := device.FleetQuery{Project: u.Project, After: u.After, Limit: u.Limit}
	for name, day := range map[string]struct {
		said string
		to   *time.Time
	}{"from": {u.From, &q.From}, "to": {u.To, &q.To}} {
		if day.said == "" {
			continue
		}
		if *day.to, err = time.Parse(time.DateOnly, day.said); err != nil {
			return nil, "", tool.BadArgument(name, "The value must be a day such as 2024-02-20.")
		}
	}
	days, next, err := l.twins.devices.Fleet(ctx, q)
	for _, d := range days {
		page = append(page, lookup.StoveDay{Day: d.Day, Stove: cmp.Or(d.StoveID, d.DeviceID), Events: d.Events, Minutes: d.CookingMinutes})
	}
	return page, next, err
}

// listSurveys reads a page of surveys, newest first.
func (l lookups) listSurveys(ctx context.Context, q lookup.SurveyQuery) (lookup.Surveys, error) {
	out := lookup.Surveys{Surveys: []lookup.Survey{}}
	found, next, err := l.surveys.surveys.List(ctx, survey.Filter{Status: survey.Status(q.Status)}, q.Next, lookup.MaxTwins)
	if err != nil {
		return out, err
	}
	for _, one := range found {
		out.Surveys = append(out.Surveys, lookup.Survey{ID: one.SurveyID, Name: one.Name, Stage: one.Stage, Status: string(one.Status), Round: one.Round, Project: one.ProjectID})
	}
	out.More, out.Next = next != 0, next
	return out, nil
}
