package auth

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	keysPath       = "/v1/api-keys"
	workspacesPath = "/v1/workspaces"
	sessionsPath   = "/v1/console/sessions"
)

// handlers answer the requests of the API with the use cases.
type handlers struct{ service *Service }

// Routes adds keys and workspaces to a.
func (s *Service) Routes(a *web.API) {
	h := handlers{s}
	web.Post(a, keysPath, h.serveCreate, web.Doc{
		Summary: "Make an API key", Tag: "keys", Status: 201, Scope: "keys:write", Once: true,
		Description: "The answer shows the key's text once; it is never shown again. A key cannot create one with more rights than its own. A key created by a caller who acts through groups is bound to those groups: `boundTo` names the caller, and at each use the key has at most the rights the groups give at that moment.",
		Example:     Draft{Name: "tablet of the Kitui team", Role: "collector"},
		Codes:       []string{"KEY_DRAFT_INVALID", codeScope, "RESTRICTION_EXCEEDED", "KEY_CHAIN_TOO_LONG"},
	})
	web.Get(a, keysPath, h.serveList, web.Doc{
		Summary: "List the keys of the workspace", Tag: "keys", Scope: "keys:read",
		Description: "A key that is limited to projects sees itself and those that are limited to some of its projects. For it, and with `status`, a page looks at 1,000 keys at most, so it may have fewer items than `limit` although the list goes on.",
	})
	web.Get(a, keysPath+"/current", h.serveCurrent, web.Doc{Summary: "Read the key this request uses", Tag: "keys", Scope: web.Signed})
	web.Get(a, keysPath+"/{id}", h.serveGet, web.Doc{Summary: "Read a key", Tag: "keys", Scope: "keys:read", Codes: []string{"KEY_NOT_FOUND"}})
	web.Post(a, keysPath+"/{id}/rotate", h.serveRotate, web.Doc{
		Summary: "Replace a key by a new one", Tag: "keys", Status: 201, Scope: "keys:write", Once: true,
		Description: "The old key works until the grace period ends. You need every scope the key has; the key of a person who came by invitation, or of a principal that an owner has named, is replaced by a key of the same principal or by an owner only. The new key takes over the limits and the expiry of the key you call with, so the last key with `*` and neither of them cannot be rotated by a key that has either.",
		Example:     Rotation{}, Codes: []string{"KEY_NOT_FOUND", "KEY_NOT_ACTIVE", codeScope, codeLast},
	})
	web.Patch(a, keysPath+"/{id}", h.serveRename, web.Doc{
		Summary: "Rename a key", Tag: "keys", Scope: "keys:write", Patch: true,
		Description: "Your own key, or one with no more rights than yours. The rights of a key never change.",
		Example:     map[string]any{"name": "tablet of the Machakos team"},
		Codes:       []string{"KEY_NOT_FOUND", "KEY_DRAFT_INVALID", codeScope, "RESTRICTION_EXCEEDED", "STALE_REVISION", "PRECONDITION_REQUIRED"},
	})
	web.Delete(a, keysPath+"/{id}", h.serveRevoke, web.Doc{
		Summary: "Revoke a key", Tag: "keys", Scope: "keys:write",
		Description: "It stops working at once. Revoking it again changes nothing. The last key of the workspace with `*` and no expiry, project or network limit cannot be revoked: create another one first.",
		Codes:       []string{"KEY_NOT_FOUND", "STALE_REVISION", codeScope, codeLast},
	})
	h.inviteRoutes(a)
	web.Post(a, workspacesPath, h.serveCreateWorkspace, web.Doc{
		Summary: "Make a workspace", Tag: "workspaces", Status: 201, Scope: "workspaces:write", Once: true,
		Description: "For operators. The answer shows the text of the first owner key once; it is never shown again. That key has the same networks and expiry as yours.",
		Example:     WorkspaceDraft{ID: "kitui", Name: "Kitui stove programme"},
		Codes:       []string{"WORKSPACE_DRAFT_INVALID", "WORKSPACE_EXISTS", "RESTRICTION_EXCEEDED"},
	})
	web.Get(a, workspacesPath, h.serveListWorkspaces, web.Doc{
		Summary: "List workspaces", Tag: "workspaces", Scope: "workspaces:read", Description: "Operators see all workspaces, others only their own.",
	})
	web.Get(a, workspacesPath+"/{id}", h.serveGetWorkspace, web.Doc{
		Summary: "Read a workspace", Tag: "workspaces", Scope: "workspaces:read", Codes: []string{"WORKSPACE_NOT_FOUND"},
	})
	web.Get(a, sessionsPath, h.serveSessions, web.Doc{
		Summary: "List the sessions of browsers", Tag: "keys", Scope: web.Signed,
		Description: "With the scope `keys:read` all sessions of the workspace, otherwise those of your own key.",
	})
	web.Delete(a, sessionsPath+"/{id}", h.serveEndSession, web.Doc{
		Summary: "End the session of a browser", Tag: "keys", Scope: web.Signed,
		Description: "A session of your own key, or with the scope `keys:write` one of any key you could revoke. Its browser is asked to sign in again.",
		Codes:       []string{"SESSION_NOT_FOUND", codeScope, "RESTRICTION_EXCEEDED"},
	})
}

type (
	none    struct{}
	keyPath struct {
		ID string `path:"id" doc:"Id of the key."`
	}
	sessionPath struct {
		ID string `path:"id" doc:"Id of the session."`
	}
	createIn struct{ Body Draft }
	rotateIn struct {
		keyPath
		Body *Rotation
	}
	revokeIn struct {
		keyPath
		IfMatch string `header:"If-Match" doc:"ETag of the version you have read; without it the key is revoked whatever its version."`
	}
	createWorkspaceIn struct{ Body WorkspaceDraft }
	workspacePath     struct {
		ID string `path:"id" doc:"Id of the workspace." example:"default"`
	}
	listIn struct{ web.Paging }
	keysIn struct {
		Status Status `query:"status" doc:"Only keys in this state." enum:"active,rotated,expired,revoked"`
		web.Paging
	}
)

func (h handlers) serveCreate(ctx context.Context, in *createIn) (web.Reply[Issued], error) {
	step, err := h.service.creation(ctx, in.Body)
	if err != nil {
		return web.Reply[Issued]{}, err
	}
	return oneAnswer(ctx, h.service.cfg.Idem, step, issuedReply)
}

func (h handlers) serveRotate(ctx context.Context, in *rotateIn) (web.Reply[Issued], error) {
	var r Rotation
	if in.Body != nil {
		r = *in.Body
	}
	step, err := h.service.rotation(ctx, in.ID, r)
	if err != nil {
		return web.Reply[Issued]{}, err
	}
	return oneAnswer(ctx, h.service.cfg.Idem, step, issuedReply)
}

func issuedReply(i Issued) web.Reply[Issued] {
	return web.Reply[Issued]{Value: i, ETag: web.ETag(i.Revision), Location: keysPath + "/" + i.ID}
}

func (h handlers) serveList(ctx context.Context, in *keysIn) (web.Reply[web.Page[Key]], error) {
	var last string
	return web.List(ctx, h.service.cfg.Cursors, in.Paging, &last, func(limit int) ([]Key, any, error) {
		return h.service.List(ctx, in.Status, last, limit)
	})
}

func (h handlers) serveCurrent(ctx context.Context, _ *none) (web.Reply[Key], error) {
	if web.CallerFrom(ctx).Key == "" {
		return web.Reply[Key]{}, fault.New(fault.NotFound, "KEY_NOT_FOUND", "You call with a UCAN, not a key. GET /v1/memberships shows what you may do.")
	}
	return keyReply(h.service.Current(ctx))
}

func (h handlers) serveGet(ctx context.Context, in *keyPath) (web.Reply[Key], error) {
	return keyReply(h.service.Get(ctx, in.ID))
}

func (h handlers) serveRevoke(ctx context.Context, in *revokeIn) (web.Reply[Key], error) {
	return keyReply(h.service.Revoke(ctx, in.ID, in.IfMatch))
}

func keyReply(k *Key, err error) (web.Reply[Key], error) {
	if err != nil {
		return web.Reply[Key]{}, err
	}
	return web.Reply[Key]{Value: *k, ETag: web.ETag(k.Revision)}, nil
}

func (h handlers) serveCreateWorkspace(ctx context.Context, in *createWorkspaceIn) (web.Reply[Opened], error) {
	step, err := h.service.opening(ctx, in.Body)
	if err != nil {
		return web.Reply[Opened]{}, err
	}
	return oneAnswer(ctx, h.service.cfg.Idem, step, func(o Opened) web.Reply[Opened] {
		return web.Reply[Opened]{Value: o, ETag: web.ETag(o.Revision), Location: workspacesPath + "/" + o.ID}
	})
}

func (h handlers) serveListWorkspaces(ctx context.Context, in *listIn) (web.Reply[web.Page[Workspace]], error) {
	var last string
	return web.List(ctx, h.service.cfg.Cursors, in.Paging, &last, func(limit int) ([]Workspace, any, error) {
		list, more, err := h.service.ListWorkspaces(ctx, last, limit)
		return list, after(list, more, func(w Workspace) string { return w.ID }), err
	})
}

func (h handlers) serveGetWorkspace(ctx context.Context, in *workspacePath) (web.Reply[Workspace], error) {
	w, err := h.service.GetWorkspace(ctx, in.ID)
	if err != nil {
		return web.Reply[Workspace]{}, err
	}
	return web.Reply[Workspace]{Value: *w, ETag: web.ETag(w.Revision)}, nil
}

func (h handlers) serveSessions(ctx context.Context, in *listIn) (web.Reply[web.Page[Session]], error) {
	var last string
	return web.List(ctx, h.service.cfg.Cursors, in.Paging, &last, func(limit int) ([]Session, any, error) {
		return h.service.Sessions().List(ctx, last, limit)
	})
}

func (h handlers) serveEndSession(ctx context.Context, in *sessionPath) (Session, error) {
	return h.service.Sessions().End(ctx, in.ID)
}

// oneAnswer runs a step at most once per Idempotency-Key.
func oneAnswer[T any](ctx context.Context, idem *once.Store, step func(*db.Tx) (T, error), reply func(T) web.Reply[T]) (web.Reply[T], error) {
	return once.Do(ctx, idem, func(tx *db.Tx) (web.Reply[T], error) {
		v, err := step(tx)
		return reply(v), err
	})
}

// after is the position behind the last item of a page, nil when more is
// false: the list has ended.
func after[T any](items []T, more bool, id func(T) string) any {
	if !more {
		return nil
	}
	return id(items[len(items)-1])
}
