package event

import (
	"context"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Type describes a type of event.
type Type api.EventType

// types are the events of all areas. Whoever appends an event of a new type
// adds it here: a pattern that no type fits would be silent for ever.
var types = []Type{
	{"entity.created", "A twin was made."},
	{"entity.updated", "Members of a twin were changed."},
	{"entity.status_changed", "A twin went from one status to another."},
	{"entity.deactivated", "A twin was deactivated."},
	{"entity.transferred", "A twin has another controller or owner."},
	{"entity.verified", "A verifier has decided about a twin."},
	{"entity.erased", "What a twin held about a person was erased."},
	{"relationship.added", "A twin got a relationship."},
	{"relationship.confirmed", "A caller with the scope * confirmed the target of a relationship that is not held here."},
	{"relationship.refused", "A relationship that waited for its target was not joined to it, because claims about both ends cover the same days."},
	{"relationship.removed", "A relationship of a twin has ended."},
	{"member.added", "A member was added to a group."},
	{"member.keys_changed", "The keys of a member in a group were changed, by PUT …/members/{did}. Keys that change with alsoKnownAs of a twin appear in entity.updated."},
	{"member.removed", "A member was removed from a group."},
	{"protocol.created", "A draft of a protocol, or of its next version, was made."},
	{"protocol.updated", "A draft of a protocol was changed."},
	{"protocol.published", "A version of a protocol was published."},
	{"protocol.deprecated", "A version of a protocol was deprecated."},
	{"protocol.retired", "A version of a protocol was retired, or a draft given up."},
	{"protocol.deleted", "A draft of a protocol was removed."},
	{"protocol.migrated", "Twins were moved to another version of their protocol."},
	{"device.readings_added", "A device has sent readings."},
	{"device.reading_gap", "Readings of a device are missing."},
	{"device.readings_corrected", "Readings of a device were corrected or withdrawn."},
	{"template.created", "A template, or a draft of its next version, was made."},
	{"template.updated", "A draft of a template was changed."},
	{"template.published", "A version of a template was published."},
	{"template.reviewed", "A template was reviewed."},
	{"template.deprecated", "A version of a template was deprecated."},
	{"template.retired", "A version of a template was retired."},
	{"template.deleted", "A draft of a template was removed."},
	{"survey.created", "A survey was made."},
	{"survey.updated", "The configuration of a survey was changed, or a round was opened."},
	{"survey.ready", "A survey is ready to begin."},
	{"survey.activated", "A survey accepts responses."},
	{"survey.paused", "A survey was paused."},
	{"survey.resumed", "A paused survey was resumed."},
	{"survey.closed", "A survey was closed to responses."},
	{"survey.reopened", "A closed survey was reopened."},
	{"survey.archived", "A survey was archived."},
	{"survey.deleted", "A survey was removed."},
	{"survey.households_changed", "The list of households of a survey was changed."},
	{"survey.contacts_disclosed", "A collector or back-checker has read how to reach the households assigned to them."},
	{"survey.outcome_set", "Somebody has noted how an attempt at a household went."},
	{"survey.quality_rules_updated", "The quality rules of a survey were changed."},
	{"survey.back_checks_drawn", "Responses were drawn for back-checks."},
	{"sampling.design_created", "A sample design was made."},
	{"sampling.design_updated", "A sample design has a new version."},
	{"sampling.design_decided", "Somebody has approved or rejected a version of a sample design."},
	{"sampling.design_deleted", "A sample design was deleted; its draws stay."},
	{"sampling.framed", "The sampling frame, the households to choose from, was frozen with its hash."},
	{"sampling.committed", "A draw was bound to a frame, a plan and a hidden part of its seed."},
	{"sampling.contributed", "The second part of the seed of a draw has arrived."},
	{"sampling.drawn", "A sample was drawn."},
	{"sampling.replaced", "A drawn household was replaced by the next one."},
	{"response.submitted", "A response was stored."},
	{"response.updated", "A response was corrected."},
	{"response.superseded", "A response was replaced by another one."},
	{"response.redacted", "Answers were removed from a response."},
	{"response.flagged", "Checks have found something in a response."},
	{"response.flag_settled", "Somebody has settled what a check had found in a response, or opened it again."},
	{"response.verified", "A response was verified."},
	{"response.rejected", "A response was rejected."},
	{"response.verification_changed", "The verification of a response went to another state."},
	{"response.back_checked", "A back-check of a response has an outcome."},
	{"response.conflicted", "A response was sent again with different content, which was set aside."},
	{"response.held", "A response arrived while its survey accepted none, and waits for a decision."},
	{"response.conflict_resolved", "Somebody has decided about content that was set aside."},
	{"proposal.made", "An interview asks for a twin, or for a change of one."},
	{"proposal.accepted", "Somebody has accepted the change of a twin that an interview asked for."},
	{"proposal.rejected", "Somebody has rejected the change of a twin that an interview asked for."},
	{"claim.submitted", "A claim was submitted; its content is fixed."},
	{"claim.evaluated", "A claim was approved, rejected, flagged or invalidated."},
	{"claim.disputed", "Somebody disputes a claim; its credential is suspended."},
	{"claim.dispute_decided", "A dispute was decided: the claim is as before, or invalidated."},
	{"claim.withdrawn", "A claim was withdrawn before anybody decided about it."},
	{"collection.created", "A collection of claims was made."},
	{"collection.updated", "Name, quota or window of a collection have changed."},
	{"collection.opened", "A paused collection accepts claims again."},
	{"collection.paused", "A collection was paused."},
	{"collection.closed", "A collection was closed."},
	{"claim.consented", "A controller of an oracle has agreed that the server evaluates claims in their name."},
	{"claim.consent_ended", "The server no longer evaluates claims in the name of a controller of an oracle."},
	{"credential.issued", "A credential was issued from an approved claim."},
	{"credential.suspended", "A credential was suspended."},
	{"credential.reinstated", "A suspended credential was reinstated."},
	{"credential.revoked", "A credential was revoked, for good."},
	{"credential.retired", "A credential was retired: it has been counted."},
	{"credential.key_rotated", "An oracle got a new key to issue credentials with."},
	{"kpt.recorded", "A kitchen performance test was recorded."},
	{"kpt.corrected", "A kitchen performance test was corrected."},
	{"kpt.withdrawn", "A kitchen performance test was withdrawn."},
	{"voucher.issued", "A voucher was issued."},
	{"voucher.redeemed", "A supplier was given an amount of a voucher."},
	{"voucher.cancelled", "A voucher was cancelled."},
	{"ussd.account_created", "A customer was registered."},
	{"ussd.account_locked", "An account was locked after wrong PINs."},
	{"ussd.account_unlocked", "An account was unlocked."},
	{"ussd.account_closed", "An account was closed."},
	{"ussd.number_locked", "A number was locked after wrong tries."},
	{"ussd.number_unlocked", "A number was unlocked."},
	{"ussd.number_held", "A number was held: nobody logs in from it."},
	{"ussd.number_released", "A held number was released."},
	{"ussd.pin_changed", "A customer has changed the PIN."},
	{"ussd.pin_reset", "A PIN was reset."},
	{"job.finished", "A job has done its work."},
	{"job.completed_with_errors", "A job has done its work, but some rows were refused: its report says why."},
	{"job.failed", "A job was given up, or all its rows were refused."},
	{"job.cancelled", "A job was cancelled."},
	{"key.created", "An API key was made."},
	{"key.updated", "An API key was renamed."},
	{"key.rotated", "An API key was replaced."},
	{"key.revoked", "An API key was revoked."},
	{"invite.created", "A person was invited."},
	{"invite.used", "An invitation was used."},
	{"invite.revoked", "An invitation was revoked."},
	{"demo.removed", "The demo programme was removed."},
	{"demo.forgotten", "Something happened in a demo programme that has been removed since."},
	{"workspace.created", "A workspace was made."},
	{"mcp.server_set", "An MCP server of the workspace was made or replaced."},
	{"mcp.server_removed", "An MCP server of the workspace was removed, with the grants of its tools."},
	{"mcp.tool_granted", "The oracle may use a tool of an MCP server."},
	{"mcp.tool_revoked", "The oracle may no longer use a tool of an MCP server."},
	{"webhook.created", "A webhook was made."},
	{"webhook.updated", "A webhook was changed."},
	{"webhook.deleted", "A webhook was removed."},
	{"webhook.disabled", "The server has switched a webhook off."},
	{"webhook.replayed", "Events are sent to a webhook again."},
	{"webhook.secret_rotated", "A webhook has a new secret."},
}

// Types lists all types of events, grouped by area.
func Types() []Type { return slices.Clone(types) }

// typeList is the answer of /v1/events/types.
type typeList struct {
	Items []Type `json:"items"`
}

func serveTypes(context.Context, *struct{}) (typeList, error) { return typeList{types}, nil }

// known reports whether a pattern picks any type there is.
func known(pattern string) bool {
	return slices.ContainsFunc(types, func(t Type) bool { return Filter{pattern}.Match(t.Type) })
}

// instead says which types there are in place of a pattern that picks none:
// those of its area, the one it is spelt like, or the areas.
func instead(pattern string) string {
	area, _, _ := strings.Cut(pattern, ".")
	var areas, own, all []string
	for _, t := range types {
		first, _, _ := strings.Cut(t.Type, ".")
		if !slices.Contains(areas, first+".*") {
			areas = append(areas, first+".*")
		}
		if first == area {
			own = append(own, t.Type)
		}
		all = append(all, t.Type)
	}
	if len(own) > 0 {
		return "There are " + strings.Join(own, ", ")
	}
	if best := check.Nearest(pattern, slices.Concat(areas, all)); best != "" {
		return "The nearest is " + best
	}
	return "There are " + strings.Join(areas, ", ")
}

// Channel describes the stream of events.
func Channel() web.Channel {
	type gap struct {
		Reason string `json:"reason" enum:"expired,ahead"`
		After  int64  `json:"after" doc:"Your position."`
		Oldest int64  `json:"oldest" doc:"The oldest event that is kept."`
		Newest int64  `json:"newest"`
	}
	type end struct {
		Reason string `json:"reason" enum:"shutdown,error,expired,rights_changed,revoked"`
	}
	c := web.Channel{
		Name: "events", Address: "/v1/events", Title: "Events of a workspace",
		About: "Server-sent events. The id is the number of the event; Last-Event-ID replays what came since.",
		Sent: []web.Message{
			{Name: "gap", About: "The events between two numbers are not available.", Payload: gap{}},
			{Name: "close", About: "The server ends the stream, and why.", Payload: end{}},
		},
	}
	for _, t := range types {
		c.Sent = append(c.Sent, web.Message{Name: t.Type, About: t.Description, Payload: Item{}})
	}
	return c
}
