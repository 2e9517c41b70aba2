package ops

import (
	"context"
	"io"
	"log/slog"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonLines writes a line of JSON for each record, with the members and the
// forms slog's own handler gives them. Every request writes one, so it cleans
// and renders in one go and leaves nothing behind for the collector.
type jsonLines struct {
	*redactor
	level slog.Leveler
	out   *lineWriter
	head  []byte // attributes of WithAttrs, rendered
	open  int    // groups that are open at the end of head
}

// lineWriter keeps lines of several goroutines apart, and buffers for lines to
// come.
type lineWriter struct {
	mu      sync.Mutex
	w       io.Writer
	buffers sync.Pool
}

var _ slog.Handler = (*jsonLines)(nil)

// maxLine is the size of the largest buffer that is kept.
const maxLine = 16 << 10

// Enabled compares the level.
func (h *jsonLines) Enabled(_ context.Context, l slog.Level) bool { return l >= h.level.Level() }

// Handle writes one line.
func (h *jsonLines) Handle(ctx context.Context, r slog.Record) error {
	p, ok := h.out.buffers.Get().(*[]byte)
	if !ok {
		p = new([]byte)
	}
	b := append((*p)[:0], `{"time":"`...)
	b = r.Time.UTC().AppendFormat(b, stamp)
	b = append(append(append(b, `","level":"`...), r.Level.String()...), `","msg":`...)
	b = quote(b, cleanText(r.Message, maxText))
	b = append(b, h.head...)
	if h.attrs != nil {
		for _, a := range h.attrs(ctx) {
			b = h.attr(b, a)
		}
	}
	r.Attrs(func(a slog.Attr) bool {
		b = h.attr(b, a)
		return true
	})
	for range h.open {
		b = append(b, '}')
	}
	b = append(b, '}', '\n')
	h.out.mu.Lock()
	_, err := h.out.w.Write(b)
	h.out.mu.Unlock()
	if cap(b) <= maxLine {
		*p = b
		h.out.buffers.Put(p)
	}
	return err
}

// WithAttrs renders attrs once, for all lines to come.
func (h *jsonLines) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.head = append([]byte(nil), h.head...)
	for _, a := range attrs {
		next.head = h.attr(next.head, a)
	}
	return &next
}

// WithGroup groups what follows. Keys inside a group must be known as well.
func (h *jsonLines) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	next := *h
	next.head = append(key(append([]byte(nil), h.head...), cleanText(name, 64)), '{')
	next.open++
	return &next
}

// attr adds a member, cleaned.
func (h *jsonLines) attr(b []byte, a slog.Attr) []byte {
	if a.Equal(slog.Attr{}) {
		return b
	}
	a = h.clean(a)
	if a.Value.Kind() == slog.KindGroup {
		return h.group(b, a)
	}
	return value(key(b, a.Key), a.Value)
}

// group adds a group; the members of a group without a name are added directly,
// and one without members is left out. Its values are already clean.
func (h *jsonLines) group(b []byte, a slog.Attr) []byte {
	members := a.Value.Group()
	if len(members) == 0 {
		return b
	}
	if a.Key != "" {
		b = append(key(b, a.Key), '{')
	}
	for _, m := range members {
		if m.Value.Kind() == slog.KindGroup {
			b = h.group(b, m)
		} else {
			b = value(key(b, m.Key), m.Value)
		}
	}
	if a.Key != "" {
		b = append(b, '}')
	}
	return b
}

// key begins a member.
func key(b []byte, name string) []byte {
	if n := len(b); n == 0 || b[n-1] != '{' {
		b = append(b, ',')
	}
	return append(quote(b, name), ':')
}

// value adds a clean value.
func value(b []byte, v slog.Value) []byte {
	switch v.Kind() {
	case slog.KindString:
		return quote(b, v.String())
	case slog.KindInt64:
		return strconv.AppendInt(b, v.Int64(), 10)
	case slog.KindUint64:
		return strconv.AppendUint(b, v.Uint64(), 10)
	case slog.KindBool:
		return strconv.AppendBool(b, v.Bool())
	case slog.KindDuration:
		return strconv.AppendInt(b, int64(v.Duration()), 10)
	case slog.KindFloat64:
		if f := v.Float64(); !math.IsInf(f, 0) && !math.IsNaN(f) {
			return strconv.AppendFloat(b, f, 'g', -1, 64)
		}
		return quote(b, strconv.FormatFloat(v.Float64(), 'g', -1, 64))
	case slog.KindTime:
		return append(v.Time().AppendFormat(append(b, '"'), time.RFC3339Nano), '"')
	}
	return append(b, "null"...) // clean leaves nothing else but nil
}

// quote adds a text. One that needs no care, as most, is copied.
func quote(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			out, _ := jsontext.AppendQuote(b, s) // broken UTF-8 has become U+FFFD all the same
			return out
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
