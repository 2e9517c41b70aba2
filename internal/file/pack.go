package file

import (
	"bytes"
	"compress/gzip"
	"fmt"
)

// Packer compresses many pieces, one after the other, with one set of buffers.
type Packer struct {
	z   *gzip.Writer
	out bytes.Buffer
}

// Pack compresses a piece separately. The result belongs to the caller.
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
