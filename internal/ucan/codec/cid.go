package codec

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
)

// Codes of the multicodec table.
const (
	DagCBOR = 0x71 // a CBOR block
	Raw     = 0x55 // plain bytes; here the text of a JWT
	sha2256 = 0x12 // SHA-256
)

// CID is the address of a block: the bytes of a CIDv1 as a string, so that it
// can be compared. Other versions are not read.
type CID string

// base32Lower is how a CID is written as text, after the letter b.
var base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Sum is the CID of a block under SHA-256.
func Sum(code uint64, block []byte) CID {
	hash := sha256.Sum256(block)
	var buf [16 + sha256.Size]byte
	b := binary.AppendUvarint(append(buf[:0], 1), code)
	b = append(b, sha2256, sha256.Size)
	return CID(append(b, hash[:]...))
}

// ParseCID reads the text form of a CIDv1.
func ParseCID(text string) (CID, error) {
	if len(text) < 2 || text[0] != 'b' {
		return "", bad("CID")
	}
	raw, err := base32Lower.DecodeString(text[1:])
	if err != nil {
		return "", bad("CID")
	}
	c, rest, err := cutCID(raw)
	if err != nil || len(rest) > 0 || c.String() != text {
		return "", bad("CID")
	}
	return c, nil
}

// String is the CID in lower-case base32 with its prefix, as JavaScript
// shows it.
func (c CID) String() string { return "b" + base32Lower.EncodeToString([]byte(c)) }

// Codec is the code of the block's encoding.
func (c CID) Codec() uint64 {
	code, _ := binary.Uvarint([]byte(c[min(1, len(c)):]))
	return code
}

// Matches reports whether c is the SHA-256 address of block.
func (c CID) Matches(block []byte) bool { return Sum(c.Codec(), block) == c }

// cutCID takes a CIDv1 off the front of b.
func cutCID(b []byte) (CID, []byte, error) {
	rest := b
	var part [4]uint64 // version, codec, hash, length of the hash
	for i := range part {
		n, after, err := cutUvarint(rest)
		if err != nil {
			return "", nil, err
		}
		part[i], rest = n, after
	}
	if part[0] != 1 || part[3] > uint64(len(rest)) || part[3] > 128 {
		return "", nil, bad("CID")
	}
	rest = rest[part[3]:]
	return CID(b[:len(b)-len(rest)]), rest, nil
}

// cutUvarint takes a number in its shortest form off the front of b.
func cutUvarint(b []byte) (uint64, []byte, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || size > 1 && b[size-1] == 0 {
		return 0, nil, bad("number")
	}
	return n, b[size:], nil
}
