package client

import (
	"context"
	"iter"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Types of package api.
type (
	EntityList       = api.EntityList
	EntityMark       = api.EntityMark
	Proposal         = api.Proposal
	ProposalChange   = api.ProposalChange
	ProposalLinks    = api.ProposalLinks
	ProposalDecision = api.ProposalDecision
)

// Proposals are the changes to twins that interviews propose.
type Proposals struct{ c *Client }

// List walks over the proposals of a survey's interviews, oldest first. status
// is open by default. Code: SURVEY_NOT_FOUND.
func (p Proposals) List(ctx context.Context, surveyID, status string, q PageQuery, opts ...Option) iter.Seq2[Proposal, error] {
	v := q.values()
	if status != "" {
		v.Set("status", status)
	}
	return pages[Proposal](ctx, p.c, surveyPath(surveyID)+"/proposals", v, opts)
}

func proposalPath(surveyID, id string) string {
	return surveyPath(surveyID) + "/proposals/" + url.PathEscape(id)
}

// Get reads a proposal. Codes: SURVEY_NOT_FOUND, PROPOSAL_NOT_FOUND.
func (p Proposals) Get(ctx context.Context, surveyID, id string, opts ...Option) (*Proposal, error) {
	return do[Proposal](ctx, p.c, get(proposalPath(surveyID, id), nil), opts)
}

// Decide accepts or rejects a proposal. It names the version of the proposal that was
// read. Codes: PROPOSAL_NOT_FOUND, DECISION_INVALID, PROPOSAL_DECIDED,
// PROPOSAL_CHANGED, PROPOSAL_WAITS, TWIN_OUTSIDE_LIST, STALE_REVISION and those of
// twins.
func (p Proposals) Decide(ctx context.Context, surveyID, id string, d ProposalDecision, opts ...Option) (*Proposal, error) {
	return do[Proposal](ctx, p.c, post(proposalPath(surveyID, id)+"/decision", d), opts)
}
