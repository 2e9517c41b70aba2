package export

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const tag = "exports"

const exporting = "Every response as it was at asOf, or when the export was asked for, in the order of their arrival, as a file that can be read for 24 hours. Redacted responses are never in it, superseded and " +
	"invalidated ones only when verification names them. The answer is a job; the export has the id of the job.\n\n" +
	"wide has a row for each response. A question is the column section.question. Several choices are joined with ; in one column, as are all other cells with several values, and each option has a column section.question/option with 1 or 0 " +
	"(in a rank its place); an answer in the respondent's own words is in section.question/other. A position is section.question/lat and /lon, a quantity has its unit in /unit, a matrix the columns section.question.row. A repeat is JSON in one cell. " +
	"long has a row for each answer: responseId, householdId, round, section, question, index (places in the repeats and lists around it, from 1), value; several choices are several rows. " +
	"repeats=tables gives each repeat of a wide CSV or XLSX file a table of its own, section.question, with the columns responseId, parentIndex, index and those of its questions, and a row for each entry; parentIndex is the index of the entry around it where repeats are nested. " +
	"The cell of the repeat has the number of entries then. CSV becomes a zip with responses.csv and a file for each repeat, XLSX has a sheet for each. media=true makes a zip of the file and of all attachments of its responses, once each, as media/<sha256> with the ending of their type: the answer sha256:… names it. It needs pii=full. " +
	"" +
	"Files of a survey whose sample was drawn, here or elsewhere, or of a census, have the columns weight, outcome (how the household counts), fpc1 and, where clusters were drawn first, cluster and fpc2: weights are those of figures by default, of each round on its own. " +
	"design=true adds the table of the whole sample, the sampling, and the lines with which R or Stata compute the same figures: CSV becomes a zip with sample.csv, design.json and reproduce.R, dta one with reproduce.do, XLSX has the sheets sample and design. They are in every XLSX file and zip of such a survey. " +
	"Surveys whose households nobody drew have no weights, and design.json and the codebook say why. " +
	"An empty cell means not asked or not answered; dont_know and refused stand in place of a value. The codebook explains every column.\n\n" +
	"pii=none has no household, no collector, no verifier, no barcode, serial number or DID of a twin, and no answer marked as personal. pii=pseudonymised has names in place of households, collectors, verifiers, barcodes, serial numbers and DIDs of twins (questions of the types barcode and entity_ref, those whose id says serial, barcode or imei, and what is calculated from them): the same in every export of the project, others elsewhere; " +
	"answers marked as personal are left out. In both, the location of the interview, devices and metadata are left out, positions in answers are rounded to 0.1 degrees (about 11 km), and the responseId is the recordId of the response, which is the same in every read and export and says nothing about a household: " +
	"`GET /v1/responses/{responseId}` takes it, and so do the routes of its history and verification. pii=full has both ids. " +
	"Free text stays as people wrote it unless its question is marked. pii=full has everything and needs the scope `responses:pii`, both to request and to read; erased answers are empty and erased is true.\n\n" +
	"CSV is UTF-8; a text that a spreadsheet would run as a formula has an apostrophe before it. XLSX has the sheets data, codebook and export, which says what was asked for, at most 1,048,575 rows and 32,767 characters in a cell; dates and times in UTC are typed cells. A wide table has at most 16,384 columns, a file 4 GiB. " +
	"JSON-LD has its context inside.\n\n" +
	"geojson has a feature for each response, at the place of the interview (pii=full) or of its first answer that is a position, and the columns of the wide table as properties. dta is for Stata 14 and newer: a variable for each column of the wide table, " +
	"named with letters, digits and underscores (its characteristic column has the other name) and labelled in the language; days are %td and times %tc in UTC, true and false 1 and 0, choices whose values are whole numbers are numbers with value labels, " +
	"dont_know is .d and refused .r in numbers. Both are wide.\n\nThe scope `responses:read` is needed too."

// Routes adds the export API to a.
func (s *Service) Routes(a *web.API) {
	web.Post(a, "/v1/surveys/{surveyId}/exports", s.serveCreate, web.Doc{
		Summary: "Export the responses of a survey to a file", Status: http.StatusAccepted, Scope: "exports:write", Tag: tag, Once: true, Description: exporting,
		Example: Draft{Format: CSV, PII: Pseudonymised}, Codes: []string{"SURVEY_NOT_FOUND", "EXPORT_INVALID", "INVALID_FILTER", "TOO_MANY_FILES", "SCOPE_MISSING"},
	})
	web.Get(a, "/v1/surveys/{surveyId}/exports", s.serveList, web.Doc{
		Summary: "List exports of the responses of a survey", Scope: "exports:read", Tag: tag, Description: exchange.AboutList, Codes: []string{"SURVEY_NOT_FOUND", "INVALID_PARAMETER", "INVALID_CURSOR"},
	})
	web.Get(a, "/v1/surveys/{surveyId}/exports/{exportId}", s.serveGet, web.Doc{
		Summary: "Read an export of responses", Scope: "exports:read", Tag: tag, Codes: []string{"SURVEY_NOT_FOUND", "EXPORT_NOT_FOUND"},
	})
	a.Handle(http.MethodGet, "/v1/surveys/{surveyId}/exports/{exportId}/file", s.serveFile, web.Doc{
		Summary: "Download the file of an export of responses", Scope: "exports:read", Tag: tag, Produces: "application/octet-stream",
		Description: "The media type depends on the format. The scope `responses:read` is needed too, and `responses:pii` for a file with pii=full. " + exchange.AboutFile,
		Codes:       []string{"SURVEY_NOT_FOUND", "EXPORT_NOT_FOUND", "EXPORT_NOT_READY", "EXPORT_EXPIRED", "SCOPE_MISSING"},
	})
	a.Handle(http.MethodGet, "/v1/surveys/{surveyId}/codebook", s.serveCodebook, web.Doc{
		Summary: "Read the codebook of a survey", Scope: "surveys:read", Tag: tag, Answer: Codebook{}, Produces: "application/json, text/csv",
		Description: "Every column of the exports of a survey: question, type, options, unit, whether it is personal, what stands for a missing value, and in which shapes and levels of personal data it is. design has the lines with which R and Stata reproduce the figures of this survey.",
		Query:       []web.Param{{Name: "format", Doc: "json (default) or csv.", Example: "csv"}},
		Codes:       []string{"SURVEY_NOT_FOUND", "INVALID_PARAMETER"},
	})
	s.feedRoutes(a)
}

type createIn struct {
	Survey string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
	Body   Draft
}

func (s *Service) serveCreate(ctx context.Context, in *createIn) (web.Reply[job.Job], error) {
	return s.Create(ctx, in.Survey, in.Body)
}

// Create begins an export. Faults: SURVEY_NOT_FOUND, SCOPE_MISSING,
// EXPORT_INVALID, INVALID_FILTER, TOO_MANY_FILES.
func (s *Service) Create(ctx context.Context, surveyID string, d Draft) (web.Reply[job.Job], error) {
	var none web.Reply[job.Job]
	o, err := s.cfg.Surveys.Open(ctx, surveyID)
	if err != nil {
		return none, err
	}
	if err := d.complete(s.cfg.Now(), o); err != nil {
		return none, err
	}
	if err := mayAll(ctx, d.PII); err != nil {
		return none, err
	}
	if d.Filter != "" {
		if _, err := response.ParseFilter(d.Filter, o.Form); err != nil {
			return none, exchange.InBody(err)
		}
	}
	if err := s.layout(&d, o).Check(); err != nil {
		return none, fault.New(fault.Invalid, "EXPORT_INVALID", "The export is not valid.").
			With(fault.Field{Pointer: "/shape", Code: "too_wide", Detail: "The shape must be long: " + err.Error() + "."})
	}
	asked := settings{d, o.SurveyID, !web.CallerFrom(ctx).May(privacy.PII)}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[job.Job], error) {
		return s.cfg.Exchange.BeginExport(ctx, tx, exchange.Order{Kind: kindExport, About: o.NID, Path: "/v1/surveys/" + o.SurveyID + "/exports/{id}"}, asked)
	})
}

// Export is an export as its readers see it.
type Export struct {
	ID           string                `json:"id" doc:"The same as the id of its job."`
	SurveyID     string                `json:"surveyId"`
	Status       job.Status            `json:"status" enum:"queued,running,succeeded,completedWithErrors,failed,cancelled"`
	Format       Format                `json:"format"`
	Shape        Shape                 `json:"shape"`
	Repeats      Repeats               `json:"repeats" enum:"inline,tables"`
	Media        bool                  `json:"media,omitzero"`
	Design       bool                  `json:"design,omitzero"`
	PII          Level                 `json:"pii"`
	Filter       string                `json:"filter,omitzero"`
	Verification []string              `json:"verification,omitzero"`
	AsOf         time.Time             `json:"asOf" doc:"The export has the responses as they were at this time."`
	Rounds       []int                 `json:"rounds,omitzero"`
	Language     string                `json:"language,omitzero"`
	Counts       Counts                `json:"counts"`
	SHA256       string                `json:"sha256,omitzero" doc:"SHA-256 of the file, once it is complete."`
	Errors       []job.Failure         `json:"errors,omitempty" doc:"Why it failed."`
	CreatedBy    string                `json:"createdBy" doc:"DID of the requester."`
	CreatedAt    time.Time             `json:"createdAt"`
	StartedAt    time.Time             `json:"startedAt,omitzero"`
	FinishedAt   time.Time             `json:"finishedAt,omitzero"`
	ExpiresAt    time.Time             `json:"expiresAt,omitzero" doc:"When the file is removed."`
	Links        api.SurveyExportLinks `json:"links"`
}

type listIn struct {
	Survey string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
	exchange.ListQuery
}

type oneIn struct {
	Survey string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
	ID     string `path:"exportId" doc:"Id of the export, and of its job."`
}

func (s *Service) serveGet(ctx context.Context, in *oneIn) (Export, error) {
	e, _, err := s.look(ctx, in.Survey, in.ID)
	return e, err
}

// look reads an export the caller may know, and its file; the file is nil when
// there is none to read.
func (s *Service) look(ctx context.Context, surveyID, id string) (Export, *file.File, error) {
	o, err := s.cfg.Surveys.Open(ctx, surveyID)
	if err != nil {
		return Export{}, nil, err
	}
	j, t, err := s.cfg.Exchange.Look(ctx, kindExport, id)
	if err != nil {
		return Export{}, nil, err
	}
	if t == nil || t.About != o.NID {
		return Export{}, nil, fault.New(fault.NotFound, "EXPORT_NOT_FOUND", "No export has this id.")
	}
	l := exchange.Listed{Order: t, Of: j}
	if l.File, l.Until, err = s.cfg.Exchange.File(ctx, t, j.Status); err != nil {
		return Export{}, nil, err
	}
	e, err := exportOf(ctx, o, l)
	return e, l.File, err
}

func (s *Service) serveList(ctx context.Context, in *listIn) (web.Reply[web.Page[Export]], error) {
	o, err := s.cfg.Surveys.Open(ctx, in.Survey)
	if err != nil {
		return web.Reply[web.Page[Export]]{}, err
	}
	of := exchange.Listing{Kind: kindExport, About: o.NID, Cursors: s.cfg.Cursors}
	return exchange.List(ctx, s.cfg.Exchange, of, &in.ListQuery, func(l exchange.Listed) (Export, error) {
		return exportOf(ctx, o, l)
	})
}

// exportOf is an export of a survey as the caller of ctx sees it.
func exportOf(ctx context.Context, o *survey.Open, l exchange.Listed) (Export, error) {
	var d settings
	var n result
	if err := l.Read(&d, &n); err != nil {
		return Export{}, err
	}
	id, j := l.Job, l.Of
	path := "/v1/surveys/" + o.SurveyID
	e := Export{
		ID: id, SurveyID: o.SurveyID, Status: j.Status, Format: d.Format, Shape: d.Shape, Repeats: cmp.Or(d.Repeats, Inline), Media: d.Media, Design: d.Design, PII: d.PII, Filter: d.Filter, Verification: d.Verification,
		AsOf: d.AsOf, Rounds: d.Rounds, Language: d.Language, Counts: n.Counts, SHA256: n.SHA256, Errors: j.Errors, CreatedBy: j.CreatedBy,
		CreatedAt: j.CreatedAt, StartedAt: j.StartedAt, FinishedAt: j.FinishedAt,
		Links: api.SurveyExportLinks{Self: path + "/exports/" + id, Codebook: path + "/codebook", Survey: path, Job: job.Path(id)},
	}
	if e.ExpiresAt = l.Until; l.File != nil && mayAll(ctx, e.PII) == nil {
		e.Links.File = e.Links.Self + "/file"
	}
	return e, nil
}

// serveFile sends the file of an export, a piece at a time.
func (s *Service) serveFile(w http.ResponseWriter, r *http.Request) error {
	in, err := web.Bind[oneIn](r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	e, f, err := s.look(ctx, in.Survey, in.ID)
	if err != nil {
		return err
	}
	if err := mayAll(ctx, e.PII); err != nil {
		return err
	}
	kind := Draft{Format: e.Format, Repeats: e.Repeats, Media: e.Media, Design: e.Design}
	return s.cfg.Exchange.Send(w, r, exchange.Download{
		Status: e.Status, File: f, MediaType: kind.mediaType(), Name: fmt.Sprintf("%s-%s-%s.%s", e.SurveyID, e.Shape, e.AsOf.Format("20060102-150405"), kind.ending()),
	})
}

type codebookIn struct {
	Survey string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
	Format string `query:"format"`
}

// serveCodebook explains the columns. It changes only with the survey.
func (s *Service) serveCodebook(w http.ResponseWriter, r *http.Request) error {
	in, err := web.Bind[codebookIn](r)
	if err != nil {
		return err
	}
	if in.Format != "" && in.Format != "json" && in.Format != "csv" {
		return fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
			With(fault.Field{Pointer: "query/format", Code: "unknown", Detail: "The format must be json or csv."})
	}
	o, err := s.cfg.Surveys.Open(r.Context(), in.Survey)
	if err != nil {
		return err
	}
	kind, _ := sampleOf(o)
	book := NewCodebook(o.SurveyID, o.TemplateVersion, o.Form, kind)
	book.Design = (&recipe{s.layout(&Draft{Shape: Wide, PII: Pseudonymised}, o), o}).design()
	h := w.Header()
	if in.Format == "csv" {
		h.Set("Content-Type", CSV.MediaType())
		h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s-codebook.csv"`, o.SurveyID))
		_, _ = w.Write(book.CSV()) // the client may be gone
		return nil
	}
	text, err := web.Encode(book)
	if err != nil {
		return err
	}
	h.Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the client may be gone
	return nil
}
