package sheet

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// maxDirectory limits the bytes read to learn the contents of an archive.
const maxDirectory = 16 << 20

// OpenZip reads the directory of an archive of at most so many files, within
// bounds, because the directory of an archive of a GiB could take several. The
// error is an *Error when the file is at fault.
func OpenZip(src io.ReaderAt, size int64, most int) (*zip.Reader, error) {
	in := &directory{source: source{src, size}, left: maxDirectory}
	n, err := entries(in, size)
	if err == nil && n > uint64(most) {
		err = tooManyFiles(most)
	}
	if err != nil {
		return nil, err
	}
	z, err := zip.NewReader(in, size)
	var failed sourceError
	switch {
	case in.left < 0:
		return nil, &Error{Code: "too_large", Detail: fmt.Sprintf("The list of the files of the archive has more than %d bytes.", maxDirectory)}
	case errors.As(err, &failed):
		return nil, failed.error
	case err != nil:
		return nil, &Error{Code: "not_zip", Detail: "The file is not a zip."}
	case len(z.File) > most:
		return nil, tooManyFiles(most)
	}
	in.open = true
	return z, nil
}

func tooManyFiles(most int) *Error {
	return &Error{Code: "too_large", Detail: fmt.Sprintf("An archive has at most %d files.", most)}
}

// directory bounds how much of an archive is read until it is open.
type directory struct {
	source
	left int64
	open bool
}

func (d *directory) ReadAt(p []byte, off int64) (int, error) {
	if !d.open {
		if d.left -= int64(len(p)); d.left < 0 {
			return 0, io.ErrUnexpectedEOF
		}
	}
	return d.source.ReadAt(p, off)
}

// entries is how many files the end of an archive says it has: the reader of
// archives makes room for them before it looks for them. The last end record
// counts, as for that reader.
func entries(src io.ReaderAt, size int64) (uint64, error) {
	const tail, end, locator, end64 = 65 << 10, 22, 20, 56
	b := make([]byte, min(size, tail))
	if len(b) < end {
		return 0, nil
	}
	read := func(b []byte, off int64) error {
		_, err := src.ReadAt(b, off)
		var failed sourceError
		if errors.As(err, &failed) {
			return failed.error
		}
		return nil // the reader of archives finds missing parts
	}
	if err := read(b, size-int64(len(b))); err != nil {
		return 0, err
	}
	at := bytes.LastIndex(b[:len(b)-end+4], []byte("PK\x05\x06"))
	if at < 0 {
		return 0, nil
	}
	n := uint64(binary.LittleEndian.Uint16(b[at+10:]))
	start := size - int64(len(b)) + int64(at) - locator
	if start < 0 {
		return n, nil
	}
	where := make([]byte, locator)
	if err := read(where, start); err != nil || !bytes.HasPrefix(where, []byte("PK\x06\x07")) {
		return n, err
	}
	off := binary.LittleEndian.Uint64(where[8:])
	if off > uint64(size) {
		return n, nil
	}
	large := make([]byte, end64)
	if err := read(large, int64(off)); err != nil || !bytes.HasPrefix(large, []byte("PK\x06\x06")) {
		return n, err
	}
	return max(n, binary.LittleEndian.Uint64(large[32:])), nil
}
