package template

import (
	"context"
	"math"
	"net/http"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const creating = "A new template is version 1, a draft. Publish it with POST /v1/templates/{templateId}/publish; then surveys can use it. Texts are a string, or an object of language to string. " +
	"relevant, required, constraint and calculate are CEL expressions over the answers: every section is a map of its answers, and a question whose id is unique can also be named directly. " +
	"A survey needs a question of the type consent: a section such as {\"id\":\"consent\",\"questions\":[{\"id\":\"agreed\",\"type\":\"consent\"}]} is all that the example lacks. An interview without an answer to it is partial and flagged (consent_missing), or only flagged where validations.consentOptional is true; where the question is required it is refused, or partial. " +
	"Limits: 1,000 templates of 100 versions each in a workspace, 512 KiB a version, 100 sections, 1,000 questions, 1,000 options a question."

const importing = "The body is an XLSForm workbook (.xlsx, at most 8 MiB) or a template in JSON; members that the server sets may be present and are ignored. It becomes a draft: mode=create (default) makes a new template, " +
	"mode=update replaces the draft of the existing one, with If-Match as in PUT, and mode=check stores nothing and answers 200. report lists what could not be carried over from a workbook, one line each with its row. " +
	"CSV files that a form names (select_one_from_file, select_multiple_from_file, pulldata(), search(), instance()) are sent with it as multipart/form-data: a part form with the workbook and a part for each file, with its file name: " +
	"curl -F form=@survey.xlsx -F files=@villages.csv. They are UTF-8, with the names of the columns in the first line, at most 2 MiB and 20,000 rows each, 20 files and 4 MiB together. " +
	"If a file is missing, the answer names it with the row that needs it, and nothing is stored; with mode=update, files that the template has need not be sent again. Anybody who may read a template can read its files: leave out what nobody needs. " +
	"Questions that look personal are marked, and named in the report, unless hearth_pii says otherwise. Columns that begin with hearth_ hold what XLSForm has no column for: docs/xlsform.md lists them, and the workbook of a template shows them in use."

// handlers answer the requests of the API with the use cases.
type handlers struct{ service *Service }

// Routes adds the template API to a.
func (s *Service) Routes(a *web.API) {
	h := handlers{s}
	const tag = "templates"
	const read, write = "templates:read", "templates:write"
	web.Post(a, "/v1/templates", h.serveCreate, web.Doc{
		Summary: "Create a template", Status: http.StatusCreated, Scope: write, Tag: tag, Once: true, Description: creating, Example: example("my-baseline"),
		Codes: []string{"TEMPLATE_INVALID", "TEMPLATE_EXISTS", "TOO_MANY_TEMPLATES", "KEY_RESTRICTED"},
	})
	web.Get(a, "/v1/templates", h.serveList, web.Doc{
		Summary: "List templates: the shipped ones, then your own", Scope: read, Tag: tag,
		Description: "One item for each template: its newest published version, otherwise a deprecated one, otherwise its draft. A page may be short: follow hasMore.",
	})
	a.Handle(http.MethodPost, "/v1/templates:import", h.serveImport, web.Doc{
		Summary: "Import a template from XLSForm or JSON", Status: http.StatusCreated, Scope: write, Tag: tag, Once: true, Answer: Imported{}, Description: importing,
		Consumes: mediaXLSX + ", " + mediaJSON + ", " + mediaForm, Also: []int{http.StatusOK}, Example: example("imported-baseline"),
		Query: []web.Param{
			{Name: "templateId", Doc: "Identifier of the template; by default the one in the file.", Example: "imported-baseline"},
			{Name: "mode", Doc: "create (default), update, or check: read it, answer 200 with the report and the template, and store nothing.", Example: "create"},
			{Name: "If-Match", Doc: "For mode=update: ETag of the draft, or of the newest version when there is none.", Header: true},
			{Name: "Idempotency-Key", Doc: "Send the same key again to get the stored answer instead of repeating the request.", Header: true},
		},
		Codes: []string{
			"TEMPLATE_IMPORT_INVALID", "TEMPLATE_INVALID", "TEMPLATE_EXISTS", "TEMPLATE_NOT_FOUND", "TEMPLATE_PUBLISHED", "TEMPLATE_CHANGED",
			"TOO_MANY_TEMPLATES", "TOO_MANY_VERSIONS", "STALE_REVISION", "PRECONDITION_REQUIRED", "UNSUPPORTED_MEDIA_TYPE", "BODY_TOO_LARGE", "KEY_RESTRICTED",
		},
	})
	web.Get(a, "/v1/templates/{templateId}", h.serveGet, web.Doc{
		Summary: "Read a template", Scope: read, Tag: tag, Codes: []string{"TEMPLATE_NOT_FOUND", "TEMPLATE_VERSION_NOT_FOUND"},
		Description: "Without a version you get the newest published one, otherwise a deprecated one, otherwise the draft.",
	})
	web.Put(a, "/v1/templates/{templateId}", h.serveUpdate, web.Doc{
		Summary: "Give the draft new content, or open the draft of the next version", Scope: write, Tag: tag, Also: []int{http.StatusCreated}, Example: example(""),
		Description: "Published versions do not change: when there is no draft, the answer is 201 with the draft of the next version. If-Match is the ETag of the draft; when there is none, that of the newest version or of the one that is shown. " +
			"Members that the server sets may be repeated unchanged.",
		Codes: []string{"TEMPLATE_NOT_FOUND", "TEMPLATE_INVALID", "TEMPLATE_PUBLISHED", "TEMPLATE_CHANGED", "TOO_MANY_VERSIONS", "STALE_REVISION", "PRECONDITION_REQUIRED"},
	})
	web.Delete(a, "/v1/templates/{templateId}", h.serveDelete, web.Doc{
		Summary: "Discard the draft of a template", Scope: write, Tag: tag,
		Description: "A template that was never published is deleted; otherwise its published versions stay.",
		Codes:       []string{"TEMPLATE_NOT_FOUND", "TEMPLATE_PUBLISHED", "TEMPLATE_CHANGED", "STALE_REVISION", "PRECONDITION_REQUIRED"},
	})
	h.versionRoutes(a, tag, read, write)
	h.useRoutes(a, tag, read, write)
}

// versionRoutes adds the routes about versions and their status.
func (h handlers) versionRoutes(a *web.API, tag string, read, write web.Scope) {
	missing := []string{"TEMPLATE_NOT_FOUND", "TEMPLATE_VERSION_NOT_FOUND"}
	codes := append([]string{"STATE_TRANSITION_INVALID", "TEMPLATE_PUBLISHED", "TEMPLATE_CHANGED", "STALE_REVISION"}, missing...)
	web.Get(a, "/v1/templates/{templateId}/versions", h.serveVersions, web.Doc{
		Summary: "List the versions of a template, newest first", Scope: read, Tag: tag, Codes: []string{"TEMPLATE_NOT_FOUND"},
	})
	web.Get(a, "/v1/templates/{templateId}/versions/{version}", h.serveVersion, web.Doc{Summary: "Read a version of a template", Scope: read, Tag: tag, Codes: missing})
	a.Handle(http.MethodGet, "/v1/templates/{templateId}/versions/{version}/xlsform", h.serveXLSForm, web.Doc{
		Summary: "Download a version as XLSForm", Scope: read, Tag: tag, Produces: mediaXLSX, Codes: append([]string{"TEMPLATE_EXPORT_TOO_LARGE"}, missing...),
		Description: "A workbook that ODK Collect, Kobo and others read.",
	})
	if h.service.cfg.XForm != nil {
		a.Handle(http.MethodGet, "/v1/templates/{templateId}/versions/{version}/xform", h.serveXForm, web.Doc{
			Summary: "Download a version as XForm", Scope: read, Tag: tag, Produces: mediaXML, Codes: append([]string{"XFORM_NOT_POSSIBLE"}, missing...),
			Description: "The form for ODK Collect and similar programs. It contains everything in the template: if XPath cannot express something, the request is refused with its place, and nothing is left out. Collectors get the forms of their surveys from their own address: docs/odk.md.",
		})
	}
	a.Handle(http.MethodGet, "/v1/templates/{templateId}/versions/{version}/files", h.serveFiles, web.Doc{
		Summary: "Download the files of a version", Scope: read, Tag: tag, Produces: mediaZIP, Codes: missing,
		Description: "A ZIP archive of the CSV files with choices, or with values that expressions look up, as they were sent with POST /v1/templates:import.",
	})
	web.Post(a, "/v1/templates/{templateId}/publish", h.serveMove(Publish), web.Doc{
		Summary: "Publish the draft", Scope: write, Tag: tag, Once: true, Example: Change{}, Codes: codes,
		Description: "From now on only its status can change, and surveys can use it. warnings name what ODK Collect cannot ask: surveys of such a template are not offered to phones, and can be asked in every other way.",
	})
	web.Post(a, "/v1/templates/{templateId}/deprecate", h.serveMove(Deprecate), web.Doc{
		Summary: "Deprecate a published version", Scope: write, Tag: tag, Once: true, Example: Change{Reason: "Version 2 asks about heating as well."}, Codes: codes,
		Description: "It still works; there is something better.",
	})
	web.Post(a, "/v1/templates/{templateId}/retire", h.serveMove(Retire), web.Doc{
		Summary: "Retire a version", Scope: write, Tag: tag, Once: true, Example: Change{Reason: "Its questions were misunderstood."}, Codes: codes,
		Description: "No new survey can use it; surveys that already do continue.",
	})
	web.Get(a, "/v1/templates/{templateId}/diff", h.serveDiff, web.Doc{
		Summary: "Compare two versions", Scope: read, Tag: tag, Codes: missing,
		Description: "Question by question, and whether responses to one version still fit the other.",
	})
}

// useRoutes adds the routes that look at a template, copy and review it.
func (h handlers) useRoutes(a *web.API, tag string, read, write web.Scope) {
	missing := []string{"TEMPLATE_NOT_FOUND", "TEMPLATE_VERSION_NOT_FOUND"}
	web.Post(a, "/v1/templates/{templateId}/preview", h.servePreview, web.Doc{
		Summary: "See a template as one person would, given some answers", Scope: read, Tag: tag, Codes: append([]string{"TEMPLATE_INVALID"}, missing...),
		Description: "Nothing is stored. The answer is 200 whether the answers are valid or not.",
		Example:     map[string]any{"language": "en", "answers": map[string]any{"eligibility": map[string]any{"current_cooking": []string{"wood", "charcoal"}}}},
	})
	web.Post(a, "/v1/templates/{templateId}/clone", h.serveClone, web.Doc{
		Summary: "Copy a template", Status: http.StatusCreated, Scope: write, Tag: tag, Once: true, Example: Clone{TemplateID: "my-copy", Title: form.Plain("Our baseline")},
		Description: "The copy is a draft of its own. Shipped templates are changed this way.",
		Codes:       append([]string{"TEMPLATE_EXISTS", "TEMPLATE_INVALID", "TOO_MANY_TEMPLATES"}, missing...),
	})
	web.Get(a, "/v1/templates/{templateId}/languages", h.serveLanguages, web.Doc{
		Summary: "See how complete a template is in each language", Scope: read, Tag: tag, Codes: missing,
	})
	web.Get(a, "/v1/templates/{templateId}/reviews", h.serveReviews, web.Doc{
		Summary: "List the reviews of a template, latest first", Scope: read, Tag: tag, Codes: []string{"TEMPLATE_NOT_FOUND"},
		Description: "state says when the next review is due: the review interval after the last review, or after the publication of the current version if that was later.",
	})
	web.Post(a, "/v1/templates/{templateId}/reviews", h.serveReview, web.Doc{
		Summary: "Record a review of a template's suitability", Status: http.StatusCreated, Scope: write, Tag: tag, Once: true,
		Example:     map[string]any{"findings": "Questions are understood; the fuel units fit.", "decision": "keep"},
		Description: "The reviewer is the caller. Reviews are never changed. Each workspace reviews shipped templates for itself. A decision is a record: use PUT to revise and POST …/retire to retire.",
		Codes:       append([]string{"REVIEW_INVALID", "TEMPLATE_NOT_PUBLISHED"}, missing...),
	})
}

// example is the documented template.
func example(id string) any {
	t := map[string]any{
		"sections": []any{
			map[string]any{"id": "eligibility", "questions": []any{
				map[string]any{"id": "current_cooking", "type": "multiple_choice", "required": true, "options": []string{"wood", "charcoal", "lpg", "electric"}},
			}},
			map[string]any{"id": "socio_economic", "questions": []any{
				map[string]any{"id": "household_size", "type": "number", "validation": map[string]any{"min": 1, "max": 20}},
			}},
		},
		"validations": map[string]any{"requiredSections": []string{"eligibility"}, "completionThreshold": 0.8},
	}
	if id != "" {
		t["templateId"] = id
	}
	return t
}

func (h handlers) serveCreate(ctx context.Context, in *struct{ Body form.Template }) (web.Reply[*Version], error) {
	return h.service.Create(ctx, in.Body)
}

func (h handlers) serveList(ctx context.Context, in *struct {
	Stage  string `query:"stage" doc:"Only templates of this stage." enum:"baseline,follow-up,monitoring"`
	Status string `query:"status" doc:"Only templates shown in this status." enum:"draft,published,deprecated,retired"`
	Q      string `query:"q" doc:"Only templates with this in their identifier or title, in any case; at most 100 characters."`
	web.Paging
},
) (web.Reply[web.Page[Summary]], error) {
	var at spot
	return web.List(ctx, h.service.cfg.Cursors, in.Paging, &at, func(limit int) ([]Summary, *spot, error) {
		return h.service.List(ctx, Filter{Stage: in.Stage, Status: Status(in.Status), Q: in.Q}, at, limit)
	})
}

// oneIn names a template, and perhaps a version of it.
type oneIn struct {
	TemplateID string     `path:"templateId" doc:"Identifier of the template."`
	Version    web.Number `query:"version" doc:"Number of the version." example:"1"`
}

// one is the number of a version, 0 when it is not given.
func one(at string, n web.Number) (int, error) {
	var c fault.Checks
	version := n.In(&c, at, 1, math.MaxInt32, 0)
	return int(version), c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

func (h handlers) serveGet(ctx context.Context, in *oneIn) (web.Reply[*Version], error) {
	version, err := one("query/version", in.Version)
	if err != nil {
		return web.Reply[*Version]{}, err
	}
	return h.service.Get(ctx, in.TemplateID, version)
}

func (h handlers) serveVersion(ctx context.Context, in *versionIn) (web.Reply[*Version], error) {
	version, err := one("path/version", in.Version)
	if err != nil {
		return web.Reply[*Version]{}, err
	}
	return h.service.Get(ctx, in.TemplateID, version)
}

func (h handlers) serveUpdate(ctx context.Context, in *struct {
	TemplateID string `path:"templateId" doc:"Identifier of the template."`
	IfMatch    string `header:"If-Match" doc:"ETag of the draft you have read, or of the newest version when there is none; * for any."`
	Body       Edit
},
) (web.Reply[*Version], error) {
	return h.service.Update(ctx, in.TemplateID, in.IfMatch, in.Body.Template)
}

func (h handlers) serveDelete(ctx context.Context, in *struct {
	TemplateID string `path:"templateId" doc:"Identifier of the template."`
	IfMatch    string `header:"If-Match" doc:"ETag of the draft you have read; * for any."`
},
) (*Version, error) {
	return h.service.Delete(ctx, in.TemplateID, in.IfMatch)
}

// named names a template.
type named struct {
	TemplateID string `path:"templateId" doc:"Identifier of the template."`
}

func (h handlers) serveVersions(ctx context.Context, in *named) (*VersionList, error) {
	items, err := h.service.Versions(ctx, in.TemplateID)
	if err != nil {
		return nil, err
	}
	return &VersionList{TemplateID: in.TemplateID, Items: items}, nil
}

// moveIn is the input of the routes that change a status.
type moveIn struct {
	TemplateID string `path:"templateId" doc:"Identifier of the template."`
	IfMatch    string `header:"If-Match" doc:"ETag of the version you have read; optional."`
	Body       *Change
}

func (h handlers) serveMove(verb string) func(context.Context, *moveIn) (web.Reply[*Version], error) {
	return func(ctx context.Context, in *moveIn) (web.Reply[*Version], error) {
		if in.Body == nil {
			in.Body = &Change{}
		}
		return h.service.Move(ctx, in.TemplateID, verb, in.IfMatch, *in.Body)
	}
}

func (h handlers) serveDiff(ctx context.Context, in *struct {
	TemplateID string     `path:"templateId" doc:"Identifier of the template."`
	From       web.Number `query:"from" doc:"Version; the one before to by default." example:"1"`
	To         web.Number `query:"to" doc:"Version; the newest by default, drafts too." example:"2"`
},
) (*Diff, error) {
	var c fault.Checks
	from := in.From.In(&c, "query/from", 1, math.MaxInt32, 0)
	to := in.To.In(&c, "query/to", 1, math.MaxInt32, 0)
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return nil, err
	}
	return h.service.Diff(ctx, in.TemplateID, int(from), int(to))
}

func (h handlers) servePreview(ctx context.Context, in *struct {
	TemplateID string `path:"templateId" doc:"Identifier of the template."`
	Body       PreviewDraft
},
) (*Preview, error) {
	return h.service.Preview(ctx, in.TemplateID, in.Body)
}

func (h handlers) serveClone(ctx context.Context, in *struct {
	TemplateID string `path:"templateId" doc:"Identifier of the template."`
	Body       Clone
},
) (web.Reply[*Version], error) {
	return h.service.Clone(ctx, in.TemplateID, in.Body)
}

func (h handlers) serveLanguages(ctx context.Context, in *struct {
	TemplateID string     `path:"templateId" doc:"Identifier of the template."`
	Version    web.Number `query:"version" doc:"Number of the version; the newest by default, drafts too." example:"1"`
},
) (*Languages, error) {
	version, err := one("query/version", in.Version)
	if err != nil {
		return nil, err
	}
	return h.service.Languages(ctx, in.TemplateID, version)
}

// ReviewPage is a page of reviews, and the resulting state of the template.
type ReviewPage struct {
	Items []Review     `json:"items"`
	Page  web.PageInfo `json:"page"`
	State ReviewState  `json:"state"`
}

func (h handlers) serveReviews(ctx context.Context, in *struct {
	TemplateID string `path:"templateId" doc:"Identifier of the template."`
	web.Paging
},
) (web.Reply[ReviewPage], error) {
	var none web.Reply[ReviewPage]
	at := firstReview()
	page, err := web.List(ctx, h.service.cfg.Cursors, in.Paging, &at, func(limit int) ([]Review, *reviewSpot, error) {
		return h.service.Reviews(ctx, in.TemplateID, at, limit)
	})
	if err != nil {
		return none, err
	}
	state, err := h.service.Review(ctx, h.service.db, web.CallerFrom(ctx).Workspace, in.TemplateID, h.service.now())
	if err != nil {
		return none, err
	}
	return web.Reply[ReviewPage]{Value: ReviewPage{Items: page.Value.Items, Page: page.Value.Page, State: state}, Link: page.Link}, nil
}

func (h handlers) serveReview(ctx context.Context, in *struct {
	TemplateID string `path:"templateId" doc:"Identifier of the template."`
	Body       ReviewDraft
},
) (web.Reply[*Review], error) {
	return h.service.AddReview(ctx, in.TemplateID, in.Body)
}
