package db

import (
	"bytes"
	"encoding/binary"
)

// cleanPage gives tree page number n with zeros in the gap between its cell
// pointers and its cells. It is false for a page with nothing to clean, and for
// one that does not look like a tree page.
func cleanPage(page []byte, n int64) ([]byte, bool) {
	head := 0
	if n == 1 {
		head = 100 // the header of the file
	}
	if len(page) < head+12 {
		return nil, false
	}
	var size int
	switch page[head] {
	case 2, 5: // inside a tree
		size = 12
	case 10, 13: // a leaf
		size = 8
	default:
		return nil, false
	}
	cells := int(binary.BigEndian.Uint16(page[head+3:]))
	start, end := head+size+2*cells, int(binary.BigEndian.Uint16(page[head+5:]))
	if end == 0 {
		end = 1 << 16
	}
	if start > end || end > len(page) {
		return nil, false
	}
	if len(bytes.Trim(page[start:end], "\x00")) == 0 {
		return nil, false
	}
	out := bytes.Clone(page)
	clear(out[start:end])
	return out, true
}
