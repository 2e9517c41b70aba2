package response_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// put sends a file.
func (v *env) put(t testing.TB, role, hash, text string) *httptest.ResponseRecorder {
	t.Helper()
	return v.send(t, role, "PUT /v1/attachments/"+hash, text, "Content-Type", "text/plain")
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		large := strings.Repeat("picture", 100_000) // several pieces
		photo, sign := hashOf(large), hashOf("signature")
		r := v.submit(t, "ann", draft("r1", 1, `home.photo="sha256:`+photo+`"`, `home.signature="sha256:`+sign+`"`))
		wanted := []string{photo, sign}
		slices.Sort(wanted)
		if !slices.Equal(r.Waiting, wanted) {
			t.Errorf("missing = %v, want %v", r.Waiting, wanted)
		}
		for _, tt := range []struct {
			hash, text string
			code       int
			body       string
		}{
			{"xyz", "x", 400, "INVALID_PARAMETER"},
			{photo, "other bytes", 400, "ATTACHMENT_MISMATCH"},
			{photo, "", 400, "BODY_REQUIRED"},
			{photo, large, 201, `"bytes":700000`},
			{photo, large, 200, `"mediaType":"text/plain"`},
			{photo, "other bytes", 400, "ATTACHMENT_MISMATCH"},
			{photo, strings.Repeat("x", media.MaxBytes+1), 413, "BODY_TOO_LARGE"},
			{sign, "signature", 201, sign},
		} {
			if w := v.put(t, "ann", tt.hash, tt.text); w.Code != tt.code || !strings.Contains(w.Body.String(), tt.body) {
				t.Errorf("put %.10s %.20s = %d %s, want %d %s", tt.hash, tt.text, w.Code, w.Body, tt.code, tt.body)
			}
		}
		if got := v.get(t, "reader", "r1"); got.Waiting != nil {
			t.Errorf("missing = %v, want none", got.Waiting)
		}
		// Nothing is left of what was refused.
		if n, m := v.count(t, "attachment_files"), v.count(t, "attachment_pieces"); n != 0 || m != 4 {
			t.Errorf("%d files, %d pieces", n, m)
		}
		for _, tt := range []struct {
			role, hash string
			code       int
		}{
			{"reader", photo, 200},
			{"project", photo, 200},
			{"elsewhere", photo, 404},
			{"writer", photo, 403},
			{"reader", hashOf("nope"), 404},
			{"reader", sign, 404},
			{"mia", sign, 200},
			{"ann", sign, 200},
			{"bob", sign, 404},
		} {
			for _, method := range []string{"GET", "HEAD"} {
				w := v.send(t, tt.role, method+" /v1/attachments/"+tt.hash, "")
				if w.Code != tt.code {
					t.Errorf("%s as %s: %d %s, want %d", method, tt.role, w.Code, w.Body, tt.code)
				}
				if h := w.Header(); tt.code == 200 && (h.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(h.Get("Content-Disposition"), "attachment") || h.Get("Content-Type") != "text/plain") {
					t.Errorf("headers = %v", h)
				}
				if body := w.Body.String(); method == "GET" && tt.hash == photo && tt.code == 200 && body != large {
					t.Errorf("body has %d bytes", len(body))
				}
			}
		}
		if w := v.send(t, "reader", "GET /v1/attachments/"+photo, "", "If-None-Match", `"`+photo+`"`); w.Code != 304 {
			t.Errorf("again = %d, want 304", w.Code)
		}
	})
}

// A file of an answer about a person stays closed to who may not read that
// answer: neither its hash is shown, nor does naming it elsewhere open it.
func TestAttachmentStaysPrivate(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		sign := hashOf("signature")
		first := draft("r1", 1, `home.signature="sha256:`+sign+`"`)
		first.Attachments = []response.Attachment{{SHA256: sign, Name: "amina.jpg"}}
		if r := v.submit(t, "ann", first); !slices.Equal(r.Waiting, []string{sign}) {
			t.Errorf("its sender is told of %v, want what to send", r.Waiting)
		}
		if got := v.get(t, "reader", "r1"); got.Waiting != nil || got.Attachments != nil {
			t.Errorf("a reader is told of %v and %v", got.Waiting, got.Attachments)
		}
		v.put(t, "ann", sign, "signature")
		v.submit(t, "bob", draft("r2", 2, `home.photo="sha256:`+sign+`"`))
		for role, want := range map[string]int{"bob": 404, "reader": 404, "mia": 200, "ann": 200} {
			if w := v.send(t, role, "GET /v1/attachments/"+sign, ""); w.Code != want {
				t.Errorf("%s reads it: %d, want %d", role, w.Code, want)
			}
		}
	})
}

// Many send the same file at once, some of them something else.
func TestAttachmentInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		text := strings.Repeat("p", 300<<10)
		got := crowd(12, func(i int) (string, error) {
			body := text
			if i%3 == 0 {
				body = strings.Repeat("q", 300<<10)
			}
			return fmt.Sprint(v.put(t, "ann", hashOf(text), body).Code), nil
		})
		if got["201"] != 1 || got["200"] != 7 || got["400"] != 4 {
			t.Errorf("answers = %v", got)
		}
		if n := v.count(t, "attachment_pieces"); n != 2 || v.count(t, "attachment_files") != 0 {
			t.Errorf("%d pieces", n)
		}
		f, err := media.Find(t.Context(), d, "ws", hashOf(text))
		if err != nil {
			t.Fatal(err)
		}
		out, err := io.ReadAll(io.NewSectionReader(v.media.Open(t.Context(), f), 0, f.Bytes))
		if err != nil || string(out) != text {
			t.Errorf("%d bytes, %v", len(out), err)
		}
	})
}

// A file that no response uses goes after a while, and what a broken upload
// left; one that is used stays.
func TestExpire(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		v.start(t, homeSurvey)
		v.put(t, "ann", hashOf("before"), "before")
		v.put(t, "ann", hashOf("loose"), "loose")
		v.submit(t, "ann", draft("r1", 1, `home.photo="sha256:`+hashOf("before")+`"`))
		v.submit(t, "ann", draft("r2", 2, `home.photo="sha256:`+hashOf("after")+`"`))
		v.put(t, "ann", hashOf("after"), "after")
		// The response and the file came at the same moment: both say "not there".
		if _, err := d.Exec(t.Context(), `UPDATE attachments SET loose = 1 WHERE sha256 = $1`, hashOf("after")); err != nil {
			t.Fatal(err)
		}
		broken := &media.File{Workspace: "ws", SHA256: hashOf("broken"), MediaType: "x/y", Sender: "did:key:ann"}
		if _, _, err := v.media.Receive(t.Context(), broken, io.MultiReader(strings.NewReader("bro"), errReader{})); err == nil {
			t.Error("a broken body was taken")
		}
		if _, err := d.Exec(t.Context(), `INSERT INTO attachment_files (nid, ws, at) VALUES (1, 'ws', 5)`); err != nil { // after a crash
			t.Fatal(err)
		}
		expire := func(before time.Time) int {
			t.Helper()
			sum := 0
			for {
				n, err := v.media.Expire(t.Context(), before, 100)
				if err != nil {
					t.Fatal(err)
				}
				if sum += n; n == 0 {
					return sum
				}
			}
		}
		if n := expire(time.Now().Add(-time.Hour)); n != 2 { // the crashed one, and the tie
			t.Errorf("removed %d things at first, want 2", n)
		}
		if n := expire(time.Now().Add(time.Hour)); n < 2 {
			t.Errorf("removed %d things later", n)
		}
		for text, there := range map[string]bool{"before": true, "after": true, "loose": false, "broken": false} {
			f, err := media.Find(t.Context(), d, "ws", hashOf(text))
			if err != nil || (f != nil) != there {
				t.Errorf("%s = %v, %v, want there: %v", text, f, err, there)
			}
		}
		if n := v.count(t, "attachment_pieces"); n != 2 || v.count(t, "attachment_files") != 0 {
			t.Errorf("%d pieces", n)
		}
	})
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// After an erasure nothing that was said about people is left, anywhere in the
// data folder; what is about nobody stays.
func TestErase(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) { erased(t, newEnv(t, d)) })
}

const canary = "canary-7f3a9c1e"

func erased(t *testing.T, v *env) {
	t.Helper()
	v.start(t, homeSurvey)
	photo, shared := hashOf(canary+"photo"), hashOf("shared")
	first := draft("r1", 1, `home.phone="`+canary+`"`, `home.people=[{"name":"`+canary+`","age":3}]`, `home.photo="sha256:`+photo+`"`)
	v.submit(t, "ann", first)
	v.submit(t, "ann", draft("r2", 2, `home.phone="0722"`, `home.photo="sha256:`+shared+`"`))
	v.put(t, "ann", photo, canary+"photo")
	v.put(t, "ann", shared, "shared")
	if _, err := v.s.Correct(as(t, "ann"), "r1", patch("*", `{"responses":{"home":{"size":7,"phone":"`+canary+`2","photo":"sha256:`+shared+`"}}}`)); err != nil {
		t.Fatal(err, codes(err))
	}
	for round := range 2 {
		var n int64
		err := v.d.InTx(t.Context(), func(tx *db.Tx) (err error) {
			n, err = v.s.Erase(t.Context(), tx, "ws", "did:ixo:household/1")
			return err
		})
		if err != nil || (n > 0) != (round == 0) {
			t.Fatalf("erase = %d, %v", n, err)
		}
	}
	if left, err := v.media.Sweep(t.Context(), "ws"); left || err != nil {
		t.Fatalf("Sweep() = %v, %v", left, err)
	}
	if err := v.d.Scrub(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := v.get(t, "mia", "r1")
	if !r.Erased || string(r.Responses.Value) != `{"consent":{"ok":true},"home":{"fuel":["wood"],"people":[{"age":3}],"photo":"sha256:`+shared+`","size":7}}` {
		t.Errorf("record = %s, erased %v", r.Responses.Value, r.Erased)
	}
	if r := v.get(t, "mia", "r2"); !strings.Contains(string(r.Responses.Value), "0722") || r.Waiting != nil {
		t.Errorf("the other household = %s %v", r.Responses.Value, r.Waiting)
	}
	if w := v.send(t, "mia", "GET /v1/attachments/"+photo, ""); w.Code != 404 {
		t.Errorf("photo = %d", w.Code)
	}
	if w := v.send(t, "mia", "GET /v1/attachments/"+shared, ""); w.Code != 200 {
		t.Errorf("shared photo = %d", w.Code)
	}
	if v.tally(t).Completed != 2 {
		t.Errorf("counters = %+v", v.tally(t))
	}
	// It may answer again, under a new key.
	if _, err := v.s.Correct(as(t, "mia"), "r1", patch("*", `{"responses":{"home":{"phone":"0733"}}}`)); err != nil {
		t.Fatal(err, codes(err))
	}
	if r := v.get(t, "mia", "r1"); !strings.Contains(string(r.Responses.Value), "0733") || r.Erased {
		t.Errorf("after a new answer: %s", r.Responses.Value)
	}
}

// Nothing about people lies open in the data folder, erased or not.
func TestNothingOpenOnDisk(t *testing.T) {
	t.Parallel()
	var dir string
	d := dbtest.SQLite(t, dbtest.With(func(c *db.Config) { dir = filepath.Dir(c.Path) }))
	erased(t, newEnv(t, d))
	seen := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(canary)) {
			t.Errorf("%s holds what was said", e.Name())
		}
		seen += len(data)
		return err
	})
	if err != nil || seen == 0 {
		t.Errorf("%d bytes, %v", seen, err)
	}
}
