package pdf_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/ascii85"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"

	"github.com/hearth-dmrv/hearth/internal/oracle/pdf"
)

// made is a file of objects, numbered from 1: the catalogue, and what a test adds.
func made(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	for i, o := range objects {
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	b.WriteString("trailer\n<< /Root 1 0 R >>\n%%EOF\n")
	return b.Bytes()
}

// Objects that most files have.
const (
	catalogue = "<< /Type /Catalog /Pages 2 0 R >>"
	pages     = "<< /Type /Pages /Kids [3 0 R] /Count 1 /Resources << /Font << /F 5 0 R >> /XObject << /X 6 0 R >> >> >>"
	onePage   = "<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>"
	plainFont = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
)

// stream is a stream with more members in its head.
func stream(head, body string) string {
	return fmt.Sprintf("<< /Length %d %s >>\nstream\n%s\nendstream", len(body), head, body)
}

// packed is a text as Flate has it.
func packed(text string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write([]byte(text)) // into memory
	_ = z.Close()
	return b.String()
}

// says is a file of one page whose content is given.
func says(content string, more ...string) []byte {
	objects := []string{catalogue, pages, onePage, stream("", content)}
	if len(more) == 0 {
		more = []string{plainFont}
	}
	return made(append(objects, more...)...)
}

func TestText(t *testing.T) {
	t.Parallel()
	browser, err := os.ReadFile("testdata/browser.pdf")
	if err != nil {
		t.Fatal(err)
	}
	in85 := make([]byte, ascii85.MaxEncodedLen(200))
	in85 = in85[:ascii85.Encode(in85, []byte(packed("BT /F 10 Tf (both) Tj ET")))]
	inside := "5 0 9 " + fmt.Sprint(len(plainFont)+1) + " "
	form := stream("/Subtype /Form /Resources << /Font << /F 5 0 R >> >>", "BT /F 10 Tf (in a form) Tj ET")
	const composite = "<< /Type /Font /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [<< /DW 500 /W [1 [500 600] 7 9 400] >>] /ToUnicode 6 0 R >>"
	const table = "1 begincodespacerange <0000> <ffff> endcodespacerange 1 beginbfchar <0001> <0048> endbfchar 2 beginbfrange <0002> <0003> <0069> <0004> <0005> [<00e9> <0066006C>] endbfrange"
	for _, tt := range []struct {
		name string
		raw  []byte
		text string
	}{
		{"of a browser", browser, "Jiko la Kisumu\nThe stove of Amina Otieno uses 3.5 kWh a day – “café” €12.\nstove kWh\nA-1 3.5\n\nSecond page, efficient offices."},
		{"a word", says("BT /F 10 Tf (Hello) Tj ET"), "Hello"},
		{"escapes", says(`BT /F 10 Tf (a\(b\)\\ \101\tz (c) d\
e) Tj ET`), `a(b)\ Az (c) de`},
		{"in hex", says("BT /F 10 Tf <48 65 6c6C 6f2> Tj ET"), "Hello"},
		{"lines", says("BT /F 10 Tf 12 TL (a) Tj T* (b) Tj (c) ' 1 2 (d) \" 0 -12 Td (e) Tj ET"), "a\nb\nc\nd\ne"},
		{"words by their place", says("BT /F 10 Tf [(He) -20 (llo) -400 (you)] TJ 60 0 Td (there) Tj ET"), "Hello you there"},
		{"two texts in a line", says("BT /F 10 Tf (a) Tj ET BT /F 10 Tf 1 0 0 1 50 0 Tm (b) Tj ET"), "a b"},
		{"moved by the page", says("q 1 0 0 1 0 700 cm BT /F 10 Tf (a) Tj ET Q q 1 0 0 1 0 600 cm BT /F 10 Tf (b) Tj ET Q"), "a\nb"},
		{"a picture between", says("BT /F 10 Tf (a) Tj ET BI /W 1 ID \x00EI(b) Tj\xff EI BT /F 10 Tf 50 0 Td (c) Tj ET"), "a c"},
		{"a comment", says("BT /F 10 Tf % (no) Tj\n(yes) Tj ET"), "yes"},
		{"Windows letters", says("BT /F 10 Tf (caf\xe9 \x96 \x80) Tj ET"), "café – €"},
		{"names of glyphs", says("BT /F 10 Tf (\x01\x02\x03\x04\x05) Tj ET", "<< /Subtype /Type1 /Encoding << /Differences [1 /eacute /ffi /uni20AC /germandbls /A.sc] >> >>"), "éffi€ßA"},
		{"the standard table", says("BT /F 10 Tf (\xaa\xae\xba`') Tj ET", "<< /Subtype /Type1 >>"), "“fi”‘’"},
		{"the table of a font", says("BT /F 10 Tf (\x0b) Tj ET", "<< /Subtype /Type1 /FontDescriptor << /FontFile 6 0 R >> >>", stream("", "/Encoding 256 array\ndup 11 /ff put\nreadonly def\ncurrentfile eexec")), "ff"},
		{"fonts made of dots", says("BT /F 10 Tf (\x1c!) Tj ET", "<< /Subtype /Type3 /FontMatrix [0.01 0 0 0.01 0 0] /Encoding << /Differences [28 /a28 33 /a33] >> >>"), "fi!"},
		{"composite", says("BT /F 10 Tf <00010002000300040005> Tj ET", composite, stream("", table)), "Hijéfl"},
		{"packed", made(catalogue, pages, onePage, stream("/Filter /FlateDecode", packed("BT /F 10 Tf (small) Tj ET")), plainFont), "small"},
		{"packed twice", made(catalogue, pages, onePage, stream("/Filter [/ASCII85Decode /FlateDecode]", string(in85)+"~>"), plainFont), "both"},
		{"hex", made(catalogue, pages, onePage, stream("/Filter /ASCIIHexDecode", "4254202F462031302054662028782920546A204554>"), plainFont), "x"},
		{"in parts", made(catalogue, pages, strings.Replace(onePage, "4 0 R", "[4 0 R 6 0 R]", 1), stream("", "BT /F 10 Tf"), plainFont, stream("", "(parts) Tj ET")), "parts"},
		{"objects in a stream", made(catalogue, pages, onePage, stream("", "BT /F 10 Tf (kept) Tj ET"), "null", stream("/Type /ObjStm /N 1 /First "+fmt.Sprint(len(inside)), inside+plainFont+"\n7")), "kept"},
		{"a form", says("/X Do", plainFont, form), "in a form"},
		{"a wrong length", made(catalogue, pages, onePage, "<< /Length 3 >>\nstream\nBT /F 10 Tf (long) Tj ET\nendstream", plainFont), "long"},
		{"a later version", append(says("BT /F 10 Tf (old) Tj ET"), "4 0 obj\n"+stream("", "BT /F 10 Tf (new) Tj ET")+"\nendobj\n"...), "new"},
		{"cut", bytes.Split(says("BT /F 10 Tf (there) Tj ET"), []byte("trailer"))[0], "there"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, whole, err := pdf.Text(t.Context(), tt.raw, 1<<20)
			if got != tt.text || !whole || err != nil {
				t.Errorf("got %q, whole %v, %v; want %q", got, whole, err, tt.text)
			}
		})
	}
}

func TestNoText(t *testing.T) {
	t.Parallel()
	over, end := context.WithCancel(t.Context())
	end()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		raw  []byte
		want error
	}{
		{"no PDF", t.Context(), []byte("hello"), pdf.ErrForm},
		{"empty", t.Context(), nil, pdf.ErrForm},
		{"encrypted", t.Context(), bytes.Replace(says("BT /F 10 Tf (x) Tj ET"), []byte("/Root"), []byte("/Encrypt 9 0 R /Root"), 1), pdf.ErrSealed},
		{"a scan", t.Context(), says("/X Do", plainFont, stream("/Subtype /Image", "xxx")), pdf.ErrNoText},
		{"codes nobody knows", t.Context(), says("BT /F 10 Tf <00010002> Tj ET", "<< /Subtype /Type0 >>"), pdf.ErrNoText},
		{"no font", t.Context(), says("BT (x) Tj ET"), pdf.ErrNoText},
		{"nothing", t.Context(), []byte("%PDF-1.4"), pdf.ErrNoText},
		{"over", over, says("BT /F 10 Tf (x) Tj ET"), context.Canceled},
	} {
		if text, _, err := pdf.Text(tt.ctx, tt.raw, 1<<20); text != "" || !errors.Is(err, tt.want) {
			t.Errorf("%s: got %q, %v, want %v", tt.name, text, err, tt.want)
		}
	}
}

// TestHostile: files that are made to take long, or to become large, end soon.
// ids is the table of an object stream whose objects all begin at its beginning.
func ids(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%05d 0 ", 10_000+i)
	}
	return b.String()
}

func TestHostile(t *testing.T) {
	t.Parallel()
	much := strings.Repeat
	loop := strings.Replace(pages, "[3 0 R]", "["+much("2 0 R 3 0 R ", 10_000)+"]", 1)
	bomb := stream("/Filter /FlateDecode", packed(much("BT /F 10 Tf (x) Tj ET ", 2<<20)))
	for name, raw := range map[string][]byte{
		"strings without an end":   append([]byte("%PDF-1.4\n"), much("1 0 obj <</ObjStm(", 100_000)...),
		"streams without an end":   append([]byte("%PDF-1.4\n"), much("1 0 obj <</Type/ObjStm>>stream\n", 100_000)...),
		"arrays in arrays":         append([]byte("%PDF-1.4\ntrailer"), much("[", 5<<20)...),
		"trailers":                 append([]byte("%PDF-1.4\n"), much("trailer<</A[", 500_000)...),
		"numbers":                  made(catalogue, strings.Replace(pages, "/Count 1", "/Count ["+much("1 ", 4<<20)+"]", 1)),
		"pages in themselves":      made(catalogue, loop, onePage, stream("", "BT /F 10 Tf (x) Tj ET"), plainFont),
		"a bomb":                   made(catalogue, pages, onePage, bomb, plainFont),
		"a form in itself":         says(much("/X Do ", 1000), plainFont, stream("/Subtype /Form", much("/X Do ", 1000))),
		"fonts":                    says(much("/F 10 Tf ", 500_000), plainFont),
		"fonts that are no object": made(catalogue, strings.Replace(pages, "5 0 R", plainFont, 1), onePage, stream("", much("/F 10 Tf ", 500_000))),
		"widths":                   says(much("/F 10 Tf ", 10), "<< /Subtype /Type0 /DescendantFonts [<< /W ["+much("0 65535 1 ", 100_000)+"] >>] >>"),
		"codes":                    says("/F 10 Tf", "<< /Subtype /Type0 /ToUnicode 6 0 R >>", stream("", much("<0000> <ffffffff> <0041> endbfrange ", 100_000))),
		"spaces":                   made(stream(fmt.Sprintf("/Type /ObjStm /First %d /Filter /FlateDecode", 8*10_000), packed(ids(10_000)+much(" ", 20<<20)))),
		"a reference to itself":    made("1 0 R", "2 0 R", onePage),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, steps, err := pdf.Overdrawn(t.Context(), raw, 1<<20)
			if steps > 0 || len(text) > 2<<20 || err != nil && text != "" {
				t.Errorf("%d bytes, %v, and %d steps too many", len(text), err, steps)
			}
		})
	}
}

// TestBounds: a long text is cut, and so are many pages.
func TestBounds(t *testing.T) {
	t.Parallel()
	text, whole, err := pdf.Text(t.Context(), says("BT /F 10 Tf "+strings.Repeat("(a long text) Tj ", 1000)+" ET"), 1000)
	if err != nil || whole || len(text) < 1000 || len(text) > 2000 {
		t.Errorf("%d bytes, whole %v, %v", len(text), whole, err)
	}
	one := strings.ReplaceAll(onePage, "\n", " ")
	many := strings.Replace(pages, "[3 0 R]", "["+strings.Repeat(one+" ", pdf.MaxPages+1)+"]", 1)
	text, whole, err = pdf.Text(t.Context(), made(catalogue, many, "null", stream("", "BT /F 10 Tf (x) Tj ET"), plainFont), 1<<20)
	if n := strings.Count(text, "x"); n != pdf.MaxPages || whole || err != nil {
		t.Errorf("%d pages, whole %v, %v", n, whole, err)
	}
}

// FuzzText: no file panics, or gives what is no text.
func FuzzText(f *testing.F) {
	const wide = "<< /Subtype /Type0 /DescendantFonts [<< /W [1 [500] 2 9 400] >>] /ToUnicode 6 0 R >>"
	f.Add(says("BT /F 10 Tf <00010002> Tj ET", wide, stream("", "<0001> <0002> <0041> endbfrange")))
	f.Add(made(catalogue, pages, onePage, stream("/Filter /FlateDecode", packed("BT /F 9 Tf (a) Tj ET")), plainFont, stream("/Type /ObjStm /First 4", "9 0 <</A 1>>")))
	f.Add(says("BT /F 10 Tf 12 TL [(a) -300 <62>] TJ T* (c) ' ET"))
	f.Add(says("/X Do", plainFont, stream("/Subtype /Form /Matrix [1 0 0 1 0 0]", "BT /F 1 Tf (x) Tj ET")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		text, _, err := pdf.Read(t.Context(), raw, 10_000)
		if err == nil && (text == "" || strings.ToValidUTF8(text, "") != text || strings.ContainsRune(text, 0)) {
			t.Errorf("got %q", text)
		}
	})
}

func TestCodes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		codes string
		want  *charmap.Charmap
	}{{pdf.WindowsCodes, charmap.Windows1252}, {pdf.MacintoshCodes, charmap.Macintosh}} {
		codes := []rune(tt.codes)
		for c := range 256 {
			got := rune(c)
			if c >= 128 && c-128 < len(codes) {
				got = codes[c-128]
			}
			if want := tt.want.DecodeByte(byte(c)); got != want {
				t.Errorf("%s: code %#x is %q, want %q", tt.want, c, got, want)
			}
		}
	}
}
