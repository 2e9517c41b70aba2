// Package survey is area B: household surveys. This package holds the campaign:
// which questions are asked, of whom, by whom, when and how, and how far it has
// come. Templates, forms, responses, their verification and exports are packages
// of their own.
//
// It promises that a campaign asks what was decided when it began (the version of
// the template and its sections are pinned); that it starts only when every
// precondition holds, and otherwise names all that do not; that no change is lost
// (each names the revision it was made from) and each is kept with who, when and
// why; and that progress is read from counters that are stored together with what
// they count. Nothing here grows slower with the number of households.
//
// A Draft is what the maker of a campaign decides. Its rules are pure: a document
// is checked whole, and every problem is named by its JSON pointer.
package survey

import (
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

// Status is the stage of a campaign.
type Status string

// The statuses, in their order. An active campaign may pause, and a closed one
// be opened again.
const (
	StatusDraft    Status = "draft"
	StatusReady    Status = "ready"
	StatusActive   Status = "active"
	StatusPaused   Status = "paused"
	StatusClosed   Status = "closed"
	StatusArchived Status = "archived"
)

// Survey is the record of a campaign. The order of members is the order they
// are sent in.
type Survey struct {
	SurveyID  string `json:"surveyId" example:"srv_7310428377145344"`
	Type      string `json:"type" enum:"BaselineSurvey,FollowUpSurvey,MonitoringSurvey"`
	Stage     string `json:"stage" enum:"baseline,follow-up,monitoring"`
	ProjectID string `json:"projectId" doc:"DID of the project." example:"did:ixo:entity:123"`
	External  bool   `json:"external,omitzero" doc:"This server does not have the project."`
	Content
	Unasked      map[string][]string `json:"unasked,omitzero" doc:"Questions that ussd and chat leave out, such as photos and places, by mode."`
	Round        int                 `json:"round" doc:"The round that is open, counted from 1."`
	Rounds       []Round             `json:"rounds"`
	Status       Status              `json:"status" enum:"draft,ready,active,paused,closed,archived"`
	StatusReason string              `json:"statusReason,omitzero"`
	Revision     int64               `json:"revision"`
	Created      time.Time           `json:"created"`
	CreatedBy    string              `json:"createdBy"`
	Updated      time.Time           `json:"updated"`
	UpdatedBy    string              `json:"updatedBy"`
	Activated    time.Time           `json:"activated,omitzero" doc:"When it was first active."`
	Closed       time.Time           `json:"closed,omitzero"`
	Links        api.SurveyLinks     `json:"links"`
	Progress     *Progress           `json:"progress,omitzero" doc:"Progress of the open round. It is not part of the revision: poll links.progress."`
}

// Nouns of package api, by their names here.
type (
	Round     = api.SurveyRound
	Clone     = api.SurveyClone
	Revision  = api.SurveyRevision
	Merged    = api.MergedHouseholds
	RoundList = api.SurveyRounds
	Tally     = api.SurveyTally
	Progress  = api.SurveyProgress
	Report    = api.SurveyReport
	NextRound = api.NextRound
)

func linksOf(c *Survey) api.SurveyLinks {
	self := "/v1/surveys/" + c.SurveyID // needs no escaping: see surveyName
	return api.SurveyLinks{
		Self: self, Responses: self + "/responses", Template: "/v1/templates/" + c.TemplateID, Sampling: self + "/households", Activate: self + "/activate",
		Households: self + "/households", Collectors: self + "/collectors", Progress: self + "/progress",
		Quality: self + "/quality", Flags: self + "/flags", BackChecks: self + "/back-checks", Exports: self + "/exports", History: self + "/history",
	}
}
