package sampling

import (
	"context"
	"net/http"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const tag = "sampling"

// handlers answer the requests of the API with the use cases.
type handlers struct{ *Service }

const (
	read, write web.Scope = "sampling:read", "sampling:write"
	witness     web.Scope = "sampling:witness or sampling:write"
	prove       web.Scope = "sampling:write or sampling:witness or audit:read"
	base                  = "/v1/sampling/designs"
	one                   = base + "/{designId}"
)

// Routes adds the sampling API to a.
func (s *Service) Routes(a *web.API) {
	h := handlers{s}
	draftCodes := []string{invalidCode, conflictCode, tooFewCode, "DESIGN_EXISTS", "SURVEY_NOT_FOUND", "SURVEY_LOCKED", "SURVEY_LIST_NOT_EMPTY", "SAMPLING_TARGET_MISMATCH"}
	web.Post(a, "/v1/sampling", h.serveQuick, web.Doc{
		Summary: "Compute a sample and keep its design", Status: http.StatusCreated, Also: []int{http.StatusOK}, Scope: write, Tag: tag, Once: true, Example: example(""), Codes: draftCodes,
		Description: "As POST /v1/sampling/designs, and the population must be given. expectedMean is the expected proportion unless parameterType is mean; expectedSD is used for means. With dryRun=true nothing is kept.",
	})
	web.Post(a, base, h.serveCreate, web.Doc{
		Summary: "Create a sample design", Status: http.StatusCreated, Scope: write, Tag: tag, Once: true, Example: example("kitui-2026"), Codes: draftCodes, Description: designing,
	})
	web.Get(a, base, h.serveList, web.Doc{Summary: "List sample designs, newest first", Scope: read, Tag: tag, Description: "A page may be short: follow hasMore."})
	web.Get(a, one, h.serveGet, web.Doc{Summary: "Read a sample design", Scope: read, Tag: tag, Codes: []string{"DESIGN_NOT_FOUND", "VERSION_NOT_FOUND"}})
	web.Delete(a, one, h.serveDelete, web.Doc{
		Summary: "Delete a sample design", Scope: write, Tag: tag, Codes: []string{"DESIGN_NOT_FOUND"}, Description: "Its draws stay, and are shown with every later draw of the project.",
	})
	web.Get(a, one+"/versions", h.serveVersions, web.Doc{Summary: "List the versions of a sample design, newest first", Scope: read, Tag: tag, Codes: []string{"DESIGN_NOT_FOUND"}})
	web.Post(a, one+"/versions", h.serveRevise, web.Doc{
		Summary: "Make a new version of a sample design", Status: http.StatusCreated, Scope: write, Tag: tag, Once: true, Example: example(""), Codes: append(draftCodes, "DESIGN_NOT_FOUND"),
		Description: "The old one stays. Draws that were committed to keep the plan they had.",
	})
	web.Post(a, one+"/recalculate", h.serveRecalculate, web.Doc{
		Summary: "Make a new version from what was observed", Status: http.StatusCreated, Scope: write, Tag: tag, Once: true, Example: api.SampleObserved{Mean: number(.86), DropoutRate: number(.21), Reason: "First round"},
		Codes: []string{"DESIGN_NOT_FOUND", invalidCode, tooFewCode}, Description: "From the observed proportion or mean, spread, dropout, design effect and population. The old version stays.",
	})
	web.Post(a, one+"/approve", h.serveApprove, web.Doc{
		Summary: "Approve or reject the newest version", Scope: witness, Tag: tag, Once: true, Example: api.SampleApproval{Note: "Checked against the monitoring plan."},
		Codes: []string{"DESIGN_NOT_FOUND", "VERSION_NOT_FOUND", "APPROVER_IS_MAKER", invalidCode}, Description: "By somebody other than its maker.",
	})
	h.frameRoutes(a)
	h.drawRoutes(a)
	h.ownRoutes(a)
}

const designing = "The size follows from the target (confidence, and precision or marginOfError), from the expected values and from the population; designEffect and dropoutRate increase it, and strata or clusters divide it. " +
	"Then: freeze the frame (POST …/frame), commit to a draw (POST …/commit), let another party or a public beacon add its part (POST …/contribute), and draw (POST …/draw). docs/sampling.md leads through it."

func (h handlers) frameRoutes(a *web.API) {
	web.Post(a, one+"/frame", h.servePutFrame, web.Doc{
		Summary: "Freeze the list of households to choose from", Status: http.StatusCreated, Also: []int{http.StatusAccepted}, Scope: write, Tag: tag, Once: true, MaxBody: maxCSV + 1<<20,
		Example:     api.SampleFrameDraft{CSV: "household,stratum\ndid:ixo:household/1,rural\ndid:ixo:household/2,rural\ndid:ixo:household/3,urban\ndid:ixo:household/4,urban\n"},
		Codes:       []string{"DESIGN_NOT_FOUND", badFrame, tooFewCode, conflictCode, "SCOPE_MISSING", "INVALID_FILTER", "UNKNOWN_FIELD", "INVALID_PARAMETER"},
		Description: "From a file, answered at once, or from the twins that a query finds, read at one moment by a job (202). hash is the SHA-256 of the published frame: the line unit,stratum,cluster and a line for each household, sorted by unit. Strata and clusters that the design does not have are left out. Columns are separated by commas, semicolons or tabs. With units pseudonym the scope `responses:pii` is needed too.",
	})
	a.Handle(http.MethodPost, one+"/frame/file", h.serveFrameFile, web.Doc{
		Summary: "Freeze the households of a large file", Status: http.StatusAccepted, Scope: write, Tag: tag, Once: true, Consumes: "text/csv", Answer: api.SampleFrame{},
		Query:       []web.Param{{Name: "Idempotency-Key", Doc: "Send the same key again to get the same frame.", Header: true}},
		Codes:       []string{"DESIGN_NOT_FOUND", "BODY_REQUIRED", "BODY_TOO_LARGE", "TOO_MANY_FILES", "SCOPE_MISSING"},
		Description: "The body is the file, at most 512 MiB and 5,000,000 households, with the columns of csv in POST …/frame. A job reads it; what is wrong with it is in the job and in the warnings of the frame.",
	})
	web.Get(a, one+"/frame", h.serveGetFrame, web.Doc{
		Summary: "Read the newest frame of a design, and how many a draw takes from it", Scope: read, Tag: tag, Codes: []string{"DESIGN_NOT_FOUND", "FRAME_NOT_FOUND"},
	})
	a.Handle(http.MethodGet, one+"/frame.csv", h.serveFrame, web.Doc{
		Summary: "Fetch the published frame", Scope: prove, Tag: tag, Produces: "text/csv", Codes: []string{"DESIGN_NOT_FOUND", "FRAME_NOT_FOUND", "SCOPE_MISSING"}, Answer: "",
		Query:       []web.Param{{Name: "frameId", Doc: "The newest by default."}},
		Description: "Its SHA-256 is the hash of the frame. For keys with one of sampling:write, sampling:witness and audit:read; where units are DIDs also responses:pii or sampling:write.",
	})
}

func (h handlers) drawRoutes(a *web.API) {
	stateCodes := []string{"DESIGN_NOT_FOUND", "SAMPLE_DRAW_NOT_FOUND", wrongNow, badDraw}
	web.Post(a, one+"/commit", h.serveCommit, web.Doc{
		Summary: "Commit to a draw", Status: http.StatusCreated, Scope: write, Tag: tag, Once: true, Example: api.SampleCommit{Second: api.SampleSecond{Source: "party"}, Reason: "As planned."},
		Codes: []string{"DESIGN_NOT_FOUND", "FRAME_NOT_FOUND", wrongNow, badDraw, "FRAME_DRAWN", tooFewCode, conflictCode, "SURVEY_NOT_FOUND", "SURVEY_LOCKED", "SURVEY_LIST_NOT_EMPTY", "SAMPLING_TARGET_MISMATCH"},
		Description: "Binds the next draw to the frame, the plan and a hidden first part of the seed, by the clock of the server, and names the source of the second part: another principal, or a public value at a future time. " +
			"The audit log records it as sampling.committed. A commitment that is never drawn stays in the list of draws.",
	})
	web.Post(a, one+"/contribute", h.serveContribute, web.Doc{
		Summary: "Add the second part of the seed", Scope: witness, Tag: tag, Once: true, Example: api.SampleContribution{Part: "6 14 22 31 40 45, lottery of 1 March"},
		Codes: append(stateCodes, "SECOND_PARTY_INVALID", "BEACON_NOT_YET"), Description: "Sent by the party that the commitment names, or by anybody but the committer; the value of a beacon once its time has come, in the format of the commitment.",
	})
	web.Post(a, one+"/draw", h.serveDraw, web.Doc{
		Summary: "Draw the sample", Status: http.StatusCreated, Also: []int{http.StatusOK, http.StatusAccepted}, Scope: write, Tag: tag, Example: api.SampleDrawDraft{Seed: "20240220", Reason: "As planned."},
		Codes: append(stateCodes, "COMMITMENT_MISMATCH", "FRAME_NOT_FOUND", "FRAME_DRAWN", tooFewCode, conflictCode, "SURVEY_NOT_FOUND", "SURVEY_LOCKED", "SURVEY_LIST_NOT_EMPTY", "SAMPLING_TARGET_MISMATCH"),
		Description: "seed = SHA-256(first part 0x1F second part) as hex digits. In each stratum the households with the lowest SHA-256(seed 0x1F unit) are drawn; those that follow are its replacements. " +
			"Clusters are drawn first where the design has them: by rank, or by size in equal steps over the ranked list. With seed, and no commitment, the draw is marked soleSeed. The sample becomes the list of the design's survey. " +
			"A frame of more than 20,000 households is drawn by a job (202). Repeating the request is answered with 200, and continues where it was interrupted.",
	})
	web.Get(a, one+"/draw", h.serveGetDraw, web.Doc{
		Summary: "Read the newest draw of a design, with those before it", Scope: read, Tag: tag, Codes: stateCodes[:2],
		Description: "Seed and parts are shown once it is drawn, to keys with one of sampling:write, sampling:witness and audit:read.",
	})
	web.Get(a, one+"/draw/units", h.serveUnits, web.Doc{
		Summary: "List the households of a draw", Scope: read, Tag: tag, Codes: append(stateCodes[:2:2], "INVALID_PARAMETER"),
		Description: "In the order of the draw. A replacement is listed only once it is used. householdId is only for keys with responses:pii; the list of the survey names households to their collectors.",
	})
	web.Post(a, one+"/replacements", h.serveReplace, web.Doc{
		Summary: "Replace a drawn household by the next one", Status: http.StatusCreated, Scope: "sampling:write or surveys:assign", Tag: tag, Once: true, Example: api.SampleReplacement{HouseholdID: "did:ixo:household/1", Reason: "Moved away; neighbours confirm."},
		Codes:       append(stateCodes, "UNIT_NOT_DRAWN", "UNIT_REPLACED", "REPLACEMENTS_EXHAUSTED", "SURVEY_LOCKED"),
		Description: "In the order that the draw fixed, in the same stratum or cluster. Nobody sees which household comes next before the reason is stored. Figures count the first draw: a replacement hides no refusal. If the replaced household answers after all, its answer counts and the replacement is surplus.",
	})
	web.Get(a, one+"/verify", h.serveVerify, web.Doc{
		Summary: "Repeat the newest draw of a design and compare", Scope: prove, Tag: tag, Codes: append(stateCodes[:3:3], "SCOPE_MISSING", "VERIFY_IN_JOB"), Description: verifying,
	})
	web.Post(a, one+"/verify", h.serveVerifyLater, web.Doc{
		Summary: "Have a job repeat the newest draw of a design", Status: http.StatusAccepted, Scope: prove, Tag: tag, Example: struct{}{}, Codes: append(stateCodes[:3:3], "SCOPE_MISSING"), Description: "The result of the job is the answer of GET …/verify.",
	})
	a.Handle(http.MethodGet, one+"/record", h.serveRecord, web.Doc{
		Summary: "Fetch the record of the newest draw of a design", Scope: prove, Tag: tag, Answer: api.SampleRecord{}, Codes: append(stateCodes[:3:3], "SCOPE_MISSING"), Description: recording,
	})
}

const (
	verifying = "For keys with one of sampling:write, sampling:witness and audit:read. Up to 20,000 households; larger draws by POST. Each failed check names the member of the record that is wrong."
	recording = "Frame, design, plan, seed with its parts, sample, used replacements and the entries of the audit log in one file, to publish: hearth sample verify FILE repeats the draw without a server, as does the script in docs/sampling.md. With units pseudonym it holds no DID of a household."
	kept      = " A draw is found by its id also when it is not the newest of its design, or the design was deleted."
)

// ownRoutes are those of draws by their own ids.
func (h handlers) ownRoutes(a *web.API) {
	const all, draw = "/v1/sampling/draws", "/v1/sampling/draws/{drawId}"
	codes := []string{"SAMPLE_DRAW_NOT_FOUND", wrongNow, "SCOPE_MISSING"}
	web.Get(a, all, h.serveDraws, web.Doc{
		Summary: "List all draws of a project, newest first", Scope: read, Tag: tag, Codes: []string{"INVALID_PARAMETER"},
		Description: "Includes draws of deleted designs and commitments that were never drawn; with frameHash only those of one frame.",
	})
	web.Get(a, draw, h.serveOneDraw, web.Doc{Summary: "Read a draw", Scope: read, Tag: tag, Codes: codes[:1], Description: "As GET /v1/sampling/designs/{designId}/draw." + kept})
	web.Get(a, draw+"/units", h.serveUnitsOf, web.Doc{
		Summary: "List the households of one draw", Scope: read, Tag: tag, Codes: append(codes[:1:1], "INVALID_PARAMETER"), Description: "As GET /v1/sampling/designs/{designId}/draw/units." + kept,
	})
	web.Get(a, draw+"/verify", h.serveVerifyOf, web.Doc{Summary: "Repeat a draw and compare", Scope: prove, Tag: tag, Codes: append(codes[:3:3], "VERIFY_IN_JOB"), Description: verifying + kept})
	web.Post(a, draw+"/verify", h.serveVerifyOfLater, web.Doc{
		Summary: "Have a job repeat a draw", Status: http.StatusAccepted, Scope: prove, Tag: tag, Example: struct{}{}, Codes: codes, Description: "The result of the job is the answer of GET …/verify." + kept,
	})
	a.Handle(http.MethodGet, draw+"/record", h.serveRecord, web.Doc{Summary: "Fetch the record of a draw", Scope: prove, Tag: tag, Answer: api.SampleRecord{}, Codes: codes, Description: recording + kept})
}

func number(v float64) *float64 { return &v }

// example is the documented request.
func example(id string) Draft {
	yes := true
	return Draft{
		DesignID: id, ProjectID: "did:ixo:entity:123", Population: number(5000), Confidence: number(.95), Precision: number(.05), ExpectedMean: number(.8), ExpectedSD: number(.2),
		DropoutRate:    number(.15),
		Stratification: &api.SampleStratification{Enabled: &yes, Strata: []api.SampleStratum{{Name: "rural", Weight: number(.6)}, {Name: "urban", Weight: number(.4)}}},
	}
}

func (h handlers) serveQuick(ctx context.Context, in *struct {
	DryRun bool `query:"dryRun" doc:"true: compute, answer with 200 and keep nothing."`
	Body   Draft
},
) (web.Reply[*Design], error) {
	if populationOf(&in.Body) == 0 && Check(&in.Body) == nil {
		return web.Reply[*Design]{}, fault.New(fault.Unprocessable, tooFewCode, "The size depends on the population.").
			With(fault.Field{Pointer: "/population", Code: "required", Detail: "Give the population, or make a design with POST /v1/sampling/designs and freeze its frame."})
	}
	if in.DryRun {
		v, err := h.prepare(ctx, in.Body)
		return web.Reply[*Design]{Value: v, Status: http.StatusOK}, err
	}
	return h.Create(ctx, in.Body)
}

func (h handlers) serveCreate(ctx context.Context, in *struct{ Body Draft }) (web.Reply[*Design], error) {
	return h.Create(ctx, in.Body)
}

// place is where a list continues.
type place struct {
	Before int64 `json:"b"`
}

func (h handlers) serveList(ctx context.Context, in *struct {
	Project string `query:"projectId" doc:"Only designs of this project."`
	web.Paging
},
) (web.Reply[web.Page[*Design]], error) {
	var at place
	return web.List(ctx, h.cfg.Cursors, in.Paging, &at, func(limit int) ([]*Design, place, error) {
		items, next, err := h.List(ctx, in.Project, at.Before, limit)
		return items, place{next}, err
	})
}

// ofDesign names a design.
type ofDesign struct {
	ID string `path:"designId" doc:"Id of the design." example:"kitui-2026"`
}

func (h handlers) serveGet(ctx context.Context, in *struct {
	ofDesign
	Version int `query:"version" doc:"The newest by default."`
},
) (web.Reply[*Design], error) {
	return h.Get(ctx, in.ID, in.Version)
}

func (h handlers) serveDelete(ctx context.Context, in *ofDesign) (*Design, error) {
	return h.Delete(ctx, in.ID)
}

func (h handlers) serveVersions(ctx context.Context, in *struct {
	ofDesign
	web.Paging
},
) (web.Reply[web.Page[*Design]], error) {
	var at place
	return web.List(ctx, h.cfg.Cursors, in.Paging, &at, func(limit int) ([]*Design, place, error) {
		items, next, err := h.Versions(ctx, in.ID, int(at.Before), limit)
		return items, place{int64(next)}, err
	})
}

func (h handlers) serveRevise(ctx context.Context, in *struct {
	ofDesign
	Body Draft
},
) (web.Reply[*Design], error) {
	return h.Revise(ctx, in.ID, in.Body)
}

func (h handlers) serveRecalculate(ctx context.Context, in *struct {
	ofDesign
	Body api.SampleObserved
},
) (web.Reply[*Design], error) {
	return h.Recalculate(ctx, in.ID, in.Body)
}

func (h handlers) serveApprove(ctx context.Context, in *struct {
	ofDesign
	Body api.SampleApproval
},
) (web.Reply[*Design], error) {
	return h.Approve(ctx, in.ID, in.Body)
}

func (h handlers) servePutFrame(ctx context.Context, in *struct {
	ofDesign
	Body api.SampleFrameDraft
},
) (web.Reply[*api.SampleFrame], error) {
	return h.PutFrame(ctx, in.ID, in.Body)
}

func (h handlers) serveGetFrame(ctx context.Context, in *struct {
	ofDesign
	Frame string `query:"frameId" doc:"The newest by default."`
},
) (*api.SampleFrame, error) {
	return h.Frame(ctx, in.ID, in.Frame)
}

func (h handlers) serveCommit(ctx context.Context, in *struct {
	ofDesign
	Body api.SampleCommit
},
) (web.Reply[*api.SampleDraw], error) {
	return h.Commit(ctx, in.ID, in.Body)
}

func (h handlers) serveContribute(ctx context.Context, in *struct {
	ofDesign
	Body api.SampleContribution
},
) (web.Reply[*api.SampleDraw], error) {
	return h.Contribute(ctx, in.ID, in.Body)
}

func (h handlers) serveDraw(ctx context.Context, in *struct {
	ofDesign
	Body api.SampleDrawDraft
},
) (web.Reply[*api.SampleDraw], error) {
	return h.Draw(ctx, in.ID, in.Body)
}

func (h handlers) serveGetDraw(ctx context.Context, in *ofDesign) (web.Reply[*api.SampleDraw], error) {
	return h.GetDraw(ctx, in.newest())
}

// newest names the newest draw of the design.
func (in *ofDesign) newest() Which { return Which{Design: in.ID} }

// ofDraw names a draw.
type ofDraw struct {
	ID string `path:"drawId" doc:"Id of the draw." example:"drw_7310428377145344"`
}

func (in *ofDraw) which() Which { return Which{Draw: in.ID} }

// ofState narrows the households of a draw.
type ofState struct {
	State string `query:"state" enum:"drawn,replaced,replacement" doc:"Only those in one state."`
	web.Paging
}

func (h handlers) units(ctx context.Context, w Which, in ofState) (web.Reply[web.Page[*api.SampleUnit]], error) {
	var at place
	return web.List(ctx, h.cfg.Cursors, in.Paging, &at, func(limit int) ([]*api.SampleUnit, place, error) {
		items, next, err := h.Units(ctx, w, in.State, int(at.Before), limit)
		return items, place{int64(next)}, err
	})
}

func (h handlers) serveUnits(ctx context.Context, in *struct {
	ofDesign
	ofState
},
) (web.Reply[web.Page[*api.SampleUnit]], error) {
	return h.units(ctx, in.newest(), in.ofState)
}

func (h handlers) serveUnitsOf(ctx context.Context, in *struct {
	ofDraw
	ofState
},
) (web.Reply[web.Page[*api.SampleUnit]], error) {
	return h.units(ctx, in.which(), in.ofState)
}

func (h handlers) serveOneDraw(ctx context.Context, in *ofDraw) (web.Reply[*api.SampleDraw], error) {
	return h.GetDraw(ctx, in.which())
}

func (h handlers) serveDraws(ctx context.Context, in *struct {
	Project string `query:"projectId" doc:"The project." example:"did:ixo:entity:123"`
	Frame   string `query:"frameHash" doc:"Only draws of the frame with this hash."`
	web.Paging
},
) (web.Reply[web.Page[*api.SampleDraw]], error) {
	var at place
	return web.List(ctx, h.cfg.Cursors, in.Paging, &at, func(limit int) ([]*api.SampleDraw, place, error) {
		items, next, err := h.Draws(ctx, in.Project, in.Frame, at.Before, limit)
		return items, place{next}, err
	})
}

func (h handlers) serveReplace(ctx context.Context, in *struct {
	ofDesign
	Body api.SampleReplacement
},
) (web.Reply[*api.SampleUnit], error) {
	return h.Replace(ctx, in.ID, in.Body)
}

func (h handlers) serveVerify(ctx context.Context, in *ofDesign) (*api.SampleCheck, error) {
	return h.Verify(ctx, in.newest())
}

func (h handlers) serveVerifyOf(ctx context.Context, in *ofDraw) (*api.SampleCheck, error) {
	return h.Verify(ctx, in.which())
}

func (h handlers) serveVerifyLater(ctx context.Context, in *ofDesign) (web.Reply[job.Job], error) {
	return h.VerifyLater(ctx, in.newest())
}

func (h handlers) serveVerifyOfLater(ctx context.Context, in *ofDraw) (web.Reply[job.Job], error) {
	return h.VerifyLater(ctx, in.which())
}
