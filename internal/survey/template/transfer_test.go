package template_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
)

const xlsx = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

// What goes out as a workbook comes back as the same template.
func TestWorkbookAndBack(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		for _, id := range []string{"baseline-v1", "follow-up-v1", "monitoring-v1"} {
			out := e.call(t, "ws", "GET /v1/templates/"+id+"/versions/2/xlsform", "")
			if out.Code != 200 || out.Header().Get("Content-Type") != xlsx || out.Header().Get("ETag") != `"1"` ||
				out.Header().Get("Content-Disposition") != "attachment; filename="+id+"-2.xlsx" {
				t.Fatalf("%s = %d %v", id, out.Code, out.Header())
			}
			if w := e.call(t, "ws", "GET /v1/templates/"+id+"/versions/2/xlsform", "", "If-None-Match", `"1"`); w.Code != 304 || w.Body.Len() > 0 {
				t.Errorf("%s again = %d, %d bytes, want 304", id, w.Code, w.Body.Len())
			}
			in := e.call(t, "ws", "POST /v1/templates:import?templateId=copy-of-"+id, out.Body.String(), "Content-Type", xlsx)
			var got template.Imported
			if err := json.Unmarshal(in.Body.Bytes(), &got); err != nil || in.Code != 201 {
				t.Fatalf("import %s = %d %.500s", id, in.Code, in.Body)
			}
			var was template.Version
			if err := json.Unmarshal(e.call(t, "ws", "GET /v1/templates/"+id, "").Body.Bytes(), &was); err != nil {
				t.Fatal(err)
			}
			if got.Template.ContentHash != was.ContentHash || got.Template.Status != template.StatusDraft || got.Template.TemplateID != "copy-of-"+id {
				t.Errorf("%s came back as %s, %+v; report %+v", id, got.Template.ContentHash, got.Template.Template, got.Report)
			}
			if again := e.call(t, "ws", "POST /v1/templates:import?templateId=copy-of-"+id, out.Body.String(), "Content-Type", "application/octet-stream"); again.Code != 409 {
				t.Errorf("import %s again = %d", id, again.Code)
			}
		}
		if w := e.call(t, "ws", "POST /v1/templates:import", strings.Repeat("x", 8<<20+1), "Content-Type", xlsx); w.Code != 413 {
			t.Errorf("a workbook of more than 8 MiB = %d", w.Code)
		}
		if w := e.call(t, "ws", "POST /v1/templates:import", seed("form"), "Content-Type", "application/x-www-form-urlencoded"); w.Code != 201 {
			t.Errorf("JSON sent by curl -d = %d %s", w.Code, w.Body)
		}
	})
}

// What is read can be changed in place and sent back.
func TestReadAndSendBack(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		if w := e.call(t, "ws", "POST /v1/templates/monitoring-v1/clone", `{"templateId":"mine"}`); w.Code != 201 {
			t.Fatalf("clone = %d %s", w.Code, w.Body)
		}
		w := e.call(t, "ws", "GET /v1/templates/mine", "")
		changed := bytes.Replace(w.Body.Bytes(), []byte("Monitoring survey"), []byte("Our survey"), 1)
		back := e.call(t, "ws", "PUT /v1/templates/mine", string(changed), "If-Match", w.Header().Get("ETag"))
		var v template.Version
		if err := json.Unmarshal(back.Body.Bytes(), &v); err != nil || back.Code != 200 || v.Title.In("en", "") != "Our survey" || v.ClonedFrom != "monitoring-v1@2" || v.Revision != 2 {
			t.Errorf("sent back = %d %.300s", back.Code, back.Body)
		}
		if w := e.call(t, "ws", "GET /v1/templates/mine", "", "If-None-Match", `"2"`); w.Code != 304 {
			t.Errorf("read again = %d, want 304", w.Code)
		}
	})
}
