package client

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/api"
)

const templatesPath = "/v1/templates"

// mediaWorkbook is the type of an XLSForm.
const mediaWorkbook = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

// Templates are the questionnaires of surveys.
type Templates struct{ c *Client }

func templatePath(id string) string { return templatesPath + "/" + url.PathEscape(id) }

// TemplateDraft is the content of a template. Texts are a string, or an object
// of language to string.
type TemplateDraft struct {
	TemplateID         string              `json:"templateId,omitzero"` // made by the server when absent
	Title              any                 `json:"title,omitzero"`
	Description        any                 `json:"description,omitzero"`
	Stage              string              `json:"stage,omitzero"`           // baseline, follow-up or monitoring
	DefaultLanguage    string              `json:"defaultLanguage,omitzero"` // en
	Languages          []string            `json:"languages,omitzero"`
	Sections           []TemplateSection   `json:"sections"`
	Files              []TemplateFile      `json:"files,omitzero"` // sent with Import
	Entity             *TemplateEntity     `json:"entity,omitzero"`
	Validations        TemplateValidations `json:"validations,omitzero"`
	ReviewIntervalDays int                 `json:"reviewIntervalDays,omitzero"` // 365
	Metadata           Object              `json:"metadata,omitzero"`
}

// Types of package api.
type (
	TemplateValidations = api.TemplateValidations
	TemplateValidation  = api.TemplateValidation
	TemplateLinks       = api.TemplateLinks
	TemplateVersion     = api.TemplateVersionInfo
	TemplateVersions    = api.TemplateVersions
	TemplateMove        = api.TemplateMove
	TemplateDiff        = api.TemplateDiff
	TemplateChange      = api.TemplateChange
	PreviewProblem      = api.PreviewProblem
	PreviewOption       = api.PreviewOption
	TemplateLanguages   = api.TemplateLanguages
	LanguageReport      = api.LanguageReport
	TemplateReview      = api.TemplateReview
	TemplateReviewState = api.TemplateReviewState
	TemplateReviewDraft = api.TemplateReviewDraft
)

// TemplateFile is a CSV file with choices, or with values that expressions look
// up.
type TemplateFile struct {
	Name    string   `json:"name"`
	SHA256  string   `json:"sha256"`
	Columns []string `json:"columns,omitzero"` // filled in by the server, as Rows
	Rows    int      `json:"rows,omitzero"`
}

// TemplateOptionsFrom says which file the options of a question are in.
type TemplateOptionsFrom struct {
	File  string `json:"file"`
	Value string `json:"value,omitzero"` // column: name by default
	Label string `json:"label,omitzero"` // column: label by default
}

// TemplateSection is a part of a template.
type TemplateSection struct {
	ID        string             `json:"id"`
	Title     any                `json:"title,omitzero"`
	Hint      any                `json:"hint,omitzero"`
	Relevant  string             `json:"relevant,omitzero"` // CEL
	Flag      string             `json:"flag,omitzero"`     // the survey flag that selects it
	Questions []TemplateQuestion `json:"questions"`
}

// TemplateQuestion is one question, or a group or repeat of questions.
type TemplateQuestion struct {
	ID                string               `json:"id"`
	Name              string               `json:"name,omitzero"` // what another program calls it
	Type              string               `json:"type"`
	Label             any                  `json:"label,omitzero"`
	Hint              any                  `json:"hint,omitzero"`
	Required          any                  `json:"required,omitzero"` // a boolean, or CEL
	Relevant          string               `json:"relevant,omitzero"` // CEL, as the next but one
	Constraint        string               `json:"constraint,omitzero"`
	ConstraintMessage any                  `json:"constraintMessage,omitzero"`
	Calculate         string               `json:"calculate,omitzero"`
	Once              bool                 `json:"once,omitzero"`    // a correction keeps the value
	Options           []any                `json:"options,omitzero"` // strings, or objects {value, label, exclusive, score, data}
	OptionsFrom       *TemplateOptionsFrom `json:"optionsFrom,omitzero"`
	ChoiceFilter      string               `json:"choiceFilter,omitzero"` // CEL over choice and the answers
	Other             bool                 `json:"other,omitzero"`
	DontKnow          bool                 `json:"dontKnow,omitzero"`
	Refuse            bool                 `json:"refuse,omitzero"`
	Validation        *TemplateValidation  `json:"validation,omitzero"`
	Unit              string               `json:"unit,omitzero"`
	Units             []string             `json:"units,omitzero"`
	PII               string               `json:"pii,omitzero"` // none, direct or indirect
	Indicators        []string             `json:"indicators,omitzero"`
	BackCheckClass    int                  `json:"backCheckClass,omitzero"` // 1 to 3
	Questions         []TemplateQuestion   `json:"questions,omitzero"`      // of a group or repeat
	Rows              []any                `json:"rows,omitzero"`           // of a matrix
	MinRepeats        int                  `json:"minRepeats,omitzero"`
	MaxRepeats        int                  `json:"maxRepeats,omitzero"`
	Default           any                  `json:"default,omitzero"`
	ReadOnly          bool                 `json:"readOnly,omitzero"`
	List              string               `json:"list,omitzero"`   // entity list that an entity_ref is answered from
	SaveTo            string               `json:"saveTo,omitzero"` // property of the twin that the answer is to become
}

// TemplateEntity says what the answers of a template propose for a twin. All but
// List are CEL.
type TemplateEntity struct {
	List   string `json:"list"`
	Label  string `json:"label,omitzero"`  // the name of the twin
	ID     string `json:"id,omitzero"`     // the DID of the one that changes
	Create string `json:"create,omitzero"` // when one is made
	Update string `json:"update,omitzero"` // when it changes
}

// Template is a version of a template.
type Template struct {
	TemplateDraft
	Version      int           `json:"version"`
	Status       string        `json:"status"` // draft, published, deprecated or retired
	ContentHash  string        `json:"contentHash"`
	Shipped      bool          `json:"shipped,omitzero"` // it cannot be changed, but cloned
	ClonedFrom   string        `json:"clonedFrom,omitzero"`
	Revision     int64         `json:"revision"`
	Created      time.Time     `json:"created,omitzero"`
	Updated      time.Time     `json:"updated,omitzero"`
	CreatedBy    string        `json:"createdBy,omitzero"`
	UpdatedBy    string        `json:"updatedBy,omitzero"`
	PublishedAt  time.Time     `json:"publishedAt,omitzero"`
	StatusReason string        `json:"statusReason,omitzero"`
	Links        TemplateLinks `json:"links"`
	Warnings     []Warning     `json:"warnings,omitzero"` // of Publish: what ODK Collect cannot ask
}

// Create makes a template: version 1, a draft. Publish it before surveys use
// it. Codes: TEMPLATE_INVALID, TEMPLATE_EXISTS.
func (t Templates) Create(ctx context.Context, d TemplateDraft, opts ...Option) (*Template, error) {
	return do[Template](ctx, t.c, post(templatesPath, d), opts)
}

// Get reads a version of a template; 0 is the default version. Codes:
// TEMPLATE_NOT_FOUND, TEMPLATE_VERSION_NOT_FOUND.
func (t Templates) Get(ctx context.Context, id string, version int, opts ...Option) (*Template, error) {
	return do[Template](ctx, t.c, get(templatePath(id), templateVersion(version)), opts)
}

// Version is Get with the address of the version itself.
func (t Templates) Version(ctx context.Context, id string, version int, opts ...Option) (*Template, error) {
	return do[Template](ctx, t.c, get(templatePath(id)+"/versions/"+strconv.Itoa(version), nil), opts)
}

func templateVersion(version int) url.Values {
	v := url.Values{}
	setInt(v, "version", int64(version))
	return v
}

// TemplateSummary is a template in a list.
type TemplateSummary struct {
	TemplateID  string        `json:"templateId"`
	Title       any           `json:"title,omitzero"`
	Stage       string        `json:"stage,omitzero"`
	Version     int           `json:"version"` // used when none is named
	Status      string        `json:"status"`
	Latest      int           `json:"latest"` // the newest version, drafts too
	Languages   []string      `json:"languages,omitzero"`
	Sections    int           `json:"sections"`
	Questions   int           `json:"questions"`
	ContentHash string        `json:"contentHash"`
	Shipped     bool          `json:"shipped,omitzero"`
	Revision    int64         `json:"revision"`
	Created     time.Time     `json:"created,omitzero"`
	Updated     time.Time     `json:"updated,omitzero"`
	PublishedAt time.Time     `json:"publishedAt,omitzero"`
	Links       TemplateLinks `json:"links"`
}

// TemplateQuery selects templates.
type TemplateQuery struct {
	Stage  string // all by default
	Status string
	Q      string // part of the identifier or the title
	Limit  int    // items in one page, 1 to 1000; 50 by default
	Cursor string // NextCursor of the page before
}

func (q TemplateQuery) values() url.Values {
	v := PageQuery{q.Limit, q.Cursor}.values()
	set(v, "stage", q.Stage)
	set(v, "status", q.Status)
	set(v, "q", q.Q)
	return v
}

// Page reads one page of the templates: the bundled ones, then those of the
// workspace.
func (t Templates) Page(ctx context.Context, q TemplateQuery, opts ...Option) (*Page[TemplateSummary], error) {
	return page[TemplateSummary](ctx, t.c, templatesPath, q.values(), opts)
}

// List walks over the templates, page by page. An error ends it.
func (t Templates) List(ctx context.Context, q TemplateQuery, opts ...Option) iter.Seq2[TemplateSummary, error] {
	return pages[TemplateSummary](ctx, t.c, templatesPath, q.values(), opts)
}

// Update gives the draft new content, or opens the draft of the next version.
// It needs the option IfRevision or IfMatch, and is not retried. Codes:
// TEMPLATE_INVALID, TEMPLATE_PUBLISHED, STALE_REVISION.
func (t Templates) Update(ctx context.Context, id string, d TemplateDraft, opts ...Option) (*Template, error) {
	return do[Template](ctx, t.c, put(templatePath(id), d), opts)
}

// Delete discards the draft of a template and returns it; a template that was
// never published is removed. It needs the option IfRevision or IfMatch. Code:
// TEMPLATE_PUBLISHED when there is no draft.
func (t Templates) Delete(ctx context.Context, id string, opts ...Option) (*Template, error) {
	return do[Template](ctx, t.c, remove(templatePath(id)), opts)
}

// Versions lists the versions of a template, newest first.
func (t Templates) Versions(ctx context.Context, id string, opts ...Option) (*TemplateVersions, error) {
	return do[TemplateVersions](ctx, t.c, get(templatePath(id)+"/versions", nil), opts)
}

// Publish makes the draft final, so that surveys can use it. Codes:
// TEMPLATE_PUBLISHED, STATE_TRANSITION_INVALID.
func (t Templates) Publish(ctx context.Context, id string, m TemplateMove, opts ...Option) (*Template, error) {
	return do[Template](ctx, t.c, post(templatePath(id)+"/publish", m), opts)
}

// Deprecate marks a version as superseded by something better.
func (t Templates) Deprecate(ctx context.Context, id string, m TemplateMove, opts ...Option) (*Template, error) {
	return do[Template](ctx, t.c, post(templatePath(id)+"/deprecate", m), opts)
}

// Retire ends a version: no new survey uses it.
func (t Templates) Retire(ctx context.Context, id string, m TemplateMove, opts ...Option) (*Template, error) {
	return do[Template](ctx, t.c, post(templatePath(id)+"/retire", m), opts)
}

// Diff compares two versions; 0 is the newest for to, and the one before it
// for from.
func (t Templates) Diff(ctx context.Context, id string, from, to int, opts ...Option) (*TemplateDiff, error) {
	v := url.Values{}
	setInt(v, "from", int64(from))
	setInt(v, "to", int64(to))
	return do[TemplateDiff](ctx, t.c, get(templatePath(id)+"/diff", v), opts)
}

// PreviewQuery asks how a template looks, given some answers.
type PreviewQuery struct {
	Language  string   `json:"language,omitzero"`
	Version   int      `json:"version,omitzero"`  // the newest by default, drafts too
	Sections  []string `json:"sections,omitzero"` // all by default
	Answers   Object   `json:"answers,omitzero"`  // section, then question
	Household Object   `json:"household,omitzero"`
	Response  Object   `json:"response,omitzero"`
}

// Preview is a form as one person sees it, and the result of checking the
// answers.
type Preview struct {
	TemplateID   string           `json:"templateId"`
	Version      int              `json:"version"`
	Language     string           `json:"language"`
	Valid        bool             `json:"valid"`
	Complete     bool             `json:"complete"`
	Completeness float64          `json:"completeness"`
	Relevant     int              `json:"relevant"`
	Answered     int              `json:"answered"`
	Errors       []PreviewProblem `json:"errors"`
	Missing      []PreviewProblem `json:"missing"`
	Dropped      []string         `json:"dropped"`
	Answers      Object           `json:"answers,omitzero"` // as they would be stored
	Sections     []PreviewSection `json:"sections"`
}

// PreviewSection is a section as one person sees it.
type PreviewSection struct {
	ID        string            `json:"id"`
	Title     string            `json:"title,omitzero"`
	Hint      string            `json:"hint,omitzero"`
	Relevant  bool              `json:"relevant"`
	Questions []PreviewQuestion `json:"questions"`
}

// PreviewQuestion is a question as one person sees it.
type PreviewQuestion struct {
	ID        string              `json:"id"`
	Type      string              `json:"type"`
	Label     string              `json:"label,omitzero"`
	Hint      string              `json:"hint,omitzero"`
	Unit      string              `json:"unit,omitzero"`
	Relevant  bool                `json:"relevant"`
	Required  bool                `json:"required"`
	ReadOnly  bool                `json:"readOnly,omitzero"`
	Answer    any                 `json:"answer,omitzero"`
	Options   []PreviewOption     `json:"options,omitzero"`
	Rows      []PreviewOption     `json:"rows,omitzero"`
	Questions []PreviewQuestion   `json:"questions,omitzero"`
	Elements  [][]PreviewQuestion `json:"elements,omitzero"` // of a repeat that has answers
}

// Preview shows a template in one language and checks answers against it.
// Nothing is stored.
func (t Templates) Preview(ctx context.Context, id string, q PreviewQuery, opts ...Option) (*Preview, error) {
	k := post(templatePath(id)+"/preview", q)
	k.keyed, k.safe = false, true
	return do[Preview](ctx, t.c, k, opts)
}

// TemplateClone asks for a copy of a template.
type TemplateClone struct {
	TemplateID string `json:"templateId,omitzero"` // made by the server when absent
	Title      any    `json:"title,omitzero"`
	Version    int    `json:"version,omitzero"`
}

// Clone copies a template, even a bundled one, to a new draft. Code:
// TEMPLATE_EXISTS.
func (t Templates) Clone(ctx context.Context, id string, d TemplateClone, opts ...Option) (*Template, error) {
	return do[Template](ctx, t.c, post(templatePath(id)+"/clone", d), opts)
}

// Languages reads how complete a version is in each language; 0 is the newest,
// drafts too.
func (t Templates) Languages(ctx context.Context, id string, version int, opts ...Option) (*TemplateLanguages, error) {
	return do[TemplateLanguages](ctx, t.c, get(templatePath(id)+"/languages", templateVersion(version)), opts)
}

// TemplateReviews is a page of reviews, and the resulting status of the
// template.
type TemplateReviews struct {
	Page[TemplateReview]
	State TemplateReviewState `json:"state"`
}

// Reviews reads one page of the reviews of a template, the latest first.
func (t Templates) Reviews(ctx context.Context, id string, q PageQuery, opts ...Option) (*TemplateReviews, error) {
	return do[TemplateReviews](ctx, t.c, get(templatePath(id)+"/reviews", q.values()), opts)
}

// Review records a review by the caller. Code: REVIEW_INVALID.
func (t Templates) Review(ctx context.Context, id string, d TemplateReviewDraft, opts ...Option) (*TemplateReview, error) {
	return do[TemplateReview](ctx, t.c, post(templatePath(id)+"/reviews", d), opts)
}

// TemplateImport says how to read a workbook.
type TemplateImport struct {
	TemplateID string // that in the workbook by default
	Mode       string // create (default), update, which needs IfRevision or IfMatch, or check, which stores nothing

	Files map[string]io.Reader // CSV files that the workbook names, by their names
}

// ImportedTemplate is a template that was made from a file.
type ImportedTemplate struct {
	Template Template `json:"template"`
	Report   Object   `json:"report,omitzero"` // what could not be carried over
	SHA256   string   `json:"sha256"`          // of the file
}

// Import makes a draft from an XLSForm workbook and the files it names. Codes:
// TEMPLATE_IMPORT_INVALID, TEMPLATE_INVALID, TEMPLATE_EXISTS.
func (t Templates) Import(ctx context.Context, file io.Reader, d TemplateImport, opts ...Option) (*ImportedTemplate, error) {
	raw, err := readFile(file)
	if err != nil {
		return nil, err
	}
	v := url.Values{}
	set(v, "templateId", d.TemplateID)
	set(v, "mode", d.Mode)
	k := post(templatesPath+":import", raw)
	k.query, k.media = v, mediaWorkbook
	if len(d.Files) > 0 {
		body, media, err := formOf(raw, d.Files)
		if err != nil {
			return nil, err
		}
		k = post(templatesPath+":import", body)
		k.query, k.media = v, media
	}
	return do[ImportedTemplate](ctx, t.c, k, opts)
}

// formOf is a form with a workbook and files, and its media type.
func formOf(workbook []byte, files map[string]io.Reader) (body []byte, media string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreateFormFile("form", "form.xlsx")
	if err == nil {
		_, err = part.Write(workbook)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err != nil {
			break
		}
		if part, err = w.CreateFormFile("files", name); err == nil {
			_, err = io.Copy(part, files[name])
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, "", fmt.Errorf("write form: %w", err)
	}
	return b.Bytes(), w.FormDataContentType(), nil
}

// Files downloads the files of a version as a ZIP archive, which the caller
// closes.
func (t Templates) Files(ctx context.Context, id string, version int, opts ...Option) (io.ReadCloser, error) {
	return t.c.download(ctx, call{method: http.MethodGet, path: templatePath(id) + "/versions/" + strconv.Itoa(version) + "/files", long: true}, opts)
}

// XLSForm downloads a version as a workbook, which the caller closes.
func (t Templates) XLSForm(ctx context.Context, id string, version int, opts ...Option) (io.ReadCloser, error) {
	return t.c.download(ctx, call{method: http.MethodGet, path: templatePath(id) + "/versions/" + strconv.Itoa(version) + "/xlsform", long: true}, opts)
}

// XForm downloads a version in the form that ODK Collect reads; the caller
// closes it.
func (t Templates) XForm(ctx context.Context, id string, version int, opts ...Option) (io.ReadCloser, error) {
	return t.c.download(ctx, call{method: http.MethodGet, path: templatePath(id) + "/versions/" + strconv.Itoa(version) + "/xform", long: true}, opts)
}
