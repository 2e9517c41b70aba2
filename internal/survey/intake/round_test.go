package intake_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// everything has a question of every sort that a table has to take apart.
const everything = `{"templateId":"all","languages":["en","sw"],"sections":[
	{"id":"consent","questions":[{"id":"ok","type":"consent","required":true}]},
	{"id":"home","questions":[
		{"id":"size","type":"integer","dontKnow":true,"refuse":true},
		{"id":"share","type":"number"},
		{"id":"roof","type":"single_choice","options":["iron","grass"],"other":true,"dontKnow":true},
		{"id":"fuel","type":"multiple_choice","options":["wood","charcoal","gas"],"other":true},
		{"id":"best","type":"rank","options":["a","b","c"]},
		{"id":"views","type":"matrix","rows":["smoke","heat"],"options":["bad","good"],"dontKnow":true},
		{"id":"where","type":"geo","refuse":true},
		{"id":"bought","type":"quantity","units":["kg","bags"]},
		{"id":"phone","type":"text","pii":"direct"},
		{"id":"words","type":"text"},
		{"id":"day","type":"date"},
		{"id":"clock","type":"time"},
		{"id":"met","type":"datetime"},
		{"id":"near","type":"household_ref"},
		{"id":"electric","type":"boolean"},
		{"id":"picture","type":"photo"},
		{"id":"double","type":"calculate","calculate":"home.size * 2"},
		{"id":"inside","type":"group","questions":[{"id":"rooms","type":"integer"}]},
		{"id":"people","type":"repeat","questions":[{"id":"name","type":"text","pii":"direct"},{"id":"age","type":"integer"},{"id":"likes","type":"multiple_choice","options":["tea","maize"]},
			{"id":"pets","type":"repeat","questions":[{"id":"kind","type":"text"}]}]}]}]}`

// answers of one household each, with what tables find hard.
func answers(picture string) []string {
	return []string{
		`{"size":4,"share":0.125,"roof":"iron","fuel":["wood","gas"],"best":["b","a","c"],"views":{"smoke":"bad","heat":"good"},"where":{"lat":-1.2921,"lon":36.8219,"accuracy":4.5,"altitude":1700},` +
			`"bought":{"value":2.5,"unit":"kg"},"phone":"+254700000001","words":"=HYPERLINK(\"x\")","day":"2026-02-20","clock":"14:05","met":"2026-02-20T10:00:00Z","near":"did:ixo:household/7",` +
			`"electric":true,"picture":"sha256:` + picture + `","inside":{"rooms":2},"people":[{"name":"Amina, \"A\"","age":31,"likes":["tea","maize"],"pets":[{"kind":"dog"},{"kind":"'=cat"}]},{"name":"Juma","age":2}]}`,
		`{"size":{"noAnswer":"refused"},"roof":{"other":"tin; and \"paper\""},"fuel":["wood",{"other":"dung"}],"views":{"noAnswer":"dont_know"},"where":{"noAnswer":"refused"},"words":"'=1","electric":false,"people":[]}`,
		`{"size":{"noAnswer":"dont_know"},"roof":{"noAnswer":"dont_know"},"fuel":[],"words":"2026-02-20T00:00:00Z","met":"2026-02-20T13:00:00+03:00","day":"1899-12-31","clock":"07:00:30","share":-0.000001,"views":{"smoke":"good"}}`,
		`{"size":12,"words":"007","phone":" spaces  and\nlines\t","share":123456789012345.5,"bought":{"value":3,"unit":"bags"},"people":[{"name":"O'Neil"}]}`,
	}
}

// fill sends responses to the survey of a workspace.
func (r *rig) fill(t testing.TB, ws string) {
	t.Helper()
	body := strings.Repeat("a picture ", 40_000)
	sum := sha256.Sum256([]byte(body))
	picture := hex.EncodeToString(sum[:])
	if w := r.h.Send(t, ws+" owner", "PUT /v1/attachments/"+picture, body, "Content-Type", "text/plain"); w.Code != 201 {
		t.Fatalf("PUT = %d: %s", w.Code, w.Body)
	}
	for i, home := range answers(picture) {
		more := ""
		switch i {
		case 0:
			more = `,"location":{"lat":-1.2345,"lon":36.789,"accuracy":12},"deviceId":"device-7","startedAt":"2026-02-20T09:31:07.250Z","language":"sw","mode":"phone","collector":"did:key:collector",` +
				`"metadata":{"note":"a","n":1.50,"list":[1,{"x":"y"}]}`
		case 1:
			more = `,"durationSec":61.5,"collector":"did:key:collector","verification":{"status":"verified","verifier":"did:key:verifier","timestamp":"2026-02-21T10:00:00.123Z"}`
		case 2:
			more = `,"collector":"did:key:collector","verification":{"status":"rejected","verifier":"did:key:verifier","timestamp":"2026-02-22T10:00:00Z","reason":"made up"}`
		}
		r.do(t, ws+" owner POST /v1/surveys/s/responses", fmt.Sprintf(`{"responseId":"r%d","householdId":"did:ixo:household/%d","timestamp":"2026-02-20T10:00:00Z","responses":{"consent":{"ok":true},"home":%s}%s}`, i+1, i+1, home, more), 201, nil)
	}
	r.do(t, ws+" owner POST /v1/surveys/s/responses", `{"responseId":"r8","householdId":"did:ixo:household/8","timestamp":"2026-02-20T10:00:00Z","partial":true,"responses":{"home":{"size":1}}}`, 201, nil)
	r.do(t, ws+" owner POST /v1/surveys/s/responses", `{"responseId":"r9","householdId":"did:ixo:household/9","timestamp":"2026-02-20T10:00:00Z","responses":{"consent":{"ok":false}}}`, 201, nil)
}

// servers are the members that the server decides anew: times, revisions, and
// its own name for the record.
var servers = []string{"recordId", "receivedAt", "updatedAt", "revision"}

// neutral takes out of an export what the server decides.
func neutral(t testing.TB, format string, b []byte) string {
	t.Helper()
	switch format {
	case "ndjson":
		text := string(b)
		for _, name := range servers {
			text = regexp.MustCompile(`"`+name+`":("[^"]*"|[0-9]+),`).ReplaceAllString(text, "")
		}
		return text
	case "csv":
		all, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return blank(all)
	}
	var all [][]string
	book, err := sheet.OpenBook(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range book.Sheets() {
		if name == "codebook" || name == "export" {
			continue
		}
		var rows [][]string
		if err := book.Rows(i, func(_ int64, cells []sheet.Cell) error {
			row := []string{}
			for _, c := range cells {
				row = append(row, fmt.Sprint(c.Text, c.Guarded, c.Bad))
			}
			rows = append(rows, row)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		all = append(all, []string{name}, []string{blank(rows)})
	}
	return fmt.Sprint(all)
}

func blank(all [][]string) string {
	var out strings.Builder
	for _, row := range all {
		for i, cell := range row {
			if name := strings.TrimSuffix(all[0][i], "false"); slices.Contains(servers, name) {
				cell = "-"
			}
			fmt.Fprintf(&out, "%q ", cell)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// unzip reads an archive.
func unzip(t testing.TB, b []byte) map[string][]byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if out[f.Name], err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// An export with everything that is imported into an empty workspace and
// exported again has the same bytes, but for what the server decides.
func TestRoundTrip(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.survey(t, "ws", everything)
		r.fill(t, "ws")
		r.start(t)
		for i, draft := range []string{
			`"format":"csv"`, `"format":"xlsx"`, `"format":"ndjson"`, `"format":"csv","repeats":"tables"`, `"format":"xlsx","repeats":"tables"`,
			`"format":"csv","repeats":"tables","media":true`, `"format":"xlsx","repeats":"tables","media":true`, `"format":"ndjson","media":true`,
		} {
			draft = `{` + draft + `,"pii":"full"}`
			ws := fmt.Sprintf("copy%d", i)
			r.survey(t, ws, everything)
			first := r.export(t, "ws", draft)
			format := regexp.MustCompile(`csv|xlsx|ndjson`).FindString(draft)
			sent := format
			if strings.Contains(draft, "media") || format == "csv" && strings.Contains(draft, "tables") {
				sent = "zip"
			}
			in, rows := r.load(t, ws+" owner", "format="+sent, first)
			if in.Status != job.Succeeded || in.Counts.Created != 6 || in.Counts.Partial != 1 || len(problems(rows)) > 0 {
				t.Fatalf("%s: %s, %+v: %q %+v", draft, in.Status, in.Counts, problems(rows), in.Errors)
			}
			second := r.export(t, ws, draft)
			if sent == "zip" {
				sameArchive(t, draft, format, unzip(t, second), unzip(t, first))
			} else if got, want := neutral(t, format, second), neutral(t, format, first); got != want {
				t.Errorf("%s:\ngot  %s\nwant %s", draft, got, want)
			}
			// The same file again changes nothing, nor does that of the other workspace's twin.
			again, rows := r.load(t, ws+" owner", "format="+sent, first)
			if again.Counts.Unchanged != 6 || again.Counts.Created+again.Counts.Refused != 0 {
				t.Errorf("%s again: %+v: %q", draft, again.Counts, problems(rows))
			}
			if back, rows := r.load(t, "ws owner", "format="+sent, first); back.Counts.Unchanged != 6 {
				t.Errorf("%s back: %+v: %q", draft, back.Counts, problems(rows))
			}
		}
	})
}

// sameArchive compares the files of two archives.
func sameArchive(t *testing.T, draft, format string, got, want map[string][]byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d files, want %d", draft, len(got), len(want))
	}
	for name, b := range want {
		if strings.HasPrefix(name, "media/") {
			if !bytes.Equal(got[name], b) {
				t.Errorf("%s: %s differs", draft, name)
			}
			continue
		}
		if got, want := neutral(t, format, got[name]), neutral(t, format, b); got != want {
			t.Errorf("%s: %s:\ngot  %s\nwant %s", draft, name, got, want)
		}
	}
}
