package client

import (
	"context"
	"io"
	"net/url"
)

// Evidence is what a verifier looks at in a response: pictures, sounds, places
// and flags, without names and telephone numbers.
type Evidence struct {
	ResponseID string             `json:"responseId"`
	RecordID   string             `json:"recordId"`
	SurveyID   string             `json:"surveyId"`
	Revision   int64              `json:"revision"` // of the response
	Files      []EvidenceFile     `json:"files"`
	Places     []EvidencePlace    `json:"places"`    // rounded to 0.01 degrees
	Distances  []EvidenceDistance `json:"distances"` // exact
	Flags      []ResponseFlag     `json:"flags"`
	Closed     []string           `json:"closed,omitzero"`
	Erased     bool               `json:"erased,omitzero"`
	Links      EvidenceLinks      `json:"links"`
}

// EvidenceFile is an answer that is a file.
type EvidenceFile struct {
	Question  string `json:"question,omitzero"` // empty when it is no answer
	Type      string `json:"type"`              // photo, audio, file or signature
	SHA256    string `json:"sha256"`
	Received  bool   `json:"received"`
	MediaType string `json:"mediaType,omitzero"`
	Bytes     int64  `json:"bytes,omitzero"`
	Link      string `json:"link"`
}

// EvidencePlace is a position, rounded.
type EvidencePlace struct {
	At  string  `json:"at"` // pointer
	Lat float64 `json:"lat"`
	Lon float64 `json:"lon"`
}

// EvidenceDistance is how far two places are apart.
type EvidenceDistance struct {
	From   string  `json:"from"`
	To     string  `json:"to"` // pointer, or household
	Metres float64 `json:"metres"`
}

// EvidenceLinks are the addresses around the evidence of a response.
type EvidenceLinks struct {
	Self         string `json:"self"`
	Response     string `json:"response"`
	Verification string `json:"verification"`
}

func evidencePath(id string) string { return responsePath(id) + "/evidence" }

// Evidence reads what a verifier looks at. Code: RESPONSE_NOT_FOUND.
func (v Verifications) Evidence(ctx context.Context, responseID string, opts ...Option) (*Evidence, error) {
	return do[Evidence](ctx, v.c, get(evidencePath(responseID), nil), opts)
}

// EvidenceFile reads a file of it, by its hash. The caller closes it. Codes:
// RESPONSE_NOT_FOUND, ATTACHMENT_NOT_FOUND.
func (v Verifications) EvidenceFile(ctx context.Context, responseID, hash string, opts ...Option) (io.ReadCloser, error) {
	k := get(evidencePath(responseID)+"/"+url.PathEscape(hash), nil)
	k.long = true
	return v.c.download(ctx, k, opts)
}
