package llm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// Limits of the offline model.
const (
	maxShown = 4000             // bytes of a tool's output it repeats
	maxWords = 10_000           // words of /slow
	maxPause = 10 * time.Second // between two of them
	maxTitle = 60               // characters of a title
)

// Offline is the model that works without a network. The same conversation
// always gets the same answer. It calls tools by command, knows a few plain
// questions, and never pretends to be a language model.
type Offline struct {
	// Pause before each word; 0: none.
	Pause time.Duration
}

var _ Model = Offline{}

// Stream answers word by word.
func (o Offline) Stream(ctx context.Context, r Request, each func(Delta) error) error {
	w := &speaker{pause: o.Pause, each: each}
	for i := range r.Messages {
		w.usage.Input += words(r.Messages[i].Content)
	}
	switch r.Purpose {
	case Summary:
		return w.say(ctx, "Earlier messages were left out: the offline model cannot summarise.")
	case Title:
		return w.say(ctx, titleOf(r.Messages))
	}
	if r.Customer != "" {
		return o.serve(ctx, w, r)
	}
	last := len(r.Messages) - 1
	for last >= 0 && r.Messages[last].Role == System {
		last--
	}
	switch {
	case last < 0:
		return w.say(ctx, help(r.Tools))
	case r.Messages[last].Role == Tool:
		return w.say(ctx, results(r.Messages, last))
	case strings.HasPrefix(strings.TrimSpace(r.Messages[last].Content), "/"):
		return o.command(ctx, w, r, strings.TrimSpace(r.Messages[last].Content))
	}
	said := english(strings.TrimSpace(r.Messages[last].Content))
	if !r.NoTools {
		call, ok := intent(said, r.Tools)
		if !ok && moreWord.MatchString(said) {
			if call, ok = goOn(r.Messages[:last]); !ok {
				return w.say(ctx, languageOf(lastSaid(r.Messages)).say(sayNoMore))
			}
		}
		if ok {
			return w.call(ctx, call)
		}
	}
	if helpWord.MatchString(said) {
		return w.say(ctx, helpSwahili(r.Tools))
	}
	return w.say(ctx, files(r.Messages[last].Attachments)+misunderstood(said)+help(r.Tools))
}

// words is about how many words a text has. Whole conversations are counted for each
// answer, and gaps are found faster than words.
func words(s string) int {
	if s == "" {
		return 0
	}
	return 1 + strings.Count(s, " ") + strings.Count(s, "\n")
}

// misunderstood says what was not understood.
func misunderstood(said string) string {
	said = strings.Join(strings.Fields(said), " ")
	if said == "" || strings.EqualFold(strings.Trim(said, ".?! "), "help") {
		return ""
	}
	if r := []rune(said); len(r) > maxTitle {
		said = string(r[:maxTitle]) + "…"
	}
	return "I did not understand " + strconv.Quote(said) + ".\n\n"
}

// files lists what came with a message, and what could be read of it.
func files(list []Attachment) string {
	var b strings.Builder
	for _, a := range list {
		b.WriteString(strconv.Quote(a.Filename) + ": ")
		switch n := utf8.RuneCountInString(a.Text); {
		case n > 0:
			b.WriteString(strconv.Itoa(n) + " characters of text, which the offline model does not understand")
		case a.Note != "":
			b.WriteString(a.Note)
		default:
			b.WriteString("nothing to read")
		}
		b.WriteString(".\n\n")
	}
	return b.String()
}

// command obeys a message that begins with a slash.
func (o Offline) command(ctx context.Context, w *speaker, r Request, line string) error {
	word := strings.Fields(line)[0]
	rest := strings.TrimSpace(line[len(word):])
	switch strings.ToLower(word) {
	case "/tool":
		if rest == "" {
			return w.say(ctx, "Write /tool name {json}.")
		}
		name := strings.Fields(rest)[0]
		args := cmp.Or(strings.TrimSpace(rest[len(name):]), "{}")
		return w.call(ctx, tool.Call{Name: name, Args: jsontext.Value(args)})
	case "/tools":
		var list []struct {
			Name string         `json:"name"`
			Args jsontext.Value `json:"args"`
		}
		if err := json.Unmarshal([]byte(rest), &list); err != nil || len(list) == 0 {
			return w.say(ctx, `Write /tools [{"name":"…","args":{…}}, …].`)
		}
		var calls []tool.Call
		for _, c := range list {
			if len(c.Args) == 0 {
				c.Args = emptyArgs()
			}
			calls = append(calls, tool.Call{Name: c.Name, Args: c.Args})
		}
		return w.call(ctx, calls...)
	case "/echo":
		return w.say(ctx, rest)
	case "/think":
		if err := w.each(Delta{Reasoning: rest}); err != nil {
			return err
		}
		return w.say(ctx, "The built-in offline model has repeated this as its reasoning.")
	case "/slow":
		return slow(ctx, w, rest)
	case "/fail":
		return fail(Kind(rest))
	case "/help":
		return w.say(ctx, help(r.Tools))
	}
	if r := []rune(word); len(r) > maxTitle {
		word = string(r[:maxTitle]) + "…"
	}
	return w.say(ctx, "There is no command "+strconv.Quote(word)+".\n\n"+help(r.Tools))
}

// slow says numbered words with a pause before each: /slow 100ms 50.
func slow(ctx context.Context, w *speaker, rest string) error {
	span, number, _ := strings.Cut(rest, " ")
	pause, err := time.ParseDuration(span)
	n, failed := strconv.Atoi(strings.TrimSpace(number))
	if err != nil || failed != nil || pause < 0 || pause > maxPause || n < 1 || n > maxWords {
		return w.say(ctx, "Write /slow and the pause and number of words, such as /slow 100ms 50.")
	}
	w.pause = pause
	words := make([]string, n)
	for i := range words {
		words[i] = "word" + strconv.Itoa(i+1)
	}
	return w.say(ctx, strings.Join(words, " "))
}

// fail fails in one of the documented ways, for developers of clients.
func fail(k Kind) error {
	statuses := map[Kind]int{Billing: 402, RateLimit: 429, Auth: 401, Timeout: 504, Server: 503, Network: 0}
	status, ok := statuses[k]
	if !ok {
		k, status = Unknown, 500
	}
	return &Error{Kind: k, Status: status, Retryable: k != Billing && k != Auth && k != Unknown, Detail: "The offline model was asked to fail."}
}

// speaker says things word by word.
type speaker struct {
	pause time.Duration
	each  func(Delta) error
	usage Usage
}

func (w *speaker) say(ctx context.Context, answer string) error {
	for len(answer) > 0 {
		n := strings.IndexByte(answer, ' ') + 1
		if n == 0 {
			n = len(answer)
		}
		if w.pause > 0 {
			if err := wait(ctx, w.pause); err != nil {
				return err
			}
		} else if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := w.each(Delta{Text: answer[:n]}); err != nil {
			return err
		}
		w.usage.Output++
		answer = answer[n:]
	}
	return w.each(Delta{Usage: &w.usage, Finish: "stop"})
}

func (w *speaker) call(ctx context.Context, calls ...tool.Call) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	w.usage.Output += len(calls)
	return w.each(Delta{ToolCalls: calls, Usage: &w.usage, Finish: "tool_calls"})
}

// results reports the outputs of the tools of the last round.
func results(messages []Message, last int) string {
	first := last
	for first > 0 && messages[first-1].Role == Tool {
		first--
	}
	given := messages[first : last+1]
	if commanded(messages[:first]) {
		return verbatim(given)
	}
	l := languageOf(lastSaid(messages[:first]))
	var parts, names []string
	for _, m := range given {
		name := cmp.Or(m.ToolName, "a tool")
		names = append(names, name)
		text := shown(l.table(m.Content))
		if m.Failed {
			text = l.say(sayFailed) + l.refusal(shown(m.Content))
		}
		parts = append(parts, text)
	}
	parts = append(parts, fmt.Sprintf(l.say(sayHow), strings.Join(names, ", ")))
	return strings.Join(parts, "\n\n")
}

// verbatim passes on the outputs of tools, for users who have called them by a
// command.
func verbatim(given []Message) string {
	var b strings.Builder
	b.WriteString("I am the built-in offline model: I pass on what tools say.")
	for _, m := range given {
		name, does := cmp.Or(m.ToolName, "The tool"), " answered:\n"
		if m.Failed {
			does = " failed: "
		}
		b.WriteString("\n\n" + name + does + shown(m.Content))
	}
	return b.String()
}

// commanded reports whether the tools were called by a command: then the user
// wants their raw output.
func commanded(messages []Message) bool { return strings.HasPrefix(lastSaid(messages), "/") }

// lastSaid is what the user said last.
func lastSaid(messages []Message) string {
	for _, m := range slices.Backward(messages) {
		if m.Role == User {
			return strings.TrimSpace(m.Content)
		}
	}
	return ""
}

func shown(s string) string {
	if len(s) > maxShown {
		return strings.ToValidUTF8(s[:maxShown], "") + "…"
	}
	return s
}

// titleOf is the beginning of the first thing the user said.
func titleOf(messages []Message) string {
	for _, m := range messages {
		if m.Role != User {
			continue
		}
		title := []rune(strings.Join(strings.Fields(m.Content), " "))
		if len(title) > maxTitle {
			cut := strings.TrimSpace(string(title[:maxTitle-1]))
			return cut + "…"
		}
		if len(title) > 0 {
			return string(title)
		}
	}
	return "Untitled"
}
