// Package file keeps files in the store, in pieces that are compressed
// separately. Any instance can read a file, from any offset, and no file is
// ever whole in memory. The package does not know what files contain. They hold
// personal data, so whoever makes a file is responsible for removing it.
package file

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	// PieceSize is how many bytes of a file are in one piece, before
	// compression.
	PieceSize = 256 << 10
	// Batch is how many pieces one transaction removes.
	Batch = 20
)

// Piece reads a piece of a file, decompressed.
func Piece(ctx context.Context, q db.Querier, id string, n int64) ([]byte, error) {
	packed, err := readPiece(ctx, q, id, n)
	if err != nil {
		return nil, err
	}
	if packed == nil {
		return nil, fmt.Errorf("piece %d of file %s is gone", n, id)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack piece: %w", err)
	}
	raw, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("unpack piece: %w", err)
	}
	return raw, nil
}

// Receive stores body as the pieces of f, each in a transaction of its own, and
// sets its size and hash. An error of body is returned unchanged.
func Receive(ctx context.Context, d *db.DB, f *File, body io.Reader) error {
	sum := sha256.New()
	raw := make([]byte, PieceSize)
	var p Packer
	for n := int64(0); ; n++ {
		size, err := io.ReadFull(body, raw)
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return err
		}
		if size > 0 {
			_, _ = sum.Write(raw[:size]) // a hash never fails
			packed, err := p.Pack(raw[:size])
			if err != nil {
				return err
			}
			if err := d.InTx(ctx, func(tx *db.Tx) error { return AddPiece(ctx, tx, f.ID, n, packed) }); err != nil {
				return err
			}
			f.Bytes += int64(size)
		}
		if last {
			f.SHA256 = hex.EncodeToString(sum.Sum(nil))
			return nil
		}
	}
}

// Remove removes at most limit pieces of a file, and after the last its record.
// It returns how many; call it until it removes none.
func Remove(ctx context.Context, d *db.DB, id string, limit int) (int, error) {
	n, err := Shrink(ctx, d, id, min(limit, Batch))
	if err != nil || n > 0 {
		return n, err
	}
	return remove(ctx, d, id)
}

// Drop removes a file, some pieces at a time. "" means none.
func Drop(ctx context.Context, d *db.DB, id string) error {
	for id != "" {
		n, err := Remove(ctx, d, id, Batch)
		if err != nil || n == 0 {
			return err
		}
	}
	return nil
}

// Reader reads a received file at any offset. All its pieces but the last are
// full. It keeps the last piece read, because files are read from beginning to
// end, except for the directory of an archive.
type Reader struct {
	read  func(n int64) ([]byte, error)
	size  int64
	n     int64
	piece []byte
}

// Open makes a Reader of a received file. ctx bounds all its reading.
func Open(ctx context.Context, q db.Querier, f *File) *Reader {
	return &Reader{size: f.Bytes, n: -1, read: func(n int64) ([]byte, error) { return Piece(ctx, q, f.ID, n) }}
}

// ReadAt reads from an offset on.
func (p *Reader) ReadAt(b []byte, off int64) (int, error) {
	done := 0
	for done < len(b) {
		if off >= p.size {
			return done, io.EOF
		}
		if n := off / PieceSize; n != p.n {
			piece, err := p.read(n)
			if err != nil {
				return done, err
			}
			p.n, p.piece = n, piece
		}
		at := int(off % PieceSize)
		if at >= len(p.piece) {
			return done, io.ErrUnexpectedEOF
		}
		n := copy(b[done:], p.piece[at:])
		done, off = done+n, off+int64(n)
	}
	return done, nil
}
