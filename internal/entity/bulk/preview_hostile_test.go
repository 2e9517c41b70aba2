package bulk_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/entity/bulk"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// packed is an XLSX file with a table of one column, whose sheet goes on with a
// text many times over, and with shared texts in the same manner.
func packed(t *testing.T, rows string, times int, shared string, texts int) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	add := func(name, before, part string, n int, after string) {
		f, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(f, before)
		}
		block := strings.Repeat(part, 1000)
		for ; n > 0 && err == nil; n -= 1000 {
			_, err = io.WriteString(f, block[:min(n, 1000)*len(part)])
		}
		if err == nil {
			_, err = io.WriteString(f, after)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add("xl/workbook.xml", `<workbook xmlns="m" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet r:id="a"/></sheets></workbook>`, "", 0, "")
	add("xl/_rels/workbook.xml.rels", `<Relationships><Relationship Id="a" Target="/xl/worksheets/one.xml"/></Relationships>`, "", 0, "")
	add("xl/sharedStrings.xml", "<sst>", shared, texts, "</sst>")
	add("xl/worksheets/one.xml", `<worksheet><sheetData><row><c t="inlineStr"><is><t>People</t></is></c></row>`, rows, times, "</sheetData></worksheet>")
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func (r *rig) sendPreview(t testing.TB, media string, file any) *httptest.ResponseRecorder {
	t.Helper()
	query := url.Values{"protocol": {household}, "type": {"Household"}}
	return r.send(t, call{method: "POST", path: "/v1/imports:preview?" + query.Encode(), header: map[string]string{"Content-Type": media}, body: file})
}

// A small file that unpacks to a large one takes no more work than any other.
func TestPreviewOfBombs(t *testing.T) {
	long := "<si><t>" + strings.Repeat("long ", 100_000) + "</t></si>"
	rule(t, func(t *testing.T, r *rig) {
		for name, tt := range map[string]struct {
			file   []byte
			status int
			rows   int
		}{
			// Each is larger than what a preview unpacks.
			"shared texts":        {packed(t, "", 0, "<si><t>some text that is shared</t></si>", 300_000), 413, 0},
			"many empty texts":    {packed(t, "", 0, "<si/>", 700_000), 413, 0},
			"blank rows":          {packed(t, "<row></row>", 500_000, "", 0), 200, 0},
			"rows":                {packed(t, "<row><c><v>4</v></c></row>", 200_000, "", 0), 200, 20},
			"rows of a long text": {packed(t, `<row><c t="s"><v>0</v></c></row>`, 1000, long, 1), 200, 8},
		} {
			begun := time.Now()
			w := r.sendPreview(t, sheet.XLSX.MediaType(), tt.file)
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("%s: %d bytes took %v", name, len(tt.file), took)
			}
			if w.Code != tt.status {
				t.Errorf("%s: %d, want %d: %.300s", name, w.Code, tt.status, w.Body)
				continue
			}
			if tt.status != 200 {
				if text := w.Body.String(); !strings.Contains(text, "PREVIEW_TOO_LARGE") || !strings.Contains(text, "dry run") {
					t.Errorf("%s: %s, want what to do instead", name, text)
				}
				continue
			}
			var p bulk.Preview
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || !p.More || len(p.Rows) != tt.rows {
				t.Errorf("%s: %d rows, more %v (%v), want %d and more", name, len(p.Rows), p.More, err, tt.rows)
			}
		}
		if n := r.counts(t)["transfer_files"]; n != 0 {
			t.Errorf("%d files are left", n)
		}
	})
}

// The answer has bounds, whatever the names and cells of a file are.
func TestPreviewIsShort(t *testing.T) {
	table := func(columns, rows int, name, cell string) string {
		var b strings.Builder
		for i := range columns {
			fmt.Fprintf(&b, "%s%d,", name, i)
		}
		b.WriteString("People\n")
		for range rows {
			b.WriteString(strings.Repeat(cell+",", columns) + "4\n")
		}
		return b.String()
	}
	rule(t, func(t *testing.T, r *rig) {
		for name, file := range map[string]string{
			"long names and cells": table(300, 6, strings.Repeat("n", 900), strings.Repeat("c", 900)),
			"long cells":           table(300, 6, "c", strings.Repeat("c", 900)),
			"cells that grow":      table(300, 6, "c", strings.Repeat("\x01", 900)),
			"names that grow":      table(300, 6, strings.Repeat("\x01", 300), "c"),
			"system names":         table(300, 6, "_"+strings.Repeat("n", 900), "c"),
			"letters of 4 bytes":   table(300, 6, "c", strings.Repeat("🌍", 400)),
		} {
			w := r.sendPreview(t, csvType, file)
			var p bulk.Preview
			if err := json.Unmarshal(w.Body.Bytes(), &p); w.Code != 200 || err != nil {
				t.Errorf("%s: %d, %v: %.300s", name, w.Code, err, w.Body)
				continue
			}
			if n := w.Body.Len(); n > 256<<10 || len(p.Rows) == 0 || len(p.Rows[0].Cells) == 0 || len(p.Columns) < len(p.Rows[0].Cells) {
				t.Errorf("%s: %d bytes with %d columns and %d rows", name, n, len(p.Columns), len(p.Rows))
			}
			found := false
			for _, note := range p.Notes {
				found = found || note.Code == "more_columns" && note.Count == strings.Count(file[:strings.Index(file, "\n")], ",")+1
			}
			if !found {
				t.Errorf("%s: no note on the columns that are not shown: %.500v", name, p.Notes)
			}
		}
		p := r.preview(t, url.Values{}, csvType, "a,b\n"+strings.Repeat("é", 201)+","+strings.Repeat("é", 200)+"\n")
		if c := p.Rows[0].Cells; c[0].Value != strings.Repeat("é", 200)+"…" || c[1].Value != strings.Repeat("é", 200) {
			t.Errorf("cells = %q", c)
		}
	})
}
