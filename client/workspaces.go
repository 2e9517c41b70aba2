package client

import (
	"context"
	"iter"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

const workspacesPath = "/v1/workspaces"

// Workspaces are the tenants of the server: all of them for operators, the own
// one for others.
type Workspaces struct{ c *Client }

// Types of package api.
type (
	Workspace      = api.Workspace
	WorkspaceDraft = api.WorkspaceDraft
)

// OpenedWorkspace is a workspace that was just made, with its first key.
type OpenedWorkspace struct {
	Workspace
	OwnerKey IssuedKey `json:"ownerKey"`
}

// Create makes a workspace, for operators. Codes: WORKSPACE_DRAFT_INVALID,
// WORKSPACE_EXISTS, SCOPE_MISSING.
func (w Workspaces) Create(ctx context.Context, d WorkspaceDraft, opts ...Option) (*OpenedWorkspace, error) {
	return do[OpenedWorkspace](ctx, w.c, post(workspacesPath, d), opts)
}

// Get reads a workspace. Code: WORKSPACE_NOT_FOUND.
func (w Workspaces) Get(ctx context.Context, id string, opts ...Option) (*Workspace, error) {
	return do[Workspace](ctx, w.c, get(workspacesPath+"/"+url.PathEscape(id), nil), opts)
}

// Page reads one page of the workspaces.
func (w Workspaces) Page(ctx context.Context, q PageQuery, opts ...Option) (*Page[Workspace], error) {
	return page[Workspace](ctx, w.c, workspacesPath, q.values(), opts)
}

// List walks over the workspaces, page by page. An error ends it.
func (w Workspaces) List(ctx context.Context, q PageQuery, opts ...Option) iter.Seq2[Workspace, error] {
	return pages[Workspace](ctx, w.c, workspacesPath, q.values(), opts)
}
