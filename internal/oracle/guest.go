package oracle

import (
	"context"
	"crypto/sha256"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Guest is a caller of a route that speaks another protocol. The same runs
// answer guests as answer every message, with the same limits.
type Guest struct {
	s *Service
	w http.ResponseWriter
	r *http.Request
	q *request
}

// Welcome admits authenticated callers, with a body of at most limit bytes.
// Such a body may be larger than ours, so it is read only after authentication.
func (d Door) Welcome(limit int64, h func(g *Guest, body []byte) error) web.HandlerFunc {
	return d.s.known(func(w http.ResponseWriter, r *http.Request, q *request) error {
		// Pages of others can send texts with the session of a browser, but no JSON.
		if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
			return fault.New(fault.Unsupported, "UNSUPPORTED_MEDIA_TYPE", "The body must be application/json.")
		}
		raw, err := readRaw(w, r, limit)
		if err != nil {
			return err
		}
		if _, err := readJSON(raw); err != nil {
			return err
		}
		return h(&Guest{d.s, w, r, q}, raw)
	}, nil)
}

// Context ends when the guest leaves.
func (g *Guest) Context() context.Context { return g.r.Context() }

// User is the name under which the guest has conversations.
func (g *Guest) User() string { return g.q.user() }

// Ask is a guest's message.
type Ask struct {
	Session     string
	Text        string
	Attachments []llm.Attachment
	Results     []HandedResult // of calls that an earlier run handed over
	Tools       []HandedTool   // the guest's own, for this message
	Model       string
	Timezone    string
	Metadata    jsontext.Value // an object, or nothing
	Key         string         // two messages of a session with the same one are the same
}

// HandedTool is a tool that the guest runs: a call of it ends the run, and the
// next message brings its result.
type HandedTool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Schema      jsontext.Value `json:"schema"`
}

// HandedResult is the result of a call that was handed to the guest.
type HandedResult struct {
	CallID string
	Tool   string
	Output string
	Failed bool
}

// said is the message as it is stored: it includes the results, so that they
// can be read in the conversation.
func (a *Ask) said() string {
	var lines []string
	for _, r := range a.Results {
		lines = append(lines, r.Line())
	}
	if a.Text != "" {
		lines = append(lines, a.Text)
	}
	return strings.Join(lines, "\n")
}

// How the line of a result begins and continues.
const (
	lineStart  = "Result of "
	lineFailed = "Failure of "
)

// Line formats the result as one line of a message.
func (r HandedResult) Line() string {
	start := lineStart
	if r.Failed {
		start = lineFailed
	}
	output := jsontext.Value(r.Output)
	if !output.IsValid() || output.Compact() != nil {
		output = encoded(strings.ToValidUTF8(r.Output, "\uFFFD"))
	}
	return start + r.Tool + " (" + r.CallID + "): " + string(output)
}

// ReadResult parses a line that Line has written; ok is false for any other
// line.
func ReadResult(line string) (r HandedResult, ok bool) {
	rest, ok := strings.CutPrefix(line, lineStart)
	if !ok {
		if rest, ok = strings.CutPrefix(line, lineFailed); !ok {
			return r, false
		}
		r.Failed = true
	}
	head, output, ok := strings.Cut(rest, "): ")
	if !ok {
		return r, false
	}
	if r.Tool, r.CallID, ok = strings.Cut(head, " ("); !ok {
		return r, false
	}
	r.Output = output
	if jsontext.Value(output).Kind() == '"' {
		var text string
		if json.Unmarshal([]byte(output), &text) == nil {
			r.Output = text
		}
	}
	return r, true
}

// fill puts the results of calls that were handed over into a history, which has
// only the word that they come later: those that came with this message, and
// those that came with earlier ones. A model must not take what a tool gave for
// the words of its user.
func (t *turn) fill(history []llm.Message) []llm.Message {
	handed := map[string]int{}
	for i := range history {
		if m := &history[i]; m.Role == llm.Tool && m.Content == tool.HandedText {
			handed[m.ToolCallID] = i
		}
	}
	if len(handed) == 0 {
		return history
	}
	out := slices.Clone(history) // the history is shared
	put := func(r HandedResult) (ok bool) {
		i, ok := handed[r.CallID]
		if ok {
			out[i].Content, out[i].Failed = r.Output, r.Failed
		}
		return ok
	}
	for i := range out {
		if out[i].Role == llm.User {
			out[i].Content = takeResults(out[i].Content, put)
		}
	}
	for _, r := range t.results {
		put(r)
	}
	return slices.DeleteFunc(out, func(m llm.Message) bool { // it brought results and nothing else
		return m.Role == llm.User && m.Content == "" && len(m.Attachments) == 0
	})
}

// takeResults takes the results that a message begins with out of it, as long as
// put takes them.
func takeResults(text string, put func(HandedResult) bool) string {
	for text != "" {
		line, rest, _ := strings.Cut(text, "\n")
		r, ok := ReadResult(line)
		if !ok || !put(r) {
			break
		}
		text = rest
	}
	return text
}

// Itself refuses guests who came only with a delegation that gives less than
// everything.
func (g *Guest) Itself() error { return g.s.confirms.itself(g.Context(), g.q.who) }

// Say sends a message: when it returns, the message is stored and the work on it
// has begun, or had begun before for a message with the same key. It refuses a
// tool whose name is taken, and everything that is refused of any message.
func (g *Guest) Say(ctx context.Context, a Ask) (run.Started, error) {
	s := g.s
	known := tool.With(ctx, tool.Context{User: g.q.who.DID, Signer: g.q.who.Signer, Caller: g.q.who.Key, Preview: true})
	tools, err := handed(a.Tools, s.cfg.Tools.ForRun(known))
	if err != nil {
		return run.Started{}, err
	}
	m := &message{Text: a.Text, Stream: true, Model: a.Model, Attachments: a.Attachments, Timezone: a.Timezone, Metadata: a.Metadata}
	t := &turn{
		who: g.q.who, user: g.User(), session: a.Session, message: m, declared: declaration{handed: tools}, about: s.about(g.r, g.q, m), results: a.Results,
	}
	t.about.SessionID = a.Session
	begin := run.Start{User: t.user, Session: t.session, Message: t.said(), RequestID: web.RequestID(ctx), Key: a.Key}
	begin.Message.Content = a.said()
	hash := sha256.Sum256([]byte(begin.Message.Content))
	begin.Hash = hash[:]
	if err := t.admit(ctx, s); err != nil {
		return run.Started{}, err
	}
	defer t.release(ctx, s)
	started, err := s.start(ctx, begin, t)
	if err == nil && !started.Joined {
		s.announce(ctx, t, started, false)
	}
	return started, err
}

// handed checks the tools of a guest by the rules for those of pages.
func handed(list []HandedTool, taken []tool.Tool) ([]declared, error) {
	var bad fault.Checks
	if list == nil {
		list = []HandedTool{}
	}
	o := newObject("", members{"tools": encoded(list)}, &bad, "tools")
	return readDeclared(o, "tools", namesOf(taken)), o.err()
}

// Place reserves a place for a stream; leave gives it back.
func (g *Guest) Place() (leave func(), err error) { return g.s.places.take(g.User()) }

// Open begins the stream of a run, or of none with "". The returned function
// writes to it, and buffers data that is followed by more.
func (g *Guest) Open(runID, requestID string) func(data []byte, more bool) error {
	out := openStream(g.w, g.r, runID, requestID)
	return func(data []byte, more bool) error { return out.frame(run.Frame{Data: data, More: more}) }
}

// Follow passes the whole frames of a run to out from the first on, like Join of
// package run, for as long as the guest's credential counts.
func (g *Guest) Follow(ctx context.Context, runID string, out func(run.Frame) error) error {
	if !g.q.who.Signed() {
		inner, cut := context.WithCancel(ctx)
		defer cut()
		defer g.s.cfg.Callers.Watch(inner, g.q.who, g.s.cfg.Recheck, func() bool { cut(); return true })()
		ctx = inner
	}
	return g.s.cfg.Runs.Join(ctx, g.User(), runID, 0, run.Whole(out))
}
