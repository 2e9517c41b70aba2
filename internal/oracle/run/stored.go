package run

import (
	"bytes"
	"context"
	"unicode/utf8"
)

// The limits of what a reader holds of the rows of a run: it may be one of
// many that take nothing.
const (
	aheadRows   = 16       // rows it reads at once
	aheadBytes  = 16 << 10 // and bytes of them, or of the memory of a run
	pieceChars  = 8 << 10  // of a row that is larger; pieces, unlike rows, are counted by the store
	mostPieces  = 64       // of one row: the store walks to each from the beginning
	frameEnding = "\n\n"
)

// storedRow is a row of frames with the beginning of what it holds.
type storedRow struct {
	seq, upto int64
	size      int
	data      []byte // all of it, unless the row is large
}

// eachStored gives out the stored frames of a run after a number, large ones
// in parts. It reads on when out has taken what was read.
func (m *Manager) eachStored(ctx context.Context, nid, after int64, out func(Frame) error) error {
	for {
		rows, more, err := listFrames(ctx, m.cfg.DB, nid, after)
		if err != nil {
			return err
		}
		for i, row := range rows {
			rows[i].data = nil // given out, it may go
			w := walk{m: m, nid: nid, row: row, after: after, out: out, last: i == len(rows)-1}
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

// whole puts the parts of frames together.
func whole(out func(Frame) error) func(Frame) error {
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
	m     *Manager
	nid   int64
	row   storedRow
	after int64
	out   func(Frame) error
	last  bool // no row follows at once

	id    int64 // of the frame that comes next, or is in the middle
	begun bool  // a part of it was given out
}

func (w *walk) frames(ctx context.Context) error {
	if len(w.row.data) < w.row.size {
		return w.pieces(ctx)
	}
	s, err := parse(w.row.seq, w.row.data)
	if err != nil {
		return w.damaged(ctx, err)
	}
	for w.id = s.seq; w.id <= s.upto(); w.id++ {
		if err := w.give(s.frame(w.id).Data, false, w.id < s.upto() || !w.last); err != nil {
			return err
		}
	}
	return nil
}

// give gives out a frame or a part of it, unless the reader has it.
func (w *walk) give(data []byte, part, more bool) error {
	if w.id <= w.after {
		return nil
	}
	w.begun = part
	return w.out(Frame{ID: w.id, Data: data, Part: part, More: part || more})
}

// damaged passes over frames that cannot be read: they are lost, the end of
// the run need not be.
func (w *walk) damaged(ctx context.Context, err error) error {
	w.m.cfg.Log.ErrorContext(ctx, "frames of a run are damaged", "err", err)
	if !w.begun {
		return nil
	}
	return w.give([]byte(frameEnding), false, !w.last)
}

// piece names a part of a large row: so many characters after others.
type piece struct {
	nid, seq    int64
	chars, size int
}

// pieces gives out the frames of a large row, of which it never holds more
// than a piece.
func (w *walk) pieces(ctx context.Context) error {
	w.id = w.row.seq
	p := piece{nid: w.nid, seq: w.row.seq, size: max(pieceChars, w.row.size/mostPieces)}
	data, read := w.row.data, 0
	w.row.data = nil
	for line := ""; ; {
		read, p.chars = read+len(data), p.chars+utf8.RuneCount(data)
		if line != "" {
			data = append([]byte(line), data...)
		}
		rest, err := w.complete(data, read >= w.row.size)
		if err != nil {
			return err
		}
		if read >= w.row.size {
			if len(rest) > 0 {
				return w.damaged(ctx, errUnreadable)
			}
			return nil
		}
		if line = ""; bytes.HasSuffix(rest, []byte("\n")) {
			line = "\n" // it may be the first of two
		}
		if rest = rest[:len(rest)-len(line)]; len(rest) > 0 {
			if err := w.give(rest, true, true); err != nil {
				return err
			}
		}
		if data, err = framePiece(ctx, w.m.cfg.DB, p); err != nil {
			return err
		} else if len(data) == 0 {
			return wrap("read frames", errUnreadable) // it was longer before
		}
	}
}

// complete gives out the frames that end in the data, and gives back what is
// left. over says that this is the end of the row.
func (w *walk) complete(data []byte, over bool) ([]byte, error) {
	for {
		n := bytes.Index(data, []byte(frameEnding))
		if n < 0 {
			return data, nil
		}
		n += len(frameEnding)
		if err := w.give(data[:n:n], false, !over || n < len(data) || !w.last); err != nil {
			return nil, err
		}
		data = data[n:]
		w.id++
	}
}
