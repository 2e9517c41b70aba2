package llm

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// Limits of one answer. A server that goes beyond them is broken.
const (
	maxLine   = 4 << 20 // bytes of one event, or of an answer in one piece
	maxAnswer = 4 << 20 // bytes of text and reasoning, and of all calls together
	maxCalls  = 128     // tool calls; the agent refuses most of so many, and further ones are left out
	maxArgs   = 1 << 20 // bytes of the arguments of one
)

// lenient reads what servers really send.
func lenient() json.Options {
	return json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// lostError says that the connection broke while an answer was read.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }

var (
	errCut   = errors.New("the stream ended before the answer did")
	errEmpty = errors.New("the answer is empty")
)

// stream reads one answer and passes it on.
type stream struct {
	each    func(Delta) error
	silence func(reading bool) // called before and after waiting for the server
	started bool               // something was passed on
	done    bool               // the server said that the answer is over
	finish  string
	bytes   int
	calls   calls
	think   thinking
	chunk   chunk
	options json.Options
}

// read reads server-sent events until the answer is over.
func (s *stream) read(body io.Reader) error {
	s.options = lenient()
	r := bufio.NewReaderSize(body, 8<<10)
	var long []byte
	for !s.done {
		line, err := s.line(r)
		if errors.Is(err, bufio.ErrBufferFull) {
			if long = append(long, line...); len(long) > maxLine {
				return unreadable(errors.New("an event is too long"))
			}
			continue
		}
		if len(long) > 0 {
			line = append(long, line...)
			long = long[:0]
		}
		if event := s.event(line); event != nil {
			return event
		}
		if err != nil {
			return s.ended(err)
		}
	}
	return s.end()
}

// line reads the next line, or the part of it that fits the buffer.
func (s *stream) line(r *bufio.Reader) ([]byte, error) {
	if r.Buffered() > 0 || s.silence == nil {
		return r.ReadSlice('\n')
	}
	s.silence(true)
	line, err := r.ReadSlice('\n')
	s.silence(false)
	return line, err
}

// ended judges the end of a stream: fine once the model has said why it
// stopped, although the server forgot the closing word.
func (s *stream) ended(err error) error {
	if s.finish != "" {
		return s.end()
	}
	if errors.Is(err, io.EOF) {
		err = errCut
	}
	return &lostError{err: err}
}

// event takes one line of the stream. Comments and other fields are nothing
// to us.
func (s *stream) event(line []byte) error {
	data, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r\n"), []byte("data:"))
	if !ok {
		return nil
	}
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0:
		return nil
	case bytes.Equal(data, []byte("[DONE]")):
		s.done = true
		return nil
	}
	s.chunk = chunk{Choices: s.chunk.Choices[:0]}
	if err := json.Unmarshal(data, &s.chunk, s.options); err != nil {
		return unreadable(err)
	}
	return s.take(&s.chunk)
}

// whole reads an answer that came in one piece although we asked for a stream.
func (s *stream) whole(body io.Reader) error {
	s.options = lenient()
	var c chunk
	if err := json.UnmarshalRead(io.LimitReader(body, maxLine), &c, s.options); err != nil {
		return unreadable(err)
	}
	for i := range c.Choices {
		c.Choices[i].Delta = c.Choices[i].Message
	}
	if err := s.take(&c); err != nil {
		return err
	}
	return s.end()
}

// chunk is one event of the protocol.
type chunk struct {
	Choices []choice       `json:"choices"`
	Usage   *tokens        `json:"usage"`
	Error   jsontext.Value `json:"error"`
}

type choice struct {
	Index        int            `json:"index"`
	Delta        piece          `json:"delta"`
	Message      piece          `json:"message"`
	FinishReason string         `json:"finish_reason"`
	Error        jsontext.Value `json:"error"`
}

type piece struct {
	Content          text       `json:"content"`
	Reasoning        text       `json:"reasoning"`
	ReasoningContent text       `json:"reasoning_content"`
	Refusal          text       `json:"refusal"`
	ToolCalls        []fragment `json:"tool_calls"`
}

type tokens struct {
	Prompt     int     `json:"prompt_tokens"`
	Completion int     `json:"completion_tokens"`
	Cost       float64 `json:"cost"` // not all servers send it
	In         struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Out struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// fault is the error of the answer itself, where a server puts it there.
func (c *chunk) fault() jsontext.Value {
	if len(c.Choices) == 0 {
		return nil
	}
	return c.Choices[0].Error
}

// take passes one event on.
func (s *stream) take(c *chunk) error {
	for _, fault := range []jsontext.Value{c.Error, c.fault()} {
		if len(fault) > 0 && fault.Kind() != 'n' {
			return inStream(fault)
		}
	}
	var d Delta
	if c.Usage != nil {
		d.Usage = &Usage{Input: c.Usage.Prompt, Output: c.Usage.Completion, Reasoning: c.Usage.Out.Reasoning, Cached: c.Usage.In.Cached, Cost: max(c.Usage.Cost, 0)}
	}
	if len(c.Choices) > 0 && c.Choices[0].Index == 0 {
		p := &c.Choices[0]
		d.Reasoning = string(p.Delta.ReasoningContent)
		if d.Reasoning == "" {
			d.Reasoning = string(p.Delta.Reasoning)
		}
		thought, said := s.think.split(string(p.Delta.Content), p.FinishReason != "")
		d.Reasoning += thought
		d.Text = said + string(p.Delta.Refusal)
		if err := s.calls.add(p.Delta.ToolCalls); err != nil {
			return unreadable(err)
		}
		if p.FinishReason != "" {
			s.finish = p.FinishReason
		}
	}
	if s.bytes += len(d.Text) + len(d.Reasoning); s.bytes > maxAnswer {
		return unreadable(errors.New("the answer is too long"))
	}
	if d.Text == "" && d.Reasoning == "" && d.Usage == nil {
		return nil
	}
	s.started = s.started || d.Text != "" || d.Reasoning != ""
	return s.each(d)
}

// end passes the finished tool calls on.
func (s *stream) end() error {
	rest := s.think.rest()
	d := Delta{Text: rest, ToolCalls: s.calls.complete(), Finish: s.finish}
	if !s.started && d.Text == "" && len(d.ToolCalls) == 0 && s.finish == "" {
		return &Error{Kind: Server, Status: http.StatusBadGateway, Retryable: true, Detail: "The model gave an empty answer.", Err: errEmpty}
	}
	if d.Finish == "" {
		d.Finish = "stop"
	}
	s.started = true
	return s.each(d)
}

func unreadable(err error) *Error {
	return &Error{Kind: Server, Status: http.StatusBadGateway, Retryable: true, Detail: "The answer of the model cannot be read.", Err: err}
}

// text is a string, null, or a list of parts whose texts are joined.
type text string

var _ json.UnmarshalerFrom = (*text)(nil)

// UnmarshalJSONFrom reads any of the forms; what holds no text is nothing.
func (t *text) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case '"':
		tok, err := d.ReadToken()
		if err != nil {
			return err
		}
		*t = text(tok.String())
		return nil
	case '[':
		var parts []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if err := json.UnmarshalDecode(d, &parts); err != nil {
			return err
		}
		for _, p := range parts {
			*t += text(p.Text)
		}
		return nil
	}
	return d.SkipValue()
}

// call is a tool call as it grows.
type call struct {
	index    int
	id, name string
	args     []byte
}

// calls puts tool calls together from their fragments.
type calls struct {
	list  []call
	over  bool // a call began that is one too many
	bytes int  // of all that is kept
}

// fragment is a part of a tool call. Servers differ: some number the calls,
// some send each whole, some give one number to all.
type fragment struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string    `json:"name"`
		Arguments arguments `json:"arguments"`
	} `json:"function"`
}

// arguments are JSON in a string, or JSON itself.
type arguments []byte

var _ json.UnmarshalerFrom = (*arguments)(nil)

// UnmarshalJSONFrom reads either form.
func (a *arguments) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case '"':
		tok, err := d.ReadToken()
		if err != nil {
			return err
		}
		*a = arguments(tok.String())
		return nil
	case 'n':
		return d.SkipValue()
	}
	v, err := d.ReadValue()
	*a = append((*a)[:0], v...)
	return err
}

func (c *calls) add(fragments []fragment) error {
	for i := range fragments {
		f := &fragments[i]
		if c.over && f.Index == nil && f.ID == "" && f.Function.Name == "" {
			continue // it continues a call that was left out
		}
		at := c.find(f)
		if at < 0 {
			if len(c.list) == maxCalls {
				c.over = true
				continue
			}
			index := len(c.list)
			if f.Index != nil {
				index = *f.Index
			}
			c.list = append(c.list, call{index: index})
			at = len(c.list) - 1
		}
		grown := &c.list[at]
		if grown.name == "" { // some servers repeat it in each fragment
			grown.name = f.Function.Name
			c.bytes += len(grown.name)
		}
		if grown.id == "" {
			grown.id = f.ID
			c.bytes += len(grown.id)
		}
		if c.bytes += len(f.Function.Arguments); c.bytes > maxAnswer {
			return errors.New("the tool calls are too long together")
		}
		if grown.args = append(grown.args, f.Function.Arguments...); len(grown.args) > maxArgs {
			return errors.New("the arguments of a tool call are too long")
		}
	}
	return nil
}

// find returns the call a fragment continues, -1 when it begins one. A new id
// with a name begins a call even under a number that is taken.
func (c *calls) find(f *fragment) int {
	for i := len(c.list) - 1; i >= 0; i-- {
		known := &c.list[i]
		fresh := f.ID != "" && known.id != "" && f.ID != known.id
		switch {
		case f.Index != nil && *f.Index == known.index:
			if fresh && f.Function.Name != "" {
				return -1
			}
			return i
		case f.Index == nil && !fresh && f.Function.Name == "":
			return i
		case f.Index == nil && f.ID != "" && f.ID == known.id:
			return i
		}
	}
	return -1
}

// complete gives the calls in the order in which they began.
func (c *calls) complete() []tool.Call {
	var out []tool.Call
	for _, one := range c.list {
		args := bytes.TrimSpace(one.args)
		if len(args) == 0 {
			args = emptyArgs()
		}
		out = append(out, tool.Call{ID: one.id, Name: one.name, Args: jsontext.Value(args)})
	}
	return out
}
