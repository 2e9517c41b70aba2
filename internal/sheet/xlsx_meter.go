package sheet

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
)

const (
	maxToken = MaxLine // bytes of one tag, text or comment of the XML: a cell of a spreadsheet has a tenth
	maxNodes = 100     // elements inside each other
)

// meter bounds what the decoder of XML holds at once: it collects all of a text
// or a tag before it gives it away, and keeps the names of the elements it is
// in, so a small archive could take all memory there is.
type meter struct {
	in    *bufio.Reader
	raw   *xml.Decoder
	used  int // bytes of the token that is read
	depth int
}

// newDecoder reads XML within bounds. Past them it fails with an *Error.
func newDecoder(r io.Reader) *xml.Decoder {
	m := &meter{in: bufio.NewReaderSize(r, 32<<10)}
	m.raw = xml.NewDecoder(m)
	return xml.NewTokenDecoder(m)
}

// Token gives the next token; the decoder around this one matches them.
func (m *meter) Token() (xml.Token, error) {
	m.used = 0
	t, err := m.raw.RawToken()
	switch t.(type) {
	case xml.StartElement:
		if m.depth++; m.depth > maxNodes {
			return nil, &Error{Code: "too_deep", Detail: fmt.Sprintf("The elements of the workbook nest more than %d deep.", maxNodes)}
		}
	case xml.EndElement:
		m.depth--
	}
	return t, err
}

// ReadByte is what the decoder reads with.
func (m *meter) ReadByte() (byte, error) {
	if m.used++; m.used > maxToken {
		return 0, tooLong(0)
	}
	return m.in.ReadByte()
}

// Read is never called: a decoder that is given an io.ByteReader reads bytes.
func (m *meter) Read(p []byte) (int, error) { return m.in.Read(p) }

func tooLong(line int64) *Error {
	return &Error{Line: line, Code: "too_long", Detail: fmt.Sprintf("A row of the workbook, or one of its texts, has more than %d bytes.", MaxLine)}
}
