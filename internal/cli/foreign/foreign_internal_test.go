package foreign

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func packed(t *testing.T, files ...string) []byte {
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
	return out.Bytes()
}

// An archive cannot name files outside itself, and is read within bounds whatever
// it says of itself.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string][]byte{
		"leads out of it": packed(t, "../../etc/passwd", "x"),
		"leads out":       packed(t, "inner.zip", string(packed(t, "/etc/passwd", "x"))),
		"not a zip":       packed(t, "inner.zip", "no zip at all"),
	} {
		file := filepath.Join(dir, "a.zip")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), file); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want one that says %q", err, name)
		}
	}
	bomb := packed(t, "a.csv", "KEY\n"+strings.Repeat("0\n", 1<<20))
	x := &Export{unpacked: 1 << 10, ended: t.Context().Err}
	if err := x.entries(bytes.NewReader(bomb), int64(len(bomb)), ""); err != nil {
		t.Fatal(err)
	}
	r, err := x.files[0].open()
	if err == nil {
		_, err = io.Copy(io.Discard, r)
	}
	if err == nil || !strings.Contains(err.Error(), "once they are unpacked") {
		t.Errorf("a bomb = %v", err)
	}
}

// A link in a folder does not lead out of it, and what nothing is known of is
// named.
func TestFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret.csv")
	if err := os.WriteFile(secret, []byte("KEY\nsecret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(dir, "farm.csv")); err != nil {
		t.Skipf("this system makes no symbolic links: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "form.xml"), []byte(`<h:html xmlns:h="http://www.w3.org/1999/xhtml"/>`), 0o600); err != nil {
		t.Fatal(err)
	}
	x, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if len(x.Left) != 2 || !strings.Contains(x.Left[0], "escapes") || !strings.Contains(x.Left[1], "XLSForm") {
		t.Errorf("left = %q", x.Left)
	}
}

// Instances say what they say whatever their namespaces, and what cannot be read
// says why.
func TestInstance(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`<d id="f"><a> x </a><g><b>1</b></g><r><n>1</n></r><r><n>2</n></r><e/><meta><instanceID>uuid:1</instanceID></meta></d>`: `map[a:x g:map[b:1] instanceID:uuid:1 r:[map[n:1] map[n:2]]]`,
		`<d id="f" instanceID="uuid:2" submissionDate="2026"><formhub><uuid>x</uuid></formhub></d>`:                             `map[SubmissionDate:2026 instanceID:uuid:2]`,
		`<d id="f"><a>x</a></d>`:      "it has no instanceID",
		`<d id="f" encrypted="yes"/>`: "decrypt",
		`<d>`:                         "not XML",
		``:                            "no element",
		strings.Repeat("<a>", maxDepth+1) + strings.Repeat("</a>", maxDepth+1):     "deep",
		`<!DOCTYPE d [<!ENTITY a "aaaa">]><d id="f" instanceID="1"><x>&a;</x></d>`: "not XML",
	} {
		i, err := parse([]byte(text))
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprint(i.root)
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s = %s, want %s", text, got, want)
		}
	}
}

// A file belongs to the form of its name, the longest one of several.
func TestFormOf(t *testing.T) {
	t.Parallel()
	x := &Export{Forms: []*Form{{ID: "farm", dir: "a"}, {ID: "farm_two", dir: "a"}, {ID: "visit", stem: "Visits 2026", dir: "b"}}}
	for name, want := range map[string]string{
		"farm.csv": "farm", "farm_two.csv": "farm_two", "farm-two-home.csv": "farm_two", "farmers.csv": "", "farm.csv.zip/data.csv": "farm", "b/data.csv": "visit", "a/data.csv": "",
		"Visits_2026_-_all_versions_-_False_-_2026-03-02.xlsx": "visit",
	} {
		got := ""
		if f := x.formOf(&file{name: name}); f != nil {
			got = f.ID
		}
		if got != want {
			t.Errorf("%s is of %q, want %q", name, got, want)
		}
	}
}
