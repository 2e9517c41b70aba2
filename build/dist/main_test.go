package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestParts reads the parts of this very test.
func TestParts(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := partsOf(self, "1.2.3", at)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(b.Serial) {
		t.Errorf("serial number = %q", b.Serial)
	}
	var text bytes.Buffer
	if err := b.write(&text); err != nil {
		t.Fatal(err)
	}
	var read struct {
		BomFormat, SpecVersion string
		Components             []struct{ Name, Version, Purl string }
	}
	if err := json.Unmarshal(text.Bytes(), &read); err != nil {
		t.Fatal(err)
	}
	if read.BomFormat != "CycloneDX" || read.SpecVersion != "1.5" || len(read.Components) == 0 || read.Components[0].Name != "std" {
		t.Errorf("parts = %+v", read)
	}
	if !strings.HasPrefix(read.Components[0].Purl, "pkg:golang/std@go1.") {
		t.Errorf("purl = %q", read.Components[0].Purl)
	}
}

// TestArchives packs two files both ways, twice: the bytes are the same, and the
// program can be run.
func TestArchives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "hearth"), filepath.Join(dir, "LICENSE")}
	for _, f := range files {
		if err := os.WriteFile(f, []byte("body of "+filepath.Base(f)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, pack := range map[string]func(io.Writer, []string, time.Time) error{"tar": tarOf, "zip": zipOf} {
		var one, two bytes.Buffer
		if err := pack(&one, files, at); err != nil {
			t.Fatal(err)
		}
		if err := pack(&two, files, at); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one.Bytes(), two.Bytes()) {
			t.Errorf("%s: the same files give other bytes", name)
		}
		mode, body := first(t, name, one.Bytes())
		if mode.Perm() != 0o755 || body != "body of hearth" {
			t.Errorf("%s: the program is %v %q", name, mode, body)
		}
	}
}

// first is the first file of an archive.
func first(t *testing.T, kind string, raw []byte) (os.FileMode, string) {
	t.Helper()
	if kind == "zip" {
		z, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
		if err != nil {
			t.Fatal(err)
		}
		f, err := z.File[0].Open()
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		return z.File[0].Mode(), string(body)
	}
	g, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(g)
	head, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return head.FileInfo().Mode(), string(body)
}

// TestVersion finds what the source of the program states.
func TestVersion(t *testing.T) {
	t.Parallel()
	if v, err := inSource("../../cmd/hearth/main.go"); err != nil || !regexp.MustCompile(`^\d+\.\d+\.\d+`).MatchString(v) {
		t.Errorf("version = %q, %v", v, err)
	}
	if _, err := inSource("main.go"); err == nil {
		t.Error("a file without a version has one")
	}
}
