package erase

import (
	"context"
	"net/http"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// Routes adds erasures to a.
func (s *Service) Routes(a *web.API) {
	const tag = "erasures"
	web.Post(a, "/v1/erasures", s.serveErase, web.Doc{
		Summary: "Erase a person or a household", Status: http.StatusCreated, Also: []int{http.StatusOK}, Scope: "entities:erase", Tag: tag,
		Description: "Takes properties, metadata, external ids, services and all other content out of the twin and of its whole history, its memberships and keys, and what other parts keep about it. " +
			"The twin stays as a deactivated DID with nothing in it but its relationships to projects, devices and other twins that are not about people: an auditor counts who took part, and with what. Relationships between people and households end, unless an active twin cannot do without one; that they were there stays, as DIDs. A household that is only on lists of surveys stays on them marked as erased, without area, location, attributes and collector; changing it there, an outcome and a response for it are refused (HOUSEHOLD_ERASED). Somebody who has rights is erased only by a caller who has them too: API keys that work take keys:write and every scope they have, groups every scope they give, and the last owner key of a workspace stays. There is no way back. The certificate says under stays what is kept. Asking again gives the same certificate (200). " +
			"Its bytes in files of exports and imports, in stored answers and in the files of the store are removed beside the requests: bytes says when they are gone. A download that has begun ends whole before. " +
			"Backups made before are not changed: erase again after restoring one.",
		Example: Draft{Subject: "did:ixo:entity:175d7824ba25002e4ec206365e206236", Reason: "The household has withdrawn its consent."},
		Codes:   []string{"ERASURE_INVALID", "ENTITY_NOT_FOUND", "NOT_PERSONAL", "SCOPE_MISSING", "RESTRICTION_EXCEEDED", "LAST_OWNER", "ACTIVE_DEPENDANTS", "ORGANISATION_REQUIRES_GROUP"},
	})
	web.Get(a, "/v1/erasures", s.serveList, web.Doc{Summary: "List erasures, oldest first", Scope: "audit:read", Tag: tag, Codes: []string{"KEY_RESTRICTED"}})
	web.Get(a, "/v1/erasures/{id}", s.serveGet, web.Doc{
		Summary: "Read the certificate of an erasure", Scope: "audit:read", Tag: tag, Codes: []string{"ERASURE_NOT_FOUND", "KEY_RESTRICTED"},
	})
}

func (s *Service) serveErase(ctx context.Context, in *struct{ Body Draft }) (web.Reply[Certificate], error) {
	body, fresh, err := s.Erase(ctx, in.Body)
	if err != nil {
		return web.Reply[Certificate]{}, err
	}
	status := http.StatusOK
	if fresh {
		status = http.StatusCreated
	}
	return web.Reply[Certificate]{Raw: body, Status: status}, nil
}

func (s *Service) serveGet(ctx context.Context, in *struct {
	ID string `path:"id" doc:"Id of the erasure."`
},
) (web.Reply[Certificate], error) {
	body, err := s.Get(ctx, in.ID)
	if err != nil {
		return web.Reply[Certificate]{}, err
	}
	return web.Reply[Certificate]{Raw: body}, nil
}

func (s *Service) serveList(ctx context.Context, in *struct{ web.Paging }) (web.Reply[web.Page[Certificate]], error) {
	var after int64
	return web.List(ctx, s.cfg.Cursors, in.Paging, &after, func(limit int) ([]Certificate, int64, error) {
		return s.List(ctx, after, limit)
	})
}
