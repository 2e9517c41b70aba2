package intake

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const tag = "imports"

const importing = "The body is the file, at most 64 MiB, or a zip of it with attachments and tables of repeats, at most 1 GiB. Every row is checked like a response that is sent, and stored once: its id is responseId, or the instance id of another program, " +
	"and sending the same file again changes nothing. A wrong row is refused alone; a file that is broken as a whole stores nothing. The answer is a job; /rows has the result of every row.\n\n" +
	"source=hearth reads wide exports with pii=full: CSV, XLSX, NDJSON, and the zips of repeats=tables and media=true. Members that the server decides (recordId, receivedAt, updatedAt, revision, stratum, group, flags, …) are not read from a file. " +
	"source=odk reads what ODK Central exports: CSV, the zip of all tables with its media, and the JSON of OData with $expand=*. source=kobo reads CSV, XLSX (with the sheets of its repeats) and JSON of Kobo. JSON is named by format=json. " +
	"Their columns are found by the name of the question, alone or with its groups (group-question, group/question); timestamp is end or the time of submission, startedAt is start, and responseId is meta/instanceID, KEY or _uuid. " +
	"Photos and sounds are in the zip under media/, with the names in the cells.\n\n" +
	"mapping gives columns other names: those of an export, such as {\"hh_code\":\"householdId\",\"q1\":\"home.size\"}; \"\" leaves a column out. A column with a value that nothing is known of refuses its row, so that nothing is lost unseen. householdId must be the DID of the household. " +
	"partial=true accepts rows although required answers are missing.\n\n" +
	"You are the sender of what you import: submittedBy is you. Responses that somebody else collected need the scope `surveys:write`. A decision is imported from a hearth export if you have the scope `responses:verify` and neither the collector nor you made it; " +
	"it is marked as imported. Decisions of other programs are never imported, and mapping cannot name their columns. Otherwise the response is pending, and a warning says so. The scope `responses:write` is needed too. The history of each response records which program, format and file it came from. Reading the report needs the scopes `imports:read` and `responses:read`."

// Routes adds imports of responses to a.
func (s *Service) Routes(a *web.API) {
	const path = "/v1/surveys/{surveyId}/imports"
	a.Handle(http.MethodPost, path, s.serveImport, web.Doc{
		Summary: "Import responses from a file", Status: http.StatusAccepted, Scope: "imports:write", Tag: tag, Once: true, Answer: Accepted{}, Description: importing,
		Consumes: "text/csv, application/vnd.openxmlformats-officedocument.spreadsheetml.sheet, application/x-ndjson, application/zip",
		Query: []web.Param{
			{Name: "source", Doc: "hearth (default), odk or kobo: the program that wrote the file.", Example: "odk"},
			{Name: "format", Doc: "csv, xlsx, ndjson, json or zip; that of the Content-Type by default.", Example: "csv"},
			{Name: "dryRun", Doc: "true stores nothing.", Example: "true"},
			{Name: "partial", Doc: "true accepts rows although required answers are missing.", Example: "true"},
			{Name: "mapping", Doc: "JSON object: column → column of an export; \"\" leaves a column out. At most 16 KiB.", Example: `{"hh_code":"householdId"}`},
			{Name: "household", Doc: "DID of the household when no column has it: a text with a column in braces, or with {instanceID}, the id of the response. Characters that a DID cannot have are escaped. For odk and kobo.", Example: "did:example:household:{hh_code}"},
			{Name: "collectors", Doc: "JSON object: name of a submitter in the other program → DID of the collector. At most 16 KiB. For odk and kobo.", Example: `{"Ann":"did:ixo:agent/123"}`},
			{Name: "Idempotency-Key", Doc: "Send the same key again to get the same job.", Header: true},
		},
		Codes: []string{"SURVEY_NOT_FOUND", "UNSUPPORTED_MEDIA_TYPE", "BODY_TOO_LARGE", "TOO_MANY_FILES", "SCOPE_MISSING", "INVALID_PARAMETER"},
	})
	web.Get(a, path+"/{importId}", s.serveGet, web.Doc{
		Summary: "Read an import of responses", Scope: "imports:read", Tag: tag, Codes: []string{"SURVEY_NOT_FOUND", "IMPORT_NOT_FOUND", "SCOPE_MISSING"},
		Description: "The scope `responses:read` is needed too.",
	})
	web.Get(a, path+"/{importId}/rows", s.serveRows, web.Doc{
		Summary: "List the results of the rows of an import of responses", Scope: "imports:read", Tag: tag, Codes: []string{"SURVEY_NOT_FOUND", "IMPORT_NOT_FOUND", "SCOPE_MISSING"},
		Description: "In the order of the file. Follow hasMore: with ok=true a page may be short. The scope `responses:read` is needed too. A report names the members that differ from a stored response and does not show their values. Keys without the scope `responses:pii` that did not start the import see no response ids, no attachments and no messages about cells.",
	})
}

// Accepted is the job of a new import.
type Accepted struct {
	job.Job
	Links AcceptedLinks `json:"links"`
}

// SchemaName is the name that clients know it by.
func (Accepted) SchemaName() string { return "AcceptedResponseImport" }

// AcceptedLinks are the links of the job, and of the import.
type AcceptedLinks struct {
	job.Links
	Rows string `json:"rows" doc:"What became of every row."`
}

// SchemaName is the name that clients know it by.
func (AcceptedLinks) SchemaName() string { return "AcceptedResponseImportLinks" }

type importIn struct {
	Survey  string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
	Source  string `query:"source"`
	Format  string `query:"format"`
	DryRun  bool   `query:"dryRun"`
	Partial bool   `query:"partial"`
	Mapping string `query:"mapping"`

	Household  string `query:"household" maxLength:"300"`
	Collectors string `query:"collectors"`
}

// readable are the formats that are read from each program.
var readable = map[Source][]Format{Hearth: {CSV, XLSX, NDJSON, Zip}, ODK: {CSV, JSON, Zip}, Kobo: {CSV, XLSX, JSON, Zip}}

// settings reads what an import asks for and names all that is wrong.
func (in *importIn) settings(contentType string) (*settings, error) {
	p := &settings{Source: Source(in.Source), Format: Format(in.Format), DryRun: in.DryRun, Partial: in.Partial, Household: in.Household}
	var c fault.Checks
	if p.Source == "" {
		p.Source = Hearth
	}
	formats, known := readable[p.Source]
	if !known {
		c.Add("query/source", "unknown", "The source must be hearth, odk or kobo.")
	}
	texts(&c, "query/mapping", in.Mapping, &p.Mapping)
	texts(&c, "query/collectors", in.Collectors, &p.Collectors)
	if p.Household != "" && !householdForm.MatchString(p.Household) {
		c.Add("query/household", "invalid", "The value must be a text with one column in braces, such as did:example:household:{hh_code}.")
	}
	for _, column := range slices.Sorted(maps.Keys(p.Mapping)) {
		if to := p.Mapping[column]; p.Source != Hearth && slices.Contains(verdicts, to) {
			c.Add("query/mapping", "not_carried_over", "Decisions of another program are not imported: no column can be "+to+".")
		}
	}
	if in.Format == "" {
		p.Format = formatOf(contentType)
	}
	if known && p.Format != "" && !slices.Contains(formats, p.Format) {
		c.Add("query/format", "unknown", "A file of "+string(p.Source)+" must be "+list(formats)+".")
	}
	if err := c.Err("INVALID_PARAMETER", "A parameter is not valid."); err != nil {
		return nil, err
	}
	if p.Format == "" {
		return nil, fault.New(fault.Unsupported, "UNSUPPORTED_MEDIA_TYPE", "The body must be CSV, XLSX, NDJSON, JSON or a zip. Say so with Content-Type or with format.").
			With(fault.Field{Pointer: "header/Content-Type", Code: "unsupported", Detail: "Use text/csv, application/zip, application/json, application/x-ndjson or the type of XLSX."})
	}
	return p, nil
}

// householdForm is a text with one column in braces.
var householdForm = regexp.MustCompile(`^[^{}]*\{[^{}]+\}[^{}]*$`)

// texts reads a parameter that is an object of texts.
func texts(c *fault.Checks, name, text string, to *map[string]string) {
	if len(text) > maxMapping {
		c.Add(name, "too_long", fmt.Sprintf("At most %d bytes are accepted.", maxMapping))
	} else if text != "" && json.Unmarshal([]byte(text), to) != nil {
		c.Add(name, "invalid", "The value must be a JSON object whose members are texts.")
	}
}

func list(formats []Format) string {
	words := make([]string, len(formats))
	for i, f := range formats {
		words[i] = string(f)
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// formatOf is the format for a Content-Type; "" for an unknown one.
func formatOf(contentType string) Format {
	media, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	switch strings.TrimSpace(media) {
	case "application/zip", "application/x-zip-compressed":
		return Zip
	case "application/json":
		return JSON
	}
	return Format(sheet.FormatOf(contentType))
}

// serveImport takes a file.
func (s *Service) serveImport(w http.ResponseWriter, r *http.Request) error {
	in, err := web.Bind[importIn](r)
	if err != nil {
		return err
	}
	ctx := r.Context()
	if err := exchange.MayAll(ctx, "responses:write"); err != nil {
		return err
	}
	o, err := s.cfg.Surveys.Open(ctx, in.Survey)
	if err != nil {
		return err
	}
	p, err := in.settings(r.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	p.SurveyID = o.SurveyID
	most := int64(MaxTable)
	if p.Format == Zip {
		most = MaxArchive
	}
	return exchange.Take(s.cfg.Exchange, w, r, most, func(f *file.File) (web.Reply[Accepted], error) { return s.begin(ctx, o, f, p) })
}

// begin enqueues the import of a file that has arrived.
func (s *Service) begin(ctx context.Context, o *survey.Open, f *file.File, p *settings) (web.Reply[Accepted], error) {
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[Accepted], error) {
		j, err := s.cfg.Exchange.BeginImport(ctx, tx, exchange.Order{Kind: kindImport, About: o.NID, Path: "/v1/surveys/" + o.SurveyID + "/imports/{id}"}, f, p)
		return web.Reply[Accepted]{
			Value:  Accepted{j.Value, AcceptedLinks{j.Value.Links, j.Value.Links.About + "/rows"}},
			Status: j.Status, ETag: j.ETag, Location: j.Location,
		}, err
	})
}

// Import is an import as its readers see it.
type Import struct {
	ID         string          `json:"id" doc:"The same as the id of its job."`
	SurveyID   string          `json:"surveyId"`
	Status     job.Status      `json:"status" enum:"queued,running,succeeded,completedWithErrors,failed,cancelled"`
	Source     Source          `json:"source" enum:"hearth,odk,kobo"`
	Format     Format          `json:"format" enum:"csv,xlsx,ndjson,json,zip"`
	DryRun     bool            `json:"dryRun"`
	Partial    bool            `json:"partial,omitzero"`
	Bytes      int64           `json:"bytes" doc:"Size of the file."`
	SHA256     string          `json:"sha256" doc:"Of the file."`
	Counts     Counts          `json:"counts"`
	Errors     []job.Failure   `json:"errors,omitempty" doc:"Why it failed as a whole."`
	CreatedBy  string          `json:"createdBy" doc:"DID of the requester."`
	CreatedAt  time.Time       `json:"createdAt"`
	StartedAt  time.Time       `json:"startedAt,omitzero"`
	FinishedAt time.Time       `json:"finishedAt,omitzero"`
	Links      api.ReportLinks `json:"links"`
}

// SchemaName is the name that clients know it by.
func (Import) SchemaName() string { return "ResponseImport" }

func links(surveyID, id string) api.ReportLinks {
	self := "/v1/surveys/" + surveyID + "/imports/" + id
	return api.ReportLinks{Self: self, Rows: self + "/rows", Job: job.Path(id)}
}

type oneIn struct {
	Survey string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
	ID     string `path:"importId" doc:"Id of the import, and of its job."`
}

// look reads an import the caller may know of.
func (s *Service) look(ctx context.Context, in *oneIn) (Import, error) {
	if err := exchange.MayAll(ctx, "responses:read"); err != nil {
		return Import{}, err
	}
	o, err := s.cfg.Surveys.Open(ctx, in.Survey)
	if err != nil {
		return Import{}, err
	}
	j, t, err := s.cfg.Exchange.Look(ctx, kindImport, in.ID)
	if err != nil {
		return Import{}, err
	}
	if t == nil || t.About != o.NID {
		return Import{}, fault.New(fault.NotFound, "IMPORT_NOT_FOUND", "No import has this id.")
	}
	var p settings
	var n counted
	if err := t.Read(&p, &n); err != nil {
		return Import{}, err
	}
	return Import{
		ID: in.ID, SurveyID: o.SurveyID, Status: j.Status, Source: p.Source, Format: p.Format, DryRun: p.DryRun, Partial: p.Partial, Bytes: n.Bytes, SHA256: n.SHA256,
		Counts: n.Counts, Errors: j.Errors, CreatedBy: j.CreatedBy, CreatedAt: j.CreatedAt, StartedAt: j.StartedAt, FinishedAt: j.FinishedAt, Links: links(o.SurveyID, in.ID),
	}, nil
}

func (s *Service) serveGet(ctx context.Context, in *oneIn) (Import, error) { return s.look(ctx, in) }

type rowsIn struct {
	oneIn
	exchange.RowsQuery
}

func (s *Service) serveRows(ctx context.Context, in *rowsIn) (web.Reply[web.Page[Row]], error) {
	if err := in.Validate(); err != nil {
		return web.Reply[web.Page[Row]]{}, err
	}
	i, err := s.look(ctx, &in.oneIn)
	if err != nil {
		return web.Reply[web.Page[Row]]{}, err
	}
	caller := web.CallerFrom(ctx)
	page, err := exchange.Report[Row](ctx, s.db, s.cfg.Cursors, in.ID, &in.RowsQuery)
	if caller.DID == i.CreatedBy || caller.May(privacy.PII) {
		return page, err
	}
	for n, r := range page.Value.Items {
		page.Value.Items[n] = shown(r)
	}
	return page, err
}
