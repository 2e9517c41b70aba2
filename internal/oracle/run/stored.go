package run

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Limits of how much of a run's rows a reader holds, because many readers may
// be slow at once.
const (
	aheadRows  = 16       // rows it reads at once
	aheadBytes = 16 << 10 // and bytes of them, or of the memory of a run
	pieceChars = 8 << 10  // of a row that is larger, and so one frame; the store counts characters
	mostPieces = 64       // of one row: the store walks to each from the beginning
)

// storedRow is a row of frames with the beginning of its content.
type storedRow struct {
	seq, upto int64
	size      int
	data      []byte // all of it, unless the row is large
}

// archive gives out the stored frames of runs.
type archive struct {
	db  *db.DB
	log *slog.Logger
}

func (c *Config) stored() archive { return archive{c.DB, c.Log} }

// each passes the stored frames of a run after a number to out, large ones in
// parts. It reads on when out has taken what was read.
func (a archive) each(ctx context.Context, nid, after int64, out func(Frame) error) error {
	for {
		rows, more, err := listFrames(ctx, a.db, nid, after)
		if err != nil {
			return err
		}
		for i, row := range rows {
			rows[i].data = nil // given out, it may go
			w := walk{archive: a, nid: nid, row: row, after: after, out: out, last: i == len(rows)-1}
			if err := w.frames(ctx); err != nil {
				return err
			}
			after = max(after, row.upto)
		}
		if !more {
			return nil
		}
	}
}

// Whole joins the parts of frames.
func Whole(out func(Frame) error) func(Frame) error {
	var parts []byte
	return func(f Frame) error {
		if f.Part {
			parts = append(parts, f.Data...)
			return nil
		}
		if len(parts) > 0 {
			f.Data, parts = append(parts, f.Data...), nil
		}
		return out(f)
	}
}

// walk gives out the frames of one row.
type walk struct {
	archive
	nid   int64
	row   storedRow
	after int64
	out   func(Frame) error
	last  bool // no row follows at once
}

func (w *walk) frames(ctx context.Context) error {
	if len(w.row.data) < w.row.size {
		return w.pieces(ctx)
	}
	s, err := parse(w.row.seq, w.row.data)
	if err != nil {
		// They are lost; the end of the run need not be.
		w.log.ErrorContext(ctx, "frames of a run are damaged", "err", err)
		return nil
	}
	for id := max(s.seq, w.after+1); id <= s.upto(); id++ {
		f := s.frame(id)
		f.More = id < s.upto() || !w.last
		if err := w.out(f); err != nil {
			return err
		}
	}
	return nil
}

// piece names a part of a large row: so many characters after others.
type piece struct {
	nid, seq    int64
	chars, size int
}

// pieces gives out the one frame of a large row, of which it never holds more
// than a piece.
func (w *walk) pieces(ctx context.Context) (err error) {
	if w.row.seq <= w.after {
		return nil // the reader has it
	}
	p := piece{nid: w.nid, seq: w.row.seq, size: max(pieceChars, w.row.size/mostPieces)}
	data, read := w.row.data, 0
	w.row.data = nil
	for {
		read, p.chars = read+len(data), p.chars+utf8.RuneCount(data)
		// A payload has no line break, so one at the end of a piece is from the end of
		// the frame. It is added whole, also to a row that is torn: what follows is
		// another frame.
		data = bytes.TrimRight(data, "\n")
		if read >= w.row.size {
			return w.out(Frame{ID: p.seq, Data: append(data, frameEnding...), More: !w.last})
		}
		if err := w.out(Frame{ID: p.seq, Data: data, Part: true, More: true}); err != nil {
			return err
		}
		if data, err = framePiece(ctx, w.db, p); err != nil {
			return err
		} else if len(data) == 0 {
			return fmt.Errorf("read frames: %w", errUnreadable) // it was longer before
		}
	}
}
