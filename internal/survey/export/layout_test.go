package export_test

import (
	"bytes"
	"encoding/csv"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/export"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// document has a question of every kind.
const document = `{"templateId":"t","defaultLanguage":"en","languages":["sw"],"sections":[
	{"id":"z","title":{"en":"Last","sw":"Mwisho"},"questions":[
		{"id":"size","type":"integer","label":{"en":"How many?","sw":"Wangapi?"},"dontKnow":true,"refuse":true,"indicators":["SDG7.1.2"],"unit":"people"},
		{"id":"name","type":"text","pii":"direct"},
		{"id":"words","type":"text"}
	]},
	{"id":"a","questions":[
		{"id":"fuels","type":"multiple_choice","options":["wood",{"value":"gas","label":{"en":"Gas","sw":"Gesi"}}],"other":true},
		{"id":"best","type":"single_choice","options":["wood","gas"],"other":true,"refuse":true},
		{"id":"order","type":"rank","options":["x","y","other"]},
		{"id":"where","type":"geo"},
		{"id":"home","type":"geo","pii":"indirect"},
		{"id":"weight","type":"quantity","units":["kg","t"]},
		{"id":"grid","type":"matrix","rows":["r1",{"value":"r, 2"}],"options":["good","bad"],"dontKnow":true},
		{"id":"of","type":"household_ref"},
		{"id":"double","type":"calculate","calculate":"z.size == null ? 0.0 : double(z.size) * 2.0"},
		{"id":"g","type":"group","questions":[{"id":"day","type":"date"},{"id":"yes","type":"boolean"}]},
		{"id":"people","type":"repeat","questions":[
			{"id":"age","type":"integer"},{"id":"born","type":"date","pii":"indirect"},{"id":"at","type":"geo"},{"id":"can","type":"multiple_choice","options":["read","cook"]}
		]},
		{"id":"secrets","type":"repeat","pii":"direct","questions":[{"id":"s","type":"text"}]}
	]}
]}`

func compile(t testing.TB, doc string) *form.Form {
	t.Helper()
	var tpl form.Template
	if err := json.Unmarshal([]byte(doc), &tpl, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	f, err := form.Compile(&tpl)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const answered = `{"a":{"fuels":["wood",{"other":"dung, dry"}],"best":{"other":"=cmd()"},"order":["y","other","x"],"where":{"lat":-1.2921,"lon":36.8219,"accuracy":5},"home":{"lat":1.5,"lon":2.5},
	"weight":{"value":12.5,"unit":"kg"},"grid":{"r1":"good","r, 2":"bad"},"of":"did:ixo:household/9","g":{"day":"2026-01-31","yes":true},
	"people":[{"age":30,"born":"1996-01-01","at":{"lat":0.04,"lon":-0.04},"can":["read","cook"]},{"age":4}],"secrets":[{"s":"hush"}]},
	"z":{"size":5,"name":"Amina","words":"a \"b\",\nc"}}`

// answeredBy makes a response of answers as the store has them.
func answeredBy(t testing.TB, f *form.Form, answers string, level export.Level) *export.Response {
	t.Helper()
	r := f.Check(form.Input{Answers: jsontext.Value(answers), Now: time.Unix(0, 0)})
	if len(r.Wrong) > 0 {
		t.Fatalf("answers: %+v", r.Wrong)
	}
	out := &export.Response{
		NID: 7, ID: "amina-1", Round: 2, Household: "did:ixo:household/1", Stratum: "rural", Status: "complete", Collector: "did:key:c", VStatus: "verified",
		Verifier: "did:key:v", VerifiedAt: 1_700_000_001_000, SubmittedAt: 1_700_000_000_000, ReceivedAt: 1_700_000_000_500, UpdatedAt: 1_700_000_002_000, Flags: 1, FlagRules: "gps_distance", Revision: 3,
		Head:    `{"responseId":"amina-1","templateVersion":3,"completeness":0.5,"startedAt":"2023-11-14T22:00:00Z","durationSec":600,"mode":"visit","language":"sw","consent":true,"deviceId":"dev-1","submittedBy":"did:key:s","metadata":{"note":"n","list":["}",1]},"links":{"self":"/x"}}`,
		Answers: string(r.Public),
	}
	if level == export.Full {
		out.Answers, out.Place = string(r.Answers), &export.Place{Lat: -1.25, Lon: 36.5}
	}
	return out
}

// names makes names one can read in tests.
func names(value string) string { return "hh_<" + strings.ReplaceAll(value, "\x00", ":") + ">" }

// fileOf writes responses to a file.
func fileOf(t testing.TB, f *form.Form, c export.LayoutConfig, format export.Format, all ...*export.Response) []byte {
	t.Helper()
	c.Form, c.Names, c.Survey = f, names, "s1"
	w, err := export.NewLayout(c).Writer(format, export.About{Survey: "s1", TemplateID: "t", TemplateVersion: 1, AsOf: time.Unix(0, 0).UTC(), Filter: `eq(householdId,"did:ixo:household/1")`, Rounds: []int{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := w.Begin(nil)
	for again := true; again && err == nil; {
		for _, r := range all {
			if err == nil {
				b, err = w.Add(b, r)
			}
		}
		if err == nil {
			b, again, err = w.End(b)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func table(t testing.TB, b []byte) [][]string {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		t.Fatalf("%v in %s", err, b)
	}
	return rows
}

// cells are the values of a row by the heads of their columns.
func cells(t testing.TB, rows [][]string, n int) map[string]string {
	t.Helper()
	out := map[string]string{}
	for i, name := range rows[0] {
		if _, twice := out[name]; twice {
			t.Errorf("two columns are called %s", name)
		}
		out[name] = rows[n][i]
	}
	return out
}

func TestWide(t *testing.T) {
	t.Parallel()
	f := compile(t, document)
	common := map[string]string{
		"surveyId": "s1", "templateVersion": "3", "flagRules": "gps_distance", "round": "2", "stratum": "rural", "group": "", "status": "complete", "completeness": "0.5", "timestamp": "2023-11-14T22:13:20.000Z",
		"startedAt": "2023-11-14T22:00:00Z", "receivedAt": "2023-11-14T22:13:20.500Z", "updatedAt": "2023-11-14T22:13:22.000Z", "durationSec": "600",
		"mode": "visit", "language": "sw", "consent": "true", "eligible": "", "verificationStatus": "verified", "verifiedAt": "2023-11-14T22:13:21.000Z",
		"flags": "1", "revision": "3", "z.size": "5", "z.words": "a \"b\",\nc", "a.fuels": "wood;other", "a.fuels/wood": "1", "a.fuels/gas": "0",
		"a.fuels/other": "dung, dry", "a.best": "other", "a.best/other": "'=cmd()", "a.order": "y;other;x", "a.order/x": "3", "a.order/y": "1", "a.order/other": "2",
		"a.weight": "12.5", "a.weight/unit": "kg", "a.grid.r1": "good", "a.grid.r, 2": "bad", "a.double": "10", "a.g.day": "2026-01-31", "a.g.yes": "true",
	}
	coarse := map[string]string{
		"responseId": "rec~7", "a.where/lat": "-1.3", "a.where/lon": "36.8",
		"a.people": `[{"age":30,"at":{"lat":0,"lon":0},"can":["read","cook"]},{"age":4}]`,
	}
	for _, tt := range []struct {
		level export.Level
		also  []map[string]string
	}{
		{export.None, []map[string]string{coarse}},
		{export.Pseudonymised, []map[string]string{coarse, {
			"householdId": "hh_<did:ixo:household/1>", "collector": "pe_<person:did:key:c>", "verifier": "pe_<person:did:key:v>", "a.of": "hh_<did:ixo:household/9>",
		}}},
		{export.Full, []map[string]string{{
			"responseId": "amina-1", "recordId": "rec~7", "householdId": "did:ixo:household/1", "collector": "did:key:c", "verifier": "did:key:v", "submittedBy": "did:key:s", "supersedes": "",
			"deviceId": "dev-1", "location/lat": "-1.25", "location/lon": "36.5", "location/accuracy": "", "erased": "false", "metadata": `{"note":"n","list":["}",1]}`,
			"z.name": "Amina", "a.where/lat": "-1.2921", "a.where/lon": "36.8219", "a.where/accuracy": "5", "a.where/altitude": "", "a.home/lat": "1.5", "a.home/lon": "2.5",
			"a.home/accuracy": "", "a.home/altitude": "", "a.of": "did:ixo:household/9", "a.secrets": `[{"s":"hush"}]`,
			"a.people": `[{"age":30,"at":{"lat":0.04,"lon":-0.04},"born":"1996-01-01","can":["read","cook"]},{"age":4}]`,
		}}},
	} {
		t.Run(string(tt.level), func(t *testing.T) {
			t.Parallel()
			got := cells(t, table(t, fileOf(t, f, export.LayoutConfig{Level: tt.level, Shape: export.Wide}, export.CSV, answeredBy(t, f, answered, tt.level))), 1)
			want := map[string]string{}
			for _, m := range append(tt.also, common) {
				for k, v := range m {
					want[k] = v
				}
			}
			for k, v := range want {
				if g, ok := got[k]; !ok || g != v {
					t.Errorf("%s = %q (there: %v), want %q", k, g, ok, v)
				}
			}
			for k, v := range got {
				if _, ok := want[k]; !ok {
					t.Errorf("there is a column %s = %q", k, v)
				}
			}
		})
	}
}

// TestNothingPersonal: short of full no file of any format tells of a person.
func TestNothingPersonal(t *testing.T) {
	t.Parallel()
	f := compile(t, document)
	// What must never be there, even if the store were to hold it.
	all := answeredBy(t, f, answered, export.Full)
	hidden := strings.NewReplacer("hh_<did:ixo:household/1>", "", "hh_<did:ixo:household/9>", "", "pe_<person:did:key:c>", "", "pe_<person:did:key:v>", "")
	look := func(level export.Level, shape export.Shape, format export.Format) {
		text := hidden.Replace(string(fileOf(t, f, export.LayoutConfig{Level: level, Shape: shape}, format, all)))
		for _, secret := range []string{"mina", "did:", "hush", "1996", "dev-1", "1.2921", "36.82", "1.25", "36.5", "1.5", "0.04", `"note"`} {
			if strings.Contains(text, secret) {
				t.Errorf("%s %s %s has %q: %s", level, shape, format, secret, text)
			}
		}
		if level == export.None && strings.Contains(text, "hh_") {
			t.Errorf("%s %s names households: %s", shape, format, text)
		}
	}
	for _, level := range []export.Level{export.None, export.Pseudonymised} {
		for _, shape := range []export.Shape{export.Wide, export.Long} {
			for _, format := range []export.Format{export.CSV, export.NDJSON, export.JSONLD} {
				look(level, shape, format)
			}
		}
		look(level, export.Wide, export.GeoJSON)
		look(level, export.Wide, export.Stata)
	}
}

// The reference of a response is the same in every level, shape and format.
func TestRecordIDs(t *testing.T) {
	t.Parallel()
	f := compile(t, document)
	for _, level := range export.Levels() {
		r := answeredBy(t, f, answered, level)
		for _, shape := range []export.Shape{export.Wide, export.Long} {
			for _, format := range []export.Format{export.CSV, export.NDJSON, export.JSONLD} {
				text := string(fileOf(t, f, export.LayoutConfig{Level: level, Shape: shape}, format, r))
				if !strings.Contains(text, "rec~7") || strings.Contains(text, "amina-1") != (level == export.Full) {
					t.Errorf("%s %s %s has no reference, or says whom it is about: %s", level, shape, format, text)
				}
			}
		}
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	f := compile(t, document)
	r := answeredBy(t, f, `{"a":{"best":{"noAnswer":"refused"},"grid":{"noAnswer":"dont_know"}},"z":{"size":{"noAnswer":"dont_know"}}}`, export.None)
	got := cells(t, table(t, fileOf(t, f, export.LayoutConfig{Level: export.None, Shape: export.Wide}, export.CSV, r)), 1)
	for name, want := range map[string]string{"a.best": "refused", "a.best/other": "", "a.grid.r1": "dont_know", "a.grid.r, 2": "dont_know", "z.size": "dont_know", "a.fuels": "", "a.fuels/wood": ""} {
		if got[name] != want {
			t.Errorf("%s = %q, want %q", name, got[name], want)
		}
	}
	long := string(fileOf(t, f, export.LayoutConfig{Level: export.None, Shape: export.Long}, export.CSV, r))
	for _, want := range []string{",a,best,,refused\r\n", ",a,grid,,dont_know\r\n", ",z,size,,dont_know\r\n"} {
		if !strings.Contains(long, want) {
			t.Errorf("long has no %q: %s", want, long)
		}
	}
}

func TestLong(t *testing.T) {
	t.Parallel()
	f := compile(t, document)
	rows := table(t, fileOf(t, f, export.LayoutConfig{Level: export.Full, Shape: export.Long}, export.CSV, answeredBy(t, f, answered, export.Full)))
	var got []string
	for _, r := range rows {
		got = append(got, strings.Join(r, "|"))
	}
	at := "amina-1|rec~7|2|did:ixo:household/1|"
	want := []string{
		"responseId|recordId|round|householdId|section|question|index|value", at + "a|best||other", at + "a|best/other||'=cmd()", at + "a|double||10", at + "a|fuels|1|wood",
		at + "a|fuels|2|other", at + "a|fuels/other|2|dung, dry", at + "a|g.day||2026-01-31", at + "a|g.yes||true", at + "a|grid.r, 2||bad", at + "a|grid.r1||good",
		at + "a|home/lat||1.5", at + "a|home/lon||2.5", at + "a|of||did:ixo:household/9", at + "a|order|1|y", at + "a|order|2|other", at + "a|order|3|x",
		at + "a|people.age|1|30", at + "a|people.at/lat|1|0.04", at + "a|people.at/lon|1|-0.04", at + "a|people.born|1|1996-01-01", at + "a|people.can|1.1|read",
		at + "a|people.can|1.2|cook", at + "a|people.age|2|4", at + "a|secrets.s|1|hush", at + "a|weight/unit||kg", at + "a|weight||12.5", at + "a|where/accuracy||5",
		at + "a|where/lat||-1.2921", at + "a|where/lon||36.8219", at + "z|name||Amina", at + "z|size||5", at + "z|words||a \"b\",\nc",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("rows:\n%s\nwant\n%s", g, w)
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	f := compile(t, document)
	r := answeredBy(t, f, answered, export.Full)
	line := fileOf(t, f, export.LayoutConfig{Level: export.Full, Shape: export.Wide}, export.NDJSON, r)
	var got struct {
		ResponseID string         `json:"responseId"`
		Round      int            `json:"round"`
		Location   map[string]any `json:"location"`
		Metadata   map[string]any `json:"metadata"`
		Responses  jsontext.Value `json:"responses"`
		Timestamp  time.Time      `json:"timestamp"`
	}
	if err := json.Unmarshal(line, &got); err != nil || bytes.Count(line, []byte("\n")) != 1 {
		t.Fatalf("%v in %s", err, line)
	}
	if got.ResponseID != "amina-1" || got.Round != 2 || got.Location["lat"] != -1.25 || got.Metadata["note"] != "n" || string(got.Responses) != r.Answers || got.Timestamp.UnixMilli() != r.SubmittedAt {
		t.Errorf("line = %+v", got)
	}
	coarse := string(fileOf(t, f, export.LayoutConfig{Level: export.Pseudonymised, Shape: export.Wide}, export.NDJSON, r))
	want := `"responses":{"a":{"best":{"other":"=cmd()"},"double":10,"fuels":["wood",{"other":"dung, dry"}],"g":{"day":"2026-01-31","yes":true},"grid":{"r, 2":"bad","r1":"good"},` +
		`"of":"hh_<did:ixo:household/9>","order":["y","other","x"],"people":[{"age":30,"at":{"lat":0,"lon":0},"can":["read","cook"]},{"age":4}],"weight":{"unit":"kg","value":12.5},` +
		`"where":{"lat":-1.3,"lon":36.8}},"z":{"size":5,"words":"a \"b\",\nc"}}}` + "\n"
	if !strings.HasSuffix(coarse, want) {
		t.Errorf("line = %s\nwant …%s", coarse, want)
	}
}

func TestJSONLD(t *testing.T) {
	t.Parallel()
	f := compile(t, document)
	for _, shape := range []export.Shape{export.Wide, export.Long} {
		for n := range 3 {
			all := make([]*export.Response, n)
			for i := range all {
				all[i] = answeredBy(t, f, answered, export.Full)
			}
			var doc struct {
				Context map[string]any   `json:"@context"`
				Graph   []map[string]any `json:"@graph"`
			}
			b := fileOf(t, f, export.LayoutConfig{Level: export.Full, Shape: shape}, export.JSONLD, all...)
			if err := json.Unmarshal(b, &doc, json.RejectUnknownMembers(true)); err != nil {
				t.Fatalf("%v in %s", err, b)
			}
			want := 1 + n
			if shape == export.Long {
				want = 1 + 32*n
			}
			if len(doc.Graph) != want || doc.Graph[0]["@type"] != "ResponseSet" || doc.Graph[0]["@id"] != "urn:hearth:survey:s1" || doc.Context["@vocab"] == nil {
				t.Errorf("%s: %d nodes, want %d: %v", shape, len(doc.Graph), want, doc.Graph[0])
			}
			if n > 0 && shape == export.Wide && (doc.Graph[1]["@id"] != "urn:hearth:response:amina-1" || doc.Graph[1]["@type"] != "Response") {
				t.Errorf("node = %v", doc.Graph[1])
			}
			if n > 0 && shape == export.Long && (doc.Graph[1]["response"] != "urn:hearth:response:amina-1" || doc.Graph[1]["@type"] != "Answer") {
				t.Errorf("node = %v", doc.Graph[1])
			}
		}
	}
}

func TestBook(t *testing.T) {
	t.Parallel()
	f := compile(t, document)
	for _, shape := range []export.Shape{export.Wide, export.Long} {
		r := answeredBy(t, f, answered, export.None)
		b := fileOf(t, f, export.LayoutConfig{Level: export.None, Shape: shape, Language: "sw"}, export.XLSX, r)
		plain := table(t, fileOf(t, f, export.LayoutConfig{Level: export.None, Shape: shape}, export.CSV, r))
		book, err := sheet.OpenBook(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(book.Sheets(), " "); got != "data codebook export" {
			t.Errorf("sheets = %s", got)
		}
		n := 0
		err = book.Rows(0, func(_ int64, cells []sheet.Cell) error {
			for i, c := range cells {
				if want := strings.TrimPrefix(plain[n][i], "'"); c.Text != want || c.Bad != "" {
					t.Errorf("%s: row %d, column %d = %+v, want %q", shape, n, i, c, want)
				}
			}
			n++
			return nil
		})
		if err != nil || n != len(plain) {
			t.Errorf("%d rows (%v), want %d", n, err, len(plain))
		}
		var text []string
		err = book.Rows(1, func(_ int64, cells []sheet.Cell) error {
			for _, c := range cells {
				text = append(text, c.Text)
			}
			return nil
		})
		if all := strings.Join(text, "|"); err != nil || !strings.Contains(all, "Wangapi?") || strings.Contains(all, "z.name") || !strings.Contains(all, "gas = Gesi") || !strings.HasSuffix(all, "separator|meaning|;|It joins several values in one cell.") {
			t.Errorf("codebook = %s, %v", all, err)
		}
		asked := map[string]string{}
		err = book.Rows(2, func(_ int64, cells []sheet.Cell) error {
			asked[cells[0].Text] = ""
			if len(cells) > 1 {
				asked[cells[0].Text] = cells[1].Text
			}
			return nil
		})
		if err != nil || asked["surveyId"] != "s1" || asked["pii"] != "none" || asked["shape"] != string(shape) || asked["asOf"] == "" || asked["filter"] != "(it names somebody)" || asked["rounds"] != "1;2" {
			t.Errorf("export = %v, %v", asked, err)
		}
	}
}

func TestCodebookOfForm(t *testing.T) {
	t.Parallel()
	f := compile(t, document)
	book := export.NewCodebook("s1", 3, f, export.Sample{})
	seen := map[string]export.Column{}
	for _, c := range book.Columns {
		seen[c.Name] = c
	}
	for _, level := range export.Levels() {
		for _, shape := range []export.Shape{export.Wide, export.Long} {
			rows := table(t, fileOf(t, f, export.LayoutConfig{Level: level, Shape: shape}, export.CSV, answeredBy(t, f, answered, level)))
			heads := rows[0]
			if shape == export.Long {
				heads = nil
				for _, r := range rows[1:] {
					heads = append(heads, r[len(r)-4]+"."+r[len(r)-3])
				}
			}
			for _, name := range heads {
				c, ok := seen[name]
				if !ok || !has(c.Levels, level) || !has(c.Shapes, shape) {
					t.Errorf("%s %s: column %s is %+v", level, shape, name, c)
				}
			}
		}
	}
	size := seen["z.size"]
	if size.Unit != "people" || strings.Join(size.Missing, " ") != "dont_know refused" || size.Label["sw"] != "Wangapi?" || size.Indicators[0] != "SDG7.1.2" || size.Title["sw"] != "Mwisho" {
		t.Errorf("z.size = %+v", size)
	}
	if c := seen["z.name"]; c.PII != form.PIIDirect || len(c.Levels) != 1 {
		t.Errorf("z.name = %+v", c)
	}
	if c := seen["householdId"]; c.Note == "" || len(c.Levels) != 2 {
		t.Errorf("householdId = %+v", c)
	}
	rows := table(t, book.CSV())
	if size := cells(t, rows, slices.IndexFunc(rows, func(r []string) bool { return r[0] == "z.size" })); book.Separator != ";" || size["missing"] != "dont_know;refused" || size["shapes"] != "wide;long" {
		t.Errorf("separator %q, z.size = %v; want values joined by ;", book.Separator, size)
	}
	if got := cells(t, rows, 1)["label:sw"]; len(rows) != len(book.Columns)+1 || got == "" {
		t.Errorf("%d rows, label %q", len(rows), got)
	}
}

func has[T comparable](all []T, one T) bool {
	for _, x := range all {
		if x == one {
			return true
		}
	}
	return false
}

func TestTooWide(t *testing.T) {
	t.Parallel()
	var q []string
	options := strings.Repeat(`,"%"`, 999)
	for i := range 999 {
		options = strings.Replace(options, "%", "o"+time.Duration(i).String(), 1)
	}
	for _, c := range "abcdefghijklmnopq" {
		q = append(q, `{"id":"`+string(c)+`","type":"multiple_choice","options":["x"`+options+`]}`)
	}
	f := compile(t, `{"sections":[{"id":"s","questions":[`+strings.Join(q, ",")+`]}]}`)
	if err := export.NewLayout(export.LayoutConfig{Form: f, Level: export.None, Shape: export.Wide}).Check(); err == nil {
		t.Error("a table of 17,000 columns is taken")
	}
	if err := export.NewLayout(export.LayoutConfig{Form: f, Level: export.None, Shape: export.Long}).Check(); err != nil {
		t.Errorf("long: %v", err)
	}
	long := string(fileOf(t, f, export.LayoutConfig{Level: export.None, Shape: export.Long}, export.CSV, answeredBy(t, f, `{"s":{"a":["x","o1ns"]}}`, export.None)))
	if !strings.HasSuffix(long, ",s,a,1,x\r\nrec~7,2,s,a,2,o1ns\r\n") {
		t.Errorf("long = %s", long)
	}
	// Its codebook is no heavier than its template.
	if n := len(export.NewCodebook("s", 1, f, export.Sample{}).Columns); n > 100 {
		t.Errorf("the codebook has %d columns", n)
	}
}

// TestSerials: the number on a thing tells whose it is. Short of everything it
// has a name, the same in every file of the project, as has what is calculated
// from it; with nobody named it is left out.
func TestSerials(t *testing.T) {
	t.Parallel()
	f := compile(t, `{"templateId":"t","sections":[{"id":"s","questions":[
		{"id":"code","type":"barcode"},{"id":"stove_serial","type":"text"},{"id":"serialNo","type":"integer"},{"id":"stove","type":"entity_ref"},{"id":"again","type":"barcode","dontKnow":true},
		{"id":"label","type":"calculate","calculate":"'No ' + s.code"},{"id":"twice","type":"calculate","calculate":"s.label + '!'"},{"id":"series","type":"text"},
		{"id":"stoves","type":"repeat","questions":[{"id":"bar","type":"barcode"},{"id":"age","type":"integer"}]}]}]}`)
	const text = `{"s":{"code":"AB-1234","stove_serial":"AB-1234","serialNo":99887766,"stove":"did:ixo:device/AB-1234","again":{"noAnswer":"dont_know"},"series":"old","stoves":[{"bar":"AB-1234","age":3}]}}`
	named := regexp.MustCompile(`sn_<serial:[^>]*>`)
	for _, format := range []export.Format{export.CSV, export.NDJSON} {
		for _, shape := range []export.Shape{export.Wide, export.Long} {
			for level, want := range map[export.Level]struct{ serials, names int }{export.Full: {7, 0}, export.Pseudonymised: {0, 7}, export.None: {0, 0}} {
				file := fileOf(t, f, export.LayoutConfig{Level: level, Shape: shape}, format, answeredBy(t, f, text, level))
				got := named.ReplaceAllString(string(file), "NAME")
				serials, names := strings.Count(got, "AB-1234")+strings.Count(got, "99887766"), strings.Count(got, "NAME")
				if serials != want.serials || names != want.names || !strings.Contains(got, "old") {
					t.Errorf("%s %s %s: %d serials and %d names, want %d and %d:\n%s", format, shape, level, serials, names, want.serials, want.names, got)
				}
				if level == export.Pseudonymised && !strings.Contains(got, "dont_know") {
					t.Errorf("%s %s: %s, want the code of what is not known", format, shape, got)
				}
			}
		}
	}
}
