package codec

import (
	"encoding/binary"
)

// maxBlocks is how many blocks an archive may hold: a token, its root, the
// most proofs that are read, and some that tokens refer to in facts.
const maxBlocks = 64

// Block is one block of an archive.
type Block struct {
	CID  CID
	Data []byte
}

// Archive is a CARv1 with one root.
type Archive struct {
	Root   CID
	Blocks []Block
}

// Find returns the bytes of a block.
func (a *Archive) Find(c CID) ([]byte, bool) {
	for i := range a.Blocks {
		if a.Blocks[i].CID == c {
			return a.Blocks[i].Data, true
		}
	}
	return nil, false
}

// Add appends a block unless the archive has it.
func (a *Archive) Add(b Block) {
	if _, ok := a.Find(b.CID); !ok {
		a.Blocks = append(a.Blocks, b)
	}
}

// DecodeCAR reads an archive. Every block must have the CID it claims. Data in
// the result shares memory with b.
func DecodeCAR(b []byte) (*Archive, error) {
	header, rest, err := cutSection(b)
	if err != nil {
		return nil, err
	}
	a := &Archive{}
	if a.Root, err = carRoot(header); err != nil {
		return nil, err
	}
	for len(rest) > 0 {
		var section []byte
		if section, rest, err = cutSection(rest); err != nil {
			return nil, err
		}
		c, data, err := cutCID(section)
		if err != nil {
			return nil, err
		}
		if !c.Matches(data) {
			return nil, bad("block does not match its CID")
		}
		if len(a.Blocks) == maxBlocks {
			return nil, bad("too many blocks")
		}
		a.Add(Block{c, data})
	}
	return a, nil
}

func carRoot(header []byte) (CID, error) {
	v, err := DecodeCBOR(header)
	if err != nil {
		return "", err
	}
	m, _ := v.(Map)
	version, _ := m.Get("version")
	list, _ := m.Get("roots")
	roots, _ := list.([]any)
	if len(m) != 2 || version != int64(1) || len(roots) != 1 {
		return "", bad("CAR header")
	}
	root, ok := roots[0].(CID)
	if !ok {
		return "", bad("CAR header")
	}
	return root, nil
}

func cutSection(b []byte) (section, rest []byte, err error) {
	n, rest, err := cutUvarint(b)
	if err != nil {
		return nil, nil, err
	}
	if n > uint64(len(rest)) {
		return nil, nil, bad("cut short")
	}
	return rest[:n:n], rest[n:], nil
}

// Encode writes the archive, blocks in their order.
func (a *Archive) Encode() ([]byte, error) {
	header, err := EncodeCBOR(Map{{"roots", []any{a.Root}}, {"version", int64(1)}})
	if err != nil {
		return nil, err
	}
	out := append(binary.AppendUvarint(nil, uint64(len(header))), header...)
	for _, b := range a.Blocks {
		out = binary.AppendUvarint(out, uint64(len(b.CID)+len(b.Data)))
		out = append(append(out, b.CID...), b.Data...)
	}
	return out, nil
}
