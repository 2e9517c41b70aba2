package client

import (
	"context"
	"io"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Types of package api.
type (
	Evidence         = api.Evidence
	EvidenceFile     = api.EvidenceFile
	EvidencePlace    = api.EvidencePlace
	EvidenceDistance = api.EvidenceDistance
	EvidenceLinks    = api.EvidenceLinks
)

func evidencePath(id string) string { return responsePath(id) + "/evidence" }

// Evidence reads what a verifier sees of a response. Code: RESPONSE_NOT_FOUND.
func (v Verifications) Evidence(ctx context.Context, responseID string, opts ...Option) (*Evidence, error) {
	return do[Evidence](ctx, v.c, get(evidencePath(responseID), nil), opts)
}

// EvidenceFile reads a file of the evidence, by its hash. The caller closes it.
// Codes: RESPONSE_NOT_FOUND, ATTACHMENT_NOT_FOUND.
func (v Verifications) EvidenceFile(ctx context.Context, responseID, hash string, opts ...Option) (io.ReadCloser, error) {
	k := get(evidencePath(responseID)+"/"+url.PathEscape(hash), nil)
	k.long = true
	return v.c.download(ctx, k, opts)
}
