package intake_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/intake"
)

// squeezed is a zip with one file: start, and then a long run of one letter.
func squeezed(t testing.TB, name, start string, run int64) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create(name)
	if err == nil {
		_, err = io.Copy(w, io.MultiReader(strings.NewReader(start), io.LimitReader(letters{}, run)))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// A small file does not take memory without end: it is refused before it is
// read whole.
func TestHostileFiles(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.survey(t, "ws", plot)
		r.start(t)
		const central = "home-members,KEY\n4,uuid:one\n"
		tables := []string{"plot.csv", central}
		for i := range 120 {
			tables = append(tables, fmt.Sprintf("plot-%d.csv", i), "what,PARENT_KEY,KEY\n")
		}
		own := []string{"responses.csv", "responseId\n", "home.child.csv", "responseId,parentIndex,index\n", "stranger.csv", "responseId,parentIndex,index\n"}
		for name, tt := range map[string]struct {
			query string
			file  []byte
			code  string
		}{
			"a submission without end":     {"source=odk&format=zip", squeezed(t, "all.json", `{"value":[{"a":"`, 100<<20), "too_long"},
			"a long beginning":             {"source=odk&format=zip", squeezed(t, "all.json", `{"other":"`, 100<<20), "too_long"},
			"a submission too long":        {"source=odk&format=json", []byte(`[{"a":"` + strings.Repeat("x", 2<<20) + `"}]`), "too_long"},
			"more tables than repeats":     {"source=odk&format=zip", packed(t, tables...), "too_many_tables"},
			"a table of no repeat":         {"format=zip", packed(t, own...), "unknown_table"},
			"many tables of the same name": {"format=zip", packed(t, append(own[:2:2], strings.Split(strings.Repeat("home.child.csv|x\n|", 101), "|")[:202]...)...), "too_many_tables"},
		} {
			in, _ := r.load(t, "ws owner", tt.query, tt.file)
			if in.Status != job.Failed || len(in.Errors) != 1 || in.Errors[0].Fields[0].Code != tt.code {
				t.Errorf("%s: %s %+v, want %s", name, in.Status, in.Errors, tt.code)
			}
		}
	})
}

// counting counts what is read.
type counting struct {
	io.ReaderAt
	n int
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	c.n += len(p)
	return c.ReaderAt.ReadAt(p, off)
}

// An attachment that many answers name is read once.
func TestHashedOnce(t *testing.T) {
	t.Parallel()
	file := packed(t, "media/a.jpg", "a picture")
	src := &counting{ReaderAt: bytes.NewReader(file)}
	z, err := zip.NewReader(src, int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	hash := intake.Hasher()
	first, err := hash(z.File[0])
	if err != nil || len(first) != 64 {
		t.Fatalf("%q, %v", first, err)
	}
	src.n = 0
	if again, err := hash(z.File[0]); err != nil || again != first || src.n != 0 {
		t.Errorf("%q, %v after %d bytes, want %q", again, err, src.n, first)
	}
}

// An attachment that is wrong is noted at every answer that names it, and one
// that is right is stored once.
func TestSharedAttachment(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.survey(t, "ws", plot)
		r.start(t)
		file := "home-hh,home-members,home-photo,consent-agreed,end,KEY\n"
		for i := range 60 {
			file += fmt.Sprintf("did:ixo:household/%d,4,a.jpg,yes,2026-03-01T10:20:00Z,uuid:%d\n", i, i)
		}
		in, rows := r.load(t, "ws owner", "source=odk&format=zip&mapping="+url.QueryEscape(`{"home-hh":"householdId"}`), packed(t, "plot.csv", file, "media/a.jpg", "a picture"))
		if in.Counts.Created != 60 || in.Counts.Media != 1 {
			t.Fatalf("%s %+v %+v %q", in.Status, in.Counts, in.Errors, problems(rows))
		}
		for _, row := range rows {
			if len(row.MissingAttachments) > 0 {
				t.Errorf("row %d misses %q", row.Line, row.MissingAttachments)
			}
		}
		name := strings.Repeat("ab", 32)
		file = "responseId,householdId,timestamp,consent.agreed,home.members,home.photo\n"
		for i := range 2 {
			file += fmt.Sprintf("w%d,did:ixo:household/9%d,2026-02-20T10:00:00Z,true,4,sha256:%s\n", i, i, name)
		}
		in, rows = r.load(t, "ws owner", "format=zip", packed(t, "responses.csv", file, "media/"+name+".jpg", "not what its name says"))
		if in.Counts.Created != 2 || len(rows) != 2 || len(rows[0].Warnings) != 1 || !slices.Equal(rows[0].Warnings, rows[1].Warnings) {
			t.Errorf("%s %+v %+v: %+v", in.Status, in.Counts, in.Errors, rows)
		}
	})
}

// What all tables of an archive unpack to is bounded together.
func TestUnpacking(t *testing.T) {
	t.Parallel()
	left := int64(100)
	for i, want := range []bool{true, true, false, false} {
		_, err := io.ReadAll(intake.Unpacking(io.LimitReader(letters{}, 45), &left))
		if e := sheet.AsError(err); (e == nil) != want || e != nil && e.Code != "too_large" {
			t.Errorf("table %d: %v", i, err)
		}
	}
}

// Submissions of JSON are held to what rows of other files are, and the report
// stays small.
func TestHostileSubmissions(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.survey(t, "ws", plot)
		r.start(t)
		var unknown strings.Builder
		for i := range 500 {
			fmt.Fprintf(&unknown, `"unknown%d":1,`, i)
		}
		file := `[{"a":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `},
			{"__id":"uuid:two","home":{"child":[` + strings.Repeat("{},", 10_000) + `{}]}},
			{` + unknown.String() + `"__id":"uuid:three"},
			{"__id":"` + strings.Repeat("i", 5000) + `"}]`
		in, rows := r.load(t, "ws owner", "source=odk&format=json", []byte(file))
		if in.Counts.Refused != 4 || len(rows) != 4 {
			t.Fatalf("%s %+v %+v", in.Status, in.Counts, in.Errors)
		}
		for i, code := range []string{"too_deep", "too_many_rows", "unknown_column"} {
			if e := rows[i].Error; e.Errors[0].Code != code || len(e.Errors) > 20 {
				t.Errorf("row %d: %+v, want %s", i+1, e, code)
			}
		}
		if n := len(rows[3].ResponseID); n > 200 {
			t.Errorf("the report repeats %d bytes of an id", n)
		}
	})
}
