package openrosa

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Path is the prefix of addresses.
const Path = "/v1/openrosa/"

const (
	mediaXML  = "text/xml; charset=utf-8"
	mediaCSV  = "text/csv; charset=utf-8"
	mediaForm = "multipart/form-data"
)

// Routes adds the routes for devices to a: a table with the errors and the gate
// of this package.
func (s *Service) Routes(a *web.API) {
	const path, tag = Path + "{token}", "openrosa"
	missing := []string{"FORM_NOT_FOUND"}
	a.Handle(http.MethodGet, path+"/formList", s.serveList, web.Doc{
		Summary: "List the forms of a collector", Scope: Scope, Tag: tag, Page: true, Produces: "text/xml",
		Description: "For ODK Collect, in the protocol OpenRosa 1.0: the surveys that are active and that name the principal of the address as a collector, or give it households to visit. formID narrows it to one.",
		Query:       []web.Param{{Name: "formID", Doc: "Only this form.", Example: "srv_7310428377145344"}, {Name: "verbose", Doc: "Not looked at."}, {Name: "listAllVersions", Doc: "Not looked at."}},
	})
	a.Handle(http.MethodGet, path+"/forms/{formId}", s.serveForm, web.Doc{Summary: "Read a form of a collector", Scope: Scope, Tag: tag, Page: true, Produces: "text/xml", Codes: missing})
	a.Handle(http.MethodGet, path+"/forms/{formId}/manifest", s.serveManifest, web.Doc{
		Summary: "List the files of a form", Scope: Scope, Tag: tag, Page: true, Produces: "text/xml", Codes: missing,
		Description: "With the MD5 of each. One is the list of the households that the collector is to visit, by name where their twins have one; the audit log records this disclosure. Entity lists of the survey have the type approvalEntityList, with the columns name, label and __version.",
	})
	a.Handle(http.MethodGet, path+"/forms/{formId}/files/{name}", s.serveFile, web.Doc{Summary: "Read a file of a form", Scope: Scope, Tag: tag, Page: true, Produces: "text/csv", Codes: missing})
	a.Handle(http.MethodHead, path+"/submission", s.serveProbe, web.Doc{Summary: "Ask whether submissions are accepted", Scope: Scope, Tag: tag, Page: true, Status: http.StatusNoContent, Produces: "text/xml"})
	a.Handle(http.MethodPost, path+"/submission", s.serveSubmission, web.Doc{
		Summary: "Send a submission", Scope: Scope, Tag: tag, Page: true, Status: http.StatusCreated, Also: []int{http.StatusAccepted}, Produces: "text/xml", Consumes: mediaForm,
		Description: "A multipart form with the part xml_submission_file, the instance, and one for each file. Files may come in several posts, each with the instance: the answer is 202 while some are missing, and 201 when the response is stored, or kept for a manager to decide about because its survey has ended. " +
			"instanceID is the id of the response, deprecatedID that of the one it replaces. The rules of POST /v1/responses:batch apply.",
		Codes: append([]string{"INSTANCE_INVALID", "SUBMISSION_INVALID", "FORM_VERSION_UNKNOWN", "RESPONSE_CONFLICT", "NOT_COLLECTOR", "TOO_MANY_SUBMISSIONS"}, missing...),
	})
}

// said are the headers of every answer.
func said(h http.Header) {
	h.Set("X-OpenRosa-Version", "1.0")
	h.Set("X-OpenRosa-Accept-Content-Length", strconv.Itoa(acceptBytes))
	h.Set("Cache-Control", "private, no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}

// send answers with a document.
func send(w http.ResponseWriter, status int, media string, body []byte) error {
	said(w.Header())
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // the device is gone when this fails
	return nil
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder takes everything
	return b.String()
}

// envelope is an answer in words.
func envelope(text string) []byte {
	return []byte(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<OpenRosaResponse xmlns="http://openrosa.org/http/response"><message nature="">` + escape(text) + "</message></OpenRosaResponse>\n")
}

// WriteFault writes a fault in the form that devices show: a text with what is
// wrong.
func WriteFault(w http.ResponseWriter, _ *http.Request, f *fault.Error) {
	text := f.Message
	for i, one := range f.Fields {
		if i == 5 {
			text += fmt.Sprintf(" And %d more.", len(f.Fields)-i)
			break
		}
		if text += " "; one.Pointer != "" {
			text += one.Pointer + ": "
		}
		text += one.Detail
	}
	_ = send(w, web.Status(f.Kind), mediaXML, envelope(text+" ("+f.Code+")")) // it never fails
}

// address is where a device reaches an address, as it knows it.
func (s *Service) address(r *http.Request) string {
	base := s.cfg.PublicURL
	if base == "" {
		base = "http://" + r.Host
		if r.TLS != nil {
			base = "https://" + r.Host
		}
	}
	return strings.TrimSuffix(base, "/") + Path + url.PathEscape(r.PathValue("token"))
}

func (s *Service) serveList(w http.ResponseWriter, r *http.Request) error {
	ctx := acting(r.Context())
	c := web.CallerFrom(ctx)
	base, only := s.address(r), r.URL.Query().Get("formID")
	key := strings.Join(append([]string{"list", c.DID, base, only}, c.Projects...), "\x00")
	k, err := s.keep(c.Workspace, key, listLife, func() (*kept, error) {
		all, err := s.forms(ctx)
		return &kept{body: formList(all, base, only)}, err
	})
	if err != nil {
		return err
	}
	return send(w, http.StatusOK, mediaXML, k.body)
}

// formList is a list of forms.
func formList(all []*Form, base, only string) []byte {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<xforms xmlns="http://openrosa.org/xforms/xformsList">` + "\n")
	for _, f := range all {
		if only != "" && only != f.ID {
			continue
		}
		at := base + "/forms/" + url.PathEscape(f.ID)
		b.WriteString("<xform><formID>" + escape(f.ID) + "</formID><name>" + escape(f.Title) + "</name><version>" + f.Version + "</version><hash>" + f.Hash +
			"</hash><downloadUrl>" + escape(at) + "</downloadUrl><manifestUrl>" + escape(at) + "/manifest</manifestUrl></xform>\n")
	}
	b.WriteString("</xforms>\n")
	return []byte(b.String())
}

// asked is the form that a request names.
func (s *Service) asked(r *http.Request) (*http.Request, *shown, error) {
	ctx := acting(r.Context())
	o, err := s.mine(ctx, r.PathValue("formId"))
	if err != nil {
		return r, nil, err
	}
	if !asks(o) {
		return r, nil, noForm()
	}
	f, err := s.formOf(o)
	return r.WithContext(ctx), &shown{o, f}, err
}

func (s *Service) serveForm(w http.ResponseWriter, r *http.Request) error {
	_, at, err := s.asked(r)
	if err != nil {
		return err
	}
	return send(w, http.StatusOK, mediaXML, at.form.XML)
}

func (s *Service) serveManifest(w http.ResponseWriter, r *http.Request) error {
	r, at, err := s.asked(r)
	if err != nil {
		return err
	}
	base := s.address(r) + "/forms/" + url.PathEscape(at.form.ID) + "/files/"
	names := []string{HouseholdFile}
	for _, f := range at.form.Files {
		names = append(names, f.Name)
	}
	for _, l := range at.form.Lists {
		names = append(names, l+".csv")
	}
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<manifest xmlns="http://openrosa.org/xforms/xformsManifest">` + "\n")
	for _, name := range names {
		content, err := s.file(r.Context(), at.open, at.form, name)
		if err != nil {
			return err
		}
		kind := ""
		if slices.Contains(at.form.Lists, strings.TrimSuffix(name, ".csv")) {
			kind = ` type="approvalEntityList"` // twins that the device adds count once they are accepted
		}
		b.WriteString("<mediaFile" + kind + "><filename>" + escape(name) + "</filename><hash>" + Hash(content) + "</hash><downloadUrl>" + escape(base+url.PathEscape(name)) + "</downloadUrl></mediaFile>\n")
	}
	b.WriteString("</manifest>\n")
	return send(w, http.StatusOK, mediaXML, []byte(b.String()))
}

func (s *Service) serveFile(w http.ResponseWriter, r *http.Request) error {
	r, at, err := s.asked(r)
	if err != nil {
		return err
	}
	content, err := s.file(r.Context(), at.open, at.form, r.PathValue("name"))
	if err != nil {
		return err
	}
	return send(w, http.StatusOK, mediaCSV, content)
}

// serveProbe tells a device that it may send, and where to.
func (s *Service) serveProbe(w http.ResponseWriter, r *http.Request) error {
	said(w.Header())
	w.Header().Set("Location", s.address(r)+"/submission")
	w.WriteHeader(http.StatusNoContent)
	return nil
}
