package file

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Packer packs many pieces, one after the other, with one set of buffers.
type Packer struct {
	z   *gzip.Writer
	out bytes.Buffer
}

// Pack compresses a piece by itself. The result is the caller's.
func (p *Packer) Pack(raw []byte) ([]byte, error) {
	p.out.Reset()
	if p.z == nil {
		z, err := gzip.NewWriterLevel(&p.out, gzip.BestSpeed)
		if err != nil {
			return nil, fmt.Errorf("pack piece: %w", err)
		}
		p.z = z
	} else {
		p.z.Reset(&p.out)
	}
	if _, err := p.z.Write(raw); err != nil {
		return nil, fmt.Errorf("pack piece: %w", err)
	}
	if err := p.z.Close(); err != nil {
		return nil, fmt.Errorf("pack piece: %w", err)
	}
	return bytes.Clone(p.out.Bytes()), nil
}

// Send writes a file to w, a piece at a time. gone says that w takes no more.
func Send(ctx context.Context, q db.Querier, f *File, w io.Writer) (gone bool, err error) {
	for n, sent := int64(0), int64(0); sent < f.Bytes; n++ {
		raw, err := Piece(ctx, q, f.ID, n)
		if err != nil {
			return false, err
		}
		if _, err := w.Write(raw); err != nil {
			return true, nil
		}
		sent += int64(len(raw))
	}
	return false, nil
}
