package api

// Name is the name of a DID.
type Name struct {
	DID      string `json:"did"`
	Kind     string `json:"kind" enum:"twin,protocol,key,agent" doc:"What it names: a twin, a protocol, somebody with API keys, or the oracle of this server."`
	Type     string `json:"type,omitzero" doc:"Of a twin." example:"Household"`
	Name     string `json:"name,omitzero" doc:"Absent when it has none, or when you may not read it."`
	Withheld bool   `json:"withheld,omitzero" doc:"It has a name that you may not read: that of a twin is personal and needs entities:pii, that of a key needs keys:read."`
}

// Names are the names of DIDs, in the order they were asked for. Unknown DIDs
// are left out.
type Names struct {
	Items []Name `json:"items"`
}

// SearchHit is one result of a search.
type SearchHit struct {
	Kind       string `json:"kind" enum:"twin,survey,response,key,member"`
	ID         string `json:"id" doc:"DID of a twin, key or member; surveyId or responseId." example:"did:ixo:device/stove-7"`
	Name       string `json:"name,omitzero" doc:"Absent when it has none, or when you may not read it."`
	Type       string `json:"type,omitzero" doc:"Of a twin." example:"CleanCookingDevice"`
	Status     string `json:"status,omitzero" doc:"Of a twin or survey; of a response that of its verification."`
	Survey     string `json:"survey,omitzero" doc:"surveyId of a response."`
	Match      string `json:"match" enum:"name,id,externalId,phone,place" doc:"What the text was found in."`
	Found      string `json:"found,omitzero" doc:"The external id that does." example:"SN-1042"`
	Place      string `json:"place,omitzero" doc:"Where a twin is, if it says so and you may read it: village, district." example:"Mwala, Machakos"`
	ExternalID string `json:"externalId,omitzero" doc:"What another system calls a twin, the first of several." example:"HH-0042"`
	Link       string `json:"link" doc:"Where to read it." example:"/v1/entities/did:ixo:device%2Fstove-7"`
}

// SearchResult is everything that a text finds, at most five of each kind.
type SearchResult struct {
	Items []SearchHit `json:"items"`
	More  []string    `json:"more,omitzero" doc:"Kinds of which there is more: type further letters."`
}

// Counts counts everything, from counters that are updated with each change. A
// part that the key may not read is absent.
type Counts struct {
	Twins     map[string]map[string]int64 `json:"twins,omitzero" doc:"By type, then by status."`
	Responses map[string]map[string]int64 `json:"responses,omitzero" doc:"By status (complete, partial, refused), then by status of the verification."`
	Jobs      map[string]map[string]int64 `json:"jobs,omitzero" doc:"By kind, then by status; jobs that have ended are kept for a while."`
}
