package client

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestResponseImports(t *testing.T) {
	t.Parallel()
	var asked []string
	c := served(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, r.Method+" "+r.URL.RequestURI()+" "+string(body))
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusAccepted)
			fmt.Fprint(w, `{"id":"job_1","status":"queued"}`)
		case strings.HasSuffix(r.URL.Path, "/rows"):
			fmt.Fprint(w, `{"items":[{"line":3,"ok":false,"action":"refused","responseId":"r2","error":{"code":"ROW_INVALID","message":"The row cannot be read."}}],"page":{"hasMore":false}}`)
		default:
			fmt.Fprint(w, `{"id":"job_1","surveyId":"s","status":"completedWithErrors","source":"odk","counts":{"total":2,"done":2,"created":1,"refused":1},"links":{"rows":"/v1/r"}}`)
		}
	})
	ctx := t.Context()
	j, err := c.ResponseImports.Create(ctx, "s", ResponseImportDraft{Source: "odk", Format: "csv", DryRun: true, Mapping: map[string]string{"hh": "householdId"}, Household: "did:x:{hh}", Collectors: map[string]string{"Ann": "did:x:ann"}}, strings.NewReader("KEY\n1\n"))
	if err != nil || j.ID != "job_1" {
		t.Fatalf("Create = %+v, %v", j, err)
	}
	in, err := c.ResponseImports.Get(ctx, "s", j.ID)
	if err != nil || in.Counts.Refused != 1 || in.Source != "odk" || in.Status != "completedWithErrors" {
		t.Errorf("Get = %+v, %v", in, err)
	}
	var lines []int64
	for row, err := range c.ResponseImports.Rows(ctx, "s", j.ID, RowQuery{OK: new(false)}) {
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, row.Line)
	}
	if len(lines) != 1 || lines[0] != 3 {
		t.Errorf("lines = %v", lines)
	}
	want := []string{
		"POST /v1/surveys/s/imports?collectors=%7B%22Ann%22%3A%22did%3Ax%3Aann%22%7D&dryRun=true&format=csv&household=did%3Ax%3A%7Bhh%7D&mapping=%7B%22hh%22%3A%22householdId%22%7D&source=odk KEY\n1\n",
		"GET /v1/surveys/s/imports/job_1 ", "GET /v1/surveys/s/imports/job_1/rows?ok=false ",
	}
	if fmt.Sprint(asked) != fmt.Sprint(want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}
