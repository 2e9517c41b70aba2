package app

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/entity/group"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/caller"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// lookups is where the tools of the oracle look things up.
type lookups struct {
	core    *Core
	callers *caller.Service
	twins   *twins
	surveys *surveys
}

func (a *App) lookups(m *mind) lookups { return lookups{a.Core, m.callers, a.twins, a.surveys} }

func (l lookups) source() tool.Source {
	return tool.Source{
		AsUser: l.asUser, FindTwins: l.findTwins, CountTwins: l.countTwins, Surveys: l.listSurveys,
		ReadTwin: func(ctx context.Context, did string) (jsontext.Value, error) {
			body, _, err := l.twins.entities.Read(ctx, did)
			return jsontext.Value(body), err
		},
		Progress: func(ctx context.Context, survey string, round int) (any, error) {
			return l.surveys.surveys.Progress(ctx, survey, round)
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

// asUser has what follows done by the user of a run, who needs a scope for it.
// Each call asks: whether the key that sent the message is still theirs, and what
// their groups give now.
func (l lookups) asUser(ctx context.Context, scope string) (context.Context, error) {
	run := tool.From(ctx)
	if err := l.callers.Holds(ctx, run.User, run.Signer); err != nil {
		return nil, err
	}
	c, err := l.core.callerOf(ctx, run.User, run.Signer)
	if err != nil {
		return nil, err
	}
	if !auth.May(c, scope) {
		return nil, fault.New(fault.Forbidden, "SCOPE_MISSING", "You have no right to see this: none of your groups gives "+scope+".")
	}
	return web.WithCaller(ctx, c), nil
}

// listSurveys reads a page of surveys, newest first.
func (l lookups) listSurveys(ctx context.Context, q tool.SurveyQuery) (tool.Surveys, error) {
	out := tool.Surveys{Surveys: []tool.Survey{}}
	found, next, err := l.surveys.surveys.List(ctx, survey.Filter{Status: survey.Status(q.Status)}, q.Next, tool.MaxTwins)
	if err != nil {
		return out, err
	}
	for _, one := range found {
		out.Surveys = append(out.Surveys, tool.Survey{ID: one.SurveyID, Name: one.Name, Stage: one.Stage, Status: string(one.Status), Round: one.Round, Project: one.ProjectID})
	}
	out.More, out.Next = next != 0, next
	return out, nil
}
