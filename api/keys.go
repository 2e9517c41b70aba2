package api

import "time"

// Session is the session of a browser: a person gets it in exchange for an API
// key, so that no page holds the key itself. It always has the current rights
// of the key.
type Session struct {
	ID        string    `json:"id"`
	Key       string    `json:"key" doc:"Id of the API key it has the rights of."`
	Name      string    `json:"name" doc:"Name of that key."`
	Principal string    `json:"principal" doc:"DID it speaks for."`
	CreatedAt time.Time `json:"createdAt"`
	SeenAt    time.Time `json:"seenAt" doc:"Of the last request, accurate to about five minutes."`
	EndsAt    time.Time `json:"endsAt" doc:"When it ends if there is no further request."`
	Address   string    `json:"address" doc:"Where it was opened from."`
	Agent     string    `json:"agent" doc:"The browser's own description of itself (User-Agent)."`
	Current   bool      `json:"current" doc:"Whether this request belongs to it."`
}

// KeyDraft asks for a key.
type KeyDraft struct {
	Name      string    `json:"name" minLength:"1" maxLength:"200" doc:"What the key is for." example:"tablet of the Kitui team"`
	Role      string    `json:"role,omitempty" enum:"owner,manager,collector,supervisor,verifier,evaluator,auditor,device,supplier,member" doc:"A named set of scopes; scopes adds others to it. A member key has the scopes that the groups of its principal give at the moment, and nothing else."`
	Scopes    []string  `json:"scopes,omitempty" doc:"What the key may do: entities:read, entities:*, or * for all." example:"entities:read,surveys:read"`
	Principal string    `json:"principal,omitempty" doc:"DID the key speaks for; a new one by default. Only an owner can name anyone but themselves."`
	Projects  []string  `json:"projects,omitempty" doc:"DIDs. When given, only these projects exist for the key."`
	Networks  []string  `json:"networks,omitempty" doc:"Networks or addresses the key works from." example:"192.0.2.0/24"`
	ExpiresAt time.Time `json:"expiresAt,omitzero" doc:"When the key stops working; never by default."`
}

// Workspace is a tenant: every record belongs to one, and nobody sees the
// records of another.
type Workspace struct {
	ID        string    `json:"id" example:"kitui"`
	Name      string    `json:"name"`
	Operator  bool      `json:"operator" doc:"Whether its keys may run the server."`
	CreatedAt time.Time `json:"createdAt"`
	CreatedBy string    `json:"createdBy" doc:"DID of whoever made it."`
	Revision  int64     `json:"revision"`
}

// WorkspaceDraft asks for a workspace.
type WorkspaceDraft struct {
	ID   string `json:"id" minLength:"2" maxLength:"63" pattern:"^[a-z0-9][a-z0-9-]*[a-z0-9]$" doc:"Chosen once; it never changes." example:"kitui"`
	Name string `json:"name" minLength:"1" maxLength:"200" example:"Kitui stove programme"`
}

// QR is a QR code to draw: black squares of one unit on a white ground.
type QR struct {
	Size int    `json:"size" doc:"Width and height, with the margin that readers need."`
	Path string `json:"path" doc:"What is black, as the path of an SVG."`
}
