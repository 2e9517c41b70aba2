package api

import "time"

// CreditAccount is the account of a user of the oracle.
type CreditAccount struct {
	DID       string    `json:"did" example:"did:ixo:entity:amina"`
	Status    string    `json:"status" enum:"active,inactive" doc:"The oracle answers only active accounts."`
	Balance   int64     `json:"balance" doc:"Credits. An answer that used more than was held back for it can bring it below zero." example:"490"`
	Held      int64     `json:"held" doc:"Part of the balance that is held back for answers in progress." example:"10"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// CreditStatus opens an account, or sets whether its user gets answers.
type CreditStatus struct {
	Status string `json:"status" enum:"active,inactive" example:"active"`
}

// CreditEntry is one change of an account.
type CreditEntry struct {
	ID        string    `json:"id" example:"1763416800000001"`
	Kind      string    `json:"kind" enum:"topUp,charge" doc:"topUp: by an operator; charge: for an answer."`
	Amount    int64     `json:"amount" doc:"What was added; negative when it was taken." example:"500"`
	Balance   int64     `json:"balance" doc:"After it." example:"500"`
	RunID     string    `json:"runId,omitempty" doc:"Of a charge: the run it is for."`
	Note      string    `json:"note,omitempty" example:"January"`
	By        string    `json:"by,omitempty" doc:"Of a topUp: DID of whoever entered it."`
	CreatedAt time.Time `json:"createdAt"`
}

// CreditTopUp adds credits to an account, or takes some back.
type CreditTopUp struct {
	Amount int64  `json:"amount" minimum:"-1000000000" maximum:"1000000000" doc:"Not 0. A negative amount takes credits back, but none that are held for an answer, and never below zero." example:"500"`
	Note   string `json:"note,omitempty" maxLength:"200" example:"January"`
}

// Credits is a user's view of their own account.
type Credits struct {
	Status  string `json:"status" enum:"active,inactive,none"`
	Balance int64  `json:"balance"`
	Held    int64  `json:"held"`
	Minimum int64  `json:"minimum" doc:"The least balance with which an answer begins."`
}
