package ops

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"math"
	"testing"
	"time"
)

// both gives our handler and slog's own behind the same rules.
func both(ours, theirs io.Writer) (mine, reference *slog.Logger) {
	attrs := func(context.Context) []slog.Attr { return []slog.Attr{slog.String("request_id", "r-1")} }
	mine, _ = NewLog(LogConfig{Writer: ours, Format: FormatJSON, Attrs: attrs})
	known := map[string]bool{}
	for _, k := range KnownKeys() {
		known[k] = true
	}
	inner := slog.NewJSONHandler(theirs, &slog.HandlerOptions{ReplaceAttr: utcTime})
	return mine, slog.New(&redactor{inner: inner, known: known, attrs: attrs})
}

// TestJSONLinesAreSlogs holds our lines against those of slog's own handler.
func TestJSONLinesAreSlogs(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.FixedZone("x", 3600))
	var err error
	for name, attrs := range map[string][]slog.Attr{
		"none":     nil,
		"texts":    {slog.String("method", "GET"), slog.String("route", `a"b\c`), slog.String("client", "línea\n\u2028<&>"), slog.String("key", "\xff")},
		"numbers":  {slog.Int("status", -7), slog.Uint64("bytes", math.MaxUint64), slog.Float64("duration_ms", 1.25), slog.Bool("again", true)},
		"floats":   {slog.Float64("duration_ms", 0), slog.Float64("size", 1e21), slog.Float64("limit", 3)},
		"times":    {slog.Time("next", at), slog.Duration("timeout", 3*time.Second)},
		"errors":   {slog.Any("err", errors.New("no such table")), slog.Any("reason", err), slog.Any("topic", []string{"a", "b"}), slog.Any("state", map[string]int{"a": 1})},
		"unknown":  {slog.String("pin", "12345"), slog.Int("phone", 254700)},
		"groups":   {slog.Group("area", slog.String("node", "x"), slog.Group("menu", slog.Int("count", 1)), slog.String("pin", "1")), slog.Group("run"), slog.Int("rows", 2)},
		"no names": {slog.Group("", slog.Int("rows", 1), slog.Int("count", 2)), slog.Int("seq", 3)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for step, with := range []func(*slog.Logger) *slog.Logger{
				func(l *slog.Logger) *slog.Logger { return l },
				func(l *slog.Logger) *slog.Logger { return l.With("job", "j", "secret", "s") },
				func(l *slog.Logger) *slog.Logger { return l.With("job", "j").WithGroup("area").With("node", 1) },
			} {
				var got, want bytes.Buffer
				mine, reference := both(&got, &want)
				r := slog.NewRecord(at, slog.LevelWarn, "a \"message\"", 0)
				r.AddAttrs(attrs...)
				for _, l := range []*slog.Logger{mine, reference} {
					if err := with(l).Handler().Handle(t.Context(), r); err != nil {
						t.Fatal(err)
					}
				}
				if got.String() != want.String() {
					t.Errorf("step %d:\n%swant\n%s", step, got.String(), want.String())
				}
			}
		})
	}
}

func BenchmarkLine(b *testing.B) {
	mine, reference := both(io.Discard, io.Discard)
	for name, l := range map[string]*slog.Logger{"ours": mine, "slog": reference} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.LogAttrs(b.Context(), slog.LevelInfo, "request", slog.String("method", "GET"), slog.String("route", "/v1/entities/{did}"), slog.Int("status", 200),
					slog.Int64("bytes", 1431), slog.Float64("duration_ms", 0.071), slog.String("client", "127.0.0.1"), slog.String("workspace", "default"), slog.String("key", "hk_1"))
			}
		})
	}
}
