package client

import (
	"context"
	"io"
	"iter"
	"net/http"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// Sampling is sample designs, their frames and draws.
type Sampling struct{ c *Client }

// Types of package api.
type (
	SampleDesignDraft    = api.SampleDesignDraft
	SampleDesign         = api.SampleDesign
	SampleStratification = api.SampleStratification
	SampleStratum        = api.SampleStratum
	SampleClusters       = api.SampleClusters
	SampleParameters     = api.SampleParameters
	SampleApproval       = api.SampleApproval
	SampleObserved       = api.SampleObserved
	SampleFrameDraft     = api.SampleFrameDraft
	SampleQuery          = api.SampleQuery
	SampleFrame          = api.SampleFrame
	SamplePlan           = api.SamplePlan
	SampleCommit         = api.SampleCommit
	SampleSecond         = api.SampleSecond
	SampleContribution   = api.SampleContribution
	SampleDrawDraft      = api.SampleDrawDraft
	SampleDraw           = api.SampleDraw
	SampleUnit           = api.SampleUnit
	SampleEntry          = api.SampleEntry
	SampleReplacement    = api.SampleReplacement
	SampleRecord         = api.SampleRecord
	SampleCheck          = api.SampleCheck
)

const designsPath = "/v1/sampling/designs"

func designPath(id string) string { return designsPath + "/" + url.PathEscape(id) }

// Compute computes a sample of a known population and keeps its design. Codes:
// SAMPLING_PARAMETERS_INVALID, STRATA_CONFLICT, INSUFFICIENT_POPULATION.
func (s Sampling) Compute(ctx context.Context, d SampleDesignDraft, opts ...Option) (*SampleDesign, error) {
	return do[SampleDesign](ctx, s.c, post("/v1/sampling", d), opts)
}

// Size computes a sample and keeps nothing. Codes are those of Compute.
func (s Sampling) Size(ctx context.Context, d SampleDesignDraft, opts ...Option) (*SampleDesign, error) {
	return do[SampleDesign](ctx, s.c, call{method: http.MethodPost, path: "/v1/sampling", query: url.Values{"dryRun": {"true"}}, body: d, safe: true}, opts)
}

// Create makes a design. Codes are those of Compute, and DESIGN_EXISTS.
func (s Sampling) Create(ctx context.Context, d SampleDesignDraft, opts ...Option) (*SampleDesign, error) {
	return do[SampleDesign](ctx, s.c, post(designsPath, d), opts)
}

// Get reads a version of a design; 0 is the newest. Codes: DESIGN_NOT_FOUND,
// VERSION_NOT_FOUND.
func (s Sampling) Get(ctx context.Context, id string, version int, opts ...Option) (*SampleDesign, error) {
	v := url.Values{}
	setInt(v, "version", int64(version))
	return do[SampleDesign](ctx, s.c, get(designPath(id), v), opts)
}

// List walks over the designs of a project, or of all when project is "".
func (s Sampling) List(ctx context.Context, project string, opts ...Option) iter.Seq2[SampleDesign, error] {
	v := url.Values{}
	set(v, "projectId", project)
	return pages[SampleDesign](ctx, s.c, designsPath, v, opts)
}

// Delete removes a design from lists; its draws stay. Code: DESIGN_NOT_FOUND.
func (s Sampling) Delete(ctx context.Context, id string, opts ...Option) (*SampleDesign, error) {
	return do[SampleDesign](ctx, s.c, call{method: http.MethodDelete, path: designPath(id)}, opts)
}

// Versions walks over the versions of a design, newest first.
func (s Sampling) Versions(ctx context.Context, id string, opts ...Option) iter.Seq2[SampleDesign, error] {
	return pages[SampleDesign](ctx, s.c, designPath(id)+"/versions", url.Values{}, opts)
}

// Revise makes a new version of a design. Codes are those of Create.
func (s Sampling) Revise(ctx context.Context, id string, d SampleDesignDraft, opts ...Option) (*SampleDesign, error) {
	return do[SampleDesign](ctx, s.c, post(designPath(id)+"/versions", d), opts)
}

// Recalculate makes a new version from observations. Codes:
// SAMPLING_PARAMETERS_INVALID, INSUFFICIENT_POPULATION.
func (s Sampling) Recalculate(ctx context.Context, id string, o SampleObserved, opts ...Option) (*SampleDesign, error) {
	return do[SampleDesign](ctx, s.c, post(designPath(id)+"/recalculate", o), opts)
}

// Approve decides about the newest version. Codes: APPROVER_IS_MAKER,
// VERSION_NOT_FOUND.
func (s Sampling) Approve(ctx context.Context, id string, a SampleApproval, opts ...Option) (*SampleDesign, error) {
	return do[SampleDesign](ctx, s.c, post(designPath(id)+"/approve", a), opts)
}

// PutFrame freezes the households to choose from. A job reads those of the
// registry, and the state is building until then. Codes: FRAME_INVALID,
// INSUFFICIENT_POPULATION, STRATA_CONFLICT.
func (s Sampling) PutFrame(ctx context.Context, id string, d SampleFrameDraft, opts ...Option) (*SampleFrame, error) {
	return do[SampleFrame](ctx, s.c, post(designPath(id)+"/frame", d), opts)
}

// PutFrameFile freezes the households of a large CSV file; a job reads it. Codes:
// BODY_TOO_LARGE, SCOPE_MISSING.
func (s Sampling) PutFrameFile(ctx context.Context, id string, csv io.Reader, opts ...Option) (*SampleFrame, error) {
	raw, err := readFile(csv)
	if err != nil {
		return nil, err
	}
	k := post(designPath(id)+"/frame/file", raw)
	k.media, k.long = "text/csv", true
	return do[SampleFrame](ctx, s.c, k, opts)
}

// Frame reads the newest frame. Code: FRAME_NOT_FOUND.
func (s Sampling) Frame(ctx context.Context, id string, opts ...Option) (*SampleFrame, error) {
	return do[SampleFrame](ctx, s.c, get(designPath(id)+"/frame", nil), opts)
}

// FrameCSV opens the published frame, whose SHA-256 is its hash. Close it. Codes:
// FRAME_NOT_FOUND, SCOPE_MISSING.
func (s Sampling) FrameCSV(ctx context.Context, id string, opts ...Option) (io.ReadCloser, error) {
	return s.c.download(ctx, get(designPath(id)+"/frame.csv", nil), opts)
}

// Commit binds the next draw to a frame and a hidden part of its seed. Codes:
// FRAME_NOT_FOUND, FRAME_DRAWN, SAMPLE_DRAW_INVALID.
func (s Sampling) Commit(ctx context.Context, id string, in SampleCommit, opts ...Option) (*SampleDraw, error) {
	return do[SampleDraw](ctx, s.c, post(designPath(id)+"/commit", in), opts)
}

// Contribute adds the second part of the seed. Codes: SECOND_PARTY_INVALID,
// BEACON_NOT_YET, SAMPLE_DRAW_STATE_INVALID.
func (s Sampling) Contribute(ctx context.Context, id, part string, opts ...Option) (*SampleDraw, error) {
	return do[SampleDraw](ctx, s.c, post(designPath(id)+"/contribute", SampleContribution{Part: part}), opts)
}

// Draw draws the sample; for a large frame the state is drawing until a job has
// done it. Codes: COMMITMENT_MISMATCH, FRAME_DRAWN, SAMPLE_DRAW_STATE_INVALID.
func (s Sampling) Draw(ctx context.Context, id string, in SampleDrawDraft, opts ...Option) (*SampleDraw, error) {
	return do[SampleDraw](ctx, s.c, post(designPath(id)+"/draw", in), opts)
}

// GetDraw reads the newest draw. Code: SAMPLE_DRAW_NOT_FOUND.
func (s Sampling) GetDraw(ctx context.Context, id string, opts ...Option) (*SampleDraw, error) {
	return do[SampleDraw](ctx, s.c, get(designPath(id)+"/draw", nil), opts)
}

// Units walks over the households of the newest draw; state "" means all but
// unused replacements.
func (s Sampling) Units(ctx context.Context, id, state string, opts ...Option) iter.Seq2[SampleUnit, error] {
	v := url.Values{}
	set(v, "state", state)
	return pages[SampleUnit](ctx, s.c, designPath(id)+"/draw/units", v, opts)
}

// Draws walks over all draws of a project, or of one frame in it, also of deleted
// designs.
func (s Sampling) Draws(ctx context.Context, project, frameHash string, opts ...Option) iter.Seq2[SampleDraw, error] {
	v := url.Values{}
	set(v, "projectId", project)
	set(v, "frameHash", frameHash)
	return pages[SampleDraw](ctx, s.c, drawsPath, v, opts)
}

const drawsPath = "/v1/sampling/draws"

func drawPath(id string) string { return drawsPath + "/" + url.PathEscape(id) }

// OneDraw reads a draw by its id, also of a deleted design. Code:
// SAMPLE_DRAW_NOT_FOUND.
func (s Sampling) OneDraw(ctx context.Context, drawID string, opts ...Option) (*SampleDraw, error) {
	return do[SampleDraw](ctx, s.c, get(drawPath(drawID), nil), opts)
}

// UnitsOf walks over the households of a draw, as Units does.
func (s Sampling) UnitsOf(ctx context.Context, drawID, state string, opts ...Option) iter.Seq2[SampleUnit, error] {
	v := url.Values{}
	set(v, "state", state)
	return pages[SampleUnit](ctx, s.c, drawPath(drawID)+"/units", v, opts)
}

// VerifyOf repeats a draw and compares. Codes: VERIFY_IN_JOB, SCOPE_MISSING.
func (s Sampling) VerifyOf(ctx context.Context, drawID string, opts ...Option) (*SampleCheck, error) {
	return do[SampleCheck](ctx, s.c, get(drawPath(drawID)+"/verify", nil), opts)
}

// VerifyOfLater is VerifyOf as a job, whose result is a SampleCheck.
func (s Sampling) VerifyOfLater(ctx context.Context, drawID string, opts ...Option) (*Job, error) {
	return do[Job](ctx, s.c, post(drawPath(drawID)+"/verify", Object{}), opts)
}

// RecordOf opens the record of a draw, as Record does. Close it.
func (s Sampling) RecordOf(ctx context.Context, drawID string, opts ...Option) (io.ReadCloser, error) {
	return s.c.download(ctx, get(drawPath(drawID)+"/record", nil), opts)
}

// Replace returns the next household as a replacement of a drawn one. Codes:
// UNIT_NOT_DRAWN, UNIT_REPLACED, REPLACEMENTS_EXHAUSTED.
func (s Sampling) Replace(ctx context.Context, id string, in SampleReplacement, opts ...Option) (*SampleUnit, error) {
	return do[SampleUnit](ctx, s.c, post(designPath(id)+"/replacements", in), opts)
}

// Verify repeats the newest draw and compares. Codes: VERIFY_IN_JOB,
// SCOPE_MISSING.
func (s Sampling) Verify(ctx context.Context, id string, opts ...Option) (*SampleCheck, error) {
	return do[SampleCheck](ctx, s.c, get(designPath(id)+"/verify", nil), opts)
}

// VerifyLater is Verify as a job, whose result is a SampleCheck.
func (s Sampling) VerifyLater(ctx context.Context, id string, opts ...Option) (*Job, error) {
	return do[Job](ctx, s.c, post(designPath(id)+"/verify", Object{}), opts)
}

// Record opens the record of the newest draw, for publication: a SampleRecord as
// JSON. Close it. Codes: SAMPLE_DRAW_STATE_INVALID, SCOPE_MISSING.
func (s Sampling) Record(ctx context.Context, id string, opts ...Option) (io.ReadCloser, error) {
	return s.c.download(ctx, get(designPath(id)+"/record", nil), opts)
}
