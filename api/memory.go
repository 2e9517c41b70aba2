package api

import "time"

// Memory is something a user has asked the oracle to remember.
type Memory struct {
	ID        string    `json:"id" example:"fe5f9c1d2a3b0c9d8e7f"`
	Text      string    `json:"text" maxLength:"500" example:"The pilot in Kitui has 120 stoves."`
	CreatedAt time.Time `json:"createdAt"`
}

// Forgotten says how many memories were removed.
type Forgotten struct {
	Forgotten int `json:"forgotten" example:"1"`
}
