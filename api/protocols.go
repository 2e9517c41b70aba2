package api

// ProtocolBrief is a short description of a protocol.
type ProtocolBrief struct {
	DID     string `json:"did"`
	Name    string `json:"name,omitzero"`
	Version string `json:"version"`
	Class   string `json:"class"`
}

// ProtocolLinks are the addresses of a version.
type ProtocolLinks struct {
	Self     string `json:"self"`
	Schema   string `json:"schema"`
	Versions string `json:"versions"`
}

// ProtocolMove asks for another status of a version.
type ProtocolMove struct {
	Version string `json:"version,omitzero" doc:"Which version; the newest one this can be done to by default." example:"1.0.0"`
	Reason  string `json:"reason,omitzero" doc:"Why, for the record."`
}
