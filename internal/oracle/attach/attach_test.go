package attach_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/oracle/attach"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/outbound"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// far is a server that the guarded client takes for one outside: files.test is
// listed by name. Requests to any other name are refused by their address.
type far struct {
	port string
	hits atomic.Int64
}

func serve(t *testing.T, h http.HandlerFunc) *far {
	t.Helper()
	f := &far{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.hits.Add(1)
		h(w, r)
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	f.port = u.Port()
	return f
}

func (f *far) url(path string) string { return "http://files.test:" + f.port + path }

// reader reads through the guarded client, as the server does.
func (f *far) reader(t *testing.T, c attach.Config) *attach.Reader {
	t.Helper()
	c.Client = f.guarded(t)
	return attach.New(c)
}

// guarded is the guarded client that reaches the server, and what else is listed.
func (f *far) guarded(t *testing.T, allow ...string) *outbound.Client {
	t.Helper()
	guarded, err := outbound.New(outbound.Config{
		Allow: append(allow, "files.test:"+f.port), MaxBytes: attach.MaxFile, MaxRedirects: attach.MaxRedirects, Timeout: -1,
		Lookup: func(_ context.Context, host string) ([]netip.Addr, error) {
			if host == "nowhere.test" {
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			}
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(guarded.Close)
	return guarded
}

func plain(address string) llm.Attachment {
	return llm.Attachment{Filename: "a.txt", MIMEType: "text/plain", MXCURI: address}
}

// says answers with a type and a text.
func says(kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, text)
	}
}

const bookType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"

// workbook is a workbook with so many rows.
func workbook(t *testing.T, rows int) string {
	t.Helper()
	var b bytes.Buffer
	w, err := sheet.NewBook(&b, "Stoves", "Empty")
	if err == nil {
		err = w.Sheet()
	}
	if err == nil {
		err = w.Row("stove", "kWh")
	}
	for i := 0; i < rows && err == nil; i++ {
		err = w.Row(fmt.Sprint(i)+", a", "3.5")
	}
	if err == nil {
		err = w.Sheet()
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// document is a PDF of one page.
func document(content string) string {
	return "%PDF-1.4\n1 0 obj <</Pages 2 0 R>> endobj 2 0 obj <</Kids [3 0 R]>> endobj " +
		"3 0 obj <</Contents 4 0 R /Resources <</Font <</F <</Subtype /Type1 /Encoding /WinAnsiEncoding>>>>>>>> endobj " +
		fmt.Sprintf("4 0 obj <</Length %d>> stream\n%s\nendstream endobj trailer <</Root 1 0 R>>", len(content), content)
}

// packed answers with so many zeros, compressed, as long as anybody reads.
func packed(size int64) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		part := bytes.Repeat([]byte("0"), 1<<20)
		for ; size > 0; size -= int64(len(part)) {
			if _, err := z.Write(part); err != nil {
				return
			}
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", attach.MaxText+1)
	for _, tt := range []struct {
		name, mimetype, filename string
		h                        http.HandlerFunc
		text, note               string
	}{
		{"text", "text/plain", "a.txt", says("text/plain", "hello"), "hello", ""},
		{"csv", "text/csv", "a.csv", says("text/csv; charset=utf-8", "a,b\n1,2\n"), "a,b\n1,2\n", ""},
		{"json", "application/json", "a.json", says("application/json", `{"a":1}`), `{"a":1}`, ""},
		{"json of a kind", "application/geo+json", "a", says("application/geo+json", `{}`), `{}`, ""},
		{"xml", "application/xml", "a.xml", says("text/xml", `<a/>`), `<a/>`, ""},
		{"markdown", "text/markdown", "a.md", says("text/markdown", `# a`), `# a`, ""},
		{"a server that does not know", "text/csv", "a.csv", says("application/octet-stream", `a,b`), `a,b`, ""},
		{"a client that does not know", "application/octet-stream", "a.csv", says("text/csv", `a,b`), `a,b`, ""},
		{"nobody knows", "application/octet-stream", "a.bin", says("text/csv", `a,b`), "", "not readable here: it is not text"},
		{"a mark at the beginning", "text/plain", "a.txt", says("text/plain", "\uFEFFhello"), "hello", ""},
		{"wide characters", "text/plain", "a.txt", says("text/plain", "\xFF\xFEh\x00\xe9\x00"), "hé", ""},
		{"latin", "text/plain", "a.txt", says("text/plain; charset=ISO-8859-1", "caf\xe9"), "café", ""},
		{"not UTF-8", "text/plain", "a.txt", says("text/plain", "caf\xe9 x"), "caf\uFFFD x", ""},
		{"empty", "text/plain", "a.txt", says("text/plain", ""), "", ""},
		{"long", "text/plain", "a.txt", says("text/plain", long), long[:len(long)-2], "only its first 50000 characters"},
		{"picture", "image/png", "a.png", says("image/png", "\x89PNG"), "", "not readable here"},
		{"document", "application/pdf", "a.pdf", says("application/pdf", document("BT /F 9 Tf (Jiko) Tj ET")), "Jiko", ""},
		{"a document by its name", "application/octet-stream", "a.PDF", says("application/octet-stream", document("BT /F 9 Tf (Jiko) Tj ET")), "Jiko", ""},
		{"a long document", "application/pdf", "a.pdf", says("application/pdf", document("BT /F 9 Tf "+strings.Repeat("("+long[:20]+") Tj ", 5000)+"ET")), strings.Repeat("Ã©", attach.MaxText/2), "only its first 50000 characters"},
		{"a scan", "application/pdf", "a.pdf", says("application/pdf", document("")), "", "a PDF without text, such as a scan"},
		{"a document with a password", "application/pdf", "a.pdf", says("application/pdf", strings.Replace(document(""), "/Root", "/Encrypt 9 0 R /Root", 1)), "", "needs a password"},
		{"no document", "application/pdf", "a.pdf", says("application/pdf", "<html>"), "", "not a PDF that can be read"},
		{"a large document", "application/pdf", "a.pdf", says("application/pdf", document("")+strings.Repeat(" ", 10<<20)), "", "a PDF larger than 10 MB"},
		{"other document", "application/msword", "a.doc", says("application/msword", "x"), "", "not readable here"},
		{"a picture that says it is text", "text/plain", "a.txt", says("image/png", "\x89PNG"), "", "could not be read: it is not text"},
		{"bytes that say they are text", "text/plain", "a.txt", says("text/plain", "a\x00b"), "", "could not be read: it is not text"},
		{"a document that says it is text", "text/plain", "a.txt", says("text/plain", "%PDF-1.7 only text"), "", "could not be read: it is not text"},
		{"an archive that says it is text", "text/csv", "a.csv", says("text/csv", "PK\x03\x04abc"), "", "could not be read: it is not text"},
		{"small on the way, huge behind it", "text/plain", "a.txt", packed(4 << 30), strings.Repeat("0", attach.MaxText), "only its first 50000 characters"},
		{"workbook", bookType, "a.xlsx", says(bookType, workbook(t, 2)), "[sheet Stoves]\nstove,kWh\n\"0, a\",3.5\n\"1, a\",3.5\n[sheet Empty]\n", ""},
		{"workbook by its name", "application/octet-stream", "A.XLSX", says("application/octet-stream", workbook(t, 0)), "[sheet Stoves]\nstove,kWh\n[sheet Empty]\n", ""},
		{"text that says it is a workbook", bookType, "a.xlsx", says(bookType, "stove,kWh"), "", "could not be read: it is not a workbook"},
		{"broken workbook", bookType, "a.xlsx", says(bookType, "PK\x03\x04 and nothing"), "", "could not be read: it is not a workbook"},
		{"large workbook", bookType, "a.xlsx", says(bookType, strings.Repeat("PK\x03\x04", 2<<20)), "", "could not be read: it is a workbook larger than 5 MB"},
		{"missing", "text/plain", "a.txt", http.NotFound, "", "its server answers 404"},
		{"broken off", "text/plain", "a.txt", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		}, "", "its server cannot be reached"},
		{"too large", "text/plain", "a.txt", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Length", fmt.Sprint(attach.MaxFile+1))
		}, "", "it is larger than 25 MB"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := serve(t, tt.h)
			in := []llm.Attachment{{Filename: tt.filename, MIMEType: tt.mimetype, MXCURI: f.url("/x")}}
			got := f.reader(t, attach.Config{}).Read(t.Context(), in, attach.Sender{})
			if len(got) != 1 || got[0].Text != tt.text || !strings.Contains(got[0].Note, tt.note) || (tt.note == "") != (got[0].Note == "") {
				t.Errorf("got %.60q with note %q, want %.60q with %q", got[0].Text, got[0].Note, tt.text, tt.note)
			}
			if in[0].Text != "" || in[0].Note != "" {
				t.Error("what was sent has been changed")
			}
			if strings.Contains(tt.note, "not readable here") && f.hits.Load() != 0 {
				t.Error("a file nobody can read was fetched")
			}
		})
	}
}

// TestNeverFetched: what a homeserver keeps, what says it is too large, and
// everything where there is no client.
func TestNeverFetched(t *testing.T) {
	t.Parallel()
	f := serve(t, says("text/plain", "x"))
	large := plain(f.url("/"))
	large.Size = attach.MaxFile + 1
	read := plain(f.url("/"))
	read.Text = "before"
	got := f.reader(t, attach.Config{}).Read(t.Context(), []llm.Attachment{
		{Filename: "a", MIMEType: "text/plain", MXCURI: "mxc://h/a"}, {Filename: "a", MIMEType: "text/plain", EventID: "$e"}, large, read,
	}, attach.Sender{Homeserver: "h", Token: tool.NewToken("t")})
	for i, want := range []string{"kept by a homeserver", "kept by a homeserver", "larger than 25 MB", ""} {
		if !strings.Contains(got[i].Note, want) || (want == "") != (got[i].Note == "") {
			t.Errorf("%d: note %q, want %q", i, got[i].Note, want)
		}
	}
	var none *attach.Reader
	if got := none.Read(t.Context(), []llm.Attachment{plain(f.url("/"))}, attach.Sender{}); len(got) != 1 || !strings.Contains(got[0].Note, "not readable here") {
		t.Errorf("without a client: %+v", got)
	}
	if f.hits.Load() != 0 {
		t.Errorf("%d requests, want none", f.hits.Load())
	}
}

// TestGuard: hole 8. A file is fetched only from outside, also after redirects,
// and its sender cannot tell what there is inside.
func TestGuard(t *testing.T) {
	t.Parallel()
	inside := serve(t, says("text/plain", "secret"))
	f := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscanf(r.URL.Path, "/hop/%d", &n)
		switch to := r.URL.Query().Get("to"); {
		case to != "":
			http.Redirect(w, r, to, http.StatusFound)
		case n > 0:
			http.Redirect(w, r, fmt.Sprintf("/hop/%d", n-1), http.StatusFound)
		default:
			says("text/plain", "arrived")(w, r)
		}
	})
	direct := "http://127.0.0.1:" + inside.port + "/"
	for _, tt := range []struct{ address, text, note string }{
		{direct, "", "its server cannot be reached"},
		{"http://inside.test/", "", "its server cannot be reached"},
		{"http://nowhere.test/", "", "its server cannot be reached"},
		{"http://169.254.169.254/latest/meta-data/", "", "its server cannot be reached"},
		{"http://localhost:" + inside.port + "/", "", "its address may not be called"},
		{"http://user:pass@files.test/", "", "its address may not be called"},
		{"http://files.test:22/", "", "its address may not be called"},
		{"http://%zz/", "", "its address may not be called"},
		{f.url("/?to=" + url.QueryEscape(direct)), "", "its server cannot be reached"},
		{f.url("/?to=" + url.QueryEscape("http://inside.test/")), "", "its server cannot be reached"},
		{f.url("/?to=" + url.QueryEscape("file:///etc/passwd")), "", "its address may not be called"},
		{f.url("/hop/5"), "arrived", ""},
		{f.url("/hop/6"), "", "its address may not be called"},
	} {
		got := f.reader(t, attach.Config{}).Read(t.Context(), []llm.Attachment{plain(tt.address)}, attach.Sender{})[0]
		if got.Text != tt.text || !strings.Contains(got.Note, tt.note) || (tt.note == "") != (got.Note == "") {
			t.Errorf("%s: got %q with note %q, want %q with %q", tt.address, got.Text, got.Note, tt.text, tt.note)
		}
	}
	if n := inside.hits.Load(); n != 0 {
		t.Errorf("the server inside got %d requests", n)
	}
}

// TestLogSaysWhy: the operator learns what the sender must not, and no
// part of an address.
func TestLogSaysWhy(t *testing.T) {
	t.Parallel()
	f := serve(t, says("text/plain", "x"))
	for _, tt := range []struct{ address, want string }{
		{"http://10.0.0.5:9000/canary?key=canary", "its server cannot be reached; the guard of outgoing requests says: This host may not be called."},
		{"http://canary.test/canary", "its server cannot be reached; the guard of outgoing requests says: This host may not be called."},
		{"http://localhost:9000/canary", "its address may not be called; the guard of outgoing requests says: This host may not be called."},
		{"http://canary.test:22/canary", "its address may not be called; the guard of outgoing requests says: This port may not be called."},
		{"http://nowhere.test/canary", `"its server cannot be reached"`},
	} {
		var log bytes.Buffer
		got := f.reader(t, attach.Config{Log: slog.New(slog.NewTextHandler(&log, nil))}).Read(t.Context(), []llm.Attachment{plain(tt.address)}, attach.Sender{})[0]
		if !strings.Contains(log.String(), tt.want) || strings.Contains(log.String(), "canary") {
			t.Errorf("%s: the log is %q, want %q", tt.address, &log, tt.want)
		}
		if strings.Contains(got.Note, "private") {
			t.Errorf("%s: the sender is told %q", tt.address, got.Note)
		}
	}
}

// TestBounds: a file without an end is cut, files that are too much together are
// refused, and all texts together have a bound.
func TestBounds(t *testing.T) {
	t.Parallel()
	sent := make(chan int64, 1)
	f := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/endless":
			var n int64
			for {
				k, err := io.WriteString(w, strings.Repeat("x", 1<<14))
				if n += int64(k); err != nil {
					sent <- n
					return
				}
			}
		case "/half":
			w.Header().Set("Content-Length", "600")
			_, _ = io.WriteString(w, strings.Repeat("y", 600))
		default:
			_, _ = io.WriteString(w, strings.Repeat("z", attach.MaxText))
		}
	})
	got := f.reader(t, attach.Config{}).Read(t.Context(), []llm.Attachment{plain(f.url("/endless"))}, attach.Sender{})[0]
	if len(got.Text) != attach.MaxText || got.Note == "" {
		t.Errorf("endless: %d characters, note %q", len(got.Text), got.Note)
	}
	if n := <-sent; n > 8<<20 {
		t.Errorf("%d bytes of an endless file were taken", n)
	}
	many := f.reader(t, attach.Config{MaxAll: 1000}).Read(t.Context(), []llm.Attachment{plain(f.url("/half")), plain(f.url("/half"))}, attach.Sender{})
	if read := len(many[0].Text) + len(many[1].Text); read != 600 || !strings.Contains(many[0].Note+many[1].Note, "larger than 50 MB together") {
		t.Errorf("two of 600 bytes with room for 1000: %+v", many)
	}
	var five []llm.Attachment
	for range 5 {
		five = append(five, plain(f.url("/full")))
	}
	all := f.reader(t, attach.Config{}).Read(t.Context(), five, attach.Sender{})
	if len(all[3].Text) != attach.MaxText || all[4].Text != "" || !strings.Contains(all[4].Note, "only its first 0 characters") {
		t.Errorf("the fifth: %d characters, %q", len(all[4].Text), all[4].Note)
	}
	if kept := attach.Kept(all); len(kept[0].Text) != attach.MaxText || kept[1].Text != "" || all[1].Text == "" {
		t.Errorf("kept: %d and %d characters", len(kept[0].Text), len(kept[1].Text))
	}
}

// TestSlow: a server that does not answer costs the time of all files, once, and
// ends at once with the turn.
func TestSlow(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 4)
	come := make(chan struct{}, 4)
	f := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/head" {
			_, _ = io.WriteString(w, "begun")
			_ = http.NewResponseController(w).Flush()
		}
		come <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
	})
	list := []llm.Attachment{plain(f.url("/")), plain(f.url("/head"))}
	began := time.Now()
	for _, a := range f.reader(t, attach.Config{MaxTime: 100 * time.Millisecond}).Read(t.Context(), list, attach.Sender{}) {
		if !strings.Contains(a.Note, "took too long") || a.Text != "" {
			t.Errorf("got %q, note %q", a.Text, a.Note)
		}
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	for range list {
		<-come
		<-gone
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.reader(t, attach.Config{}).Read(ctx, list, attach.Sender{})
	}()
	<-come
	<-come
	cancel()
	<-done
	<-gone
	<-gone
}

// FuzzDecode: whatever a server sends is text without NUL, within bounds, or
// nothing.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("hello"), "text/plain")
	f.Add([]byte("\xFF\xFEh\x00"), "text/plain; charset=utf-16")
	f.Add([]byte("caf\xe9"), "text/plain; charset=latin1")
	f.Fuzz(func(t *testing.T, raw []byte, kind string) {
		text, ok := attach.Decode(raw, kind)
		if ok && (strings.ContainsRune(text, 0) || strings.ToValidUTF8(text, "") != text) {
			t.Errorf("Decode(%q, %q) = %q", raw, kind, text)
		}
	})
}
