package auth

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/web"
)

const invitesPath = "/v1/invites"

// inviteRoutes adds invitations to a.
func (h handlers) inviteRoutes(a *web.API) {
	web.Post(a, invitesPath, h.serveInvite, web.Doc{
		Summary: "Invite a person", Tag: "keys", Status: 201, Scope: "keys:write", Once: true,
		Description: "The answer shows a link and its QR code once. Whoever opens the link in a browser first, within 72 hours and from any address, gets a key with these rights and is signed in to the console. " +
			"The rules are those for making a key, and they are checked again when the link is used: it gives no more than your key has at that moment. When your key ends, its open invitations end too. At most 50 of your invitations can wait to be used, and 200 of the workspace.",
		Example: InviteDraft{Draft: Draft{Name: "Achieng Otieno", Role: "collector"}, Origin: "https://hearth.example.org"},
		Codes:   []string{"KEY_DRAFT_INVALID", codeScope, "RESTRICTION_EXCEEDED", "TOO_MANY_INVITES", "INVITE_NEEDS_KEY", "KEY_CHAIN_TOO_LONG"},
	})
	web.Get(a, invitesPath, h.serveInvites, web.Doc{
		Summary: "List the invitations of the workspace", Tag: "keys", Scope: "keys:read",
		Description: "Invitations that were used, revoked or have expired are listed for 30 days. A key that is limited to projects sees only those it has made itself.",
	})
	web.Delete(a, invitesPath+"/{id}", h.serveRevokeInvite, web.Doc{
		Summary: "Revoke an invitation", Tag: "keys", Scope: "keys:write",
		Description: "Your own invitation, or one that gives no more rights than yours. Its link stops working at once. Revoking it again changes nothing; once it was used, revoke the key it made.",
		Codes:       []string{"INVITE_NOT_FOUND", "INVITE_USED", codeScope, "RESTRICTION_EXCEEDED"},
	})
}

type (
	inviteIn   struct{ Body InviteDraft }
	invitePath struct {
		ID string `path:"id" doc:"Id of the invitation."`
	}
	renameIn struct {
		keyPath
		IfMatch string `header:"If-Match" doc:"ETag of the version you have read."`
		Body    KeyPatch
	}
)

func (h handlers) serveInvite(ctx context.Context, in *inviteIn) (web.Reply[NewInvite], error) {
	step, err := h.service.Invites().making(ctx, in.Body)
	if err != nil {
		return web.Reply[NewInvite]{}, err
	}
	return oneAnswer(ctx, h.service.cfg.Idem, step, func(v NewInvite) web.Reply[NewInvite] { return web.Reply[NewInvite]{Value: v} })
}

func (h handlers) serveInvites(ctx context.Context, in *listIn) (web.Reply[web.Page[Invite]], error) {
	var last string
	return web.List(ctx, h.service.cfg.Cursors, in.Paging, &last, func(limit int) ([]Invite, any, error) {
		return h.service.Invites().List(ctx, last, limit)
	})
}

func (h handlers) serveRevokeInvite(ctx context.Context, in *invitePath) (Invite, error) {
	return h.service.Invites().Revoke(ctx, in.ID)
}

func (h handlers) serveRename(ctx context.Context, in *renameIn) (web.Reply[Key], error) {
	return keyReply(h.service.Rename(ctx, in.ID, in.IfMatch, in.Body))
}
