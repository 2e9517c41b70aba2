package ops

import (
	"context"
	"io"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Forms of the log.
const (
	FormatAuto = "auto" // text on a terminal, JSON elsewhere
	FormatJSON = "json"
	FormatText = "text"
)

// redacted replaces the value of a field that is not known to be harmless.
const redacted = "[redacted]"

// maxText is the longest text value of a log line in bytes, maxError that of
// an error, which holds a chain of reasons.
const (
	maxText  = 512
	maxError = 2048
)

// LogConfig says how to log. The zero value writes JSON from info upwards and
// discards it.
type LogConfig struct {
	Writer io.Writer  // nil discards
	Level  slog.Level // least level; NewLog returns the variable that changes it
	Format string     // auto, json or text
	// Attrs returns attributes for every line of a context, such as the request
	// id. Its keys must be known ones too.
	Attrs func(context.Context) []slog.Attr
	Allow []string // further known keys
}

// NewLog makes a logger and the variable that holds its level. Only known keys
// show their values (see KnownKeys); any other value is replaced, so that a
// careless log line cannot leak a PIN, a phone number or a token.
func NewLog(c LogConfig) (*slog.Logger, *slog.LevelVar) {
	level := new(slog.LevelVar)
	level.Set(c.Level)
	if c.Writer == nil {
		return slog.New(slog.DiscardHandler), level
	}
	known := make(map[string]bool)
	for _, key := range slices.Concat(KnownKeys(), c.Allow) {
		known[key] = true
	}
	h := &redactor{known: known, attrs: c.Attrs}
	if c.Format == FormatText || (c.Format == FormatAuto && IsTerminal(c.Writer)) {
		h.inner = slog.NewTextHandler(c.Writer, &slog.HandlerOptions{Level: level, ReplaceAttr: utcTime})
		return slog.New(h), level
	}
	return slog.New(&jsonLines{redactor: h, level: level, out: &lineWriter{w: c.Writer}}), level
}

// stamp is the form of times: UTC with milliseconds.
const stamp = "2006-01-02T15:04:05.000Z"

// KnownKeys lists the attribute keys whose values may be logged. A key belongs
// here when its values are bounded and never hold personal data or secrets.
func KnownKeys() []string {
	return []string{
		// the request
		"request_id", "method", "route", "status", "duration_ms", "bytes", "dialect", "trace_id", "span_id",
		"client", "workspace", "key", "did_hash", "idempotent", "user_agent",
		// what went wrong
		"code", "kind", "err", "panic", "stack", "reason", "field",
		// the process
		"version", "commit", "go", "os", "arch", "pid", "environment", "areas", "listener", "address", "port", "url", "docs",
		"data_dir", "file", "setting", "warning", "signal", "timeout", "uptime", "memory_limit", "gc_percent", "max_procs",
		// storage, jobs, events
		"store", "durability", "migration", "schema", "instances", "certificate", "job", "job_id", "attempt", "attempts", "worker", "queue", "event", "event_type",
		"seq", "from", "to", "again", "callers", "topic", "removed", "webhook", "delivery", "backup", "count", "size", "limit", "rows", "batch", "wait_ms", "state", "next",
		// the areas
		"area", "node", "gateway", "menu", "oracle", "oracle_did", "model", "tool", "run", "plugin", "action",
	}
}

// utcTime writes the time of a line in UTC with milliseconds.
func utcTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey && a.Value.Kind() == slog.KindTime {
		return slog.String(slog.TimeKey, a.Value.Time().UTC().Format(stamp))
	}
	return a
}

// IsTerminal reports whether v is a character device, with a person at its other
// end.
func IsTerminal(v any) bool {
	f, ok := v.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// redactor passes known attributes on, cut and escaped, and replaces the
// values of all others.
type redactor struct {
	inner slog.Handler
	known map[string]bool // never changed
	attrs func(context.Context) []slog.Attr
}

var _ slog.Handler = (*redactor)(nil)

// Enabled asks the handler below.
func (h *redactor) Enabled(ctx context.Context, l slog.Level) bool { return h.inner.Enabled(ctx, l) }

// Handle writes one line.
func (h *redactor) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, cleanText(r.Message, maxText), 0)
	if h.attrs != nil {
		for _, a := range h.attrs(ctx) {
			clean.AddAttrs(h.clean(a))
		}
	}
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.clean(a))
		return true
	})
	return h.inner.Handle(ctx, clean)
}

// WithAttrs cleans attrs once, for all lines to come.
func (h *redactor) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		out[i] = h.clean(a)
	}
	return &redactor{inner: h.inner.WithAttrs(out), known: h.known, attrs: h.attrs}
}

// WithGroup groups what follows. Keys inside a group must be known as well.
func (h *redactor) WithGroup(name string) slog.Handler {
	return &redactor{inner: h.inner.WithGroup(cleanText(name, 64)), known: h.known, attrs: h.attrs}
}

func (h *redactor) clean(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		group := v.Group()
		out := make([]slog.Attr, len(group))
		for i, g := range group {
			out[i] = h.clean(g)
		}
		return slog.Attr{Key: cleanText(a.Key, 64), Value: slog.GroupValue(out...)}
	}
	if !h.known[a.Key] {
		// The key is code, not data; but a formatted one could be anything.
		return slog.String(cleanText(a.Key, 64), redacted)
	}
	return slog.Attr{Key: a.Key, Value: cleanValue(v)}
}

// cleanValue keeps numbers, truths and times; text is cut and escaped. A value
// of any other type would be printed whole, with every field it has, so only
// errors and texts pass.
func cleanValue(v slog.Value) slog.Value {
	switch v.Kind() {
	case slog.KindString:
		return slog.StringValue(cleanText(v.String(), maxText))
	case slog.KindAny:
		switch x := v.Any().(type) {
		case nil:
			return v
		case error:
			return slog.StringValue(cleanText(x.Error(), maxError))
		case []string:
			return slog.StringValue(cleanText(strings.Join(x, ","), maxText))
		case []byte:
			// A stack trace is made of our own function names.
			return slog.StringValue(cleanLines(string(x), 8*maxError))
		case interface{ String() string }:
			return slog.StringValue(cleanText(x.String(), maxText))
		}
		return slog.StringValue(redacted)
	}
	return v
}

// cleanText makes s safe for one line: control characters become visible
// escapes, invalid UTF-8 becomes U+FFFD, and text beyond limit bytes is cut. It
// scrubs before it cuts, so that half a number does not remain.
func cleanText(s string, limit int) string {
	if len(s) <= limit && isToken(s) {
		return s
	}
	s = scrub(s)
	cut := len(s) > limit
	if cut {
		for limit > 0 && !utf8.RuneStart(s[limit]) {
			limit--
		}
		s = s[:limit]
	}
	if !cut && !strings.ContainsFunc(s, unsafeRune) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unsafeRune(r) {
			b.WriteString(escape(r))
			continue
		}
		b.WriteRune(r)
	}
	if cut {
		b.WriteString("…")
	}
	return b.String()
}

// isToken reports whether s is made of characters that need no care, as ids,
// methods and routes are. Most values of a log line are.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c > '~' || c == '+' || c == '@' {
			return false
		}
	}
	return true
}

// cleanLines is cleanText for text of several lines, which are parted by " | ".
func cleanLines(s string, limit int) string {
	return cleanText(strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(s), "\n", " | "), "\t", ""), limit)
}

// unsafeRune finds what could break a line, move a cursor or reorder text on a
// screen.
func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

// escape writes r the way Go source does: \n, \u202e.
func escape(r rune) string {
	return strings.Trim(strconv.QuoteRuneToASCII(r), "'")
}

// What slips into the text of errors and messages although no field is meant
// for it: numbers of people, credentials in headers and in addresses.
var (
	phonePattern  = regexp.MustCompile(`\+[1-9][0-9]{7,14}\b`)
	bearerPattern = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}`)
	userPattern   = regexp.MustCompile(`://[^/\s@]+@`)
)

// scrub removes them. The patterns run only on text that can hold a match.
func scrub(s string) string {
	if strings.Contains(s, "+") {
		s = phonePattern.ReplaceAllString(s, "[phone]")
	}
	if strings.Contains(s, "earer") || strings.Contains(s, "EARER") || strings.Contains(s, "asic") || strings.Contains(s, "ASIC") {
		s = bearerPattern.ReplaceAllString(s, "$1 "+redacted)
	}
	if strings.Contains(s, "://") && strings.Contains(s, "@") {
		s = userPattern.ReplaceAllString(s, "://"+redacted+"@")
	}
	return s
}
