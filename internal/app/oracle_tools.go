package app

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/group"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/caller"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
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
		AsUser: l.asUser, FindTwins: l.findTwins,
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

func (l lookups) findTwins(ctx context.Context, q tool.TwinQuery) (tool.Twins, error) {
	out := tool.Twins{Twins: []jsontext.Value{}}
	found, err := l.twins.search.List(ctx, l.core.DB, entity.Query{Filter: q.Filter, Type: q.Type, Status: q.Status, Project: q.Project, Limit: q.Limit})
	if err != nil {
		return out, err
	}
	out.More = found.Next != nil
	for _, b := range found.Bodies() {
		short, err := l.twins.search.Fields(ctx, &entity.Row{Workspace: auth.OperatorWorkspace}, b, "did,type,status,properties")
		if err != nil {
			return out, err
		}
		out.Twins = append(out.Twins, short)
	}
	return out, nil
}
