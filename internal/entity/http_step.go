package entity

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// stepRoutes are steps in the life of a twin.
func (h handlers) stepRoutes(a *web.API) {
	web.Post(a, "/v1/entities/{did}/transitions", h.serveTransition, web.Doc{
		Summary: "Take an entity to another status", Scope: writeScope, Tag: tag, Once: true,
		Description: "draft → active → suspended → active, active → completed, any → deactivated. Active needs all of missingRelationships; of an organisation or a group, that you have every scope its groups give.",
		Example:     Transition{To: StatusSuspended, Reason: "in repair"},
		Codes:       []string{"NOT_CONTROLLER", "SCOPE_MISSING", "KEY_RESTRICTED", "STATE_TRANSITION_INVALID", "MISSING_RELATIONSHIPS", "CLAIM_NOT_VERIFIED", "CLAIM_ALREADY_CREDENTIAL", "ORGANISATION_REQUIRES_GROUP", "ACTIVE_DEPENDANTS", "STALE_REVISION"},
	})
	web.Post(a, "/v1/entities/{did}/transfer", h.serveTransfer, web.Doc{
		Summary: "Give an entity another controller and owner", Scope: "entities:transfer", Tag: tag, Once: true,
		Description: "Whoever controls it now: this is how control that was lost comes back, or what was given away by mistake. It shows in the history and as an event. " +
			"A DID that has rights of its own (a member of a group, a holder of keys) is handed over by itself, with a UCAN, or by a caller who has every scope it has.",
		Example: Transfer{Controller: "did:ixo:org/stoves", Reason: "handed over to the operator"},
		Codes:   []string{"ENTITY_INVALID", "ENTITY_DEACTIVATED", "PRINCIPAL_PROTECTED", "STALE_REVISION"},
	})
	web.Post(a, "/v1/entities/{did}/verification", h.serveVerify, web.Doc{
		Summary: "Say whether an entity is what it claims to be", Scope: "entities:verify or claims:evaluate", Tag: tag, Once: true,
		Description: "With claims:evaluate alone, of claims only. A verdict names the revision it is about, by If-Match or revision: a reader may have seen another one than is stored by now. " +
			"It is refused with 412 when the entity says something else since; verdicts of others in between, its owner, controllers and status, the oracles that verify a claim and the credential it becomes change nothing it says. " +
			"The same verdict again is answered with 200 and stored once. A claim is verified once an oracle verifies it, and stays so as long as an active credential became of it. " +
			"Who says verified or rejected of a claim, or takes that back, has no part in it: whoever has made it or ever changed it, owns or controls it or what produces it " +
			"(as themselves or through a group), or did when the claim was made or said to be produced by it, is refused, whatever their key may do. Make a key for somebody else. " +
			"What produces a claim is made from a protocol, whose claimTypes say how it is verified: by which oracles, how many, and for which reasons. " +
			"Where they name oracles or a quorum, a controller of such an oracle gives the verdict; the claim is pending, with approvals and missing, until enough have. " +
			"One of them is enough to reject it. While somebody vouches for a claim, what produces it does not change; when anything else it says changes it is pending again, and while an active credential rests on it such a change is refused. " +
			"A claim says what its controllers decide in its record, except who they are, and its relationships; the version of its protocol counts too. Any other verified entity is pending again as well when what its controllers decide in its record changes.",
		Example: Verdict{Status: "verified", Evidence: "seen on site", Revision: new(int64(1))},
		Codes:   []string{"ENTITY_INVALID", "ENTITY_DEACTIVATED", "VERIFIER_IS_CLAIMANT", "VERIFIER_NOT_ORACLE", "CLAIM_TYPE_UNKNOWN", "TOO_MANY_PRODUCERS", "MISSING_RELATIONSHIPS", "ACTIVE_DEPENDANTS", "STALE_REVISION", "REVISION_UNKNOWN", "PRECONDITION_REQUIRED", "SCOPE_MISSING"},
	})
}

// stepping is what these routes share. Those that judge nothing do not need the
// revision.
type stepping struct {
	one
	IfMatch string `header:"If-Match" doc:"ETag of the revision you have read; any when absent."`
}

func (h handlers) serveTransition(ctx context.Context, in *struct {
	stepping
	Body Transition
},
) (web.Reply[*Entity], error) {
	return h.service.Transition(ctx, in.DID, in.IfMatch, in.Body)
}

func (h handlers) serveTransfer(ctx context.Context, in *struct {
	stepping
	Body Transfer
},
) (web.Reply[*Entity], error) {
	return h.service.Transfer(ctx, in.DID, in.IfMatch, in.Body)
}

func (h handlers) serveVerify(ctx context.Context, in *struct {
	one
	IfMatch string `header:"If-Match" doc:"ETag of the revision you have judged; revision in the body will do as well, * will not."`
	Body    Verdict
},
) (web.Reply[*Entity], error) {
	return h.service.Verify(ctx, in.DID, in.IfMatch, in.Body)
}
