package file

import (
	"context"
	"io"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Walker reads a file whose pieces may have any size, from any offset. It finds
// an offset by reading up to it, and remembers the piece boundaries.
type Walker struct {
	size  int64
	read  func(n int64) ([]byte, error)
	ends  []int64 // where each piece ends that was read
	n     int64   // the piece that is held
	piece []byte
}

// NewWalker makes a Walker from a function that reads pieces.
func NewWalker(size int64, read func(n int64) ([]byte, error)) *Walker {
	return &Walker{size: size, read: read, n: -1}
}

// Walk makes a Walker of a file. ctx bounds all its reading.
func Walk(ctx context.Context, q db.Querier, f *File) *Walker {
	return NewWalker(f.Bytes, func(n int64) ([]byte, error) { return Piece(ctx, q, f.ID, n) })
}

// Size is the size in bytes.
func (w *Walker) Size() int64 { return w.size }

// Survey finds out where all pieces of a file end without decompressing any, so
// that a distant offset is reached at once.
func (w *Walker) Survey(ctx context.Context, q db.Querier, id string) error {
	sizes, err := pieceSizes(ctx, q, id)
	if err != nil {
		return err
	}
	w.ends = w.ends[:0]
	end := int64(0)
	for _, n := range sizes {
		end += n
		w.ends = append(w.ends, end)
	}
	if end != w.size {
		w.ends = nil // read through, to find out what is missing
	}
	return nil
}

// ReadAt reads from an offset on.
func (w *Walker) ReadAt(b []byte, off int64) (done int, err error) {
	for done < len(b) {
		if off >= w.size {
			return done, io.EOF
		}
		start, err := w.to(off)
		if err != nil {
			return done, err
		}
		n := copy(b[done:], w.piece[off-start:])
		done, off = done+n, off+int64(n)
	}
	return done, nil
}

// to holds the piece with a place in it, and says where it starts.
func (w *Walker) to(off int64) (start int64, err error) {
	at, _ := slices.BinarySearch(w.ends, off+1)
	for n := int64(at); ; n++ {
		if n > 0 {
			start = w.ends[n-1]
		}
		if n != w.n {
			piece, err := w.read(n)
			if err != nil {
				return 0, err
			}
			w.n, w.piece = n, piece
		}
		end := start + int64(len(w.piece))
		if n == int64(len(w.ends)) {
			w.ends = append(w.ends, end)
		}
		switch {
		case off < end:
			return start, nil
		case len(w.piece) == 0 || end >= w.size:
			return 0, io.ErrUnexpectedEOF // less is stored than is known
		}
	}
}
