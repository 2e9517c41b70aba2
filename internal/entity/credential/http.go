package credential

import (
	"context"
	"net/http"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	tag                   = "issuing"
	read, write web.Scope = "credentials:read", "credentials:write"
	onePath               = "/v1/credentials/{credentialId}"
	keysPath              = "/v1/entities/{did}/issuer-keys"
)

// stepCodes are the refusals of steps in a credential's life.
var stepCodes = []string{"CREDENTIAL_NOT_FOUND", "CREDENTIAL_RETIRED", "CREDENTIAL_DISPUTED", "NOT_CONTROLLER", "STATE_TRANSITION_INVALID", "ENTITY_INVALID", "CLAIM_NOT_VERIFIED", "CLAIM_ALREADY_CREDENTIAL"}

// Routes adds credentials to the API. The routes of package claim issue them.
func (s *Service) Routes(a *web.API) {
	web.Get(a, "/v1/credentials", s.serveList, web.Doc{
		Summary: "List issued credentials, newest first", Scope: read, Tag: tag, Codes: []string{"INVALID_PARAMETER"}, Description: "A page may be short: follow hasMore.",
	})
	web.Get(a, onePath, s.serveGet, web.Doc{
		Summary: "Read a credential with its signed document", Scope: read, Tag: tag, Codes: []string{"CREDENTIAL_NOT_FOUND"},
		Description: "verifiableCredential is the signed document, which never changes: it names its subject by a pseudonym of that credential, and holds the evidence as salted hashes.",
	})
	for _, step := range []struct {
		verb, summary, words string
		to                   entity.Status
	}{
		{"revoke", "Revoke a credential", "This is final. Its claim can become another credential. Status lists show it within a minute, verification on this server at once.", entity.StatusDeactivated},
		{"suspend", "Suspend a credential", "Until it is reinstated.", entity.StatusSuspended},
		{"reinstate", "Reinstate a suspended credential", "A credential whose claim is disputed waits for the decision.", entity.StatusActive},
		{"retire", "Retire a credential", "It has been counted: it stays valid and can no longer be revoked by hand. Verification reports this.", entity.StatusCompleted},
	} {
		web.Post(a, onePath+"/"+step.verb, s.serveStep(step.to), web.Doc{
			Summary: step.summary, Scope: write, Tag: tag, Once: true, Description: step.words + " You control the oracle that issued it.",
			Example: api.CredentialStep{Reason: "The readings were of another stove."}, Codes: stepCodes,
		})
	}
	web.Get(a, "/v1/entities/{did}/credentials", s.serveOf, web.Doc{
		Summary: "List the credentials of an entity, newest first", Scope: read, Tag: tag, Codes: []string{"ENTITY_NOT_FOUND"},
		Description: "Credentials about the entity; for a claim those it became, for an oracle those it issued, for a project those issued in it. A page may be short: follow hasMore.",
	})
	web.Get(a, "/v1/status-lists/{listId}", s.serveStatusList, web.Doc{
		Summary: "Read a status list", Scope: web.Public, Tag: tag, Codes: []string{"STATUS_LIST_NOT_FOUND"}, Produces: "application/vc",
		Description: "A signed BitstringStatusListCredential, public as its readers are: one bit for each of 131,072 places taken at random. Changes are in it within a minute.",
	})
	s.keyRoutes(a)
	s.pageRoutes(a)
}

func (s *Service) keyRoutes(a *web.API) {
	web.Get(a, keysPath, s.serveKeys, web.Doc{
		Summary: "List the keys an oracle issues with", Scope: read, Tag: tag, Codes: []string{"ENTITY_NOT_FOUND"}, Description: "The newest 50. The first is made with the first credential.",
	})
	web.Post(a, keysPath, s.serveRotate, web.Doc{
		Summary: "Give an oracle a new key to issue with", Status: http.StatusCreated, Scope: write, Tag: tag, Once: true, Example: api.IssuerKeyRotation{Reason: "Yearly change."},
		Description: "You must control the oracle. Credentials signed with older keys stay valid. With compromisedSince, only those of that key's credentials that were issued here before that time verify, and the oracle's DID document no longer shows the key.",
		Codes:       []string{"ENTITY_NOT_FOUND", "NOT_CONTROLLER", "NOT_AN_ORACLE", "ISSUER_KEY_INVALID"},
	})
}

// of names a credential.
type of struct {
	ID string `path:"credentialId" doc:"DID of the credential's twin, or the id of its page." example:"did:ixo:entity:175d7824ba25002e4ec206365e206236"`
}

// at names an entity.
type at struct {
	DID string `path:"did" doc:"DID of the entity." example:"did:ixo:entity:175d7824ba25002e4ec206365e206236"`
}

func (s *Service) serveGet(ctx context.Context, in *of) (*api.IssuedCredential, error) {
	return s.Get(ctx, in.ID)
}

type stepping struct {
	of
	Body api.CredentialStep
}

func (s *Service) serveStep(to entity.Status) func(context.Context, *stepping) (web.Reply[*api.IssuedCredential], error) {
	return func(ctx context.Context, in *stepping) (web.Reply[*api.IssuedCredential], error) {
		return s.Step(ctx, in.ID, to, in.Body.Reason)
	}
}

// place is where a list continues.
type place struct {
	Before int64 `json:"b"`
}

type page = web.Reply[web.Page[*api.IssuedCredential]]

func (s *Service) page(ctx context.Context, in web.Paging, f Filter) (page, error) {
	var at place
	return web.List(ctx, s.cfg.Cursors, in, &at, func(limit int) ([]*api.IssuedCredential, place, error) {
		items, next, err := s.List(ctx, f, at.Before, limit)
		return items, place{next}, err
	})
}

func (s *Service) serveList(ctx context.Context, in *struct {
	Status  string `query:"status" enum:"active,suspended,revoked,retired"`
	Kind    string `query:"kind" doc:"Only credentials of this kind."`
	Project string `query:"projectId" doc:"Only credentials of this project."`
	web.Paging
},
) (page, error) {
	if !knownState(in.Status) {
		return page{}, fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
			With(fault.Field{Pointer: "query/status", Code: "not_allowed", Detail: "The value must be active, suspended, revoked or retired."})
	}
	return s.page(ctx, in.Paging, Filter{Status: in.Status, Kind: in.Kind, Project: in.Project})
}

func (s *Service) serveOf(ctx context.Context, in *struct {
	at
	web.Paging
},
) (page, error) {
	f, err := s.about(ctx, in.DID)
	if err != nil {
		return page{}, err
	}
	return s.page(ctx, in.Paging, f)
}

func (s *Service) serveStatusList(ctx context.Context, in *struct {
	ID string `path:"listId" doc:"Id of the list with its purpose, as credentials name it." example:"9f86d081884c7d659a2feaa0c55ad015-revocation"`
},
) (web.Reply[map[string]any], error) {
	doc, err := s.StatusList(ctx, in.ID)
	return web.Reply[map[string]any]{Raw: doc, Media: "application/vc", Cache: "public, max-age=20"}, err
}

func (s *Service) serveKeys(ctx context.Context, in *at) (*api.IssuerKeys, error) {
	items, err := s.Keys(ctx, in.DID)
	return &api.IssuerKeys{Items: items}, err
}

func (s *Service) serveRotate(ctx context.Context, in *struct {
	at
	Body api.IssuerKeyRotation
},
) (web.Reply[*api.IssuerKey], error) {
	return s.Rotate(ctx, in.DID, in.Body)
}
