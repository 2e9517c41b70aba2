package interview

import (
	"context"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	proposing = "New twins and changes of twins that interviews ask for when their template has an entity. Each shows the present values of the twin beside the proposed ones; conflict says whether the twin has changed since the device read it, " +
		"as in ODK Entities: soft, in other properties, or hard, in the same ones. A decided proposal keeps both values. A proposal links an interview to a twin, so it needs responses:pii as well as entities:read."
	deciding = "accept makes the twin, or changes it, with your rights and by the rules of its protocol, in one step with the decision; leave names properties that stay as they are. reject changes nothing. " +
		"A proposal in conflict needs a reason. With revision, nothing is decided if the twin has changed since you saw it. version is that of the proposal you have read: if the interview was corrected since, nothing is decided (PROPOSAL_CHANGED). Only twins of the entity list can change (TWIN_OUTSIDE_LIST). The proposals of one device for a twin are decided in their order (PROPOSAL_WAITS)."
)

const exampleVersion = "7d1c0f9a52b84e6390aa17c4de25b86f"

// Routes adds proposals to a.
func (s *Proposals) Routes(a *web.API) {
	const path, tag = "/v1/surveys/{surveyId}/proposals", "surveys"
	web.Get(a, path, s.serveList, web.Doc{
		Summary: "List the twins and changes that interviews propose", Scope: "responses:pii", Tag: tag, Description: proposing, Codes: []string{"SURVEY_NOT_FOUND", "SCOPE_MISSING"},
	})
	web.Get(a, path+"/{proposalId}", s.serveGet, web.Doc{
		Summary: "Read a proposal of an interview for a twin", Scope: "responses:pii", Tag: tag, Codes: []string{"SURVEY_NOT_FOUND", "SCOPE_MISSING", "PROPOSAL_NOT_FOUND"},
	})
	web.Post(a, path+"/{proposalId}/decision", s.serveDecide, web.Doc{
		Summary: "Accept or reject a proposal of an interview for a twin", Scope: "entities:write", Tag: tag, Once: true, Description: deciding, Example: api.ProposalDecision{Decision: "accept", Version: exampleVersion},
		Codes: []string{
			"SURVEY_NOT_FOUND", "SCOPE_MISSING", "PROPOSAL_NOT_FOUND", "DECISION_INVALID", "PROPOSAL_DECIDED", "PROPOSAL_CHANGED", "PROPOSAL_WAITS", "CONTENT_ERASED", "LIST_MISSING", "TWIN_MISSING", "TWIN_OUTSIDE_LIST", "PROPERTY_NOT_PERSONAL",
			"STALE_REVISION", "NOT_CONTROLLER", "ENTITY_EXISTS", "ENTITY_DEACTIVATED", "ENTITY_INVALID", "PROPERTY_SCHEMA_VIOLATION",
		},
	})
}

type oneProposal struct {
	Survey string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
	ID     string `path:"proposalId" doc:"Id of the proposal." example:"prp_7310428377145344"`
}

func (s *Proposals) serveGet(ctx context.Context, in *oneProposal) (*api.Proposal, error) {
	return s.Get(ctx, in.Survey, in.ID)
}

// proposalPlace is where a list continues.
type proposalPlace struct {
	After int64 `json:"a"`
}

func (s *Proposals) serveList(ctx context.Context, in *struct {
	Survey string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
	Status string `query:"status" enum:"open,accepted,rejected,withdrawn" doc:"open by default." example:"open"`
	web.Paging
},
) (web.Reply[web.Page[*api.Proposal]], error) {
	if in.Status == "" {
		in.Status = open
	}
	var at proposalPlace
	return web.List(ctx, s.cfg.Cursors, in.Paging, &at, func(limit int) ([]*api.Proposal, *proposalPlace, error) {
		items, next, err := s.List(ctx, in.Survey, in.Status, at.After, limit)
		if next == 0 {
			return items, nil, err
		}
		return items, &proposalPlace{next}, err
	})
}

func (s *Proposals) serveDecide(ctx context.Context, in *struct {
	oneProposal
	Body api.ProposalDecision
},
) (web.Reply[*api.Proposal], error) {
	return s.Decide(ctx, in.Survey, in.ID, in.Body)
}
