package modeltest

import (
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Player plays one answer.
type Player struct {
	w       http.ResponseWriter
	r       *http.Request
	rc      *http.ResponseController
	started bool
}

// line sends one event.
func (p *Player) line(data string) bool {
	if !p.started {
		p.w.Header().Set("Content-Type", "text/event-stream")
		p.w.WriteHeader(http.StatusOK)
		p.started = true
	}
	_, err := io.WriteString(p.w, "data: "+data+"\n\n")
	return err == nil && p.rc.Flush() == nil
}

func (p *Player) delta(name string, value any) bool {
	return p.line(chunkOf(map[string]any{name: value}, ""))
}

func chunkOf(delta any, finish string) string {
	choice := map[string]any{"index": 0, "delta": delta, "finish_reason": nil}
	if finish != "" {
		choice["finish_reason"] = finish
	}
	raw, err := json.Marshal(map[string]any{"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "scripted", "choices": []any{choice}}, json.Deterministic(true))
	if err != nil {
		return "{}"
	}
	return string(raw)
}

// Text sends text, one word at a time.
func Text(text string) Step {
	return func(p *Player) bool {
		for word := range strings.SplitAfterSeq(text, " ") {
			// By hand: benchmarks count what this costs.
			quoted, err := jsontext.AppendQuote(nil, word)
			if err != nil || !p.line(`{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"scripted","choices":[{"index":0,"delta":{"content":`+string(quoted)+`},"finish_reason":null}]}`) {
				return false
			}
		}
		return true
	}
}

// Reasoning sends a thought under a field name: reasoning_content or reasoning.
func Reasoning(field, text string) Step {
	return func(p *Player) bool { return p.delta(field, text) }
}

// Call is a tool call to be sent.
type Call struct{ ID, Name, Args string }

// Calls sends tool calls in fragments of size bytes, interleaved as servers do
// that answer in parallel; size 0 sends each call whole.
func Calls(size int, calls ...Call) Step {
	return func(p *Player) bool {
		type part struct {
			Index    int            `json:"index"`
			ID       string         `json:"id,omitzero"`
			Function map[string]any `json:"function"`
		}
		rest := make([]string, len(calls))
		for i, c := range calls {
			first := c.Args
			if size > 0 {
				first, rest[i] = "", c.Args
			}
			if !p.delta("tool_calls", []part{{i, c.ID, map[string]any{"name": c.Name, "arguments": first}}}) {
				return false
			}
		}
		for more := true; more; {
			more = false
			for i := range rest {
				n := min(size, len(rest[i]))
				if n == 0 {
					continue
				}
				for n < len(rest[i]) && !utf8.RuneStart(rest[i][n]) {
					n++
				}
				more = true
				if !p.delta("tool_calls", []part{{Index: i, Function: map[string]any{"arguments": rest[i][:n]}}}) {
					return false
				}
				rest[i] = rest[i][n:]
			}
		}
		return true
	}
}

// Finish sends the reason why the model stopped, the usage and the end of the
// stream.
func Finish(reason string) Step {
	return func(p *Player) bool {
		return p.line(chunkOf(map[string]any{}, reason)) &&
			p.line(`{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":2},"completion_tokens_details":{"reasoning_tokens":1}}}`) &&
			p.line("[DONE]")
	}
}

// Raw sends bytes unchanged.
func Raw(text string) Step {
	return func(p *Player) bool {
		p.started = true
		_, err := io.WriteString(p.w, text)
		return err == nil && p.rc.Flush() == nil
	}
}

// Refuse answers with a status and an error object. retryAfter may be empty.
func Refuse(status int, code, message, retryAfter string) Step {
	return func(p *Player) bool {
		if retryAfter != "" {
			p.w.Header().Set("Retry-After", retryAfter)
		}
		p.w.Header().Set("Content-Type", "application/json")
		p.w.WriteHeader(status)
		body, _ := json.Marshal(map[string]any{"error": map[string]any{"message": message, "code": code, "type": code}})
		_, _ = p.w.Write(body)
		return false
	}
}

// JSON answers with a whole completion instead of a stream.
func JSON(body jsontext.Value) Step {
	return func(p *Player) bool {
		p.w.Header().Set("Content-Type", "application/json")
		_, _ = p.w.Write(body)
		return false
	}
}

// Break cuts the connection.
func Break() Step {
	return func(p *Player) bool {
		if conn, _, err := p.rc.Hijack(); err == nil {
			_ = conn.Close()
		}
		return false
	}
}

// Hang sends nothing more until the client leaves.
func Hang() Step {
	return func(p *Player) bool {
		<-p.r.Context().Done()
		return false
	}
}

// Wait sends nothing until ch receives a value or the client leaves.
func Wait(ch <-chan struct{}) Step {
	return func(p *Player) bool {
		select {
		case <-ch:
			return true
		case <-p.r.Context().Done():
			return false
		}
	}
}

// Pause sends nothing for a while, like a slow model.
func Pause(d time.Duration) Step {
	return func(p *Player) bool {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return true
		case <-p.r.Context().Done():
			return false
		}
	}
}

// Say is a whole script: text and a proper end.
func Say(text string) Script { return Script{Text(text), Finish("stop")} }

// Use is a whole script: tool calls and a proper end.
func Use(calls ...Call) Script { return Script{Calls(5, calls...), Finish("tool_calls")} }
