package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// maxFrame bounds one line and one frame; events are a few kilobytes.
const maxFrame = 1 << 20

var errFrame = errors.New("a frame of the stream has more than 1 MiB")

// frame is one block of a text/event-stream. Data is empty when the block only
// moves the position.
type frame struct {
	id    string
	hasID bool
	event string
	data  string
	retry time.Duration // 0 when it says nothing
}

// decoder reads text/event-stream as the HTML standard describes it.
type decoder struct {
	r      *bufio.Reader
	skipLF bool // the last line ended with CR: a LF belongs to it
	begun  bool
	line   []byte
}

func newDecoder(r io.Reader) *decoder { return &decoder{r: bufio.NewReader(r)} }

// next reads up to the end of a frame. A frame cut off by the end of the
// stream is dropped, as the standard asks.
func (d *decoder) next() (frame, error) {
	var f frame
	var data []string
	size := 0
	for {
		line, err := d.readLine()
		if err != nil {
			return frame{}, err
		}
		if size += len(line); size > maxFrame {
			return frame{}, errFrame
		}
		if line != "" {
			data = f.field(line, data)
			continue
		}
		f.data = strings.Join(data, "\n")
		if len(data) > 0 || f.hasID || f.retry > 0 {
			return f, nil
		}
		f, size = frame{}, 0
	}
}

// field takes one line into the frame.
func (f *frame) field(line string, data []string) []string {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "event":
		f.event = value
	case "data":
		return append(data, value)
	case "id":
		if !strings.Contains(value, "\x00") {
			f.id, f.hasID = value, true
		}
	case "retry":
		if ms, err := strconv.ParseUint(value, 10, 31); err == nil {
			f.retry = time.Duration(ms) * time.Millisecond
		}
	}
	return data
}

// readLine reads to CR, LF or both, without waiting for what follows a CR: the
// frame is over, and the next byte may be minutes away.
func (d *decoder) readLine() (string, error) {
	d.line = d.line[:0]
	for {
		b, err := d.r.ReadByte()
		if err != nil {
			return "", err
		}
		if d.skipLF {
			d.skipLF = false
			if b == '\n' {
				continue
			}
		}
		if b == '\r' || b == '\n' {
			d.skipLF = b == '\r'
			return d.text(), nil
		}
		if len(d.line) >= maxFrame {
			return "", errFrame
		}
		d.line = append(d.line, b)
	}
}

// text is the line, without the mark a stream may begin with.
func (d *decoder) text() string {
	line := d.line
	if !d.begun {
		d.begun = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return strings.ToValidUTF8(string(line), "\uFFFD")
}
