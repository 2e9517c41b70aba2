package sheet

import (
	"errors"
	"io"
)

// Limits of a glance.
const (
	GlanceBytes   = 4 << 20 // of a table once it is unpacked, and of the texts of its cells
	GlanceStrings = 8 << 20 // bytes of the texts an XLSX file shares between cells
	GlanceRows    = 1000    // blank ones, and others
)

// ErrMore ends a glance at a table that continues.
var ErrMore = errors.New("the table goes on")

// Glance opens a table of size bytes to read its beginning while a client
// waits. Its work does not grow with the file: Next returns ErrMore after
// GlanceBytes or GlanceRows, and a workbook has tighter limits than in a job.
// The error is an *Error when the file is at fault.
func Glance(f Format, src io.ReaderAt, size int64, o Options) (*Reader, error) {
	o.glance = true
	r, err := openGlance(f, src, size, o)
	if errors.Is(err, ErrMore) {
		return nil, tooLarge(GlanceBytes) // the names of the columns come later than that
	}
	if err != nil {
		return nil, err
	}
	r.most = GlanceRows
	return r, nil
}

func openGlance(f Format, src io.ReaderAt, size int64, o Options) (*Reader, error) {
	if f != XLSX {
		return Stream(f, &beginning{in: io.NewSectionReader(src, 0, size), left: GlanceBytes}, o)
	}
	t, err := openTables(src, size, glanceRoom)
	if err != nil {
		return nil, err
	}
	return t.Open(o)
}

// Remap changes the paths and kinds of the columns, as if the table had been
// opened with o. Call it before Next. The error is an *Error when the file is at
// fault.
func (r *Reader) Remap(o Options) error {
	if o.Kind == nil {
		o.Kind = func(string) string { return "" }
	}
	h, err := newHeader(r.head.names, r.head.line, o)
	if err != nil {
		return err
	}
	*r.head = *h
	return nil
}

// beginning reads so many bytes, and ErrMore when there are others after them.
type beginning struct {
	in   io.Reader
	left int64
}

func (b *beginning) Read(p []byte) (int, error) {
	if b.left > 0 {
		n, err := b.in.Read(p[:min(int64(len(p)), b.left)])
		b.left -= int64(n)
		return n, err
	}
	var one [1]byte
	if n, err := io.ReadFull(b.in, one[:]); n == 0 {
		return 0, err
	}
	return 0, ErrMore
}
