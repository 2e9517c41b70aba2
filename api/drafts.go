package api

import "time"

// DraftSummary describes an interview that was begun and not sent, without its
// answers.
type DraftSummary struct {
	DraftState
	HouseholdID string `json:"householdId"`
}

// DraftState is the stored state of an interview that was begun and not sent.
type DraftState struct {
	ResponseID string     `json:"responseId" doc:"The id the response is to have."`
	SurveyID   string     `json:"surveyId"`
	Revision   int64      `json:"revision" doc:"Counts how often it was saved."`
	SavedAt    time.Time  `json:"savedAt"`
	ExpiresAt  time.Time  `json:"expiresAt" doc:"It is removed then, unless it is saved again."`
	Links      DraftLinks `json:"links"`
}

// DraftLinks are the addresses around a draft.
type DraftLinks struct {
	Self   string `json:"self"`
	Survey string `json:"survey"`
}
