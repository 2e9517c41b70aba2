package llm

import "strings"

// thinking splits an answer that begins with <think>…</think>, the way in
// which many self-hosted models mix their reasoning into the text.
type thinking struct {
	state int // looking, inside, after
	held  string
}

const (
	looking = iota
	inside
	after
)

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// split takes the next piece of content. last means that there are no more:
// text that was held back as a possible mark is then plain text.
func (t *thinking) split(content string, last bool) (thought, said string) {
	if t.state == after {
		return "", content
	}
	t.held += content
	if t.state == looking {
		begun := strings.TrimLeft(t.held, " \r\n\t")
		switch {
		case strings.HasPrefix(begun, thinkOpen):
			t.state, t.held = inside, begun[len(thinkOpen):]
		case strings.HasPrefix(thinkOpen, begun) && !last:
			return "", ""
		default:
			t.state, said, t.held = after, t.held, ""
			return "", said
		}
	}
	if before, rest, ok := strings.Cut(t.held, thinkClose); ok {
		t.state, t.held = after, ""
		return before, strings.TrimLeft(rest, "\r\n")
	}
	keep := 0
	if !last {
		keep = overlap(t.held, thinkClose)
	}
	thought = t.held[:len(t.held)-keep]
	t.held = t.held[len(t.held)-keep:]
	return thought, ""
}

// rest gives text that is still held back when the stream ends.
func (t *thinking) rest() string {
	if t.state == looking {
		t.state = after
		return t.held
	}
	return ""
}

// overlap is the length of the longest end of s that mark begins with.
func overlap(s, mark string) int {
	for n := min(len(s), len(mark)-1); n > 0; n-- {
		if strings.HasSuffix(s, mark[:n]) {
			return n
		}
	}
	return 0
}
