package openrosa_test

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/intake"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/openrosa"
	"github.com/hearth-dmrv/hearth/internal/survey/openrosa/openrosatest"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

const (
	homeTemplate = `{"templateId":"home","title":"Home","sections":[
		{"id":"consent","questions":[{"id":"ok","type":"consent","required":true}]},
		{"id":"home","questions":[{"id":"size","type":"integer","label":"People at home?","validation":{"min":1,"max":20}},{"id":"phone","type":"text","pii":"direct"},{"id":"stove","type":"photo"},{"id":"fire","type":"photo"}]}]}`
	homeSurvey = `{"surveyId":"%s","type":"BaselineSurvey","projectId":"did:ixo:project/%s","templateId":"home","sampling":{"method":"census"},
		"collectors":["did:key:ann","did:key:bob"],"assignments":[{"collector":"did:key:ann","households":["did:ixo:household/1"]},{"collector":"did:key:bob","households":["did:ixo:household/2"]}]}`
)

// callerOf makes a caller: ann and bob collect with a phone, eve has a phone and
// collects nowhere, far may see another project only.
func callerOf(ws, role string) web.Caller {
	c := web.Caller{Workspace: ws, DID: "did:key:" + role, Key: "key-" + role + "-" + ws, Scopes: []string{openrosa.Scope}}
	switch role {
	case "owner":
		c.Scopes = []string{"*"}
	case "far":
		c.DID, c.Projects = "did:key:ann", []string{"did:ixo:project/two"}
	case "reader":
		c.Scopes = []string{"responses:read"}
	}
	return c
}

// keys takes the secret of an address for "workspace role".
type keys struct{}

func (keys) Admit(h http.Header, r *http.Request, scope web.Scope) (web.Caller, error) {
	if r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" {
		return web.Caller{}, fault.New(fault.Internal, "LEAK", "Only the secret of the address counts.")
	}
	r.Header.Set("Authorization", "Bearer "+strings.ReplaceAll(r.Header.Get("X-API-Key"), "-", " "))
	return surveytest.Gate(callerOf).Admit(h, r, scope)
}

type env struct {
	d         *db.DB
	s         *openrosa.Service
	responses *response.Service
	h         surveytest.Server
	phone     http.Handler
	clock     surveytest.Clock
}

func newEnv(t testing.TB, d *db.DB) *env {
	t.Helper()
	key, v := surveytest.Key(t), &env{d: d}
	l := event.New(event.Config{DB: d, Cursors: eventtest.Cursors()})
	vaults, idem := vault.New(vault.Config{Key: key}), once.New(once.Config{DB: d, Key: key})
	templates := template.New(template.Config{DB: d, Events: l, Cursors: eventtest.Cursors()})
	surveys := survey.New(survey.Config{
		DB: d, Templates: templates, Events: l, Idem: idem, Cursors: eventtest.Cursors(), Vault: vaults,
		Contact: func(_ context.Context, _ db.Querier, household string) (*survey.Contact, error) {
			return &survey.Contact{Name: "Amina of " + household}, nil
		},
	})
	files := media.New(media.Config{DB: d, Key: key})
	v.responses = response.New(response.Config{
		DB: d, Surveys: surveys, Vault: vaults, Media: files, Events: l, Idem: idem, Cursors: eventtest.Cursors(), Key: key,
		Stored: func(context.Context, *db.Tx, *response.Prepared, bool) error { return nil },
	})
	batches := intake.NewBatches(intake.BatchesConfig{DB: d, Surveys: surveys, Responses: v.responses, Vault: vaults, Events: l, Idem: idem, Cursors: eventtest.Cursors()})
	v.s = openrosa.New(openrosa.Config{
		DB: d, Surveys: surveys, Media: files, Vault: vaults, Now: v.clock.Now, PublicURL: "https://field.example",
		Take: func(ctx context.Context, raw jsontext.Value) (api.BatchItem, error) {
			out, err := batches.Take(ctx, intake.Batch{Items: []intake.BatchItem{{Value: form.Value{Value: raw}}}})
			if err != nil {
				return api.BatchItem{}, err
			}
			return out.Results[0], nil
		},
		Stored: func(ctx context.Context, id string) (bool, error) {
			_, _, err := v.responses.Find(ctx, d, id)
			return err == nil, nil
		},
		Read: func(ctx context.Context, id string) ([]byte, error) {
			r, err := v.responses.Get(ctx, id)
			return r.Raw, err
		},
		Issue: func(_ context.Context, d api.CollectAddressDraft) (openrosa.Issued, error) {
			return openrosa.Issued{ID: "key_1", Principal: "did:key:new", Text: "secret"}, nil
		},
		Draw: func(text string) (*api.QR, error) { return &api.QR{Size: len(text)}, nil },
	})
	v.h = surveytest.Gate(callerOf).Serve(t, v.s.AddressRoutes, v.responses.Routes, batches.Routes, surveys.Routes, templates.Routes, surveytest.Erasures(d, surveys.Erase, v.responses.Erase, v.s.Erase))
	field := web.NewAPI(web.APIConfig{Name: "collect", Gate: openrosa.Gate{Keys: keys{}}, Errors: openrosa.WriteFault, Lenient: true})
	v.s.Routes(field)
	v.phone = webtest.Handler(t, field)
	for _, one := range [][2]string{
		{"POST /v1/templates", homeTemplate},
		{"POST /v1/templates/home/publish", `{}`},
		{"POST /v1/surveys", fmt.Sprintf(homeSurvey, "s", "one")},
		{"POST /v1/surveys/s/households", `{"items":[{"householdId":"did:ixo:household/1"},{"householdId":"did:ixo:household/2"},{"householdId":"did:ixo:household/3"}]}`},
		{"POST /v1/surveys/s/activate", `{}`},
	} {
		v.must(t, one[0], one[1])
	}
	return v
}

func (v *env) must(t testing.TB, request, body string) string {
	t.Helper()
	w := v.h.Send(t, "ws owner", request, body)
	if w.Code >= 300 {
		t.Fatalf("%s = %d %s", request, w.Code, w.Body)
	}
	return w.Body.String()
}

// get asks as a phone does.
func (v *env) get(t testing.TB, token, path string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/openrosa/"+token+path, nil)
	r.Header.Set("Cookie", "session=other")
	w := httptest.NewRecorder()
	v.phone.ServeHTTP(w, r)
	if w.Header().Get("X-OpenRosa-Version") != "1.0" {
		t.Errorf("%s has no X-OpenRosa-Version", path)
	}
	return w
}

// interview is what a phone sends.
type interview struct {
	id, old, household, form, home string
	version, log                   string            // "1" and none by default
	files                          map[string]string // contents by name
}

func (i interview) xml() []byte {
	var t form.Template
	if err := json.Unmarshal([]byte(homeTemplate), &t); err != nil {
		panic(err)
	}
	id := i.form
	if id == "" {
		id = "s"
	}
	return openrosatest.Instance(&t, jsontext.Value(`{"consent":{"ok":true},"home":{`+i.home+`}}`), openrosatest.Submission{
		FormID: id, Version: cmp.Or(i.version, "1"), Audit: i.log, InstanceID: i.id, Deprecated: i.old, Household: "did:ixo:household/" + i.household, Device: "collect:1",
		Start: "2026-02-20T10:00:00.000+03:00", End: "2026-02-20T10:30:00.000+03:00",
	})
}

func (v *env) send(t testing.TB, token string, i interview) *httptest.ResponseRecorder {
	t.Helper()
	return v.post(t, token, i.xml(), i.files)
}

func (v *env) post(t testing.TB, token string, raw []byte, files map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	part, err := m.CreateFormFile("xml_submission_file", "instance.xml")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write(raw)
	for name, content := range files {
		part, err := m.CreateFormFile(name, name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(part, content)
	}
	_ = m.Close()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/openrosa/"+token+"/submission", &b)
	r.Header.Set("Content-Type", m.FormDataContentType())
	w := httptest.NewRecorder()
	v.phone.ServeHTTP(w, r)
	return w
}

// want wants a status and a word of the answer, which is OpenRosa's.
func want(t testing.TB, what string, w *httptest.ResponseRecorder, status int, words ...string) {
	t.Helper()
	if w.Code != status || !strings.Contains(w.Body.String(), "<OpenRosaResponse") {
		t.Errorf("%s = %d %s, want %d in an envelope", what, w.Code, w.Body, status)
	}
	for _, word := range words {
		if !strings.Contains(w.Body.String(), word) {
			t.Errorf("%s = %s, want %q in it", what, w.Body, word)
		}
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		list := v.get(t, "ws-ann", "/formList")
		form := v.get(t, "ws-ann", "/forms/s")
		if list.Code != 200 || form.Code != 200 || !strings.Contains(list.Body.String(), "<formID>s</formID><name>Home</name><version>1</version><hash>"+openrosa.Hash(form.Body.Bytes())+"</hash>") {
			t.Errorf("formList = %d %s", list.Code, list.Body)
		}
		if !strings.Contains(list.Body.String(), "<manifestUrl>https://field.example/v1/openrosa/ws-ann/forms/s/manifest</manifestUrl>") {
			t.Errorf("formList = %s", list.Body)
		}
		v.must(t, "POST /v1/surveys", strings.Replace(fmt.Sprintf(homeSurvey, "named", "one"), "{", `{"name":"Stoves & pots of Makueni",`, 1))
		v.must(t, "POST /v1/surveys/named/activate", `{"reason":"test"}`)
		if got := v.get(t, "ws-ann", "/formList").Body.String(); !strings.Contains(got, "<formID>named</formID><name>Stoves &amp; pots of Makueni</name>") {
			t.Errorf("formList = %s, want the survey by its name", got)
		}
		v.must(t, "POST /v1/surveys/named/close", `{"reason":"test"}`)
		manifest := v.get(t, "ws-ann", "/forms/s/manifest")
		file := v.get(t, "ws-ann", "/forms/s/files/"+openrosa.HouseholdFile)
		if !strings.Contains(manifest.Body.String(), openrosa.Hash(file.Body.Bytes())) {
			t.Errorf("manifest = %s", manifest.Body)
		}
		if got := file.Body.String(); !strings.Contains(got, "did:ixo:household/1,Amina of did:ixo:household/1") || strings.Contains(got, "household/2") || strings.Contains(got, "household/3") {
			t.Errorf("households of ann = %s", got)
		}
		for _, token := range []string{"ws-eve", "ws-far", "other-ann"} {
			if got := v.get(t, token, "/formList").Body.String(); strings.Contains(got, "<xform>") {
				t.Errorf("formList of %s = %s, want none", token, got)
			}
			for _, path := range []string{"/forms/s", "/forms/s/manifest", "/forms/s/files/" + openrosa.HouseholdFile, "/forms/none"} {
				want(t, token+path, v.get(t, token, path), 404, "FORM_NOT_FOUND")
			}
		}
		want(t, "a path", v.get(t, "ws-ann", "/forms/s/files/..%2F..%2Fhearth.db"), 404)
		want(t, "a key without the scope", v.get(t, "ws-reader", "/formList"), 403, "SCOPE_MISSING")
		want(t, "the key of an owner", v.get(t, "ws-owner", "/formList"), 403, "NOT_AN_ADDRESS")
		want(t, "no key", v.get(t, "nonsense", "/formList"), 401)
		v.must(t, "POST /v1/surveys/s/close", `{}`)
		if got := v.get(t, "ws-ann", "/formList").Body.String(); strings.Contains(got, "<xform>") {
			t.Errorf("formList after the survey has closed = %s", got)
		}
		want(t, "the form of a closed survey", v.get(t, "ws-ann", "/forms/s"), 404)
	})
}

func TestProbe(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		w := httptest.NewRecorder()
		v.phone.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodHead, "/v1/openrosa/ws-ann/submission", nil))
		if w.Code != http.StatusNoContent || w.Header().Get("X-OpenRosa-Accept-Content-Length") != "10485760" || w.Header().Get("Location") != "https://field.example/v1/openrosa/ws-ann/submission" {
			t.Errorf("HEAD = %d %v", w.Code, w.Header())
		}
	})
}

// What is sent twice is stored once, something else under the same id is kept as
// a conflict, and a correction replaces.
func TestSubmit(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		one := interview{id: "uuid:1", household: "1", home: `"size":4,"phone":"0700"`}
		for range 3 {
			want(t, "submission", v.send(t, "ws-ann", one), 201, "Stored.")
		}
		got := v.must(t, "GET /v1/responses/uuid:1", "")
		for _, part := range []string{`"collector":"did:key:ann"`, `"size":4`, `"durationSec":1800`, `"deviceId":"collect:1"`, `"status":"complete"`} {
			if !strings.Contains(got, part) {
				t.Errorf("the response lacks %s: %s", part, got)
			}
		}
		raw := v.must(t, "GET /v1/responses/uuid:1/xml", "")
		in, err := openrosa.Parse([]byte(raw))
		if err != nil || in.FormID != "s" || in.InstanceID != "uuid:1" || in.Household() != "did:ixo:household/1" || !strings.Contains(raw, "<size>4</size><phone>0700</phone>") {
			t.Errorf("as XML: %v %s", err, raw)
		}
		if w := v.h.Send(t, "ws reader", "GET /v1/responses/uuid:1/xml", ""); w.Code != 200 || strings.Contains(w.Body.String(), "0700") || strings.Contains(w.Body.String(), "household/1") {
			t.Errorf("as XML for a reader: %d %s", w.Code, w.Body)
		}
		other := one
		other.home = `"size":5`
		want(t, "other content", v.send(t, "ws-ann", other), 409, "RESPONSE_CONFLICT", "is kept too")
		if got := v.must(t, "GET /v1/surveys/s/conflicts", ""); strings.Count(got, `"conflictId"`) != 1 {
			t.Errorf("conflicts = %s", got)
		}
		want(t, "a second one of the household", v.send(t, "ws-ann", interview{id: "uuid:2", household: "1", home: `"size":4`}), 409, "DUPLICATE_HOUSEHOLD_RESPONSE", "already been interviewed")
		v.must(t, "POST /v1/surveys", fmt.Sprintf(homeSurvey, "t", "one"))
		v.must(t, "POST /v1/surveys/t/activate", `{"reason":"test"}`)
		want(t, "the id of another survey", v.send(t, "ws-ann", interview{id: "uuid:1", form: "t", household: "1", home: `"size":4`}), 409, "RESPONSE_CONFLICT")
		want(t, "a correction", v.send(t, "ws-ann", interview{id: "uuid:3", old: "uuid:1", household: "1", home: `"size":6`}), 201)
		if got := v.must(t, "GET /v1/responses/uuid:1", ""); !strings.Contains(got, `"supersededBy":"uuid:3"`) {
			t.Errorf("the corrected one = %s", got)
		}
		v.must(t, "POST /v1/surveys/s/close", `{}`)
		want(t, "after the end", v.send(t, "ws-bob", interview{id: "uuid:4", household: "2", home: `"size":2`}), 201, "manager")
	})
}

// Files come in any order and in several posts; the response is stored when all
// are here, and not before.
func TestFiles(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		names := `"size":4,"stove":"1.jpg","fire":"2.jpg"`
		i := interview{id: "uuid:1", household: "1", home: names}
		want(t, "without files", v.send(t, "ws-ann", i), 202, "1.jpg", "2.jpg")
		i.files = map[string]string{"2.jpg": "second"}
		want(t, "with one", v.send(t, "ws-ann", i), 202, "1.jpg")
		if w := v.h.Send(t, "ws owner", "GET /v1/responses/uuid:1", ""); w.Code != 404 {
			t.Errorf("the response is there before its files: %s", w.Body)
		}
		if raw := v.sealed(t); len(raw) != 1 || bytes.Contains(raw[0], []byte("0700")) {
			t.Errorf("%d submissions wait", len(raw))
		}
		i.files = map[string]string{"1.jpg": "first"}
		for range 2 {
			want(t, "with the other", v.send(t, "ws-ann", i), 201)
			i.files["2.jpg"] = "second"
		}
		if got := v.must(t, "GET /v1/responses/uuid:1", ""); strings.Count(got, "sha256:") < 2 {
			t.Errorf("the response = %s", got)
		}
		if n := len(v.sealed(t)); n != 0 {
			t.Errorf("%d submissions still wait", n)
		}

		// One whose file never comes goes on without it after a day.
		want(t, "a file that never comes", v.send(t, "ws-bob", interview{id: "uuid:2", household: "2", home: names, files: map[string]string{"1.jpg": "first"}}), 202)
		v.clock.Set(time.Now().Add(openrosa.Patience + time.Hour))
		if n, err := v.s.Finish(t.Context(), v.clock.Now().Add(-openrosa.Patience), 10); n != 2 || err != nil { // with the one that is stored
			t.Errorf("finished %d, %v", n, err)
		}
		if got := v.must(t, "GET /v1/responses/uuid:2", ""); !strings.Contains(got, `"stove":"sha256:`) || strings.Contains(got, `"fire"`) {
			t.Errorf("the response = %s", got)
		}
	})
}

// The log of an interview says how long it took and where it was.
func TestLog(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		i := interview{id: "uuid:1", household: "1", home: `"size":4`, log: "audit.csv"}
		want(t, "without the log", v.send(t, "ws-ann", i), 202, "audit.csv")
		i.files = map[string]string{"audit.csv": "event,node,start,end,latitude,longitude,accuracy\nquestion,/data/home/size,1771570800000,1771570812500,-1.25,36.75,5\n"}
		want(t, "with the log", v.send(t, "ws-ann", i), 201)
		got := v.must(t, "GET /v1/responses/uuid:1", "")
		for _, part := range []string{`"durationSec":12.5`, `"rule":"duration_short"`, `"lat":-1.25`, `"accuracy":5`} {
			if !strings.Contains(got, part) {
				t.Errorf("the response lacks %s: %s", part, got)
			}
		}
	})
}

// sealed are the submissions that wait.
func (v *env) sealed(t testing.TB) [][]byte {
	t.Helper()
	rows, err := v.d.Query(t.Context(), `SELECT sealed FROM collect_waiting WHERE length(sealed) > 0`)
	out, err := db.Collect(rows, err, "list", db.Column[[]byte])
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Nothing is left of who was erased, nor of what an erased collector has sent.
func TestErased(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		i := interview{id: "uuid:1", household: "1", home: `"phone":"0700","stove":"1.jpg","fire":"2.jpg"`, files: map[string]string{"1.jpg": "first"}}
		want(t, "submission", v.send(t, "ws-ann", i), 202)
		v.must(t, "POST /v1/erasures", `{"subject":"did:ixo:household/1"}`)
		if n := len(v.sealed(t)); n != 0 {
			t.Errorf("%d submissions of the household wait", n)
		}
		want(t, "submission after the erasure", v.send(t, "ws-ann", i), 409, "HOUSEHOLD_ERASED")
		want(t, "submission", v.send(t, "ws-bob", interview{id: "uuid:2", household: "2", home: `"stove":"1.jpg"`}), 202)
		v.must(t, "POST /v1/erasures", `{"subject":"did:key:bob"}`)
		if n := len(v.sealed(t)); n != 0 {
			t.Errorf("%d submissions of the collector wait", n)
		}
	})
}

func TestRefused(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		good := interview{id: "uuid:1", household: "1", home: `"size":4`}
		for name, tt := range map[string]struct {
			token  string
			i      interview
			status int
			word   string
		}{
			"no collector":              {"ws-eve", good, 404, "FORM_NOT_FOUND"},
			"another workspace":         {"other-ann", good, 404, "FORM_NOT_FOUND"},
			"another project":           {"ws-far", good, 404, "FORM_NOT_FOUND"},
			"a form that is not there":  {"ws-ann", interview{id: "uuid:1", form: "none", household: "1"}, 404, "FORM_NOT_FOUND"},
			"a household of bob":        {"ws-ann", interview{id: "uuid:1", household: "2"}, 403, "NOT_COLLECTOR"},
			"a wrong answer":            {"ws-ann", interview{id: "uuid:1", household: "1", home: `"size":40`}, 400, "People at home: "},
			"a wrong answer that waits": {"ws-ann", interview{id: "uuid:1", household: "1", home: `"size":40,"stove":"1.jpg"`}, 400, "size"},
			"an unknown version":        {"ws-ann", interview{id: "uuid:1", household: "1", version: "9"}, 409, "version 9"},
			"a bad id":                  {"ws-ann", interview{id: "uuid 1", household: "1"}, 400, "responseId"},
			"what is not replaced":      {"ws-ann", interview{id: "uuid:1", old: "uuid:none", household: "1"}, 400, "SUPERSEDES_INVALID"},
		} {
			want(t, name, v.send(t, tt.token, tt.i), tt.status, tt.word)
		}
		bomb := `<!DOCTYPE d [<!ENTITY a "` + strings.Repeat("a", 1000) + `"><!ENTITY b "` + strings.Repeat("&a;", 1000) + `">]><data id="s">&b;<meta><instanceID>uuid:9</instanceID></meta></data>`
		want(t, "a bomb", v.post(t, "ws-ann", []byte(bomb), nil), 400, "document type")
		want(t, "a large instance", v.post(t, "ws-ann", bytes.Repeat([]byte("<a/>"), 300_000), nil), 413)
		for _, name := range []string{".hidden", strings.Repeat("a", 300)} {
			want(t, "a file named "+name[:2], v.post(t, "ws-ann", good.xml(), map[string]string{name: "x"}), 400, "name of a file")
		}
		many := map[string]string{}
		for n := range 60 {
			many[fmt.Sprintf("%d.jpg", n)] = "x"
		}
		want(t, "many files", v.post(t, "ws-ann", good.xml(), many), 400, "files at most")
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/openrosa/ws-ann/submission", strings.NewReader("<data/>"))
		w := httptest.NewRecorder()
		v.phone.ServeHTTP(w, r)
		want(t, "no form", w, 400, "xml_submission_file")
		if got := v.must(t, "GET /v1/surveys/s/responses", ""); strings.Contains(got, "uuid:") {
			t.Errorf("stored: %s", got)
		}
	})
}

func TestAddress(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		var a api.CollectAddress
		if err := json.Unmarshal([]byte(v.must(t, "POST /v1/collect/addresses", `{"name":"Phone"}`)), &a); err != nil {
			t.Fatal(err)
		}
		if a.URL != "https://field.example/v1/openrosa/secret" || a.QR.Size != len(a.Settings) || a.Collector != "did:key:new" {
			t.Errorf("address = %+v", a)
		}
		packed, err := base64.StdEncoding.DecodeString(a.Settings)
		if err != nil {
			t.Fatal(err)
		}
		z, err := zlib.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil || !strings.Contains(string(text), `"form_update_mode":"match_exactly"`) || !strings.Contains(string(text), `"server_url":"`+a.URL+`"`) {
			t.Errorf("settings = %s, %v", text, err)
		}
		for _, body := range []string{`{"name":"P","origin":"ftp://x"}`, `{"name":"P","origin":"https://u@x"}`, `{"name":"P","origin":"https://x?y"}`} {
			if w := v.h.Send(t, "ws owner", "POST /v1/collect/addresses", body); w.Code != 400 || !strings.Contains(w.Body.String(), "ORIGIN_INVALID") {
				t.Errorf("%s = %d %s", body, w.Code, w.Body)
			}
		}
		if w := v.h.Send(t, "ws ann", "POST /v1/collect/addresses", `{"name":"P"}`); w.Code != 403 {
			t.Errorf("as a collector = %d", w.Code)
		}
	})
}
