package chat

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// Entry is a message ready to be stored.
type Entry struct {
	ID     string
	body   string
	hidden *string
}

// Mark is the outcome of an answer.
type Mark int

// The marks.
const (
	Whole       Mark = iota // the answer came to its end
	Aborted                 // the caller stopped it
	Interrupted             // the server stopped in the middle of it
)

// hidden is the part of a message that clients do not see.
type hidden struct {
	Failed []string `json:"failed,omitempty"` // ids of calls that gave an error
	Files  []file   `json:"files,omitempty"`  // one for each attachment
}

// file is the text read from an attachment.
type file struct {
	Text string `json:"text,omitzero"`
	Note string `json:"note,omitzero"` // what the model is told about it
	URL  string `json:"url,omitzero"`
}

func filesOf(list []llm.Attachment) []file {
	var out []file
	for _, a := range list {
		out = append(out, file{Text: valid(a.Text), Note: valid(a.Note), URL: valid(a.URL)})
	}
	return out
}

// Said makes the entry of a user's message.
func Said(m llm.Message, at time.Time) (Entry, error) {
	dto := Message{ID: db.NewID(), Type: Human, Content: shown(m.Content), IsComplete: true, CreatedAt: Stamp(at)}
	h := hidden{Files: filesOf(m.Attachments)}
	for _, a := range m.Attachments {
		dto.Attachments = append(dto.Attachments, Attachment{
			Filename: valid(a.Filename), MIMEType: valid(a.MIMEType), Size: a.Size, MXCURI: valid(a.MXCURI), EventID: valid(a.EventID),
			Category: category(a.MIMEType),
		})
	}
	if len(dto.Attachments) == 1 {
		dto.Attachment = &dto.Attachments[0]
	}
	return entry(dto, h)
}

// Unanswered is the answer of a turn that was interrupted before any of it was
// stored: empty, and marked.
func Unanswered(at time.Time) ([]Entry, error) {
	e, err := entry(Message{ID: db.NewID(), Type: AI, IsComplete: true, CreatedAt: Stamp(at), Interrupted: true}, hidden{})
	return []Entry{e}, err
}

// Answered makes the entries of the messages of a turn: one for each of the
// oracle's, including the results of its calls. The mark goes on the last.
func Answered(said []llm.Message, mark Mark, at time.Time) ([]Entry, error) {
	said = slices.DeleteFunc(slices.Clone(said), func(m llm.Message) bool { // nothing was said
		return m.Role == llm.Assistant && m.Content == "" && m.Reasoning == "" && len(m.ToolCalls) == 0
	})
	var out []Entry
	for i := 0; i < len(said); {
		m := said[i]
		i++
		if m.Role != llm.Assistant {
			continue // a result without its call, or what clients never see
		}
		results := said[i:]
		if n := slices.IndexFunc(results, func(m llm.Message) bool { return m.Role != llm.Tool }); n >= 0 {
			results = results[:n]
		}
		i += len(results)
		dto, h := foldCalls(m, results)
		dto.ID, dto.CreatedAt = db.NewID(), Stamp(at)
		if i == len(said) {
			dto.Aborted, dto.Interrupted = mark == Aborted, mark == Interrupted
		}
		e, err := entry(dto, h)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// foldCalls puts the results of tools into the message that called them.
func foldCalls(m llm.Message, results []llm.Message) (Message, hidden) {
	dto := Message{Type: AI, Content: shown(m.Content), Reasoning: valid(m.Reasoning), IsComplete: true}
	var h hidden
	for _, c := range m.ToolCalls {
		call := ToolCall{Name: valid(c.Name), ID: valid(c.ID), Args: c.Args}
		if len(call.Args) == 0 || !call.Args.IsValid() {
			call.Args = jsontext.Value("{}")
		}
		for _, r := range results {
			if r.ToolCallID != c.ID {
				continue
			}
			call.Status, call.Output = "done", asJSON(r.Content)
			if r.Failed {
				call.Failed = true
				h.Failed = append(h.Failed, call.ID)
			}
			break
		}
		dto.ToolCalls = append(dto.ToolCalls, call)
	}
	return dto, h
}

func entry(dto Message, h hidden) (Entry, error) {
	body, err := json.Marshal(dto)
	if err != nil {
		return Entry{}, fmt.Errorf("encode message: %w", err)
	}
	e := Entry{ID: dto.ID, body: string(body)}
	e.hidden, err = h.encode()
	return e, err
}

// encode is what stands in the row; nil when there is nothing.
func (h hidden) encode() (*string, error) {
	if len(h.Failed) == 0 && !slices.ContainsFunc(h.Files, func(f file) bool { return f != file{} }) {
		return nil, nil //nolint:nilnil // nothing is kept as NULL
	}
	rest, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	text := string(rest)
	return &text, nil
}

// unfold gives a stored message as the model sees it: a call is followed by
// its result, also where none was stored.
func unfold(r messageRow) ([]llm.Message, error) {
	var dto Message
	var h hidden
	if err := json.Unmarshal([]byte(r.body), &dto); err != nil {
		return nil, fmt.Errorf("decode message: %w", err)
	}
	if r.hidden != nil {
		if err := json.Unmarshal([]byte(*r.hidden), &h); err != nil {
			return nil, fmt.Errorf("decode message: %w", err)
		}
	}
	if dto.Type == Human {
		return []llm.Message{unfoldHuman(dto, h)}, nil
	}
	m := llm.Message{Role: llm.Assistant, Content: dto.Content, Reasoning: dto.Reasoning}
	out := make([]llm.Message, 1, 1+len(dto.ToolCalls))
	for _, c := range dto.ToolCalls {
		m.ToolCalls = append(m.ToolCalls, tool.Call{ID: c.ID, Name: c.Name, Args: c.Args})
		result := llm.Message{Role: llm.Tool, ToolCallID: c.ID, ToolName: c.Name, Content: fromJSON(c.Output), Failed: slices.Contains(h.Failed, c.ID)}
		if c.Status != "done" {
			result.Content, result.Failed = Unfinished, true
		}
		out = append(out, result)
	}
	out[0] = m
	return out, nil
}

func unfoldHuman(dto Message, h hidden) llm.Message {
	m := llm.Message{Role: llm.User, Content: dto.Content}
	for i, a := range dto.Attachments {
		att := llm.Attachment{Filename: a.Filename, MIMEType: a.MIMEType, Size: a.Size, MXCURI: a.MXCURI, EventID: a.EventID}
		if i < len(h.Files) {
			att.Text, att.Note, att.URL = h.Files[i].Text, h.Files[i].Note, h.Files[i].URL
		}
		m.Attachments = append(m.Attachments, att)
	}
	return m
}

// Unfinished is the output of a tool that never finished.
const Unfinished = "⏱️ Tool did not complete"

// asJSON is the output of a tool as clients get it: JSON in a string.
func asJSON(output string) string {
	output = valid(output)
	if jsontext.Value(output).IsValid() {
		return output
	}
	quoted, err := jsontext.AppendQuote(nil, output)
	if err != nil {
		return `""` // cannot be: the text is valid
	}
	return string(quoted)
}

// fromJSON is what asJSON was given.
func fromJSON(output string) string {
	if strings.HasPrefix(output, `"`) {
		if text, err := jsontext.AppendUnquote(nil, output); err == nil {
			return string(text)
		}
	}
	return output
}

// shown is a message in the form that clients get: with emoji for shortcodes, as
// in the stream.
func shown(text string) string { return ReplaceEmoji(valid(text)) }

func valid(text string) string { return strings.ToValidUTF8(text, "�") }

// category says roughly what a file is, for the icon a client shows.
func category(mime string) string {
	kind, _, _ := strings.Cut(strings.ToLower(mime), "/")
	switch kind {
	case "image", "audio", "video":
		return kind
	}
	return "document"
}
