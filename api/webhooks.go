package api

// Replay is a range of events being sent again.
type Replay struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}
