package intake

import (
	"archive/zip"
	"io"
)

// Unpacking is a table of an archive whose tables may unpack to left bytes.
func Unpacking(r io.Reader, left *int64) io.Reader { return unpacking{io.NopCloser(r), left} }

// Hasher is what finds the hashes of the attachments of one archive.
func Hasher() func(f *zip.File) (string, error) { return new(input).hash }

// Submissions goes to the first submission of a JSON document; next reads one.
func Submissions(r io.Reader) (next func() error, err error) {
	in := &input{}
	err = in.elements(r)
	return func() error { _, err := in.next(); return err }, err
}
