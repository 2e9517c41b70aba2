package export

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// cell is a value of a table.
type cell struct {
	kind cellKind
	s    string
	n    int64
}

type cellKind uint8

const (
	empty    cellKind = iota
	number            // s: a number, true or false, as JSON writes it
	integer           // n
	words             // s: a text
	quoted            // s: a text as JSON writes it, with its quotes
	document          // s: JSON
	moment            // n: milliseconds
)

func word(s string) cell {
	if s == "" {
		return cell{}
	}
	return cell{kind: words, s: s}
}

func instant(ms int64) cell {
	if ms == 0 {
		return cell{}
	}
	return cell{kind: moment, n: ms}
}

// cellOf is a JSON value in a cell. What stands in place of an answer is its
// code.
func cellOf(raw string) cell {
	if raw == "" {
		return cell{}
	}
	switch raw[0] {
	case '"':
		if len(raw) == 2 {
			return cell{}
		}
		return cell{kind: quoted, s: raw}
	case 'n':
		return cell{}
	case '{':
		if code := noAnswer(raw); code != "" {
			return cell{kind: words, s: code}
		}
		return cell{kind: document, s: raw}
	case '[':
		return cell{kind: document, s: raw}
	}
	return cell{kind: number, s: raw}
}

// noAnswer is the code of a value that says why there is no answer, "" for
// others.
func noAnswer(raw string) string {
	const begin = `{"noAnswer":"`
	if !strings.HasPrefix(raw, begin) || len(raw) < len(begin)+2 {
		return ""
	}
	return raw[len(begin) : len(raw)-2]
}

// otherText is the text of an answer in other words, as JSON; "" of others.
func otherText(raw string) string {
	const begin = `{"other":`
	if !strings.HasPrefix(raw, begin) {
		return ""
	}
	return raw[len(begin) : len(raw)-1]
}

// text is the cell without its kind.
func (c *cell) text() string {
	switch c.kind {
	case quoted:
		return plain(c.s)
	case integer:
		return strconv.FormatInt(c.n, 10)
	case moment:
		return string(appendMoment(nil, c.n))
	}
	return c.s
}

// appendMoment writes a time as web.TimeFormat has it. A table has several in
// every row, so it is written by hand.
func appendMoment(b []byte, ms int64) []byte {
	t := time.UnixMilli(ms).UTC()
	year, month, day := t.Date()
	if year < 1000 || year > 9999 {
		return t.AppendFormat(b, web.TimeFormat)
	}
	hour, minute, second := t.Clock()
	b = append(twoDigits(twoDigits(b, year/100), year%100), '-')
	b = append(twoDigits(b, int(month)), '-')
	b = append(twoDigits(b, day), 'T')
	b = append(twoDigits(b, hour), ':')
	b = append(twoDigits(b, minute), ':')
	b = append(twoDigits(b, second), '.')
	rest := int(ms % 1000)
	if rest < 0 {
		rest += 1000
	}
	return append(twoDigits(append(b, byte('0'+rest/100)), rest%100), 'Z')
}

func twoDigits(b []byte, n int) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

// appendCSV writes a cell of CSV.
func (c *cell) appendCSV(b []byte) []byte {
	switch c.kind {
	case number:
		return append(b, c.s...)
	case integer:
		return strconv.AppendInt(b, c.n, 10)
	case words, document:
		return sheet.AppendCSV(b, c.s)
	case quoted:
		return sheet.AppendCSV(b, plain(c.s))
	case moment:
		return appendMoment(b, c.n)
	}
	return b
}

// appendJSON writes a cell as JSON; an empty one is null.
func (c *cell) appendJSON(b []byte) []byte {
	switch c.kind {
	case number, quoted, document:
		return append(b, c.s...)
	case integer:
		return strconv.AppendInt(b, c.n, 10)
	case words:
		return quote(b, c.s)
	case moment:
		return append(appendMoment(append(b, '"'), c.n), '"')
	}
	return append(b, "null"...)
}

// rounded is a coordinate to a tenth of a degree.
func rounded(raw string) string {
	f, err := strconv.ParseFloat(raw, 64)
	if err != nil {
		return ""
	}
	f = math.Round(f*10) / 10
	if f == 0 {
		f = 0 // -0 is 0
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
