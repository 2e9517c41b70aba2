package bulk_test

import (
	"archive/zip"
	"bytes"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/entity/bulk"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// canary is personal in the twins of these tests.
const canary = "cAnArY7f3a"

const homes = `{"did":"did:ixo:h/1","type":"Household","protocol":"did:ixo:protocol/household","properties":{"name":"` + canary + `","phone":"` + canary + `","size":3},"metadata":{"name":"` + canary + `"}}` + "\n"

// unpacked is a file with all its parts readable.
func unpacked(t *testing.T, b []byte) string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return string(b)
	}
	var out strings.Builder
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(&out, io.LimitReader(r, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// exportAs makes an export as somebody and waits for it.
func (r *rig) exportAs(t *testing.T, as string, d bulk.ExportDraft) bulk.Export {
	t.Helper()
	var j job.Job
	r.do(t, call{method: "POST", path: "/v1/exports", as: as, body: d}, 202, &j)
	r.wait(t, j.ID)
	var e bulk.Export
	r.do(t, call{path: "/v1/exports/" + j.ID, as: as}, 200, &e)
	return e
}

// Who may not see what is personal exports twins without it, and does not read
// the files of those who may.
func TestExportWithholdsPersonal(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		r.imported(t, r.upload(t, nil, ndjson, homes))
		for _, format := range []sheet.Format{sheet.NDJSON, sheet.CSV, sheet.XLSX} {
			d := bulk.ExportDraft{Format: format}
			full := r.exportAs(t, "owner", d)
			if got := unpacked(t, r.do(t, call{path: full.Links.File}, 200, nil).Body.Bytes()); !strings.Contains(got, canary) || strings.Contains(got, "withheld") {
				t.Errorf("%s of the owner = %s", format, got)
			}
			part := r.exportAs(t, "clerk", d)
			got := unpacked(t, r.do(t, call{path: part.Links.File, as: "clerk"}, 200, nil).Body.Bytes())
			if strings.Contains(got, canary) || !strings.Contains(got, "withheld") || !strings.Contains(got, "phone") || part.SHA256 == "" {
				t.Errorf("%s of a clerk = %s", format, got)
			}
			r.do(t, call{path: part.Links.File}, 200, nil) // nothing is in it that anybody may not see

			var other bulk.Export
			r.do(t, call{path: "/v1/exports/" + full.ID, as: "clerk"}, 200, &other)
			if !other.Withheld || other.SHA256 != "" || other.Links.File != "" {
				t.Errorf("the owner's export to a clerk = %+v", other)
			}
			if w := r.do(t, call{path: full.Links.File, as: "clerk"}, 403, nil); !strings.Contains(w.Body.String(), "entities:pii") {
				t.Errorf("the owner's file to a clerk = %s", w.Body)
			}
			if w := r.do(t, call{path: "/v1/jobs/" + full.ID, as: "clerk"}, 200, nil); strings.Contains(w.Body.String(), full.SHA256) {
				t.Errorf("the owner's job to a clerk = %s", w.Body)
			}
		}
		r.do(t, call{method: "POST", path: "/v1/exports", as: "clerk", body: bulk.ExportDraft{Format: sheet.CSV, Filter: "eq(properties.phone,x)"}}, 403, nil)
		if w := r.send(t, call{method: "POST", path: "/v1/exports", as: "clerk", body: bulk.ExportDraft{Format: sheet.CSV, Near: "1,2,3"}}); w.Code != 403 || !strings.Contains(w.Body.String(), `"/near"`) {
			t.Errorf("near = %d %s", w.Code, w.Body)
		}
	})
}

// Whoever may see what is personal can leave it out, and then anybody may read the
// file.
func TestExportWithoutPeople(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		r.imported(t, r.upload(t, nil, ndjson, homes))
		for _, format := range []sheet.Format{sheet.NDJSON, sheet.CSV, sheet.XLSX} {
			e := r.exportAs(t, "owner", bulk.ExportDraft{Format: format, PII: "none"})
			got := unpacked(t, r.do(t, call{path: e.Links.File, as: "clerk"}, 200, nil).Body.Bytes())
			if strings.Contains(got, canary) || !strings.Contains(got, "did:ixo:h/1") || e.SHA256 == "" {
				t.Errorf("%s = %s", format, got)
			}
		}
		if w := r.send(t, call{method: "POST", path: "/v1/exports", body: bulk.ExportDraft{Format: sheet.CSV, PII: "some"}}); w.Code != 400 || !strings.Contains(w.Body.String(), `"/pii"`) {
			t.Errorf("pii some = %d %s", w.Code, w.Body)
		}
	})
}

// Who controls a twin exports all of it, and may read that file again; others
// may not.
func TestExportOfControllers(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		r.imported(t, r.upload(t, nil, ndjson, strings.Replace(homes, `"type"`, `"controllers":["did:key:clerk"],"type"`, 1)))
		e := r.exportAs(t, "clerk", bulk.ExportDraft{Format: sheet.NDJSON})
		if got := r.do(t, call{path: e.Links.File, as: "clerk"}, 200, nil).Body.String(); !strings.Contains(got, canary) {
			t.Errorf("file = %s", got)
		}
		r.do(t, call{path: e.Links.File}, 200, nil)
		if _, err := r.db.Exec(t.Context(), `UPDATE jobs SET created_by = 'did:key:else' WHERE id = $1`, e.ID); err != nil {
			t.Fatal(err)
		}
		r.do(t, call{path: e.Links.File, as: "clerk"}, 403, nil)
	})
}

// A masked record comes back by an import without taking anything away, and an
// import tells nobody whether a guess is right.
func TestImportOfMaskedRecords(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		r.imported(t, r.upload(t, nil, ndjson, homes))
		e := r.exportAs(t, "clerk", bulk.ExportDraft{Format: sheet.NDJSON})
		file := r.do(t, call{path: e.Links.File, as: "clerk"}, 200, nil).Body.String()
		got := r.imported(t, r.upload(t, url.Values{"mode": {"upsert"}}, ndjson, file))
		if got.Counts.Refused != 0 || got.Counts.Unchanged != 1 {
			t.Errorf("import = %+v: %+v", got.Counts, r.report(t, got.Links.Rows))
		}
		if w := r.do(t, call{path: "/v1/entities/did:ixo:h%2F1"}, 200, nil); !strings.Contains(w.Body.String(), `"phone":"`+canary+`"`) {
			t.Errorf("after the import = %s", w.Body)
		}
		r.do(t, call{method: "DELETE", path: "/v1/entities/did:ixo:h%2F1", header: map[string]string{"If-Match": "*"}}, 200, nil)
		var answers []string
		for _, guess := range []string{canary, "wrong"} {
			line := strings.Replace(homes, `"phone":"`+canary, `"phone":"`+guess, 1)
			var j job.Job
			r.do(t, call{method: "POST", path: "/v1/imports?format=ndjson&mode=upsert", as: "clerk", body: line, header: map[string]string{"Content-Type": ndjson}}, 202, &j)
			r.wait(t, j.ID)
			var in bulk.Import
			r.do(t, call{path: "/v1/imports/" + j.ID, as: "clerk"}, 200, &in)
			answers = append(answers, strings.Join([]string{string(rune('0' + in.Counts.Refused)), string(rune('0' + in.Counts.Unchanged))}, " "))
		}
		if answers[0] != answers[1] || answers[0] != "1 0" {
			t.Errorf("a right and a wrong guess are answered %q, want both refused", answers)
		}
	})
}

// Who may take twins over migrates them, but gives nothing another name that
// they may not see.
func TestMigrateWithheld(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		const path = "/v1/protocols/did:ixo:protocol%2Ftenant"
		post := func(path, body string, status int) {
			t.Helper()
			r.do(t, call{method: "POST", path: path, body: jsontext.Value(body)}, status, nil)
		}
		post("/v1/protocols", `{"did":"did:ixo:protocol/tenant","type":"Protocol","properties":{"phone":"string","color":"string"},"pii":["phone"]}`, 201)
		post(path+"/publish", `{}`, 200)
		post("/v1/entities", `{"did":"did:ixo:t/1","type":"Tenant","protocol":"did:ixo:protocol/tenant","properties":{"phone":"`+canary+`"}}`, 201)
		post(path+"/versions", `{"version":"2.0.0","properties":{"contact":"string","phone":null},"pii":null}`, 201)
		post(path+"/publish", `{"version":"2.0.0"}`, 200)
		for as, want := range map[string]int64{"clerk": 1, "owner": 0} {
			var j job.Job
			r.do(t, call{method: "POST", path: path + "/migrations", as: as, body: jsontext.Value(`{"to":"2.0.0","dryRun":true,"rename":{"phone":"contact"}}`)}, 202, &j)
			r.wait(t, j.ID)
			var m bulk.Migration
			r.do(t, call{path: "/v1/migrations/" + j.ID}, 200, &m)
			if m.Counts.Refused != want {
				t.Errorf("%s: %+v, want %d refused", as, m.Counts, want)
			}
		}
	})
}
