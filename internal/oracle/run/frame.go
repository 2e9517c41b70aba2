package run

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// Frame is one event of a run in wire format. ID 0 is a comment that keeps the
// connection alive, or has no data: there is nothing yet, and what precedes the
// first frame is to be sent without it. Data is shared and must not be changed.
type Frame struct {
	ID   int64
	Data []byte
	Part bool // the frame continues in the next one, which has its id
	More bool // another frame, or the end, follows at once; no flush is needed yet
}

// frameEnding is the empty line after each frame. Payloads are one line.
const frameEnding = "\n\n"

// heartbeat is the comment of a frame without an id.
const heartbeat = ": heartbeat" + frameEnding

// Names of frames that this package makes or looks into.
const (
	frameRun       = "run"
	frameMessage   = "message"
	frameReasoning = "reasoning"
	frameTool      = "tool_call"
	frameAction    = "action_call"
	frameError     = "error"
	frameDone      = "done"
)

// Frames describes the frames that this package makes. Those with much text are
// written by hand, in the format of these types.
func Frames() []web.Message {
	type begun struct {
		RunID     string `json:"runId" doc:"Join the run again with GET /runs/{runId}."`
		RequestID string `json:"requestId"`
	}
	type words struct {
		Content   string `json:"content" doc:"The next part of the answer; join all parts."`
		Timestamp string `json:"timestamp" format:"date-time"`
	}
	type reasoning struct {
		SessionID string `json:"sessionId"`
		RequestID string `json:"requestId"`
		Reasoning string `json:"reasoning" doc:"The model's reasoning; empty in the last frame."`
		Details   []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"reasoningDetails,omitempty" doc:"Only in the first frame, which reports that work has begun."`
		IsComplete bool   `json:"isComplete" doc:"The reasoning is complete."`
		Timestamp  string `json:"timestamp" format:"date-time"`
	}
	return []web.Message{
		{Name: frameRun, About: "The first frame: which run this is.", Payload: begun{}},
		{Name: frameReasoning, About: "Work has begun, or the model's reasoning.", Payload: reasoning{}},
		{Name: frameMessage, About: "A part of the answer.", Payload: words{}},
		{Name: frameError, About: "The answer has failed; done follows.", Payload: trouble{}},
		{Name: frameDone, About: "The last frame. A stream without it was cut off: join the run again.", Payload: done{}},
	}
}

// durable reports whether a frame must be stored before it is sent, because it
// has a meaning elsewhere.
func durable(event string) bool {
	switch event {
	case frameTool, frameAction, frameError, frameDone, "browser_tool_call":
		return true
	}
	return false
}

// segment holds frames that follow each other: what becomes one row.
type segment struct {
	seq  int64 // id of the first
	data []byte
	ends []int // where each frame ends in data
}

func (s *segment) upto() int64 { return s.seq + int64(len(s.ends)) - 1 }

// frame gives the frame of an id.
func (s *segment) frame(id int64) Frame {
	i := int(id - s.seq)
	from := 0
	if i > 0 {
		from = s.ends[i-1]
	}
	return Frame{ID: id, Data: s.data[from:s.ends[i]:s.ends[i]]}
}

// errUnreadable says that a row does not hold frames.
var errUnreadable = errors.New("frames cannot be read")

// parse reads the frames of a row.
func parse(seq int64, data []byte) (*segment, error) {
	s := &segment{seq: seq, data: data}
	for from := 0; from < len(data); {
		n := bytes.Index(data[from:], []byte(frameEnding))
		if n < 0 {
			return nil, fmt.Errorf("%w: cut off after %d", errUnreadable, seq)
		}
		from += n + len(frameEnding)
		s.ends = append(s.ends, from)
	}
	if len(s.ends) == 0 {
		return nil, fmt.Errorf("%w: empty at %d", errUnreadable, seq)
	}
	return s, nil
}

// Split returns the name and the payload of a whole frame.
func (f Frame) Split() (event string, payload jsontext.Value) {
	_, rest, _ := bytes.Cut(f.Data, []byte("\nevent: "))
	name, rest, _ := bytes.Cut(rest, []byte("\ndata: "))
	return string(name), jsontext.Value(bytes.TrimSuffix(rest, []byte(frameEnding)))
}

// appendHead begins a frame.
func appendHead(b []byte, id int64, event string) []byte {
	b = append(b, "id: "...)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, "\nevent: "...)
	b = append(b, event...)
	return append(b, "\ndata: "...)
}

// appendQuote writes a text as JSON. What is no UTF-8 is replaced.
func appendQuote(b []byte, text string) []byte {
	out, err := jsontext.AppendQuote(b, text)
	if err == nil {
		return out
	}
	out, err = jsontext.AppendQuote(b, strings.ToValidUTF8(text, "�"))
	if err != nil {
		return append(b, `""`...) // cannot be: the text is valid now
	}
	return out
}

// stamp is a time as it stands in frames. Many frames have the same one, and
// to write it is the dearest part of a word.
type stamp struct {
	ms   int64
	text []byte
}

// append writes a time as JSON: UTC, milliseconds.
func (s *stamp) append(b []byte, t time.Time) []byte {
	if ms := t.UnixMilli(); ms != s.ms || s.text == nil {
		s.ms, s.text = ms, t.UTC().AppendFormat(s.text[:0], `"2006-01-02T15:04:05.000Z"`)
	}
	return append(b, s.text...)
}

// appendText writes the payload of a message frame. The caller holds mu.
func (r *Run) appendText(b []byte, delta string, at time.Time) []byte {
	b = append(b, `{"content":`...)
	b = appendQuote(b, delta)
	b = append(b, `,"timestamp":`...)
	b = r.stamp.append(b, at)
	return append(b, '}')
}

// thought is what a reasoning frame says.
type thought struct {
	text     string
	ack      bool // our own word that work has begun
	complete bool // the marker before the end
}

// appendReasoning writes the payload of a reasoning frame. The caller holds mu.
func (r *Run) appendReasoning(b []byte, t thought, at time.Time) []byte {
	b = append(b, `{"sessionId":`...)
	b = appendQuote(b, r.session)
	b = append(b, `,"requestId":`...)
	b = appendQuote(b, r.requestID)
	b = append(b, `,"reasoning":`...)
	b = appendQuote(b, t.text)
	if t.ack {
		b = append(b, `,"reasoningDetails":[{"type":"thinking","text":`...)
		b = appendQuote(b, t.text)
		b = append(b, `}]`...)
	}
	b = append(b, `,"isComplete":`...)
	b = strconv.AppendBool(b, t.complete)
	b = append(b, `,"timestamp":`...)
	b = r.stamp.append(b, at)
	return append(b, '}')
}

// done is the payload of the last frame.
type done struct {
	Status      Status  `json:"status"`
	PartialText *string `json:"partialText,omitzero" doc:"The whole text so far, if the answer did not finish: it replaces what you have."`
	Aborted     bool    `json:"aborted,omitzero"`
	Failed      bool    `json:"failed,omitzero"`
	Interrupted bool    `json:"interrupted,omitzero"`
}

func doneOf(s Status, text string) done {
	d := done{Status: s, Aborted: s == Aborted, Failed: s == Failed, Interrupted: s == Interrupted}
	if s != Finished {
		d.PartialText = &text
	}
	return d
}

// encode writes a payload as one line of JSON.
func encode(event string, payload any) ([]byte, error) {
	b, err := json.Marshal(payload, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("encode %s frame: %w", event, err)
	}
	if raw := jsontext.Value(b); bytes.ContainsAny(b, "\r\n") {
		if err := raw.Compact(); err != nil {
			return nil, fmt.Errorf("encode %s frame: %w", event, err)
		}
		b = raw
	}
	return b, nil
}
