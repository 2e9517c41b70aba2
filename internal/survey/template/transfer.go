package template

import (
	"bytes"
	"context"
	"fmt"
	"mime"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/xlsform"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	mediaJSON = "application/json"
	mediaXML  = "application/xml"
	mediaXLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
)

// Edit is a template as it is read and sent back: members that the server
// decides may be repeated unchanged.
type Edit struct {
	form.Template
	Version      form.Value `json:"version,omitzero" doc:"The server sets this member and those that follow. They may be repeated and are ignored."`
	Status       form.Value `json:"status,omitzero"`
	ContentHash  form.Value `json:"contentHash,omitzero"`
	Shipped      form.Value `json:"shipped,omitzero"`
	ClonedFrom   form.Value `json:"clonedFrom,omitzero"`
	Revision     form.Value `json:"revision,omitzero"`
	Created      form.Value `json:"created,omitzero"`
	Updated      form.Value `json:"updated,omitzero"`
	CreatedBy    form.Value `json:"createdBy,omitzero"`
	UpdatedBy    form.Value `json:"updatedBy,omitzero"`
	PublishedAt  form.Value `json:"publishedAt,omitzero"`
	StatusReason form.Value `json:"statusReason,omitzero"`
	Links        form.Value `json:"links,omitzero"`
	Warnings     form.Value `json:"warnings,omitzero"`
}

// Imported is a template that was made from a file.
type Imported struct {
	Template *Version        `json:"template"`
	Report   *xlsform.Report `json:"report,omitzero" doc:"What could not be carried over from a workbook."`
	SHA256   string          `json:"sha256" doc:"SHA-256 of the file, or of all files together when there are several."`
}

// importIn is how a file is to be taken.
type importIn struct {
	TemplateID string `query:"templateId" minLength:"1"`
	Mode       string `query:"mode"`
	IfMatch    string `header:"If-Match"`
}

const (
	modeCreate = "create"
	modeUpdate = "update"
	modeCheck  = "check" // nothing is stored
)

func (in *importIn) check() error {
	var c fault.Checks
	check.OneOf(&c, "query/mode", in.Mode, modeCreate, modeUpdate, modeCheck)
	if in.TemplateID != "" && !templateID.MatchString(in.TemplateID) {
		c.Add("query/templateId", "invalid", "An identifier has 1 to 100 letters, digits, dots, hyphens and underscores, and begins with a letter or a digit.")
	}
	return c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

// serveImport makes a draft of a file: an XLSForm workbook or our own JSON.
func (h handlers) serveImport(w http.ResponseWriter, r *http.Request) error {
	in, err := web.Bind[importIn](r)
	if err != nil {
		return err
	}
	if err := in.check(); err != nil {
		return err
	}
	got, err := receive(w, r)
	if err != nil {
		return err
	}
	t, report, err := h.service.read(r.Context(), in, got)
	if err != nil {
		return err
	}
	if in.TemplateID != "" {
		t.TemplateID = in.TemplateID
	}
	answer, err := h.service.take(r.Context(), in, t, Imported{Report: report, SHA256: got.sha256})
	if err != nil {
		return err
	}
	return write(w, answer)
}

// read reads the template of an import. Files that an update does not send are
// those of the template.
func (s *Service) read(ctx context.Context, in *importIn, got *sent) (*form.Template, *xlsform.Report, error) {
	begin := bytes.TrimLeft(got.body, " \t\r\n")
	switch media := got.media; {
	case media == mediaXLSX, media == "application/octet-stream" && bytes.HasPrefix(got.body, []byte("PK")):
		var stored []form.DataFile
		if in.Mode != modeCreate && in.Mode != "" {
			id := in.TemplateID
			if id == "" {
				id = xlsform.FormID(bytes.NewReader(got.body), int64(len(got.body)))
			}
			var err error
			if stored, err = s.stored(ctx, web.CallerFrom(ctx).Workspace, id); err != nil {
				return nil, nil, err
			}
		}
		return xlsform.Read(bytes.NewReader(got.body), int64(len(got.body)), got.beside(stored))
	case media == mediaJSON, media == "application/x-www-form-urlencoded" && bytes.HasPrefix(begin, []byte("{")):
		var e Edit
		if err := web.DecodeStrict(got.body, &e, false); err != nil {
			return nil, nil, err
		}
		return &e.Template, nil, got.attachSent(&e.Template)
	}
	return nil, nil, fault.New(fault.Unsupported, "UNSUPPORTED_MEDIA_TYPE", "The body must be an XLSForm workbook or a template in JSON, alone or in a form together with its files.").
		With(fault.Field{Pointer: "header/Content-Type", Code: "unsupported", Detail: "Use " + mediaXLSX + ", " + mediaJSON + " or " + mediaForm + "."})
}

// take stores the imported template. A repeated request gets the first answer,
// if it sent the same file.
func (s *Service) take(ctx context.Context, in *importIn, t *form.Template, done Imported) (web.Reply[*Imported], error) {
	finish := func(r web.Reply[*Version]) web.Reply[*Imported] {
		all := done
		all.Template = r.Value
		return web.Reply[*Imported]{Value: &all, Status: http.StatusCreated, ETag: r.ETag, Location: r.Location}
	}
	var answer web.Reply[*Imported]
	var err error
	if in.Mode == modeCheck {
		return s.look(ctx, t, done)
	} else if in.Mode == modeUpdate {
		answer, err = update(ctx, s, change{id: t.TemplateID, ifMatch: in.IfMatch, to: *t}, finish)
	} else {
		answer, err = create(ctx, s, &Version{Template: *t}, finish)
	}
	if err != nil || !answer.Replayed {
		return answer, err
	}
	var first struct {
		SHA256 string `json:"sha256"`
	}
	if err := json.Unmarshal(answer.Raw, &first); err != nil {
		return answer, fmt.Errorf("read stored answer: %w", err)
	}
	if first.SHA256 != done.SHA256 {
		return answer, fault.New(fault.Unprocessable, "IDEMPOTENCY_KEY_REUSED", "This Idempotency-Key was used for another request.")
	}
	return answer, nil
}

// look makes the checks of take, and stores nothing.
func (s *Service) look(ctx context.Context, t *form.Template, done Imported) (web.Reply[*Imported], error) {
	var none web.Reply[*Imported]
	ws, err := writer(ctx)
	if err != nil {
		return none, err
	}
	if err := attach(ctx, s.db, ws, t); err != nil {
		return none, err
	}
	v := &Version{Template: *t, Status: StatusDraft}
	if v.TemplateID == "" {
		v.TemplateID = "template"
	}
	if _, err := prepare(v); err != nil {
		return none, err
	}
	done.Template = v
	return web.Reply[*Imported]{Value: &done, Status: http.StatusOK}, nil
}

// write sends the answer of a plain handler.
func write(w http.ResponseWriter, p web.Reply[*Imported]) error {
	body := p.Raw
	if body == nil {
		var err error
		if body, err = web.Encode(p.Value); err != nil {
			return err
		}
	}
	h := w.Header()
	h.Set("Content-Type", mediaJSON)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if p.Location != "" {
		h.Set("Location", p.Location)
		h.Set("ETag", p.ETag)
	}
	if p.Replayed {
		h.Set("Idempotent-Replayed", "true")
	}
	status := http.StatusCreated
	if p.Status == http.StatusOK { // nothing was stored
		status = p.Status
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client is gone when this fails
	return nil
}

// versionIn names a version of a template in the path.
type versionIn struct {
	TemplateID string     `path:"templateId" doc:"Identifier of the template."`
	Version    web.Number `path:"version" doc:"Number of the version."`
}

// serveXLSForm sends a version as an XLSForm workbook.
func (h handlers) serveXLSForm(w http.ResponseWriter, r *http.Request) error {
	return h.serveFile(w, r, mediaXLSX, ".xlsx", func(e *entry) ([]byte, error) {
		var file bytes.Buffer
		err := xlsform.Write(&file, &e.v.Template, e.v.Version)
		return file.Bytes(), err
	})
}

// serveXForm sends a version as an XForm.
func (h handlers) serveXForm(w http.ResponseWriter, r *http.Request) error {
	return h.serveFile(w, r, mediaXML, ".xml", func(e *entry) ([]byte, error) { return h.service.cfg.XForm(e.form, e.v.Version) })
}

// serveFile sends a version as the file that write makes of it.
func (h handlers) serveFile(w http.ResponseWriter, r *http.Request, media, ending string, write func(*entry) ([]byte, error)) error {
	in, err := web.Bind[versionIn](r)
	if err != nil {
		return err
	}
	version, err := one("path/version", in.Version)
	if err != nil {
		return err
	}
	e, err := h.service.load(r.Context(), h.service.db, cacheKey{web.CallerFrom(r.Context()).Workspace, in.TemplateID, version})
	if err != nil {
		return err
	}
	file, err := write(e)
	if err != nil {
		return err
	}
	head := w.Header()
	head.Set("Content-Type", media)
	head.Set("Content-Length", strconv.Itoa(len(file)))
	head.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fmt.Sprintf("%s-%d%s", e.v.TemplateID, e.v.Version, ending)}))
	head.Set("ETag", web.ETag(e.v.Revision))
	if web.NotModified(r, web.ETag(e.v.Revision)) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	_, _ = w.Write(file) // the client is gone when this fails
	return nil
}
