// Package template holds the questionnaires of surveys: templates with
// versions, the reviews of their suitability, and the question bank that comes
// with the server. Of a published version only the status ever changes, so the
// form that a response was checked against can always be read.
//
// It promises that only one caller publishes a version, and once; that every
// problem of a template is named at once; that a review is never changed or
// lost; and that a template of another workspace does not exist. The bundled
// templates are the same everywhere and can be cloned but not changed.
//
// What a template may say, and how answers are checked, is package form. This
// package does not know surveys: they are the package above.
package template

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Nouns of package api, by their names here.
type (
	VersionList = api.TemplateVersions
	Change      = api.TemplateMove
	Languages   = api.TemplateLanguages
	Diff        = api.TemplateDiff
	Review      = api.TemplateReview
	ReviewDraft = api.TemplateReviewDraft
	ReviewState = api.TemplateReviewState
)

// Status is the stage of a version's life.
type Status string

// The statuses. Surveys are made from published and deprecated versions only.
const (
	StatusDraft      Status = "draft"
	StatusPublished  Status = "published"
	StatusDeprecated Status = "deprecated" // still usable, but there is something better
	StatusRetired    Status = "retired"    // final; surveys that use it continue
)

// Limits of templates. They are part of the API: the reference names them.
// Those of the document are in package form.
const (
	maxTemplates  = 1000      // of a workspace
	maxVersions   = 100       // of a template
	maxBody       = 512 << 10 // bytes of a version
	MaxFile       = 8 << 20   // bytes of a workbook
	maxFindings   = 10_000    // characters
	maxReviewDays = 3650
	reviewDays    = 365 // when a template does not say
	maxFields     = 100 // wrong fields that are named
)

// templateID is the shape of the identifier of a template.
var templateID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// Version is a version of a template as it is stored and sent.
type Version struct {
	form.Template
	Version      int               `json:"version" doc:"1, 2, …" example:"1"`
	Status       Status            `json:"status" enum:"draft,published,deprecated,retired"`
	ContentHash  string            `json:"contentHash" doc:"sha256: and the hexadecimal SHA-256 of the document without its templateId, in canonical form (RFC 8785)."`
	Shipped      bool              `json:"shipped,omitzero" doc:"Part of the product: it cannot be changed, but it can be cloned."`
	ClonedFrom   string            `json:"clonedFrom,omitzero" doc:"Template and version it was cloned from." example:"baseline-v1@1"`
	Revision     int64             `json:"revision" doc:"Counts the changes of the template; the number of the last change of this version is its ETag."`
	Created      time.Time         `json:"created,omitzero"`
	Updated      time.Time         `json:"updated,omitzero"`
	CreatedBy    string            `json:"createdBy,omitzero" doc:"DID of the principal who made this version."`
	UpdatedBy    string            `json:"updatedBy,omitzero"`
	PublishedAt  time.Time         `json:"publishedAt,omitzero"`
	StatusReason string            `json:"statusReason,omitzero" doc:"Why it was deprecated or retired."`
	Links        api.TemplateLinks `json:"links"`
	Warnings     []api.Warning     `json:"warnings,omitzero" doc:"In the answer to publish: what ODK Collect cannot ask, with its place. Phones are then not offered the template, but it can be asked in every other way."`
}

// Summary is a template in a list.
type Summary struct {
	TemplateID  string            `json:"templateId" example:"baseline-v1"`
	Title       form.Text         `json:"title,omitzero"`
	Stage       string            `json:"stage,omitzero" enum:"baseline,follow-up,monitoring"`
	Version     int               `json:"version" doc:"The version used when none is named."`
	Status      Status            `json:"status" enum:"draft,published,deprecated,retired"`
	Latest      int               `json:"latest" doc:"The newest version, including drafts."`
	Languages   []string          `json:"languages,omitzero"`
	Sections    int               `json:"sections"`
	Questions   int               `json:"questions" doc:"Number of questions, including those in groups and repeats."`
	ContentHash string            `json:"contentHash"`
	Shipped     bool              `json:"shipped,omitzero"`
	Revision    int64             `json:"revision"`
	Created     time.Time         `json:"created,omitzero"`
	Updated     time.Time         `json:"updated,omitzero"`
	PublishedAt time.Time         `json:"publishedAt,omitzero"`
	Links       api.TemplateLinks `json:"links"`
}

func summarize(v *Version, latest int) Summary {
	s := Summary{
		TemplateID: v.TemplateID, Title: v.Title, Stage: v.Stage, Version: v.Version, Status: v.Status, Latest: latest,
		Languages: v.Languages, Sections: len(v.Sections), ContentHash: v.ContentHash, Shipped: v.Shipped, Revision: v.Revision,
		Created: v.Created, Updated: v.Updated, PublishedAt: v.PublishedAt, Links: v.Links,
	}
	for _, sec := range v.Sections {
		s.Questions += count(sec.Questions)
	}
	return s
}

func count(qs []form.Question) int {
	n := len(qs)
	for _, q := range qs {
		n += count(q.Questions)
	}
	return n
}

// complete notes what is wrong with the members that package form does not know,
// and sets missing ones.
func complete(t *form.Template, c *fault.Checks) {
	if !templateID.MatchString(t.TemplateID) {
		c.Add("/templateId", "invalid", "An identifier has 1 to 100 letters, digits, dots, hyphens and underscores, and begins with a letter or a digit.")
	}
	if t.ReviewIntervalDays == 0 {
		t.ReviewIntervalDays = reviewDays
	}
	if t.ReviewIntervalDays < 1 || t.ReviewIntervalDays > maxReviewDays {
		c.Add("/reviewIntervalDays", "out_of_range", fmt.Sprintf("The value must be 1 to %d.", maxReviewDays))
	}
}

// compile checks a document and gives the form it makes. The fault is
// TEMPLATE_INVALID with every problem.
func compile(t *form.Template) (*form.Form, error) {
	var c fault.Checks
	complete(t, &c)
	f, err := form.Compile(t)
	bad := fault.As(err)
	if err != nil && bad == nil {
		return nil, err
	}
	fields := c.Fields()
	if bad != nil {
		fields = merge(fields, bad.Fields)
	}
	if bad == nil && len(fields) == 0 {
		return f, nil
	}
	return nil, invalid(fields...)
}

// merge joins two lists of wrong fields; a place is named once.
func merge(a, b []fault.Field) []fault.Field {
	seen := map[string]bool{}
	for _, f := range a {
		seen[f.Pointer] = true
	}
	for _, f := range b {
		if !seen[f.Pointer] {
			a = append(a, f)
		}
	}
	return a
}

func invalid(fields ...fault.Field) error {
	return fault.New(fault.Invalid, "TEMPLATE_INVALID", "The template is not valid.").With(fields[:min(len(fields), maxFields)]...)
}

// hash is the content hash: of the same content it is the same everywhere.
func hash(t form.Template) (string, error) {
	t.TemplateID = ""
	return check.Hash(t)
}

// render fills in derived members and returns the version as it is sent. The
// fault is TEMPLATE_INVALID when it is too large.
func (v *Version) render() ([]byte, error) {
	sum, err := hash(v.Template)
	if err != nil {
		return nil, err
	}
	v.ContentHash = sum
	base := path(v.TemplateID)
	self := base + "/versions/" + strconv.Itoa(v.Version)
	v.Links = api.TemplateLinks{Self: self, Versions: base + "/versions", Reviews: base + "/reviews", XLSForm: self + "/xlsform"}
	body, err := web.Encode(v)
	if err != nil {
		return nil, err
	}
	if len(body) > maxBody {
		return nil, invalid(fault.Field{Pointer: "", Code: "too_large", Detail: fmt.Sprintf("A template may have at most %d bytes.", maxBody)})
	}
	return body, nil
}

func path(id string) string { return "/v1/templates/" + url.PathEscape(id) }

// step is a version and where it stands.
type step struct {
	version int
	status  Status
}

// choose is the version that is shown and used when none is named: the newest
// published one, else a deprecated one, else the draft, else a retired one.
func choose(all []step) (step, bool) {
	for _, want := range []Status{StatusPublished, StatusDeprecated, StatusDraft, StatusRetired} {
		if s, ok := newest(all, want); ok {
			return s, true
		}
	}
	return step{}, false
}

// newest is the newest version in one of the statuses; of all without one.
func newest(all []step, in ...Status) (best step, ok bool) {
	for _, s := range all {
		fits := len(in) == 0
		for _, status := range in {
			fits = fits || s.status == status
		}
		if fits && s.version > best.version {
			best, ok = s, true
		}
	}
	return best, ok
}
