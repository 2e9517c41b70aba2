package outbound_test

import (
	"testing"

	"github.com/hearth-dmrv/hearth/internal/outbound"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		limit int
		want  string
	}{{"ok", 9, "ok"}, {"a\x1b[31mb\r\nc\u202e", 9, "a[31mbc"}, {"hütte", 9, "htte"}, {"a long word", 6, "a long"}, {"", 3, ""}} {
		if got := outbound.Printable(tt.text, tt.limit); got != tt.want {
			t.Errorf("Printable(%q, %d) = %q, want %q", tt.text, tt.limit, got, tt.want)
		}
	}
}
