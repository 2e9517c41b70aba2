package client

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// What the server tells about an export and a codebook is read whole.
func TestSurveyExports(t *testing.T) {
	t.Parallel()
	requests := make(chan string, 1)
	c := served(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- r.Method + " " + r.URL.RequestURI() + " " + string(body)
		switch {
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusAccepted)
			fmt.Fprint(w, `{"id":"job_1","kind":"survey.export","status":"queued"}`)
		case strings.HasSuffix(r.URL.Path, "/file"):
			fmt.Fprint(w, "responseId\r\n")
		case r.URL.Query().Get("format") == "csv":
			fmt.Fprint(w, "name\r\n")
		case strings.HasSuffix(r.URL.Path, "/codebook"):
			fmt.Fprint(w, `{"surveyId":"s","languages":["en"],"missing":[{"code":"","meaning":"Not asked."}],"columns":[{"name":"a.b","of":"answer","type":"number","label":{"en":"B"},"levels":["full"]}]}`)
		default:
			fmt.Fprint(w, `{"id":"job_1","surveyId":"s","status":"succeeded","counts":{"total":3,"looked":3,"responses":2,"rows":2,"bytes":10},"links":{"file":"/v1/f"}}`)
		}
	})
	s, ctx := Surveys{c}, t.Context()
	wants := func(want string) {
		t.Helper()
		if got := <-requests; got != want {
			t.Errorf("request = %s\nwant      %s", got, want)
		}
	}
	j, err := s.Export(ctx, "s", SurveyExportDraft{Format: "csv", Shape: "long", PII: "none", Rounds: []int{1}, AsOf: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)})
	if err != nil || j.ID != "job_1" {
		t.Fatalf("Export() = %+v, %v", j, err)
	}
	wants(`POST /v1/surveys/s/exports {"format":"csv","shape":"long","pii":"none","asOf":"2026-01-02T00:00:00Z","rounds":[1]}`)
	e, err := s.GetExport(ctx, "s", "job_1")
	if err != nil || e.Counts.Responses != 2 || e.Status != "succeeded" || e.Links.File != "/v1/f" {
		t.Errorf("GetExport() = %+v, %v", e, err)
	}
	wants("GET /v1/surveys/s/exports/job_1 ")
	book, err := s.Codebook(ctx, "s")
	if err != nil || len(book.Columns) != 1 || book.Columns[0].Name != "a.b" || book.Missing[0].Meaning == "" {
		t.Errorf("Codebook() = %+v, %v", book, err)
	}
	wants("GET /v1/surveys/s/codebook ")
	for want, open := range map[string]func() (io.ReadCloser, error){
		"GET /v1/surveys/s/exports/job_1/file ":  func() (io.ReadCloser, error) { return s.ExportFile(ctx, "s", "job_1") },
		"GET /v1/surveys/s/codebook?format=csv ": func() (io.ReadCloser, error) { return s.CodebookCSV(ctx, "s") },
	} {
		body, err := open()
		if err != nil {
			t.Fatal(err)
		}
		wants(want)
		text, err := io.ReadAll(body)
		if err != nil || body.Close() != nil || !strings.HasSuffix(string(text), "\r\n") {
			t.Errorf("file = %q, %v", text, err)
		}
	}
}
