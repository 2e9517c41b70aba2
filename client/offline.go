package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

// Types of package api.
type (
	BatchItem          = api.BatchItem
	ResponseBatch      = api.ResponseBatch
	ConflictLinks      = api.ConflictLinks
	ConflictResolution = api.ConflictResolution
	Attachment         = api.Attachment
)

// Batch sends 1 to 500 responses at once; each names its ResponseID and
// SurveyID, so sending them again stores nothing more. Code: BATCH_INVALID.
func (r Responses) Batch(ctx context.Context, items []ResponseDraft, opts ...Option) (*ResponseBatch, error) {
	k := call{method: http.MethodPost, path: responsesPath + ":batch", body: map[string]any{"items": items}, safe: true}
	return do[ResponseBatch](ctx, r.c, k, opts)
}

// ResponseConflict is a content of a batch that clashed with a stored response,
// or is held because it came after its survey had closed or paused.
type ResponseConflict struct {
	ConflictID     string               `json:"conflictId"`
	SurveyID       string               `json:"surveyId"`
	Code           string               `json:"code"`                // RESPONSE_CONFLICT, DUPLICATE_HOUSEHOLD_RESPONSE, SURVEY_CLOSED or SURVEY_PAUSED
	ResponseID     string               `json:"responseId,omitzero"` // none of one that is held
	SentResponseID string               `json:"sentResponseId"`
	HouseholdID    string               `json:"householdId"`
	SentBy         string               `json:"sentBy"`
	ReceivedAt     time.Time            `json:"receivedAt"`
	StoredRevision int64                `json:"storedRevision,omitzero"` // of the response, when this one came
	Differences    []ResponseDifference `json:"differences"`             // to that revision
	Withheld       []string             `json:"withheld,omitzero"`       // pointers of what is hidden from this key
	Sent           *ResponseDraft       `json:"sent,omitzero"`           // with the scope responses:pii
	Mergeable      bool                 `json:"mergeable"`               // needs no decision, as far as this key may know
	Erased         bool                 `json:"erased,omitzero"`
	ResolvedAt     time.Time            `json:"resolvedAt,omitzero"`
	ResolvedBy     string               `json:"resolvedBy,omitzero"`
	Resolution     string               `json:"resolution,omitzero"`
	Reason         string               `json:"reason,omitzero"`
	Links          ConflictLinks        `json:"links"`
}

// ResponseDifference is one thing in which the contents differ.
type ResponseDifference struct {
	Pointer string `json:"pointer"`
	Stored  any    `json:"stored,omitzero"`
	Sent    any    `json:"sent,omitzero"`
	Masked  bool   `json:"masked,omitzero"` // not for this key to read
}

// Conflicts walks over the conflicts of a survey: the open ones, or those that
// were resolved. An error ends it.
func (r Responses) Conflicts(ctx context.Context, surveyID string, resolved bool, q PageQuery, opts ...Option) iter.Seq2[ResponseConflict, error] {
	v := q.values()
	if resolved {
		v.Set("resolved", strconv.FormatBool(resolved))
	}
	return pages[ResponseConflict](ctx, r.c, surveyPath(surveyID)+"/conflicts", v, opts)
}

func conflictPath(surveyID, id string) string {
	return surveyPath(surveyID) + "/conflicts/" + url.PathEscape(id)
}

// Conflict reads a conflict. Codes: SURVEY_NOT_FOUND, CONFLICT_NOT_FOUND.
func (r Responses) Conflict(ctx context.Context, surveyID, id string, opts ...Option) (*ResponseConflict, error) {
	return do[ResponseConflict](ctx, r.c, get(conflictPath(surveyID, id), nil), opts)
}

// Resolve decides a conflict. For a held content, stored refuses it and sent
// accepts it, which needs the scope surveys:write. Codes: CONFLICT_RESOLVED,
// RESOLUTION_INVALID, CONTENT_ERASED, RESPONSE_LOCKED, SURVEY_ARCHIVED,
// NOT_COLLECTOR, STALE_REVISION.
func (r Responses) Resolve(ctx context.Context, surveyID, id string, d ConflictResolution, opts ...Option) (*ResponseConflict, error) {
	return do[ResponseConflict](ctx, r.c, post(conflictPath(surveyID, id)+"/resolve", d), opts)
}

// Attachments are the files of responses, by the SHA-256 of their bytes.
type Attachments struct{ c *Client }

func attachmentPath(hash string) string { return "/v1/attachments/" + url.PathEscape(hash) }

// Put sends a file of at most 20 MiB, which is held in memory meanwhile. hash
// is its SHA-256 in lower-case hexadecimal; mediaType such as image/jpeg. Codes:
// ATTACHMENT_MISMATCH, ATTACHMENT_TYPE, IMAGE_TOO_LARGE, BODY_TOO_LARGE, TOO_MANY_FILES.
func (a Attachments) Put(ctx context.Context, hash, mediaType string, file io.Reader, opts ...Option) (*Attachment, error) {
	raw, err := readFile(file)
	if err != nil {
		return nil, err
	}
	k := put(attachmentPath(hash), raw)
	k.media, k.long = mediaType, true
	if mediaType == "" {
		k.media = "application/octet-stream"
	}
	return do[Attachment](ctx, a.c, k, opts)
}

// Get reads a file. The caller closes it. Code: ATTACHMENT_NOT_FOUND.
func (a Attachments) Get(ctx context.Context, hash string, opts ...Option) (io.ReadCloser, error) {
	k := get(attachmentPath(hash), nil)
	k.long = true
	return a.c.download(ctx, k, opts)
}

// Has reports whether a file has arrived that the caller has sent or may read.
func (a Attachments) Has(ctx context.Context, hash string, opts ...Option) (bool, error) {
	_, err := a.c.send(ctx, call{method: http.MethodHead, path: attachmentPath(hash)}, opts)
	if e := new(Error); errors.As(err, &e) && e.Status == http.StatusNotFound {
		return false, nil
	}
	return err == nil, err
}
