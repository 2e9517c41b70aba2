package collect

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/test/server"
)

// A workbook of sheets, whose rows are lines with bars between the cells.
func workbook(t *testing.T, sheets ...string) string {
	t.Helper()
	var names []string
	for i := 0; i < len(sheets); i += 2 {
		names = append(names, sheets[i])
	}
	var out bytes.Buffer
	w, err := sheet.NewBook(&out, names...)
	for i := 1; i < len(sheets) && err == nil; i += 2 {
		err = w.Sheet()
		for line := range strings.Lines(sheets[i]) {
			err = errors.Join(err, w.Row(strings.Split(strings.TrimSuffix(line, "\n"), "|")...))
		}
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// archive makes a zip of names and contents.
func archive(t *testing.T, files ...string) string {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

const (
	farmSurvey = "type|name|label|relevant|calculation|choice_filter\nstart|start||||\nend|end||||\nbegin group|home|Home|||\ntext|hh|Household|||\ninteger|members|Members|||\n" +
		"select_one county|county|County|||\nselect_one_from_file villages.csv|village|Village|||county=${county}\ncalculate|double|||${members} * 2|\nnote|thanks|Thank you|||\n" +
		"geopoint|place|Place|||\nimage|photo|Photo|||\nbegin repeat|child|Children|||\ntext|name|Name|||\ninteger|age|Age|||\nend repeat||||\nend group||||\n"
	farmChoices = "list_name|name|label\ncounty|kitui|Kitui\ncounty|narok|Narok\n"
	farmTable   = "SubmissionDate,start,end,home-hh,home-members,home-county,home-village,home-double,home-thanks,home-place-Latitude,home-place-Longitude,home-place-Altitude,home-place-Accuracy,home-photo,meta-instanceID,KEY,SubmitterID,SubmitterName,AttachmentsPresent,AttachmentsExpected,Status,ReviewState,DeviceID,Edits,FormVersion\n" +
		"2026-03-01T12:00:00.000Z,2026-03-01T10:00:00.000+03:00,2026-03-01T10:20:00.000+03:00,HH 7,4,kitui,mutomo,8,,-1.5,36.25,1700,5,a.jpg,uuid:f1,uuid:f1,7,Ann,1,1,,,d1,0,1\n" +
		"2026-03-01T12:30:00.000Z,2026-03-01T11:00:00.000+03:00,2026-03-01T11:20:00.000+03:00,HH 8,2,narok,,4,,,,,,,uuid:f2,uuid:f2,7,Bob,0,0,,,d1,0,1\n" +
		"2026-03-01T12:40:00.000Z,2026-03-01T11:30:00.000+03:00,2026-03-01T11:40:00.000+03:00,HH 9,many,narok,,,,,,,,,uuid:f3,uuid:f3,7,Bob,0,0,,,d1,0,1\n"
	farmChildren = "name,age,PARENT_KEY,KEY\nAmina,3,uuid:f1,uuid:f1/home/child[1]\nJuma,5,uuid:f1,uuid:f1/home/child[2]\n"
	visitSurvey  = "type|name|label|required\nacknowledge|consent|Do you agree to take part?|\nbegin repeat|stove|Stoves|\ntext|kind|Kind|\nend repeat||\nimage|photo|Photo|\ntext|remark|Remark|yes\n"
)

func visit(id, stoves, rest string) string {
	return `<?xml version="1.0"?><data xmlns:orx="http://openrosa.org/xforms" id="visit" version="1" instanceID="` + id + `" submissionDate="2026-03-02T08:00:00.000Z"><consent>OK</consent>` + stoves +
		rest + `<orx:meta><orx:instanceID>` + id + `</orx:instanceID></orx:meta></data>`
}

// mover runs hearth import against a server.
type mover struct {
	*field
	key, project string
}

// run runs the program and gives what it says.
func (m *mover) run(ok bool, args ...string) string {
	m.t.Helper()
	if !slices.Contains(args, "--project") {
		args = append(args, "--project", m.project)
	}
	cmd := exec.CommandContext(m.t.Context(), m.options.Binary, append(args, "--url", m.now.Load().URL, "--key-file", m.key)...)
	out, err := cmd.CombinedOutput()
	if (err == nil) != ok {
		m.t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// says finds texts in another.
func says(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func (m *mover) response(id string, wants ...string) {
	m.t.Helper()
	a, err := m.owner().Do(m.t.Context(), "GET", "/v1/responses/"+id, nil)
	if err != nil || a.Status != 200 {
		m.t.Errorf("%s = %+v, %v", id, a, err)
		return
	}
	says(m.t, string(a.Body), wants...)
}

func newMover(t *testing.T) *mover {
	t.Helper()
	m := &mover{field: &field{t: t, options: server.Options{Binary: server.Binary(t), Dir: t.TempDir(), Env: []string{"HEARTH_PUBLIC_URL=https://hearth.example.org"}}}}
	m.start()
	t.Cleanup(func() { _ = m.now.Load().Kill() })
	m.key = filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(m.key, []byte(server.OwnerKey), 0o600); err != nil {
		t.Fatal(err)
	}
	m.project = m.newProject()
	return m
}

// newProject makes a project and gives its DID.
func (m *mover) newProject() string {
	m.t.Helper()
	var made struct {
		DID string `json:"did"`
	}
	m.must("POST", "/v1/entities", []byte(`{"type":"Project","protocol":"did:ixo:protocol/project","properties":{"name":"Kitui"}}`), &made)
	return made.DID
}

// TestLeaveCentral brings over what ODK Central and Briefcase export: a table with
// repeats and media, instances of XML, app users. The dry run stores nothing and
// tells the same; the second time nothing is stored any more.
func TestLeaveCentral(t *testing.T) {
	t.Parallel()
	m := newMover(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "project.zip")
	pixel := string(photo(1, 1))
	text := archive(t, "farm.xlsx", workbook(t, "survey", farmSurvey, "choices", farmChoices, "settings", "form_id|form_title\nfarm|The farm\n"),
		"farm-media/villages.csv", "name,label,county\nmutomo,Mutomo,kitui\n",
		"farm.csv.zip", archive(t, "farm.csv", farmTable, "farm-home-child.csv", farmChildren, "media/a.jpg", pixel),
		"visit/visit.xlsx", workbook(t, "survey", visitSurvey, "settings", "form_id|form_title\nvisit|Visits\n"),
		"visit/instances/uuidv1/submission.xml", visit("uuid:v1", "<stove><kind>wood</kind></stove>", "<photo>p.jpg</photo><remark>fine</remark>"), "visit/instances/uuidv1/p.jpg", string(photo(2, 1)),
		"visit/instances/uuidv2/submission.xml", visit("uuid:v2", "<stove><kind>gas</kind></stove><stove><kind>coal</kind></stove>", "<photo>p.jpg</photo>"), "visit/instances/uuidv2/p.jpg", string(photo(2, 2)),
		"visit/instances/uuidv3/submission.xml", `<data id="visit" encrypted="yes"><base64EncryptedKey>x</base64EncryptedKey></data>`,
		"broken.xlsx", workbook(t, "survey", "type|name|label|relevant\ntext|a|A|${nowhere} = 1\n", "settings", "form_id\nbroken\n"),
		"app-users.json", `[{"id":7,"displayName":"Ann","token":"x"},{"id":8,"displayName":"Bob","token":null}]`, "readme.txt", "hello")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	report, addresses := filepath.Join(dir, "report.ndjson"), filepath.Join(dir, "addresses.csv")
	args := []string{"import", "odk", file, "--household", "did:example:household:{hh}", "--report", report, "--addresses", addresses}
	dry := m.run(false, append(args, "--dry-run")...)
	says(t, dry, "Dry run, nothing is stored", "farm (farm.xlsx): read with loss", "asks for no consent", "broken (broken.xlsx): refused", "there is no question ${nowhere}",
		"2 would get an address", "readme.txt", "encrypted", "home-members: The cell must be a number", "each submission is a household of its own", "3 stored whole, 1 partial, 0 unchanged, 2 refused, 2 with warnings")
	var list struct {
		Items []struct{} `json:"items"`
	}
	if m.must("GET", "/v1/surveys", nil, &list); len(list.Items) > 0 {
		t.Errorf("the dry run has made %d surveys", len(list.Items))
	}
	out := m.run(false, args...)
	says(t, out, "forms: 1 whole, 1 with loss, 1 refused. Submissions: 3 stored whole, 1 partial, 0 unchanged, 2 refused, 2 with warnings", "Attachments stored: 3", "2 have an address")
	ann := strings.Split(read(t, addresses), ",")[1]
	m.response("uuid:f1", `"householdId":"did:example:household:HH%207"`, `"collector":"`+ann+`"`, `"members":4`, `"village":"mutomo"`, `"double":8`, `"child":[{"age":3,"name":"Amina"},{"age":5,"name":"Juma"}]`,
		`"place":{"accuracy":5,"altitude":1700,"lat":-1.5,"lon":36.25}`, `"photo":"sha256:`, `"startedAt":"2026-03-01T07:00:00.000Z"`, `"status":"pending"`)
	m.response("uuid:v1", `"householdId":"did:odk:uuid:v1"`, `"stove":[{"kind":"wood"}]`, sum(photo(2, 1)), `"timestamp":"2026-03-02T08:00:00.000Z"`)
	m.response("uuid:v2", `"stove":[{"kind":"gas"},{"kind":"coal"}]`, sum(photo(2, 2)), `"status":"partial"`)
	if n := strings.Count(read(t, report), `"responseId":"uuid:`); n != 5 {
		t.Errorf("%d submissions in the report, want 5: %s", n, read(t, report))
	}
	again := m.run(false, args...)
	says(t, again, "Submissions: 0 stored whole, 0 partial, 4 unchanged, 2 refused", "Attachments stored: 0")
	if n := strings.Count(read(t, addresses), "\n"); n != 2 {
		t.Errorf("%d addresses, want 2: none is made twice", n)
	}
	says(t, m.run(false, append(args, "--dry-run")...), "4 unchanged")
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func sum(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

// TestLeaveKobo brings over a workbook of Kobo with the sheet of a repeat, its
// media, where two submissions have a file of the same name, and JSON of its API.
func TestLeaveKobo(t *testing.T) {
	t.Parallel()
	m := newMover(t)
	dir := t.TempDir()
	const survey = "type|name|label\nstart|start|\nend|end|\nacknowledge|consent|Do you agree to take part?\ntext|hh|Household\nselect_multiple fuels|fuels|Fuels\nimage|photo|Photo\nbegin_repeat|child|Children\ntext|name|Name\nend_repeat||\n"
	const head = "start|end|consent|hh|fuels|fuels/wood|fuels/gas|photo|photo_URL|__version__|_id|_uuid|_submission_time|_validation_status|_notes|_status|_submitted_by|_tags|_index\n"
	const row = "2026-03-01T10:00:00.000+03:00|2026-03-01T10:20:00.000+03:00|OK|did:example:hh:%[1]d|wood gas|1|1|pic.jpg|https://kobo.example/pic.jpg|v1|%[1]d|k%[1]d|2026-03-01T12:00:00|||submitted_via_web|ann||%[1]d\n"
	files := map[string]string{
		"Cooking.xlsx": workbook(t, "survey", survey, "choices", "list_name|name|label\nfuels|wood|Wood\nfuels|gas|Gas\n", "settings", "form_title|id_string\nCooking|aXyZ\n"),
		"Cooking_-_all_versions_-_False_-_2026-03-02-09-00-00.xlsx": workbook(t, "Cooking", head+fmt.Sprintf(row, 1)+fmt.Sprintf(row, 2),
			"child", "name|_index|_parent_table_name|_parent_index|_submission__id|_submission__uuid\nAmina|1|Cooking|1|1|k1\nJuma|2|Cooking|2|2|k2\n"),
		"Cooking_media.zip": archive(t, "ann/attachments/aXyZ/k1/pic.jpg", string(photo(3, 1)), "ann/attachments/aXyZ/k2/pic.jpg", string(photo(3, 2))),
		"Cooking_api.json": `{"count":1,"results":[{"_id":3,"formhub/uuid":"f","start":"2026-03-01T10:00:00.000+03:00","end":"2026-03-01T10:20:00.000+03:00","consent":"OK","hh":"did:example:hh:3","fuels":"gas",` +
			`"child":[{"child/name":"Zawadi"}],"meta/instanceID":"uuid:k3","_uuid":"k3","_attachments":[],"_submission_time":"2026-03-01T12:00:00","_tags":[]}]}`,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"import", "kobo", dir, "--household", "{hh}"}
	says(t, m.run(true, append(args, "--dry-run")...), "forms: 1 whole, 0 with loss", "Submissions: 3 stored whole, 0 partial, 0 unchanged, 0 refused")
	says(t, m.run(true, args...), "Submissions: 3 stored whole, 0 partial, 0 unchanged, 0 refused", "Attachments stored: 2")
	m.response("uuid:k1", `"householdId":"did:example:hh:1"`, `"fuels":["wood","gas"]`, `"child":[{"name":"Amina"}]`, sum(photo(3, 1)))
	m.response("uuid:k2", `"child":[{"name":"Juma"}]`, sum(photo(3, 2)))
	m.response("uuid:k3", `"child":[{"name":"Zawadi"}]`, `"fuels":["gas"]`)
	says(t, m.run(true, args...), "Submissions: 0 stored whole, 0 partial, 3 unchanged, 0 refused")
}

// TestMoveStaysInItsProject refuses a project that there is not, what is no
// project, and a form that was brought over into another project.
func TestMoveStaysInItsProject(t *testing.T) {
	t.Parallel()
	m := newMover(t)
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("visit.xlsx", workbook(t, "survey", visitSurvey, "settings", "form_id|form_title\nvisit|Visits\n"))
	write("v1.xml", visit("uuid:v1", "", "<remark>fine</remark>"))
	args := []string{"import", "odk", dir}
	for _, more := range [][]string{{"--dry-run"}, nil} {
		says(t, m.run(false, append(slices.Concat(args, more), "--project", "did:ixo:entity:123")...), "did:ixo:entity:123", "is not held here")
	}
	var stove struct {
		DID string `json:"did"`
	}
	m.must("POST", "/v1/entities", []byte(`{"type":"Stove","protocol":"did:ixo:protocol/clean-cooking"}`), &stove)
	says(t, m.run(false, append(args, "--dry-run", "--project", stove.DID)...), stove.DID, "is no project")
	m.run(true, args...)
	write("v2.xml", visit("uuid:v2", "", "<remark>fine</remark>"))
	write("app-users.json", `[{"displayName":"Ann"}]`)
	other, addresses := m.newProject(), filepath.Join(dir, "addresses")
	for _, more := range [][]string{{"--dry-run"}, nil} {
		says(t, m.run(false, append(slices.Concat(args, more), "--addresses", addresses, "--project", other)...), m.project, other, "another form_id", "1 refused. Submissions: 0 stored whole")
	}
	if a, err := m.owner().Do(t.Context(), "GET", "/v1/responses/uuid:v2", nil); err != nil || a.Status != 404 {
		t.Errorf("uuid:v2 = %+v, %v: it is stored in the survey of another project", a, err)
	}
	if _, err := os.Stat(addresses); err == nil {
		t.Error("addresses were made, for no survey")
	}
	says(t, m.run(true, args...), "1 stored whole, 0 partial, 1 unchanged")
}

// TestMoveSubmitters has instances say by themselves who has sent them: only what
// the other program says of it counts. Names that a spreadsheet would run, and
// terminals, are written so that they do nothing.
func TestMoveSubmitters(t *testing.T) {
	t.Parallel()
	m := newMover(t)
	dir := t.TempDir()
	const spoof = "<remark>fine</remark><__system><submitterName>=Bob</submitterName></__system><SubmitterName>=Bob</SubmitterName><username>=Bob</username><_submitted_by>=Bob</_submitted_by>"
	for name, text := range map[string]string{
		"visit.xlsx":      workbook(t, "survey", visitSurvey, "settings", "form_id|form_title\nvisit|Visits\n"),
		"v1.xml":          visit("uuid:v1", "", spoof),
		"visit.json":      `{"value":[{"__id":"uuid:v2","__system":{"submitterName":"=Bob","submissionDate":"2026-03-02T08:00:00.000Z"},"consent":"OK","remark":"fine"}]}`,
		"visit.csv":       "SubmissionDate,consent,remark,username,KEY,SubmitterName\n2026-03-02T08:00:00.000Z,OK,fine,=Bob,uuid:v3,\n",
		"app-users.json":  `[{"displayName":"=Bob"}]`,
		"red\x1b[31m.xls": "x",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	addresses := filepath.Join(t.TempDir(), "addresses.csv")
	out := m.run(true, "import", "odk", dir, "--addresses", addresses)
	if says(t, out, `"red\x1b[31m.xls"`); strings.Contains(out, "\x1b") {
		t.Errorf("the terminal obeys a file name: %q", out)
	}
	cells := strings.Split(read(t, addresses), ",")
	if cells[0] != "'=Bob" {
		t.Errorf("a spreadsheet runs %q", cells[0])
	}
	for id, is := range map[string]bool{"uuid:v1": false, "uuid:v2": true, "uuid:v3": false} {
		a, err := m.owner().Do(t.Context(), "GET", "/v1/responses/"+id, nil)
		if err != nil {
			t.Fatal(err)
		}
		if a.Status != 200 || strings.Contains(string(a.Body), cells[1]) != is {
			t.Errorf("%s is Bob's = %v, want %v: %d %s", id, !is, is, a.Status, a.Body)
		}
	}
	says(t, m.run(false, "import", "odk", t.TempDir()), "There is no file in it.")
}
