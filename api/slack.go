package api

import "time"

// SlackCode links the caller who asked for it to Slack.
type SlackCode struct {
	Code      string    `json:"code" doc:"Write \"link CODE\" to the app in Slack. It counts once." example:"K7QX2M4PZB3A"`
	ExpiresAt time.Time `json:"expiresAt" example:"2026-03-01T12:10:00Z"`
}

// SlackLinks are the caller's accounts in Slack.
type SlackLinks struct {
	Links []SlackLink `json:"links"`
}

// SlackLink is one of them.
type SlackLink struct {
	ID   string `json:"id" example:"T0123ABCD.U0456EFGH"`
	Team string `json:"team"`
	User string `json:"user"`
}
