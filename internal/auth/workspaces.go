package auth

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// CreateWorkspace makes a workspace, its owner and the owner's first key. The
// fault is WORKSPACE_EXISTS when the id is taken. The workspace's event goes
// into the operator's workspace, the key's into the new one.
func (s *Service) CreateWorkspace(ctx context.Context, d WorkspaceDraft) (Opened, error) {
	step, err := s.opening(ctx, d)
	if err != nil {
		return Opened{}, err
	}
	return inTx(ctx, s.db, step)
}

// opening checks a draft and returns the step that stores the workspace.
func (s *Service) opening(ctx context.Context, d WorkspaceDraft) (func(*db.Tx) (Opened, error), error) {
	if !May(web.CallerFrom(ctx), "workspaces:write") {
		return nil, scopeMissing("workspaces:write")
	}
	if len(web.CallerFrom(ctx).Projects) > 0 {
		return nil, fault.New(fault.Forbidden, "RESTRICTION_EXCEEDED", "A key that is restricted to projects cannot make a workspace.")
	}
	if err := d.Validate(); err != nil {
		return nil, err
	}
	text, step := newText(), s.founding(ctx, d)
	return func(tx *db.Tx) (Opened, error) {
		o, made, err := step(tx, text)
		if err == nil && !made {
			err = fault.New(fault.Conflict, "WORKSPACE_EXISTS", "A workspace has this id already. Use another one.").
				With(fault.Field{Pointer: "/id", Code: "exists", Detail: "This id is taken."})
		}
		return o, err
	}, nil
}

// founding returns the step that stores a workspace, its owner and a key with
// the given text; false when the workspace exists already.
func (s *Service) founding(ctx context.Context, d WorkspaceDraft) func(tx *db.Tx, text string) (Opened, bool, error) {
	now, c := s.moment(), web.CallerFrom(ctx)
	owner := Principal{DID: did.NewEntity(), Workspace: d.ID, Kind: OwnerPrincipal, Name: "Owner", CreatedAt: now}
	w := Workspace{ID: d.ID, Name: d.Name, Operator: d.ID == OperatorWorkspace, CreatedAt: now, CreatedBy: c.DID, Revision: 1}
	if !c.Known() { // the first start: the owner makes itself
		c = web.Caller{Workspace: d.ID, DID: owner.DID.String()}
		w.CreatedBy = c.DID
	}
	outside := web.WithCaller(ctx, c)
	c.Workspace = d.ID
	inside := web.WithCaller(ctx, c)
	k := ownerKey(d.ID, owner.DID.String(), c.DID)
	return func(tx *db.Tx, text string) (Opened, bool, error) {
		made, err := insertWorkspace(ctx, tx, &w)
		if err != nil || !made {
			return Opened{}, false, err
		}
		if err := insertPrincipal(ctx, tx, owner); err != nil {
			return Opened{}, false, err
		}
		if err := s.record(outside, tx, "workspace.created", w.ID, w.Revision); err != nil {
			return Opened{}, false, err
		}
		k := k
		if err := s.restrict(ctx, tx, web.CallerFrom(ctx), &k); err != nil {
			return Opened{}, false, err
		}
		s.stampKey(&k, text, now)
		issued, err := s.issue(inside, tx, k, text)
		return Opened{Workspace: w, OwnerKey: issued}, true, err
	}
}

// ownerKey is a key with all rights in a workspace.
func ownerKey(workspace, principal, by string) Key {
	return Key{
		Workspace: workspace, Principal: principal, Name: "owner", Scopes: []string{all},
		Projects: []string{}, Networks: []string{}, CreatedBy: by,
	}
}

// GetWorkspace finds a workspace: any for an operator, only their own for
// others. WORKSPACE_NOT_FOUND for the rest.
func (s *Service) GetWorkspace(ctx context.Context, id string) (*Workspace, error) {
	if c := web.CallerFrom(ctx); c.Workspace != OperatorWorkspace && c.Workspace != id {
		id = "" // takes the same path as an id that never was
	}
	return findWorkspace(ctx, s.db, id)
}

// ListWorkspaces returns at most limit workspaces the caller may see, by id,
// after the one with id after. more reports whether the list continues.
func (s *Service) ListWorkspaces(ctx context.Context, after string, limit int) (list []Workspace, more bool, err error) {
	if c := web.CallerFrom(ctx); c.Workspace != OperatorWorkspace {
		if after >= c.Workspace {
			return []Workspace{}, false, nil
		}
		w, err := findWorkspace(ctx, s.db, c.Workspace)
		if err != nil {
			return nil, false, err
		}
		return []Workspace{*w}, false, nil
	}
	list, err = listWorkspaces(ctx, s.db, after, limit+1)
	if err != nil {
		return nil, false, err
	}
	if more = len(list) > limit; more {
		list = list[:limit]
	}
	return list, more, nil
}

// AsOwner returns a context in which the caller is the owner of a workspace.
// The command line uses it: a person who can open the store needs no key.
func (s *Service) AsOwner(ctx context.Context, workspace string) (context.Context, error) {
	if _, err := findWorkspace(ctx, s.db, workspace); err != nil {
		return nil, err
	}
	owner, err := findOwner(ctx, s.db, workspace)
	if err != nil {
		return nil, err
	}
	c := web.Caller{Workspace: workspace, DID: owner.String(), Scopes: Effective(workspace, []string{all})}
	return web.WithCaller(ctx, c), nil
}
