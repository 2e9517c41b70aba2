package audit

import (
	"archive/zip"
	"fmt"
	"io"
)

// made is the version of the form of archives that writer writes.
const made = 20

// frame says how an archive differs, around its files, from one that writer writes.
//
// A zip has names and sizes twice, and room between its files. Programs that unpack it
// may use either, so what one of them shows need not be what was verified here. Therefore
// the headers are written again from the directory that was read, around the packed
// files, and must be identical byte for byte.
func frame(in io.ReaderAt, size int64, files []*zip.File) (wrong []string) {
	same := &comparer{with: io.NewSectionReader(in, 0, size)}
	w := zip.NewWriter(same)
	err := func() error {
		for _, f := range files {
			packed, err := f.OpenRaw()
			if err != nil {
				return err
			}
			header := f.FileHeader
			header.CreatorVersion, header.ExternalAttrs, header.Comment = made, 0, ""
			entry, err := w.CreateRaw(&header)
			if err != nil {
				return err
			}
			if _, err = io.Copy(entry, packed); err != nil {
				return err
			}
		}
		return w.Close()
	}()
	if err == nil && same.n < size {
		err = errFrame{same.n}
	}
	if err != nil {
		wrong = append(wrong, fmt.Sprintf("The archive is not as it was made (%v). If a program unpacked and packed it again, get the file anew.", err))
	}
	return wrong
}

// errFrame says where an archive differs first.
type errFrame struct{ at int64 }

func (e errFrame) Error() string { return fmt.Sprintf("byte %d", e.at) }

// comparer ends with errFrame at the first byte that another stream does not have.
type comparer struct {
	with io.Reader
	n    int64
}

func (c *comparer) Write(b []byte) (int, error) {
	other := make([]byte, len(b))
	n, _ := io.ReadFull(c.with, other) // missing bytes differ too
	for i := range b {
		if i >= n || b[i] != other[i] {
			return i, errFrame{c.n + int64(i)}
		}
	}
	c.n += int64(n)
	return n, nil
}
