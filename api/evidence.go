package api

// Evidence is what a verifier sees of a response: pictures, sounds, places and
// flags, without names and telephone numbers.
type Evidence struct {
	ResponseID string             `json:"responseId" example:"resp_789"`
	RecordID   string             `json:"recordId" example:"rec~7310428377145344"`
	SurveyID   string             `json:"surveyId"`
	Revision   int64              `json:"revision" doc:"Of the response."`
	Files      []EvidenceFile     `json:"files" doc:"Photos, sounds and files of questions that are not marked as direct, in the order of the template, then those that came with the response and are no answer; the first 100."`
	Places     []EvidencePlace    `json:"places" doc:"Where the interview was (/location) and the answers that are places and not marked as direct, rounded to 0.01 degrees (about 1 km)."`
	Distances  []EvidenceDistance `json:"distances" doc:"Between the place of the interview, the household as the survey lists it, and answers that are places and marked as indirect; exact. Places without a mark have no distances: everybody can read such a place, and several distances from it would reveal where the others are. For the same reason a key that may change lists or responses gets none, nor metres in flags, unless it has responses:pii."`
	Flags      []ResponseFlag     `json:"flags" doc:"Findings of checks in the response, for people to look at."`
	Closed     []string           `json:"closed,omitzero" doc:"Pointers of files and places that exist and are marked as direct, and of all marked signatures: reading them needs the scope responses:pii."`
	Erased     bool               `json:"erased,omitzero" doc:"The household was erased: files, places and everything that was marked are gone."`
	Links      EvidenceLinks      `json:"links"`
}

// EvidenceFile is an answer that is a file.
type EvidenceFile struct {
	Question  string `json:"question,omitzero" doc:"Pointer of the answer; absent when it is none." example:"/responses/installation/photo"`
	Type      string `json:"type" enum:"photo,audio,file,signature"` // photo, audio, file or signature
	SHA256    string `json:"sha256"`
	Received  bool   `json:"received" doc:"The file has arrived."`
	MediaType string `json:"mediaType,omitzero" example:"image/jpeg"`
	Bytes     int64  `json:"bytes,omitzero"`
	Link      string `json:"link"`
}

// EvidencePlace is a position, rounded.
type EvidencePlace struct {
	At  string  `json:"at" doc:"Pointer." example:"/location"`
	Lat float64 `json:"lat" example:"-1.29"`
	Lon float64 `json:"lon" example:"36.82"`
}

// EvidenceDistance is the distance between two places.
type EvidenceDistance struct {
	From   string  `json:"from" example:"/location"`
	To     string  `json:"to" doc:"A pointer, or household for the place the survey lists." example:"household"`
	Metres float64 `json:"metres" example:"12"`
}

// EvidenceLinks are the addresses around the evidence of a response.
type EvidenceLinks struct {
	Self         string `json:"self"`
	Response     string `json:"response"`
	Verification string `json:"verification"`
}
