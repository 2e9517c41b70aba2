package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"time"
)

// modeOf is how a file stands in an archive: the program can be run.
func modeOf(i int) os.FileMode {
	if i == 0 {
		return 0o755
	}
	return 0o644
}

// tarOf packs files, the program first.
func tarOf(w io.Writer, files []string, at time.Time) error {
	packed := gzip.NewWriter(w)
	packed.ModTime = at
	t := tar.NewWriter(packed)
	for i, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		head := tar.Header{Name: "hearth/" + filepath.Base(name), Mode: int64(modeOf(i)), Size: int64(len(body)), ModTime: at, Format: tar.FormatPAX}
		if err := t.WriteHeader(&head); err != nil {
			return err
		}
		if _, err := t.Write(body); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return packed.Close()
}

// zipOf is tarOf for systems that know zip.
func zipOf(w io.Writer, files []string, at time.Time) error {
	z := zip.NewWriter(w)
	for i, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		head := &zip.FileHeader{Name: "hearth/" + filepath.Base(name), Method: zip.Deflate, Modified: at}
		head.SetMode(modeOf(i))
		f, err := z.CreateHeader(head)
		if err != nil {
			return err
		}
		if _, err := f.Write(body); err != nil {
			return err
		}
	}
	return z.Close()
}
