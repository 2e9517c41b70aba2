package api

// Verdict is what a verifier says about a twin.
type Verdict struct {
	Status   string `json:"status" enum:"unverified,pending,verified,rejected,revoked,expired" example:"verified"`
	Evidence string `json:"evidence,omitzero" doc:"What it rests on: words or a link; at most 2000 characters."`
	Reason   string `json:"reason,omitzero" doc:"Why, for the history; one line of at most 1,000 characters. Of a claim one of the reasonCodes of its protocol, where those are listed."`
	Oracle   string `json:"oracle,omitzero" doc:"DID of the oracle you speak for, where the protocol says which oracles verify a claim, or how many; one that you control when absent."`
	Revision *int64 `json:"revision,omitzero" doc:"The revision you have judged, as the entity shows it; in place of If-Match." example:"1"`
}
