package llm

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n",
		"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"function\":{\"name\":\"n\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\r\n",
		": comment\n\ndata:{\"error\":{\"message\":\"x\",\"code\":500}}\n", "data: {\"usage\":{\"prompt_tokens\":1}}\ndata: [DONE]",
		"data: {\"choices\":[{\"delta\":{\"content\":[{\"text\":\"\xff\"}],\"reasoning\":3}}]}\n", "data: <think>\n", "data: {\"choices\":[{\"delta\":{\"content\":\"<think>a</think>b\"},\"finish_reason\":\"stop\"}]}\n\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		read := func(from io.Reader) (string, error) {
			var b strings.Builder
			s := &stream{each: func(d Delta) error {
				b.WriteString(d.Text + "|" + d.Reasoning + "|" + d.Finish)
				for _, c := range d.ToolCalls {
					b.WriteString(c.ID + c.Name + string(c.Args))
				}
				return nil
			}}
			err := s.read(from)
			return b.String(), err
		}
		whole, err := read(strings.NewReader(raw))
		var ours *Error
		var lost *lostError
		if err != nil && !errors.As(err, &ours) && !errors.As(err, &lost) {
			t.Errorf("error = %v (%T), want one of ours", err, err)
		}
		if got, again := read(iotest.OneByteReader(strings.NewReader(raw))); got != whole || (err == nil) != (again == nil) {
			t.Errorf("whole: %q %v, byte by byte: %q %v", whole, err, got, again)
		}
	})
}

// The calls of an answer are bounded one by one and all together: each is kept
// until the answer ends, and stored with it.
func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	call := func(name string, index, size int) string {
		return fmt.Sprintf(`data: {"choices":[{"delta":{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"%s","arguments":"%s"}}]}}]}`+"\n\n",
			index, index, name, strings.Repeat("x", size))
	}
	for _, tt := range []struct {
		name               string
		calls, named, size int
		ok                 bool
	}{
		{"one that is long", 1, 1, 1 << 20, true},
		{"one that is too long", 1, 1, 1<<20 + 1, false},
		{"a few that are long", 3, 1, 1 << 20, true},
		{"many that are too long together", 5, 1, 1 << 20, false},
		{"many short ones", 128, 1, 1 << 10, true},
		{"names that are too long together", 5, 1 << 20, 1, false},
	} {
		var raw strings.Builder
		for i := range tt.calls {
			raw.WriteString(call(strings.Repeat("n", tt.named), i, tt.size))
		}
		raw.WriteString("data: [DONE]\n\n")
		var ours *Error
		err := (&stream{each: func(Delta) error { return nil }}).read(strings.NewReader(raw.String()))
		if (err == nil) != tt.ok || err != nil && !errors.As(err, &ours) {
			t.Errorf("%s: %v, want it taken: %v", tt.name, err, tt.ok)
		}
	}
}

func FuzzThinking(f *testing.F) {
	f.Add("<think>a</think>b", 3)
	f.Add("<thin", 1)
	f.Add(" <think>x</thi", 2)
	f.Fuzz(func(t *testing.T, content string, size int) {
		if size < 1 || size > 100 {
			return
		}
		split := func(size int) (thought, said string) {
			var one thinking
			for rest := content; len(rest) > 0; {
				n := min(size, len(rest))
				a, b := one.split(rest[:n], n == len(rest))
				thought, said, rest = thought+a, said+b, rest[n:]
			}
			return thought, said + one.rest()
		}
		thought, said := split(size)
		whole, all := split(max(len(content), 1))
		// Newlines after the mark are dropped only in the piece that has it.
		if thought != whole || strings.TrimLeft(said, "\r\n") != strings.TrimLeft(all, "\r\n") {
			t.Errorf("in pieces of %d: %q %q, whole: %q %q", size, thought, said, whole, all)
		}
	})
}

func BenchmarkStream100Tokens(b *testing.B) {
	raw := strings.Repeat("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" token\"},\"logprobs\":null,\"finish_reason\":null}]}\n\n", 100) +
		"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		s := &stream{each: func(Delta) error { n++; return nil }}
		if err := s.read(strings.NewReader(raw)); err != nil || n != 101 {
			b.Fatal(n, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/token")
}
