package sheet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// csvReader reads records of RFC 4180, with any of three separators, and ends
// of lines with or without CR. It bounds what one record may hold, which the
// reader of the standard library does not: a quote that is never closed would
// make it read all the file.
type csvReader struct {
	in    *bufio.Reader
	sep   byte
	line  int64 // of the next character
	size  int   // bytes of the record so far
	blank int64 // lines without a cell so far
	short bool  // it is a glance
	row   []string
	cell  []byte
}

// csvTable is a CSV file whose first record names the columns.
type csvTable struct {
	*csvReader
	head *header
}

// newCSV begins to read, after the mark of UTF-8 if there is one.
func newCSV(r io.Reader) *csvReader {
	c := &csvReader{in: bufio.NewReaderSize(r, 64<<10), line: 1}
	if start, _ := c.in.Peek(len(bom)); bytes.Equal(start, bom) {
		_, _ = c.in.Discard(len(bom)) // they are in the buffer
	}
	c.sep = c.detect()
	return c
}

func openCSV(r io.Reader, o Options) (*csvTable, error) {
	c := newCSV(r)
	c.short = o.glance
	names, line, err := c.read()
	if errors.Is(err, io.EOF) {
		return nil, &Error{Line: 1, Code: "no_columns", Detail: "The first line must name the columns."}
	} else if err != nil {
		return nil, err
	}
	for i, name := range names {
		names[i] = unguard(name)
	}
	head, err := newHeader(names, line, o)
	if err != nil {
		return nil, err
	}
	return &csvTable{csvReader: c, head: head}, nil
}

// detect chooses the separator the first line has most of.
func (c *csvReader) detect() byte {
	start, _ := c.in.Peek(64 << 10)
	counts := map[byte]int{}
	quoted := false
	for _, b := range start {
		if b == '"' {
			quoted = !quoted
		} else if b == '\n' && !quoted {
			break
		} else if !quoted {
			counts[b]++
		}
	}
	best := byte(',')
	for _, sep := range []byte{';', '\t'} {
		if counts[sep] > counts[best] {
			best = sep
		}
	}
	return best
}

func (t *csvTable) record() (Record, error) {
	row, line, err := t.read()
	if err != nil {
		return Record{}, err
	}
	cells := make([]cell, len(row))
	for i, text := range row {
		cells[i] = cell{text: unguard(text)}
		if !utf8.ValidString(text) {
			cells[i].bad = "The text is not valid UTF-8."
		}
	}
	return t.head.record(line, cells), nil
}

// read gives the cells of the next record that is not a blank line, and the
// line it begins on.
func (c *csvReader) read() ([]string, int64, error) {
	for {
		line := c.line
		c.row, c.size = c.row[:0], 0
		blank, err := c.readCells()
		if err != nil {
			return nil, line, err
		}
		if !blank {
			return c.row, line, nil
		}
		if c.blank++; c.short && c.blank == GlanceRows {
			return nil, line, ErrMore
		}
	}
}

// readCells reads to the end of a record. blank says that the line was empty.
func (c *csvReader) readCells() (blank bool, err error) {
	for {
		end, quoted, err := c.readCell()
		if errors.Is(err, io.EOF) {
			if len(c.row) == 0 && len(c.cell) == 0 && !quoted {
				return false, io.EOF
			}
			end = true
		} else if err != nil {
			return false, err
		}
		if end && len(c.row) == 0 && len(c.cell) == 0 && !quoted {
			return true, nil
		}
		if len(c.row) == MaxColumns {
			return false, tooManyColumns(c.line)
		}
		c.row = append(c.row, string(c.cell))
		if end {
			return false, nil
		}
	}
}

// readCell reads one cell into c.cell and the separator or line end after it.
func (c *csvReader) readCell() (end, quoted bool, err error) {
	c.cell = c.cell[:0]
	for {
		b, err := c.next()
		if err != nil {
			return false, false, err
		}
		switch {
		case b == c.sep:
			return false, false, nil
		case b == '\n':
			c.cell = bytes.TrimSuffix(c.cell, []byte{'\r'})
			return true, false, nil
		case b == '"' && len(c.cell) == 0:
			end, err := c.readQuoted()
			return end, true, err
		case b == '"':
			return false, false, c.broken("bare_quote", `A quote inside a cell must be doubled, and the cell quoted.`)
		}
		c.cell = append(c.cell, b)
	}
}

// readQuoted reads the rest of a cell after its opening quote.
func (c *csvReader) readQuoted() (end bool, err error) {
	for {
		b, err := c.next()
		if errors.Is(err, io.EOF) {
			return false, c.broken("open_quote", "The quote is never closed.")
		} else if err != nil {
			return false, err
		}
		if b != '"' {
			c.cell = append(c.cell, b)
			continue
		}
		if b, err = c.next(); err != nil {
			return true, err // EOF: the cell is whole
		}
		if b == '\r' {
			if b, err = c.next(); err != nil {
				return true, err
			}
			if b != '\n' {
				return false, c.broken("after_quote", "After a closing quote comes a separator or the end of the line.")
			}
		}
		switch b {
		case '"':
			c.cell = append(c.cell, '"')
		case c.sep:
			return false, nil
		case '\n':
			return true, nil
		default:
			return false, c.broken("after_quote", "After a closing quote comes a separator or the end of the line.")
		}
	}
}

// next takes a byte and counts.
func (c *csvReader) next() (byte, error) {
	b, err := c.in.ReadByte()
	if err != nil {
		return 0, err
	}
	if c.size++; c.size > MaxLine {
		return 0, &Error{Line: c.line, Code: "too_long", Detail: fmt.Sprintf("The record has more than %d bytes; a quote may not be closed.", MaxLine)}
	}
	if b == '\n' {
		c.line++
	}
	return b, nil
}

func (c *csvReader) broken(code, detail string) *Error {
	return &Error{Line: c.line, Column: fmt.Sprint(len(c.row) + 1), Code: code, Detail: detail}
}

func tooManyColumns(line int64) *Error {
	return &Error{Line: line, Code: "too_many_columns", Detail: fmt.Sprintf("A table has at most %d columns.", MaxColumns)}
}

// writeCSV writes a row of RFC 4180, with a line end of CR LF.
func writeCSV(out *bufio.Writer, cells []jsontext.Value) error {
	for i, v := range cells {
		if i > 0 {
			_ = out.WriteByte(',') // the line end shows errors
		}
		text, isText := cellText(v)
		if len(cells) == 1 && text == "" || isText && (strings.ContainsAny(text, "\",;\t\r\n") || text != strings.TrimSpace(text)) {
			// What another program may trim or take for a separator is quoted
			// as well.
			text = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
		}
		_, _ = out.WriteString(text)
	}
	_, err := out.WriteString("\r\n")
	return err
}

// Cells reads a CSV file cell by cell, including the line with the names of the
// columns. It stops at the first error of each. The error is an *Error when the
// file is at fault. The cells are valid until each returns.
func Cells(r io.Reader, each func(line int64, cells []string) error) error {
	c := newCSV(r)
	for {
		row, line, err := c.read()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		for i, text := range row {
			if !utf8.ValidString(text) {
				return &Error{Line: line, Column: fmt.Sprint(i + 1), Code: "invalid_text", Detail: "The text is not valid UTF-8. Save the file as CSV in UTF-8."}
			}
			row[i] = unguard(text)
		}
		if err := each(line, row); err != nil {
			return err
		}
	}
}
