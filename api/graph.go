package api

import "time"

// GraphEdge is a relationship in a graph, in its canonical direction.
type GraphEdge struct {
	ID       string    `json:"id" example:"rel_7310428377145344"`
	From     string    `json:"from" doc:"DID of the source."`
	To       string    `json:"to" doc:"DID of the target."`
	Role     string    `json:"role" example:"implements"`
	Since    time.Time `json:"since,omitzero"`
	Until    time.Time `json:"until,omitzero"`
	External bool      `json:"external,omitzero" doc:"The target is not held here."`
}
