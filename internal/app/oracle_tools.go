package app

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/group"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// lookups is where the tools of the oracle look things up.
func (a *App) lookups() tool.Source {
	return tool.Source{
		AsUser: a.asUser, FindTwins: a.findTwins,
		ReadTwin: func(ctx context.Context, did string) (jsontext.Value, error) {
			body, _, err := a.twins.entities.Read(ctx, did)
			return jsontext.Value(body), err
		},
		Progress: func(ctx context.Context, survey string, round int) (any, error) {
			return a.surveys.surveys.Progress(ctx, survey, round)
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

func (a *App) findTwins(ctx context.Context, q tool.TwinQuery) (tool.Twins, error) {
	out := tool.Twins{Twins: []jsontext.Value{}}
	found, err := a.twins.search.List(ctx, a.DB, entity.Query{Filter: q.Filter, Type: q.Type, Status: q.Status, Project: q.Project, Limit: q.Limit})
	if err != nil {
		return out, err
	}
	out.More = found.Next != nil
	for _, b := range found.Bodies() {
		short, err := a.twins.search.Fields(ctx, &entity.Row{Workspace: auth.OperatorWorkspace}, b, "did,type,status,properties")
		if err != nil {
			return out, err
		}
		out.Twins = append(out.Twins, short)
	}
	return out, nil
}
