package sheet_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"hash/crc32"
	"runtime"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// bomb is a workbook with a part of size bytes: start, then text again and
// again. It is small once it is packed, and quick to make: the packed form of
// one block is repeated, for after the first each block is packed the same.
func bomb(t *testing.T, part, start, text string, size int) []byte {
	t.Helper()
	plain := archive(t, rowsXML(nameRow), map[string]string{part: "-"})
	r, err := zip.NewReader(bytes.NewReader(plain), int64(len(plain)))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, f := range r.File {
		if err := z.Copy(f); err != nil {
			t.Fatal(err)
		}
	}
	block := bytes.Repeat([]byte(text), 1+(64<<10)/len(text))
	times := (size + len(block) - 1) / len(block)
	packed := deflateRepeated(t, []byte(start), block, times)
	sum := crc32.NewIEEE()
	_, _ = sum.Write([]byte(start)) // a hash takes all
	for range times {
		_, _ = sum.Write(block)
	}
	w, err := z.CreateRaw(&zip.FileHeader{
		Name: part, Method: zip.Deflate, CRC32: sum.Sum32(), CompressedSize64: uint64(len(packed)), UncompressedSize64: uint64(len(start) + times*len(block)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(packed); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// deflateRepeated packs start and then block several times. A block is longer
// than the window of the algorithm, so what was packed after one block fits
// after each.
func deflateRepeated(t *testing.T, start, block []byte, times int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	write := func(p []byte) []byte {
		before := out.Len()
		if _, err := w.Write(p); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		return bytes.Clone(out.Bytes()[before:])
	}
	write(start)
	write(block)
	again := write(block)
	for range times - 2 {
		out.Write(again)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// What an archive unpacks to is never held at once. Not in parallel: it
// measures.
func TestBombsTakeLittleMemory(t *testing.T) {
	const one, texts, book, styles = "xl/worksheets/one.xml", "xl/sharedStrings.xml", "xl/workbook.xml", "xl/styles.xml"
	const inRow = "<worksheet><sheetData>" + nameRow + `<row r="2">`
	const size, little = 60 << 20, 56 << 20
	for _, tt := range []struct {
		name, part, start, text string
		size                    int
		code                    string
	}{
		{"one cell", one, inRow + `<c t="inlineStr"><is><t>`, "a", size, "too_long"},
		{"one value", one, inRow + `<c><v>`, "7", size, "too_long"},
		{"a cell of many texts", one, inRow + `<c t="inlineStr"><is>`, "<t>aaaaaaaaaaaaaaaaaaaa</t>", size, "too_long"},
		{"a cell that is skipped", one, inRow + `<c><f>`, "a", size, "too_long"},
		{"a row of large cells", one, inRow, `<c t="inlineStr"><is><t>` + strings.Repeat("a", 1<<19) + `</t></is></c>`, size, "too_long"},
		{"a long attribute", one, inRow + `<c r="`, "a", size, "too_long"},
		{"many attributes", one, inRow + `<c `, `a="" `, size, "too_long"},
		{"a long name", one, inRow + `<c`, "c", size, "too_long"},
		{"a long comment", one, inRow + `<!--`, "c", size, "too_long"},
		{"a long directive", one, `<!DOCTYPE `, "c", size, "too_long"},
		{"a long instruction", one, `<?a `, "c", size, "too_long"},
		{"text before the sheet", one, `<worksheet>`, "c", size, "too_long"},
		{"deep elements", one, inRow + `<c><is>`, "<t>", size, "too_deep"},
		{"deep elements that are skipped", one, inRow, "<t>", size, "too_deep"},
		{"one shared text", texts, "<sst><si><t>", "a", size, "too_long"},
		{"a shared text of many", texts, "<sst><si>", "<t>aaaaaaaaaaaaaaaaaaaa</t>", size, "too_long"},
		{"deep shared texts", texts, "<sst><si>", "<t>", size, "too_deep"},
		{"a long name of a book", book, `<workbook><sheets><sheet name="`, "a", 3 << 20, "too_long"},
		{"a long format", styles, `<styleSheet><numFmts><numFmt formatCode="`, "a", 15 << 20, "too_long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := bomb(t, tt.part, tt.start, tt.text, tt.size)
			before := allocated()
			_, _, err := readAll(sheet.XLSX, string(file))
			if e := sheet.AsError(err); e == nil || e.Code != tt.code {
				t.Errorf("err = %v, want %s", err, tt.code)
			}
			if grown := allocated() - before; grown > little {
				t.Errorf("reading %d MiB took %d MiB, want at most %d", tt.size>>20, grown>>20, little>>20)
			}
		})
	}
}

// Many short texts take the memory of their bytes, and a book that somebody
// waits for may have fewer of them.
func TestManySharedTexts(t *testing.T) {
	file := bomb(t, "xl/sharedStrings.xml", "", "<si><t>x</t></si>", 32<<20)
	if _, err := sheet.OpenBook(bytes.NewReader(file), int64(len(file))); sheet.AsError(err) == nil || sheet.AsError(err).Code != "too_large" {
		t.Errorf("OpenBook of two million texts: %v, want too_large", err)
	}
	before := live()
	in, err := sheet.Open(sheet.XLSX, bytes.NewReader(file), int64(len(file)), sheet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if held := live() - before; held > 32<<20 {
		t.Errorf("two million texts hold %d MiB, want at most 32", held>>20)
	}
	runtime.KeepAlive(in)
}

// live is what the heap holds that is in use.
func live() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A text that is shared by every cell of a row would make a record of the
// product.
func TestSharedTextManyTimes(t *testing.T) {
	row := `<row r="1">` + `<c t="s"><v>0</v></c>` + `</row><row r="2">` + strings.Repeat(`<c t="s"><v>1</v></c>`, 1000) + `</row>`
	file := archive(t, rowsXML(row), map[string]string{"xl/sharedStrings.xml": "<sst><si><t>s</t></si><si><t>" + strings.Repeat("a", 1<<19) + "</t></si></sst>"})
	_, _, err := read(sheet.XLSX, file, sheet.Options{})
	if e := sheet.AsError(err); e == nil || e.Code != "too_long" || e.Line != 2 {
		t.Errorf("err = %v, want too_long in line 2", err)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
