package api

import "time"

// EntityList is a list of twins that a form offers, as in ODK Entities: the twins of
// the survey's project that a filter finds, with some of their properties.
type EntityList struct {
	Name       string   `json:"name" doc:"As the template names it; forms have it as the file of this name and .csv." example:"stoves"`
	Protocol   string   `json:"protocol" doc:"DID of the protocol of its twins, which new ones are made from." example:"did:ixo:protocol/clean-cooking"`
	Type       string   `json:"type,omitzero" doc:"Their type. Needed where the template makes twins." example:"Stove"`
	Filter     string   `json:"filter,omitzero" doc:"As in GET /v1/entities; nothing personal." example:"eq(status,active)"`
	Label      string   `json:"label,omitzero" doc:"The property that people know a twin by; its name by default." example:"serial"`
	Properties []string `json:"properties,omitzero" doc:"Properties that the form gets, at most 50. A personal one is empty to collectors who do not control the twin."`
}

// EntityMark is what a device says about the twin that an interview makes or changes.
type EntityMark struct {
	ID           string `json:"id,omitzero" doc:"UUID of a new twin, as the device has made it." example:"5f1b0a3e-2a64-4c0b-9a3c-3c1f4f6f2c11"`
	BaseVersion  int64  `json:"baseVersion,omitzero" doc:"Revision of the twin that the device knew."`
	TrunkVersion int64  `json:"trunkVersion,omitzero" doc:"Revision that several changes on the device began with."`
	BranchID     string `json:"branchId,omitzero" doc:"Names these changes."`
}

// Proposal is a twin that an interview proposes to make, or a change to one. Nothing
// is stored in the twin before a principal who may change it accepts.
type Proposal struct {
	ProposalID string           `json:"proposalId" example:"prp_7310428377145344"`
	SurveyID   string           `json:"surveyId"`
	ResponseID string           `json:"responseId"`
	List       string           `json:"list" doc:"The entity list."`
	Action     string           `json:"action" enum:"create,update"`
	Twin       string           `json:"twin" doc:"DID of the twin, which a new one gets when it is accepted."`
	Status     string           `json:"status" enum:"open,accepted,rejected,withdrawn" doc:"withdrawn: the interview was replaced, or corrected so that it asks for nothing."`
	Version    string           `json:"version,omitzero" doc:"Of what is open: names what is asked, for the decision. A correction of the interview makes another one." example:"7d1c0f9a52b84e6390aa17c4de25b86f"`
	Conflict   string           `json:"conflict" enum:"none,soft,hard" doc:"Whether the twin is another than the device knew: soft, in other properties; hard, in the same ones, or there is no such twin, or there is one already. Of what is decided: as it was then."`
	Base       int64            `json:"baseRevision,omitzero" doc:"Revision that the device knew; 0 when it did not say."`
	Revision   int64            `json:"revision,omitzero" doc:"Revision of the twin now, or that the decision has made."`
	Changes    []ProposalChange `json:"changes" doc:"Property by property."`
	Withheld   []string         `json:"withheld,omitzero" doc:"Properties whose values you may not know: what an interview says of them needs the scope responses:pii, what the twin does the scope entities:pii."`
	Erased     bool             `json:"erased,omitzero" doc:"What the interview said cannot be read any more."`
	ReceivedAt time.Time        `json:"receivedAt"`
	DecidedAt  time.Time        `json:"decidedAt,omitzero"`
	DecidedBy  string           `json:"decidedBy,omitzero"`
	Reason     string           `json:"reason,omitzero"`
	Links      ProposalLinks    `json:"links"`
}

// ProposalChange is a value to change.
type ProposalChange struct {
	Property string `json:"property" doc:"Its name; label is the name of the twin."`
	Base     any    `json:"base,omitzero" doc:"What the device knew, where the twin is another now and you may see it."`
	Stored   any    `json:"stored,omitzero" doc:"What the twin says, if you may see it; of what is decided, what it said before."`
	Proposed any    `json:"proposed,omitzero"`
	Conflict bool   `json:"conflict,omitzero" doc:"It has changed otherwise since the device knew it."`
}

// ProposalLinks are the addresses around a proposal.
type ProposalLinks struct {
	Self     string `json:"self"`
	Decision string `json:"decision"`
	Response string `json:"response"`
	Twin     string `json:"twin"`
}

// ProposalDecision accepts a proposal or rejects it.
type ProposalDecision struct {
	Decision string   `json:"decision" enum:"accept,reject"`
	Version  string   `json:"version" doc:"Of the proposal that you have read: when it has another one nothing is decided." example:"7d1c0f9a52b84e6390aa17c4de25b86f"`
	Reason   string   `json:"reason,omitzero" doc:"Needed to reject, and to accept what is in conflict; at most 1,000 characters."`
	Leave    []string `json:"leave,omitzero" doc:"Properties that stay as the twin has them." example:"[\"district\"]"`
	Revision int64    `json:"revision,omitzero" doc:"Revision of the twin that you have seen: with another one nothing is decided."`
}
