package api

import "time"

// UserPreferences is how a user wants the oracle to talk. An empty member was
// not set.
type UserPreferences struct {
	AgentName          string    `json:"agentName,omitempty" maxLength:"80" doc:"What the user calls the oracle." example:"Jiko"`
	UserName           string    `json:"userName,omitempty" maxLength:"80" doc:"What the oracle calls the user." example:"Amina"`
	Language           string    `json:"language,omitempty" maxLength:"20" example:"sw"`
	Tone               string    `json:"tone,omitempty" maxLength:"80" example:"warm"`
	Formality          string    `json:"formality,omitempty" enum:"casual,friendly,neutral,semi-formal,professional,formal,technical,academic" example:"friendly"`
	CustomInstructions string    `json:"customInstructions,omitempty" maxLength:"2000"`
	UpdatedAt          time.Time `json:"updatedAt,omitzero" doc:"When they were set; the server's own, ignored in a request."`
}
