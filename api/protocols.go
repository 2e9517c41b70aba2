package api

// ProtocolBrief is a protocol in a few words.
type ProtocolBrief struct {
	DID     string `json:"did"`
	Name    string `json:"name,omitzero"`
	Version string `json:"version"`
	Class   string `json:"class"`
}
