package media_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/surveytest"
)

func newStore(t testing.TB, d *db.DB) *media.Store {
	t.Helper()
	return media.New(media.Config{DB: d, Key: surveytest.Key(t)})
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func file(text string) *media.File {
	return &media.File{Workspace: "ws", SHA256: hashOf(text), MediaType: "application/octet-stream", Sender: "did:key:ann"}
}

// Files of all sizes come back as they went, however they arrive, and lie
// nowhere in the open.
func TestReceiveAndSend(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newStore(t, d)
		for _, size := range []int{1, 256<<10 - 1, 256 << 10, 256<<10 + 1, 600 << 10} {
			text := strings.Repeat("canary!", size/7+1)[:size]
			f, fresh, err := s.Receive(t.Context(), file(text), iotest.HalfReader(strings.NewReader(text)))
			if err != nil || !fresh || f.Bytes != int64(size) {
				t.Fatalf("%d bytes: %+v, %v, %v", size, f, fresh, err)
			}
			if _, fresh, err = s.Receive(t.Context(), file(text), strings.NewReader(text)); err != nil || fresh {
				t.Errorf("%d bytes again: %v, %v", size, fresh, err)
			}
			there, err := media.Find(t.Context(), d, "ws", f.SHA256)
			if err != nil || there == nil {
				t.Fatalf("%d bytes: %v, %v", size, there, err)
			}
			out, err := io.ReadAll(io.NewSectionReader(s.Open(t.Context(), there), 0, there.Bytes))
			if err != nil || string(out) != text {
				t.Errorf("%d bytes: %d came back, %v", size, len(out), err)
			}
			if other, err := media.Find(t.Context(), d, "other", f.SHA256); other != nil || err != nil {
				t.Errorf("in another workspace: %v, %v", other, err)
			}
		}
		var piece []byte
		if err := d.QueryRow(t.Context(), `SELECT data FROM attachment_pieces LIMIT 1`).Scan(&piece); err != nil || bytes.Contains(piece, []byte("canary")) {
			t.Errorf("piece = %.40q, %v", piece, err)
		}
	})
}

// Many files are found by a few statements, each in its workspace.
func TestFindAll(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newStore(t, d)
		var all []string
		for i := range 250 {
			text := fmt.Sprint("file ", i)
			all = append(all, hashOf(text), hashOf(text))
			if i%100 != 0 {
				continue
			}
			if _, _, err := s.Receive(t.Context(), file(text), strings.NewReader(text)); err != nil {
				t.Fatal(err)
			}
		}
		found, err := media.FindAll(t.Context(), d, "ws", all)
		if err != nil || len(found) != 3 {
			t.Fatalf("found %d files, %v, want 3", len(found), err)
		}
		for hash, f := range found {
			if one, err := media.Find(t.Context(), d, "ws", hash); err != nil || one == nil || *one != *f {
				t.Errorf("found %+v, want %+v, %v", f, one, err)
			}
		}
		for ws, hashes := range map[string][]string{"ws": nil, "other": all} {
			if found, err := media.FindAll(t.Context(), d, ws, hashes); err != nil || len(found) != 0 {
				t.Errorf("%s: found %v, %v, want nothing", ws, found, err)
			}
		}
	})
}

func TestRefused(t *testing.T) {
	t.Parallel()
	s := newStore(t, dbtest.SQLite(t))
	for _, tt := range []struct {
		name string
		body io.Reader
		code string
	}{
		{"other bytes", strings.NewReader("b"), "ATTACHMENT_MISMATCH"},
		{"nothing", strings.NewReader(""), "BODY_REQUIRED"},
		{"too much", io.LimitReader(endless{}, media.MaxBytes+1), "BODY_TOO_LARGE"},
		{"broken", io.MultiReader(strings.NewReader("a"), iotest.ErrReader(io.ErrClosedPipe)), "BODY_UNREADABLE"},
		{"slow", iotest.TimeoutReader(strings.NewReader("a")), ""},
	} {
		_, _, err := s.Receive(t.Context(), file("a"), tt.body)
		if got := fault.CodeOf(err); tt.code != "" && got != tt.code {
			t.Errorf("%s = %v, want %s", tt.name, err, tt.code)
		}
	}
	for text, want := range map[string]string{
		"": "application/octet-stream", "image/jpeg": "image/jpeg", "text/plain; charset=utf-8": "text/plain; charset=utf-8", "IMAGE/JPEG": "image/jpeg",
		"jpeg/": "", "a b": "", "text/plain\r\nX: y": "", "a/" + strings.Repeat("b", 300): "",
	} {
		if got, err := media.ParseType(text); got != want || (err == nil) != (want != "") {
			t.Errorf("type %.40q = %q, %v, want %q", text, got, err, want)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// A file goes with the last response that has it.
func TestUses(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newStore(t, d)
		for _, text := range []string{"a", "b"} {
			if _, _, err := s.Receive(t.Context(), file(text), strings.NewReader(text)); err != nil {
				t.Fatal(err)
			}
		}
		do := func(f func(tx *db.Tx) error) {
			t.Helper()
			if err := d.InTx(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		}
		do(func(tx *db.Tx) error {
			for _, u := range []media.Use{
				{"ws", 1, 11, hashOf("a"), true}, {"ws", 2, 21, hashOf("a"), false}, {"ws", 2, 21, hashOf("b"), false}, {"ws", 2, 21, hashOf("c"), false},
			} {
				if err := media.Add(t.Context(), tx, u); err != nil {
					return err
				}
			}
			return nil
		})
		if missing, err := media.Missing(t.Context(), d, 21, true); err != nil || len(missing) != 1 || missing[0] != hashOf("c") {
			t.Errorf("missing = %v, %v", missing, err)
		}
		walk := func(private bool) string {
			t.Helper()
			var seen []int64
			_, err := media.Uses(t.Context(), d, media.Use{Workspace: "ws", SHA256: hashOf("a"), Private: private}, func(r int64) (bool, error) {
				seen = append(seen, r)
				return false, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(seen)
		}
		if got := walk(true) + walk(false); got != "[11 21][21]" {
			t.Errorf("uses = %s", got)
		}
		do(func(tx *db.Tx) error { return media.Waive(t.Context(), tx, "ws", 21, nil) })
		if missing, err := media.Missing(t.Context(), d, 21, true); err != nil || len(missing) != 0 {
			t.Errorf("missing = %v, %v", missing, err)
		}
		var gone int64
		release := func(response int64) {
			t.Helper()
			do(func(tx *db.Tx) (err error) {
				gone, err = media.Release(t.Context(), tx, "ws", response)
				return err
			})
		}
		if release(21); gone != 1 { // b; a has another use
			t.Errorf("released %d", gone)
		}
		if release(11); gone != 1 {
			t.Errorf("released %d", gone)
		}
		if _, err := s.Sweep(t.Context(), "ws"); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM attachment_pieces`).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d pieces are left, %v", n, err)
		}
		if n, err := s.Expire(t.Context(), time.Now(), 10); n != 0 || err != nil {
			t.Errorf("expire = %d, %v", n, err)
		}
	})
}

// What is not of the type it is said to be is refused, and nothing of it is left.
func TestReceiveOtherType(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := newStore(t, d)
		for _, tt := range []struct{ kind, text, code string }{
			{"image/png", "<!doctype html><script>alert(1)</script>", "ATTACHMENT_TYPE"},
			{"text/csv", "PK\x03\x04 an archive", "ATTACHMENT_TYPE"},
			{"application/pdf", "\x7FELF a program", "ATTACHMENT_TYPE"},
			{"image/gif", "GIF89a\xFF\xFF\xFF\xFF\x00\x00\x00", "IMAGE_TOO_LARGE"},
			{"image/gif", "GIF89a\x01\x00\x01\x00\x00\x00\x00", ""},
			{"application/octet-stream", "\x7FELF a program", ""},
		} {
			f := file(tt.text)
			f.MediaType = tt.kind
			_, _, err := s.Receive(t.Context(), f, strings.NewReader(tt.text))
			if got := fault.CodeOf(err); got != tt.code {
				t.Errorf("%s as %s = %q %v", tt.text[:4], tt.kind, got, err)
			}
			there, err := media.Find(t.Context(), d, "ws", f.SHA256)
			if err != nil || (there == nil) != (tt.code != "") {
				t.Errorf("of %s as %s there is %v, %v", tt.text[:4], tt.kind, there, err)
			}
		}
	})
}
