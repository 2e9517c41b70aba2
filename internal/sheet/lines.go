package sheet

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth limits the nesting of a record, as in a request.
const MaxDepth = 64

// lines reads NDJSON.
type lines struct {
	in   *bufio.Reader
	line int64
	buf  []byte
}

func newLines(r io.Reader) *lines {
	return &lines{in: bufio.NewReaderSize(r, 64<<10)}
}

var bom = []byte("\xef\xbb\xbf")

// record reads the next line that is not blank.
func (l *lines) record() (Record, error) {
	for {
		text, long, err := l.read()
		if err != nil {
			return Record{}, err
		}
		if l.line == 1 {
			text = bytes.TrimPrefix(text, bom)
		}
		text = bytes.Trim(text, " \t\r\n")
		if len(text) == 0 && !long {
			continue
		}
		rec := Record{Line: l.line}
		if long {
			rec.Errs = []*Error{{Line: l.line, Code: "too_long", Detail: fmt.Sprintf("The line has more than %d bytes.", MaxLine)}}
		} else if e := checkObject(text); e != nil {
			e.Line = l.line
			rec.Errs = []*Error{e}
		} else {
			rec.JSON = text
		}
		return rec, nil
	}
}

// read takes one line. Of one that is too long it keeps nothing.
func (l *lines) read() (text []byte, long bool, err error) {
	l.buf = l.buf[:0]
	l.line++
	some := false
	for {
		part, err := l.in.ReadSlice('\n')
		some = some || len(part) > 0
		if long = long || len(l.buf)+len(part) > MaxLine; !long {
			l.buf = append(l.buf, part...)
		}
		switch {
		case err == nil:
			return l.buf, long, nil
		case errors.Is(err, io.EOF) && some:
			return l.buf, long, nil
		case errors.Is(err, bufio.ErrBufferFull):
		default:
			return nil, false, err
		}
	}
}

// checkObject requires one strict JSON object and nothing after it.
func checkObject(text []byte) *Error {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	if dec.PeekKind() != '{' {
		if _, err := dec.ReadToken(); err != nil {
			return syntaxError(err)
		}
		return &Error{Code: "not_an_object", Detail: "The line must be one JSON object."}
	}
	for {
		_, err := dec.ReadToken()
		if err != nil {
			return syntaxError(err)
		}
		if dec.StackDepth() > MaxDepth {
			return &Error{Code: "too_deep", Detail: fmt.Sprintf("Arrays and objects nest at most %d deep.", MaxDepth)}
		}
		if dec.StackDepth() == 0 {
			break
		}
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return &Error{Code: "trailing_data", Detail: "There is data after the JSON object."}
	}
	return nil
}

func syntaxError(err error) *Error {
	e := &Error{Code: "syntax", Detail: "The line is not valid JSON."}
	var s *jsontext.SyntacticError
	if errors.As(err, &s) {
		e.Column = fmt.Sprint(s.ByteOffset + 1)
		if errors.Is(s, jsontext.ErrDuplicateName) {
			e.Code, e.Detail = "duplicate", "A member appears twice: "+shorten(string(s.JSONPointer))+"."
		}
	}
	return e
}
