package exchange

import (
	"context"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/sheet"
)

// Mark is the written part of a file. It is part of the state of an export.
type Mark struct {
	Pieces int64  `json:"pieces"`
	Hash   []byte `json:"hash"` // its state
}

// Begun reports whether any of the file is stored.
func (m *Mark) Begun() bool { return len(m.Hash) > 0 }

// Writer writes the file of an export: Begin or Resume, then Add and Save in
// turn. It is for one goroutine.
type Writer struct {
	s     *Service
	run   *job.Run
	file  file.File
	limit int64 // bytes
	sum   hash.Hash
	pack  file.Packer

	pieces int64    // that are stored
	packed [][]byte // that are not
}

// Writer makes a Writer of the file of an order, at most limit bytes.
func (s *Service) Writer(r *job.Run, o *Order, limit int64) *Writer {
	return &Writer{s: s, run: r, limit: limit, sum: sha256.New(), file: file.File{ID: o.File, Workspace: o.Workspace, Kind: file.Export, Job: o.Job}}
}

// Begin makes the file empty, and forgets the state of earlier attempts. The
// error is file.ErrGone when the file was removed.
func (w *Writer) Begin(ctx context.Context) error {
	w.sum.Reset()
	w.file.Bytes, w.file.SHA256, w.pieces, w.packed = 0, "", 0, nil
	for more := true; more; {
		err := w.s.db.InTx(ctx, func(tx *db.Tx) error {
			if err := w.run.Save(ctx, tx, struct{}{}); err != nil {
				return err
			}
			n, err := file.Shrink(ctx, tx, w.file.ID, file.Batch)
			more = n > 0
			return err
		})
		if err != nil {
			return err
		}
	}
	_, err := w.held(ctx)
	return err
}

// held reads the record of the file; file.ErrGone when it was removed.
func (w *Writer) held(ctx context.Context) (*file.File, error) {
	f, err := file.Find(ctx, w.s.db, w.file.ID)
	if err == nil && f == nil {
		err = file.ErrGone
	}
	return f, err
}

// Renew gives the export another file to replace one that was removed.
func (w *Writer) Renew(ctx context.Context) error {
	f := file.File{ID: db.NewID(), Workspace: w.file.Workspace, Kind: file.Export, Job: w.file.Job, At: w.s.now().UnixMilli()}
	err := w.s.db.InTx(ctx, func(tx *db.Tx) error {
		if err := w.run.Save(ctx, tx, struct{}{}); err != nil {
			return err
		}
		if err := file.Insert(ctx, tx, &f); err != nil {
			return err
		}
		return updateFile(ctx, tx, f.Job, f.ID)
	})
	w.file = f
	return err
}

// Resume continues after what an earlier attempt stored. The error is
// file.ErrGone when that was removed.
func (w *Writer) Resume(ctx context.Context, m Mark) error {
	u, ok := w.sum.(encoding.BinaryUnmarshaler)
	if !ok {
		return errors.New("the hash cannot be resumed")
	}
	if err := u.UnmarshalBinary(m.Hash); err != nil {
		return fmt.Errorf("resume export: %w", err)
	}
	f, err := w.held(ctx)
	if err == nil {
		w.file.Bytes, w.pieces = f.Bytes, m.Pieces
	}
	return err
}

// Add takes the next bytes of the file, with end the last. Save stores them,
// together with a state that contains the mark.
func (w *Writer) Add(raw []byte, end bool) (m Mark, err error) {
	if w.file.Bytes += int64(len(raw)); w.file.Bytes > w.limit {
		return m, fault.New(fault.Invalid, "EXPORT_TOO_LARGE", fmt.Sprintf("The file would have more than %d bytes. Narrow the export.", w.limit))
	}
	_, _ = w.sum.Write(raw) // a hash never fails
	w.packed = w.packed[:0]
	for some := range slices.Chunk(raw, file.PieceSize) {
		p, err := w.pack.Pack(some)
		if err != nil {
			return m, err
		}
		w.packed = append(w.packed, p)
	}
	b, ok := w.sum.(encoding.BinaryMarshaler)
	if !ok {
		return m, errors.New("the hash cannot be kept")
	}
	if m.Hash, err = b.MarshalBinary(); err != nil {
		return m, fmt.Errorf("save export: %w", err)
	}
	if end {
		w.file.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	}
	m.Pieces = w.pieces + int64(len(w.packed))
	return m, nil
}

// Bytes is the size of the file.
func (w *Writer) Bytes() int64 { return w.file.Bytes }

// SHA256 is the hash of the file, hexadecimal; "" before its end.
func (w *Writer) SHA256() string { return w.file.SHA256 }

// Save stores what was added together with the resulting state, and the
// progress of the order. The error is file.ErrGone when the file was removed.
func (w *Writer) Save(ctx context.Context, state, counts any) error {
	w.file.At = w.s.now().UnixMilli()
	err := w.s.db.InTx(ctx, func(tx *db.Tx) error {
		if err := w.run.Save(ctx, tx, state); err != nil {
			return err
		}
		for i, p := range w.packed {
			if err := file.AddPiece(ctx, tx, w.file.ID, w.pieces+int64(i), p); err != nil {
				return err
			}
		}
		if err := file.Update(ctx, tx, &w.file); err != nil {
			return err
		}
		return SaveCounts(ctx, tx, w.run.ID, counts)
	})
	w.pieces += int64(len(w.packed))
	return err
}

// End takes the error an export ends with. If another attempt would not fix it,
// the file is removed. A limit of the format becomes a fault: what did not fit,
// and the member of the order that chose it.
func (w *Writer) End(ctx context.Context, err error, what, member string) error {
	if e := sheet.AsError(err); e != nil {
		err = fault.New(fault.Invalid, "EXPORT_IMPOSSIBLE", "The "+what+" do not fit the format: "+e.Error()).
			With(fault.Field{Pointer: member, Code: e.Code, Detail: e.Detail})
	}
	if fault.KindOf(err) == fault.Invalid {
		return errors.Join(err, file.Drop(ctx, w.s.db, w.file.ID))
	}
	return err
}
