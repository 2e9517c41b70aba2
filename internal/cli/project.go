package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/cli/foreign"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/intake"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
)

func projectCommands() []command {
	of := func(source intake.Source, program string) command {
		return command{
			name: "import " + string(source), args: "<folder or zip>", summary: "Bring over the forms, submissions and media of a project of " + program,
			flags: func(fs *flag.FlagSet) any { return projectFlags(fs, source) }, run: importProject,
		}
	}
	return []command{of(intake.ODK, "ODK Central"), of(intake.Kobo, "KoboToolbox")}
}

type projectOptions struct {
	access
	source                            intake.Source
	project, kind, household, mapping string
	addresses, origin, report         string
	dry, whole                        bool
}

func projectFlags(fs *flag.FlagSet, source intake.Source) any {
	o := &projectOptions{source: source}
	o.register(fs, "entities:read, templates:write, surveys:write, surveys:read, imports:write, imports:read, responses:write and responses:read")
	fs.StringVar(&o.project, "project", "", "`DID` of the project that the surveys belong to (needed)")
	fs.StringVar(&o.kind, "type", "BaselineSurvey", "BaselineSurvey, FollowUpSurvey or MonitoringSurvey")
	fs.StringVar(&o.household, "household", eachOwn(source), "what the household of a submission is called: a `text` with a question in braces, such as did:example:household:{hh_code}. By default each submission is one of its own")
	fs.StringVar(&o.mapping, "mapping", "", "`JSON` object: column to column of an export; \"\" leaves a column out")
	fs.StringVar(&o.addresses, "addresses", "", "`file` for the addresses that app users get for ODK Collect here; they hold secrets. Without it none are made")
	fs.StringVar(&o.origin, "origin", "", "`address` of the server as phones reach it; HEARTH_PUBLIC_URL by default")
	fs.StringVar(&o.report, "report", "", "`file` for the result of each form and each submission, as NDJSON")
	fs.BoolVar(&o.dry, "dry-run", false, "store nothing, and report what would be stored")
	fs.BoolVar(&o.whole, "whole", false, "refuse submissions that lack required answers; they are stored as partial by default")
	return o
}

// eachOwn calls the household of a submission as the submission.
func eachOwn(source intake.Source) string { return "did:" + string(source) + ":{instanceID}" }

// importProject brings a project over: form by form, and with each its
// submissions.
func importProject(ctx context.Context, c *call) error {
	o := c.own.(*projectOptions)
	name, err := c.one("folder or zip")
	if err != nil {
		return err
	}
	if o.project == "" {
		return errUsage{"--project is needed: the DID of the project that the surveys belong to"}
	}
	p := &project{o: o, c: c, collectors: map[string]string{}}
	if o.mapping != "" && json.Unmarshal([]byte(o.mapping), &p.mapping) != nil {
		return errUsage{"--mapping must be a JSON object whose members are texts"}
	}
	if p.remote, err = o.dial(ctx, c); err != nil {
		return err
	}
	if err := p.known(ctx); err != nil {
		return err
	}
	x, err := foreign.Open(ctx, name)
	if err != nil {
		return err
	}
	defer x.Close() // it was only read
	if o.report != "" {
		f, err := os.OpenFile(o.report, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return fmt.Errorf("write report: %w", err)
		}
		defer f.Close()
		p.file = f
	}
	return p.run(ctx, x)
}

// known looks the project up: the API also accepts one that is held elsewhere,
// and a mistake in the DID would make surveys that nobody finds.
func (p *project) known(ctx context.Context) error {
	var twin struct {
		Domain string `json:"domainType"`
	}
	err := p.ask(ctx, http.MethodGet, "/v1/entities/"+url.PathEscape(p.o.project)+"?fields=domainType", nil, &twin)
	switch {
	case denied(err, "ENTITY_NOT_FOUND"):
		return fmt.Errorf("the project %s is not held here, or the key does not see it: look for its DID with GET /v1/entities?type=Project, or create it first", foreign.Shown(p.o.project))
	case err != nil:
		return fmt.Errorf("look for the project %s: %w", foreign.Shown(p.o.project), err)
	case twin.Domain != "project":
		return fmt.Errorf("--project %s is no project but a twin of the type %s", foreign.Shown(p.o.project), twin.Domain)
	}
	return nil
}

// project is one bringing over.
type project struct {
	*remote
	o          *projectOptions
	c          *call
	mapping    map[string]string
	collectors map[string]string // DIDs of app users by name
	file       *os.File          // of the report; nil without
	sum        tally
}

func (p *project) run(ctx context.Context, x *foreign.Export) error {
	if len(x.Forms) == 0 {
		why := ""
		if x.Empty() {
			why = " There is no file in it."
		} else if len(x.Left) > 0 {
			why = " Left out: " + strings.Join(x.Left, "; ")
		}
		return fmt.Errorf("the export has no form: a workbook (.xlsx) with a sheet called survey.%s", why)
	}
	if err := p.appUsers(ctx, x); err != nil {
		return err
	}
	for _, f := range x.Forms {
		if err := p.form(ctx, f); err != nil {
			return err
		}
	}
	for _, left := range x.Left {
		p.note("left out", left)
	}
	return p.end(len(x.Left))
}

// read reads the form of an export. A survey needs a question for consent: a form
// that has none gets one, which the submissions have not answered.
func read(f *foreign.Form, id string) (*form.Form, *xlsform.Report, bool, error) {
	t, report, err := xlsform.Read(bytes.NewReader(f.Workbook), int64(len(f.Workbook)), xlsform.Beside{Files: f.Files})
	if err != nil {
		return nil, report, false, err
	}
	t.TemplateID = id
	compiled, err := form.Compile(t)
	if err != nil || compiled.HasConsent() {
		return compiled, report, false, err
	}
	name := "consent"
	for n := 2; ; n++ {
		if !has(t, name) {
			break
		}
		name = fmt.Sprintf("consent_%d", n)
	}
	asked := form.Section{ID: name, Questions: []form.Question{{ID: "agreed", Type: "consent", Label: form.Plain("Do you agree to take part?")}}}
	t.Sections = append([]form.Section{asked}, t.Sections...)
	t.Validations.ConsentOptional = true
	compiled, err = form.Compile(t)
	return compiled, report, true, err
}

func has(t *form.Template, section string) bool {
	for i := range t.Sections {
		if t.Sections[i].ID == section {
			return true
		}
	}
	return false
}

// notName finds what the id of a survey cannot have.
var notName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// idOf is the id of the template and of the survey of a form.
func (p *project) idOf(f *foreign.Form) string {
	id := string(p.o.source) + "-" + notName.ReplaceAllString(f.ID, "-")
	return id[:min(len(id), 100)]
}

// form brings over a form and its submissions.
func (p *project) form(ctx context.Context, f *foreign.Form) error {
	compiled, report, added, err := read(f, p.idOf(f))
	if bad := fault.As(err); bad != nil {
		p.refuse(f, bad)
		return nil
	} else if err != nil {
		return err
	}
	p.tellForm(f, report, added)
	at, err := p.survey(ctx, compiled.Template().TemplateID)
	if err == nil && at == nil && !p.o.dry {
		at, err = p.make(ctx, compiled)
	}
	var no denial
	if errors.As(err, &no) {
		p.sum.forms.refused++
		p.note("refused", no.text)
		return nil
	} else if err != nil {
		return err
	}
	for _, l := range f.Loads {
		if err := p.load(ctx, f, l, compiled, at); err != nil {
			return err
		}
	}
	return nil
}

// held is a survey as far as this program needs it.
type held struct {
	SurveyID   string           `json:"surveyId"`
	ProjectID  string           `json:"projectId"`
	Status     string           `json:"status"`
	Revision   int64            `json:"revision"`
	CreatedBy  string           `json:"createdBy"`
	Collectors []map[string]any `json:"collectors"`
}

// survey reads a survey; nil when there is none. One of another project is an
// error.
func (p *project) survey(ctx context.Context, id string) (*held, error) {
	h := &held{}
	err := p.ask(ctx, http.MethodGet, "/v1/surveys/"+url.PathEscape(id), nil, h)
	if denied(err, "SURVEY_NOT_FOUND") {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if h.ProjectID != p.o.project {
		return nil, denial{"SURVEY_OF_ANOTHER_PROJECT", fmt.Sprintf("The survey %s, which an earlier run has made of this form, belongs to the project %s, and --project is %s. "+
			"Run it with --project %s, or leave the form out; to have the form in both projects, give it another form_id in its workbook.", id, h.ProjectID, p.o.project, h.ProjectID)}
	}
	if p.o.dry || h.Status != "draft" && len(p.missing(h)) == 0 {
		return h, nil
	}
	return h, p.start(ctx, h)
}

// make makes the template and the survey of a form.
func (p *project) make(ctx context.Context, f *form.Form) (*held, error) {
	t := f.Template()
	if err := p.template(ctx, t); err != nil {
		return nil, err
	}
	h := &held{}
	err := p.post(ctx, "/v1/surveys", map[string]any{
		"surveyId": t.TemplateID, "type": p.o.kind, "projectId": p.o.project, "templateId": t.TemplateID, "name": cmp.Or(t.Title.In(t.Language(), "en"), t.TemplateID),
		"sampling": map[string]any{"method": "census"}, "modes": []string{"visit", "collect"}, "onePerHousehold": false, "metadata": map[string]any{"importedFrom": p.o.source},
	}, h)
	if err != nil {
		return nil, err
	}
	return h, p.start(ctx, h)
}

// template publishes the template of a form, unless an earlier run has.
func (p *project) template(ctx context.Context, t *form.Template) error {
	var known struct {
		Status string `json:"status"`
	}
	path := "/v1/templates/" + url.PathEscape(t.TemplateID)
	err := p.ask(ctx, http.MethodGet, path, nil, &known)
	if denied(err, "TEMPLATE_NOT_FOUND") {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		err = part(w, "form", "template.json", func() ([]byte, error) { return json.Marshal(t) })
		for i := range t.Files {
			if err == nil {
				err = part(w, "files", t.Files[i].Name, func() ([]byte, error) { return t.Files[i].Content(), nil })
			}
		}
		if err = errors.Join(err, w.Close()); err != nil {
			return fmt.Errorf("write form: %w", err)
		}
		var req *http.Request
		if req, err = http.NewRequestWithContext(ctx, http.MethodPost, p.base+"/v1/templates:import", &body); err != nil {
			return fmt.Errorf("ask the server: %w", err)
		}
		req.Header.Set("Content-Type", w.FormDataContentType())
		err = p.do(req, &struct{}{})
	}
	if err != nil || known.Status == "published" {
		return err
	}
	var published struct {
		Warnings []struct{ Pointer, Detail string } `json:"warnings"`
	}
	if err := p.post(ctx, path+"/publish", struct{}{}, &published); err != nil {
		return err
	}
	for _, w := range published.Warnings {
		p.note("not in ODK Collect", w.Pointer+": "+w.Detail)
	}
	return nil
}

func part(w *multipart.Writer, field, name string, content func() ([]byte, error)) error {
	text, err := content()
	if err != nil {
		return err
	}
	to, err := w.CreateFormFile(field, name)
	if err == nil {
		_, err = to.Write(text)
	}
	return err
}

// start names the collectors of a survey and begins it.
func (p *project) start(ctx context.Context, h *held) error {
	path := "/v1/surveys/" + url.PathEscape(h.SurveyID)
	all := append(h.Collectors, p.missing(h)...)
	if len(all) == 0 {
		all = []map[string]any{{"did": h.CreatedBy}}
	}
	body, err := json.Marshal(map[string]any{"collectors": all})
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, p.base+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	req.Header.Set("Content-Type", "application/merge-patch+json")
	req.Header.Set("If-Match", fmt.Sprintf("%q", fmt.Sprint(h.Revision)))
	if err := p.do(req, h); err != nil || h.Status != "draft" {
		return err
	}
	return p.post(ctx, path+"/activate", map[string]string{"reason": "brought over from " + string(p.o.source)}, h)
}

// missing are the collectors that a survey does not name yet.
func (p *project) missing(h *held) (out []map[string]any) {
	known := map[any]bool{}
	for _, one := range h.Collectors {
		known[one["did"]] = true
	}
	for _, name := range sorted(p.collectors) {
		if did := p.collectors[name]; !known[did] {
			out = append(out, map[string]any{"did": did, "name": name})
		}
	}
	return out
}
