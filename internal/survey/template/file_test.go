package template_test

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"mime/multipart"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
	"github.com/hearth-dmrv/hearth/internal/survey/template"
)

// part is a part of a form.
type part struct{ field, file, data string }

// formOf is a form as browsers and curl send it, and its type.
func formOf(t *testing.T, parts ...part) (body, media string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		out, err := w.CreateFormFile(p.field, p.file)
		if err == nil {
			_, err = out.Write([]byte(p.data))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}

// pulling is a workbook that needs villages.csv.
func pulling(t *testing.T, name string) string {
	t.Helper()
	var b bytes.Buffer
	book, err := sheet.NewBook(&b, "survey", "settings")
	if err != nil {
		t.Fatal(err)
	}
	for _, rows := range [][][]string{
		{{"type", "name", "label", "calculation", "hearth_type"}, {"acknowledge", "agree", "Agree?", "", "consent"}, {"select_one_from_file villages.csv", "village", name}, {"calculate", "pop", "", "pulldata('villages', 'pop', 'name', ${village})"}},
		{{"form_id"}, {"pulling"}},
	} {
		if err := book.Sheet(); err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if err := book.Row(r...); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := book.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const (
	villages = "name,label,pop\nv1,Mutomo,120\nv2,Wote,80\n"
	fewer    = "name,label,pop\nv1,Mutomo,121\n"
)

func files(t *testing.T, d *db.DB) (files, uses int) {
	t.Helper()
	for query, n := range map[string]*int{`SELECT count(*) FROM template_files`: &files, `SELECT count(*) FROM template_file_uses`: &uses} {
		if err := d.QueryRow(t.Context(), query).Scan(n); err != nil {
			t.Fatal(err)
		}
	}
	return files, uses
}

func TestImportWithFiles(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d, func(c *template.Config) { c.Idem = once.New(once.Config{DB: d, Key: surveytest.Key(t)}) })
		want := func(what string, code int, request, body, media string, more ...string) string {
			t.Helper()
			w := e.call(t, "ws", request, body, append([]string{"Content-Type", media}, more...)...)
			if w.Code != code {
				t.Fatalf("%s = %d %.600s, want %d", what, w.Code, w.Body, code)
			}
			return w.Body.String()
		}
		kept := func(what string, wantFiles, wantUses int) {
			t.Helper()
			if f, u := files(t, d); f != wantFiles || u != wantUses {
				t.Errorf("%s: %d files with %d uses, want %d with %d", what, f, u, wantFiles, wantUses)
			}
		}
		const importing = "POST /v1/templates:import"
		book := pulling(t, "Village")

		out := want("a workbook alone", 400, importing, book, xlsx)
		if !strings.Contains(out, "/survey/3/type") || !strings.Contains(out, "missing_file") || !strings.Contains(out, "/survey/4/calculation") {
			t.Errorf("the missing file is not named with its rows: %s", out)
		}
		body, media := formOf(t, part{"form", "form.xlsx", book}, part{"files", "villages.csv", villages})
		out = want("a look", 200, importing+"?mode=check", body, media)
		if !strings.Contains(out, `"report"`) || !strings.Contains(out, `"rows":2`) {
			t.Errorf("check = %s", out)
		}
		kept("after a look", 0, 0)
		want("nothing is there", 404, "GET /v1/templates/pulling", "", "")

		out = want("a form", 201, importing, body, media, "Idempotency-Key", "k1")
		if again := want("the same form again", 201, importing, body, media, "Idempotency-Key", "k1"); again != out {
			t.Errorf("again = %s", again)
		}
		other, otherMedia := formOf(t, part{"form", "form.xlsx", book}, part{"files", "villages.csv", fewer})
		want("another file with the same key", 422, importing, other, otherMedia, "Idempotency-Key", "k1")
		kept("once", 1, 1)
		packed := want("the files", 200, "GET /v1/templates/pulling/versions/1/files", "", "")
		archive, err := zip.NewReader(strings.NewReader(packed), int64(len(packed)))
		if err != nil || len(archive.File) != 1 {
			t.Fatalf("archive = %v, %v", archive, err)
		}
		if got, err := fs.ReadFile(archive, "villages.csv"); err != nil || string(got) != villages {
			t.Errorf("file = %q, %v", got, err)
		}
		if w := e.call(t, "other", "GET /v1/templates/pulling/versions/1/files", ""); w.Code != 404 {
			t.Errorf("another workspace = %d", w.Code)
		}
		out = want("preview", 200, "POST /v1/templates/pulling/preview", `{"answers":{"main":{"village":"v2"}}}`, "application/json")
		if !strings.Contains(out, `"pop":"80"`) || !strings.Contains(out, `{"value":"v1","label":"Mutomo"}`) {
			t.Errorf("preview = %s", out)
		}

		want("the same file in a copy", 201, "POST /v1/templates/pulling/clone", `{"templateId":"copy"}`, "application/json")
		kept("with a copy", 1, 2)
		want("publish", 200, "POST /v1/templates/pulling/publish", `{}`, "application/json")
		kept("published", 1, 2)
		want("a new workbook with the stored file", 201, importing+"?mode=update", pulling(t, "Your village"), xlsx, "If-Match", "*")
		kept("with a second version", 1, 3)
		want("a new file", 201, importing+"?mode=update", other, otherMedia, "If-Match", "*")
		kept("with a new file", 2, 3)
		e.s.Flush()
		out = want("the old version", 200, "POST /v1/templates/pulling/preview", `{"version":1,"answers":{"main":{"village":"v1"}}}`, "application/json")
		if !strings.Contains(out, `"pop":"120"`) {
			t.Errorf("old version = %s", out)
		}
		out = want("the new version", 200, "POST /v1/templates/pulling/preview", `{"version":2,"answers":{"main":{"village":"v1"}}}`, "application/json")
		if !strings.Contains(out, `"pop":"121"`) {
			t.Errorf("new version = %s", out)
		}
		draft := want("read the draft", 200, "GET /v1/templates/pulling?version=2", "", "")
		want("send it back", 200, "PUT /v1/templates/pulling", draft, "application/json", "If-Match", "*")
		kept("sent back", 2, 3)
		out = want("a file nobody has", 400, "PUT /v1/templates/pulling", strings.Replace(draft, `"sha256":"`, `"sha256":"00`, 1), "application/json", "If-Match", "*")
		if !strings.Contains(out, "/files/0/sha256") {
			t.Errorf("a file nobody has: %s", out)
		}
		want("give the draft up", 200, "DELETE /v1/templates/pulling", "", "", "If-Match", "*")
		kept("without the draft", 1, 2)
		want("give the copy up", 200, "DELETE /v1/templates/copy", "", "", "If-Match", "*")
		kept("without the copy", 1, 1)

		for _, bad := range [][]part{
			{{"files", "villages.csv", villages}},
			{{"form", "villages.csv", villages}},
			{{"form", "a.xlsx", book}, {"files", "villages.csv", villages}, {"more", "villages.csv", villages}},
			{{"form", "a.xlsx", book}, {"files", "villages.csv", "name\n\"a"}},
			{{"a", "a.xlsx", book}, {"b", "b.xlsx", book}, {"files", "villages.csv", villages}},
		} {
			body, media := formOf(t, bad...)
			if out := want("a bad form", 400, importing+"?templateId=bad", body, media); len(bad) == 1 && !strings.Contains(out, "-F form=@form.xlsx -F file=@") {
				t.Errorf("%v: %s", bad[0].field, out)
			}
		}
		want("no parts", 400, importing+"?templateId=bad", "x", "multipart/form-data; boundary=y")
	})
}

// A template in JSON brings its files too.
func TestImportJSONWithFiles(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		const doc = `{"templateId":"json","files":[{"name":"villages.csv","sha256":""}],"sections":[{"id":"s","questions":[
			{"id":"v","type":"single_choice","optionsFrom":{"file":"villages.csv"}}]}]}`
		body, media := formOf(t, part{"form", "form.json", doc}, part{"files", "villages.csv", villages})
		if w := e.call(t, "ws", "POST /v1/templates:import", body, "Content-Type", media); w.Code != 201 || !strings.Contains(w.Body.String(), `"columns":["name","label","pop"]`) {
			t.Errorf("import = %d %s", w.Code, w.Body)
		}
		many := strings.Repeat(`{"name":"villages.csv","sha256":""},`, 1000)
		body, media = formOf(t, part{"form", "form.json", strings.Replace(doc, `"files":[`, `"files":[`+many, 1)}, part{"files", "villages.csv", villages})
		for _, mode := range []string{"create", "check"} {
			if w := e.call(t, "ws", "POST /v1/templates:import?mode="+mode, body, "Content-Type", media); w.Code != 400 || !strings.Contains(w.Body.String(), `"/files","code":"too_many"`) {
				t.Errorf("%s of too many files = %d %.600s", mode, w.Code, w.Body)
			}
		}
		twice := strings.Replace(doc, `"files":[`, `"files":[{"name":"villages.csv","sha256":""},`, 1)
		body, media = formOf(t, part{"form", "form.json", twice}, part{"files", "villages.csv", villages})
		if w := e.call(t, "ws", "POST /v1/templates:import?mode=check", body, "Content-Type", media); w.Code != 400 || !strings.Contains(w.Body.String(), `"/files/1/name","code":"duplicate"`) {
			t.Errorf("a file that is named twice = %d %.600s", w.Code, w.Body)
		}
	})
}
