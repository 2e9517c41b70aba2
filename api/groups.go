package api

// GroupDraft asks for a group.
type GroupDraft struct {
	Name    string   `json:"name" minLength:"1" maxLength:"200" example:"collectors"`
	Scopes  []string `json:"scopes,omitzero" maxItems:"100" doc:"What its members may do; you must have each of them." example:"entities:read"`
	Members []string `json:"members,omitzero" maxItems:"100" doc:"DIDs of its first members."`
}
