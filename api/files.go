package api

import "time"

// MadeFile is a file that the oracle has made for a user.
type MadeFile struct {
	ID        string    `json:"id" example:"fe5f9c1d2a3b0c9d8e7f"`
	Name      string    `json:"name" example:"stoves.csv"`
	MediaType string    `json:"mediaType" example:"text/csv; charset=utf-8"`
	Bytes     int       `json:"bytes"`
	URL       string    `json:"url" doc:"Where the user it was made for, and nobody else, can read it." example:"/files/fe5f9c1d2a3b0c9d8e7f"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt" doc:"When it is removed."`
}
