package app_test

import (
	"cmp"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
)

// shown is an operation as a viewer of the document reads it.
type shown struct {
	method, path string
	Tags         []string `json:"tags"`
	Parameters   []struct {
		Name     string `json:"name"`
		In       string `json:"in"`
		Required bool   `json:"required"`
		Example  any    `json:"example"`
	} `json:"parameters"`
	RequestBody struct {
		Content map[string]struct {
			Example  jsontext.Value `json:"example"`
			Examples map[string]struct {
				Value jsontext.Value `json:"value"`
			} `json:"examples"`
		} `json:"content"`
	} `json:"requestBody"`
}

// shownBody is one of the bodies a viewer offers.
type shownBody struct {
	media string
	text  string
}

func (s *shown) bodies(t *testing.T, h http.Handler) []shownBody {
	t.Helper()
	var out []shownBody
	for _, media := range slices.Sorted(maps.Keys(s.RequestBody.Content)) {
		c := s.RequestBody.Content[media]
		if c.Example != nil {
			out = append(out, shownBody{media, plainText(t, media, c.Example)})
		}
		for _, name := range slices.Sorted(maps.Keys(c.Examples)) {
			x := c.Examples[name]
			out = append(out, shownBody{media, plainText(t, media, x.Value)})
		}
		table := (s.path == "/v1/imports" || s.path == "/v1/imports:preview") && strings.Contains(media, "spreadsheet")
		if table { // no document can hold a workbook: the reader is sent to it
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/docs/import.xlsx", nil))
			out = append(out, shownBody{media, w.Body.String()})
		}
		packed := s.path == "/v1/surveys/{surveyId}/imports" && !strings.HasPrefix(media, "text/") && media != "application/x-ndjson" // nor an archive: an export makes one
		form := s.path == "/v1/templates:import" && media != "application/json"                                                       // an XLSForm is had from the route that writes one
		if c.Example == nil && len(c.Examples) == 0 && !form && !table && !packed {
			t.Errorf("%s %s has no example of %s", s.method, s.path, media)
		}
	}
	if len(out) == 0 {
		out = append(out, shownBody{})
	}
	return out
}

// plainText is an example as it is sent: a text is not JSON where the body is
// none.
func plainText(t *testing.T, media string, v jsontext.Value) string {
	t.Helper()
	if v == nil || strings.HasSuffix(media, "json") && media != "application/x-ndjson" {
		return string(v)
	}
	var text string
	if err := json.Unmarshal(v, &text); err != nil {
		t.Fatalf("example of %s: %v", media, err)
	}
	return text
}

// mintedBy says for ids that only the server makes whose answer has them: no
// example can name them, so the test does what its reader does.
func mintedBy(path string) string {
	switch path, _, _ = strings.Cut(path, "/{id}"); path {
	case "/v1/api-keys", "/v1/invites", "/v1/webhooks", "/v1/imports", "/v1/exports", "/v1/erasures", "/v1/entities/{did}/relationships":
		return path
	case "/v1/migrations":
		return "/v1/protocols/{did}/migrations"
	case "/v1/jobs":
		return "/v1/imports"
	}
	return ""
}

// runOrder is the order of a reader: make, change, lead through its life,
// read, and take away what is no longer needed.
func runOrder(s *shown) int {
	last := s.path[strings.LastIndexByte(s.path, '/')+1:]
	life := []string{"publish", "versions", "migrations", "reviews", "deprecate", "retire"}
	switch {
	case s.method == "DELETE":
		return 100 - strings.Count(s.path, "/") // parts before the whole
	case s.path == "/v1/erasures":
		return 99
	case strings.HasPrefix(s.path, "/v1/erasures"):
		return 100
	case s.method == "GET":
		return 50
	case s.method == "POST" && !strings.Contains(s.path, "{"), last == "verification": // as it was made: a verdict names that
		return 0
	case s.method != "POST":
		return 1
	}
	return 2 + slices.Index(life, last) + 1
}

// TestExamplesRunInOrder sends what a viewer of the reference would, on a fresh
// server: area A, templates and the platform, from the first example to the last.
func TestExamplesRunInOrder(t *testing.T) {
	t.Parallel()
	b := app.Build(t, owner, func(c *config.Config) {
		c.Server.PublicURL, c.VC.DirectIssue = "https://hearth.example.org", true
	})
	ids := map[string]string{}
	for _, op := range shownOperations(t, b.Handler) {
		path := op.path
		query, header := url.Values{}, http.Header{}
		for _, p := range op.Parameters {
			text, _ := p.Example.(string)
			if p.Example != nil && text == "" {
				raw, _ := json.Marshal(p.Example)
				text = string(raw)
			}
			if id := ids[mintedBy(op.path)]; p.Name == "id" && mintedBy(op.path) != "" {
				text = id
			}
			switch {
			case p.In == "path":
				path = strings.Replace(path, "{"+p.Name+"}", url.PathEscape(text), 1)
			case p.Required && text == "":
				t.Errorf("%s %s: no example of %s, which is needed", op.method, op.path, p.Name)
			case p.In == "query" && text != "":
				query.Set(p.Name, text)
			case p.In == "header" && text != "":
				header.Set(p.Name, text)
			}
		}
		if len(query) > 0 {
			path += "?" + query.Encode()
		}
		for _, body := range op.bodies(t, b.Handler) {
			if header.Get("If-Match") != "" {
				if w := runOne(b.Handler, op.method, path, body, nil); w.Code != http.StatusPreconditionRequired {
					t.Errorf("%s %s without If-Match = %d %s, want 428", op.method, path, w.Code, w.Body)
				}
			}
			w := runOne(b.Handler, op.method, path, body, header)
			if w.Code >= 300 && !unready(op, w.Code) {
				t.Errorf("%s %s %s %s = %d %s", op.method, path, body.media, body.text, w.Code, w.Body)
			}
			var made struct {
				ID string `json:"id"`
			}
			if op.method == "POST" && json.Unmarshal(w.Body.Bytes(), &made) == nil && made.ID != "" {
				ids[op.path] = made.ID
			}
		}
	}
}

// unready are the examples that need more than a request: a host that answers,
// and a job that has run.
func unready(op *shown, status int) bool {
	switch op.path {
	case "/v1/webhooks/{id}/ping":
		return status == http.StatusBadGateway
	case "/v1/webhooks/{id}/deliveries/{seq}", "/v1/webhooks/{id}/deliveries/{seq}/redeliver":
		return status == http.StatusNotFound // the receiver is sent something
	case "/v1/backups/{id}/verify":
		return status == http.StatusNotFound // a job makes one
	case "/v1/exports/{id}/file", "/v1/imports/{id}/run":
		return status == http.StatusConflict
	case "/v1/credentials/{credentialId}/verify":
		return status == http.StatusNotFound // a claim that was approved
	case "/v1/ussd/calls/{id}", "/v1/ussd/accounts/{id}", "/v1/ussd/accounts/{id}/unlock", "/v1/ussd/accounts/{id}/hold", "/v1/ussd/accounts/{id}/release",
		"/v1/ussd/accounts/{id}/reset", "/v1/ussd/accounts/{id}/close":
		return status == http.StatusNotFound // somebody calls, and opens an account
	case "/v1/analysis/household":
		return status == http.StatusNotFound // a household that has sent readings
	case "/v1/protocols/{did}/rubrics/{kind}/try":
		return status == http.StatusNotFound // a protocol with types of claims
	case "/v1/console/sessions/{id}":
		return status == http.StatusNotFound // a browser opens one
	}
	return false
}

func runOne(h http.Handler, method, path string, body shownBody, header http.Header) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, strings.NewReader(body.text))
	maps.Copy(req.Header, header)
	req.Header.Set("Authorization", "Bearer "+owner)
	if body.media != "" {
		req.Header.Set("Content-Type", body.media)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// shownOperations reads the document and puts what the test runs in order.
func shownOperations(t *testing.T, h http.Handler) []*shown {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/docs-json", nil))
	var doc struct {
		Paths map[string]map[string]*shown `json:"paths"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	others := []string{"vouchers", "surveys", "responses", "attachments", "verification", "quality", "sampling", "kpt", "claims", "issuing", "reports", "ussd", "oracle", "plugins"}
	var out []*shown
	for path, ops := range doc.Paths {
		for method, op := range ops {
			op.method, op.path = strings.ToUpper(method), path
			ofSurvey := strings.HasPrefix(path, "/v1/surveys/")
			endless := path == "/v1/events" // a stream
			if !slices.Contains(others, op.Tags[0]) && !ofSurvey && !endless {
				out = append(out, op)
			}
		}
	}
	slices.SortFunc(out, func(a, b *shown) int {
		return cmp.Or(runOrder(a)-runOrder(b), strings.Compare(a.path, b.path), strings.Compare(a.method, b.method))
	})
	return out
}
