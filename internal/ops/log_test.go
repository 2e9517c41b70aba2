package ops_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/ops"
)

// line logs once and returns the decoded line.
func line(t *testing.T, log func(*slog.Logger)) map[string]any {
	t.Helper()
	var b bytes.Buffer
	l, _ := ops.NewLog(ops.LogConfig{Writer: &b, Format: ops.FormatJSON})
	log(l)
	if n := bytes.Count(b.Bytes(), []byte("\n")); n != 1 {
		t.Fatalf("%d lines, want 1:\n%s", n, b.String())
	}
	var out map[string]any
	if err := json.Unmarshal(b.Bytes(), &out); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, b.String())
	}
	return out
}

type account struct{ PIN string }

type sneaky string

func (s sneaky) LogValue() slog.Value {
	return slog.GroupValue(slog.String("pin", string(s)), slog.Int("status", 1))
}

func TestOnlyKnownKeysAreShown(t *testing.T) {
	t.Parallel()
	const pin = "48213"
	got := line(t, func(l *slog.Logger) {
		l = l.With("pin", pin, "request_id", "r1")
		l.Info("done", "status", 200, "phone", "+254712345678", "route", "/v1/x", "body", []byte(pin), "state", account{pin}, "panic", account{pin},
			slog.Group("extra", "text", pin, "code", "X"), "name", sneaky(pin), "took", time.Second)
	})
	for key, want := range map[string]any{
		"pin": "[redacted]", "phone": "[redacted]", "body": "[redacted]", "state": "[redacted]", "panic": "[redacted]", "took": "[redacted]",
		"status": 200.0, "route": "/v1/x", "request_id": "r1", "msg": "done",
	} {
		if got[key] != want {
			t.Errorf("%s = %v, want %v", key, got[key], want)
		}
	}
	if s := fmt.Sprint(got); strings.Contains(s, pin) || strings.Contains(s, "254712345678") {
		t.Errorf("personal data in %s", s)
	}
	if extra := fmt.Sprint(got["extra"]); extra != "map[code:X text:[redacted]]" {
		t.Errorf("group = %s", extra)
	}
	if name := fmt.Sprint(got["name"]); name != "map[pin:[redacted] status:1]" {
		t.Errorf("LogValuer = %s", name)
	}
}

func TestGroupsAreRedactedToo(t *testing.T) {
	t.Parallel()
	got := line(t, func(l *slog.Logger) { l.WithGroup("req").With("token", "t").Info("x", "status", 1, "secret", "s") })
	if s := fmt.Sprint(got["req"]); s != "map[secret:[redacted] status:1 token:[redacted]]" {
		t.Errorf("group = %s", s)
	}
}

func TestTextIsMadeSafe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in, want string
	}{
		{"plain", "Ngũgĩ 火", "Ngũgĩ 火"},
		{"line break", "a\r\nlevel=ERROR", `a\r\nlevel=ERROR`},
		{"escape sequence", "a\x1b[31mb", `a\x1b[31mb`},
		{"bidi override", "a\u202eb", `a\u202eb`},
		{"line separator", "a\u2028b", `a\u2028b`},
		{"tag character", "a\U000e0041b", `a\U000e0041b`},
		{"broken UTF-8", "a\xffb", "a\ufffdb"},
		{"long", strings.Repeat("é", 400), strings.Repeat("é", 256) + "…"},
		{"phone", "no account for +254712345678.", "no account for [phone]."},
		{"bearer", "sent Authorization: Bearer abc.def-123", "sent Authorization: Bearer [redacted]"},
		{"address with password", "dial postgres://u:pw@db/x: refused", "dial postgres://[redacted]@db/x: refused"},
		{"sum", "1+1 is 2, +49 is short", "1+1 is 2, +49 is short"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := line(t, func(l *slog.Logger) { l.Info(tt.in, "reason", tt.in, "err", errors.New(tt.in)) })
			if got["reason"] != tt.want {
				t.Errorf("value = %q, want %q", got["reason"], tt.want)
			}
			if got["msg"] != tt.want {
				t.Errorf("message = %q, want %q", got["msg"], tt.want)
			}
			if e, _ := got["err"].(string); tt.name != "long" && e != tt.want {
				t.Errorf("error = %q, want %q", e, tt.want)
			}
		})
	}
}

// A number cut in the middle would no longer look like one.
func TestScrubComesBeforeCut(t *testing.T) {
	t.Parallel()
	got := line(t, func(l *slog.Logger) { l.Info("x", "reason", strings.Repeat("x", 505)+" +254712345678") })
	if s := fmt.Sprint(got["reason"]); strings.Contains(s, "+254") {
		t.Errorf("part of a number is left: %q", s[480:])
	}
}

func TestContextAttrs(t *testing.T) {
	t.Parallel()
	type key struct{}
	var b bytes.Buffer
	l, _ := ops.NewLog(ops.LogConfig{Writer: &b, Format: ops.FormatJSON, Attrs: func(ctx context.Context) []slog.Attr {
		id, _ := ctx.Value(key{}).(string)
		return []slog.Attr{slog.String("request_id", id), slog.String("hidden", "x")}
	}})
	l.InfoContext(context.WithValue(t.Context(), key{}, "req\n-7"), "x")
	if got := b.String(); !strings.Contains(got, `"request_id":"req\\n-7"`) || !strings.Contains(got, `"hidden":"[redacted]"`) {
		t.Errorf("line = %s", got)
	}
}

func TestLevelAndFormat(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	l, level := ops.NewLog(ops.LogConfig{Writer: &b, Level: slog.LevelWarn, Format: ops.FormatText, Allow: []string{"own"}})
	l.Info("quiet")
	if b.Len() != 0 {
		t.Errorf("info was written at level warn: %s", b.String())
	}
	level.Set(slog.LevelDebug)
	l.Debug("loud", "own", 5)
	if got := b.String(); !strings.Contains(got, "level=DEBUG msg=loud own=5") || !strings.Contains(got, "Z level") {
		t.Errorf("line = %s", got)
	}
	b.Reset()
	l, _ = ops.NewLog(ops.LogConfig{Writer: &b, Format: ops.FormatAuto})
	l.Info("x")
	if !strings.HasPrefix(b.String(), "{") {
		t.Errorf("auto on a buffer wrote %s, want JSON", b.String())
	}
	nowhere, _ := ops.NewLog(ops.LogConfig{})
	nowhere.Error("x")
}

func BenchmarkLogLine(b *testing.B) {
	l, _ := ops.NewLog(ops.LogConfig{Writer: discard{}, Format: ops.FormatJSON})
	b.ReportAllocs()
	for b.Loop() {
		l.LogAttrs(b.Context(), slog.LevelInfo, "request", slog.String("request_id", "0190c8e2-7b1f-7e3a"), slog.String("method", "POST"),
			slog.String("route", "/v1/entities/{did}"), slog.Int("status", 200), slog.Float64("duration_ms", 1.25))
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
