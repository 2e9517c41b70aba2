package entity

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// stepRoutes serve the steps in the life of a twin.
func (h handlers) stepRoutes(a *web.API) {
	web.Post(a, "/v1/entities/{did}/transitions", h.serveTransition, web.Doc{
		Summary: "Change the status of an entity", Scope: writeScope, Tag: tag, Once: true,
		Description: "draft → active → suspended → active, active → completed, any → deactivated. To become active, an entity needs all of missingRelationships; for an organisation or a group, you also need every scope its groups give.",
		Example:     Transition{To: StatusSuspended, Reason: "in repair"},
		Codes:       []string{"NOT_CONTROLLER", "SCOPE_MISSING", "KEY_RESTRICTED", "STATE_TRANSITION_INVALID", "MISSING_RELATIONSHIPS", "CLAIM_NOT_VERIFIED", "CLAIM_ALREADY_CREDENTIAL", "ORGANISATION_REQUIRES_GROUP", "ACTIVE_DEPENDANTS", "STALE_REVISION"},
	})
	web.Post(a, "/v1/entities/{did}/transfer", h.serveTransfer, web.Doc{
		Summary: "Give an entity another controller and owner", Scope: "entities:transfer", Tag: tag, Once: true,
		Description: "This works whoever controls it now, and so restores control that was lost or given away by mistake. It appears in the history and as an event. " +
			"A DID that has rights of its own (a member of a group, a holder of keys) is handed over by itself, with a UCAN, or by a caller who has every scope it has.",
		Example: Transfer{Controller: "did:ixo:org/stoves", Reason: "handed over to the operator"},
		Codes:   []string{"ENTITY_INVALID", "ENTITY_DEACTIVATED", "PRINCIPAL_PROTECTED", "STALE_REVISION"},
	})
	web.Post(a, "/v1/entities/{did}/verification", h.serveVerify, web.Doc{
		Summary: "Give a verdict on an entity", Scope: "entities:verify or claims:evaluate", Tag: tag, Once: true,
		Description: "A verdict says whether the entity is what it claims to be. With claims:evaluate alone you can give one only on claims. A verdict names the revision it is about, by If-Match or revision, because the stored entity may have changed since it was read. " +
			"It is refused with 412 when the content of the entity has changed since; verdicts of others, its owner, controllers and status, the oracles that verify a claim and the credential it becomes are not content. " +
			"The same verdict again is answered with 200 and stored once. A claim is verified once an oracle verifies it, and stays so as long as an active credential became of it. " +
			"A caller who gives or withdraws the verdict verified or rejected on a claim must have no part in it: anyone who made it or ever changed it, or owns or controls it or what produces it " +
			"(in person or through a group), or did so when the claim was made or linked to what produces it, is refused, whatever scopes their key has. Make a key for somebody else. " +
			"The twin that produces a claim is made from a protocol, whose claimTypes define how the claim is verified: by which oracles, how many, and for which reasons. " +
			"Where they name oracles or a quorum, a controller of such an oracle gives the verdict; the claim is pending, with approvals and missing, until enough have. " +
			"One of them is enough to reject it. While somebody vouches for a claim, the twin that produces it cannot be replaced; when any other content changes, the claim is pending again, and while an active credential rests on it such a change is refused. " +
			"The content of a claim is everything its controllers decide in its record, except who they are, plus its relationships and the version of its protocol. Any other verified entity is pending again too when its controllers change its record.",
		Example: Verdict{Status: "verified", Evidence: "seen on site", Revision: new(int64(1))},
		Codes:   []string{"ENTITY_INVALID", "ENTITY_DEACTIVATED", "VERIFIER_IS_CLAIMANT", "VERIFIER_NOT_ORACLE", "CLAIM_TYPE_UNKNOWN", "TOO_MANY_PRODUCERS", "MISSING_RELATIONSHIPS", "ACTIVE_DEPENDANTS", "STALE_REVISION", "REVISION_UNKNOWN", "PRECONDITION_REQUIRED", "SCOPE_MISSING"},
	})
}

// stepping is the input these routes share. Those that give no verdict do not
// need the revision.
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
	IfMatch string `header:"If-Match" doc:"ETag of the revision you have judged. revision in the body works as well; * does not."`
	Body    Verdict
},
) (web.Reply[*Entity], error) {
	return h.service.Verify(ctx, in.DID, in.IfMatch, in.Body)
}
