package docs_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/docs"
)

func TestPages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, title, has string }{
		{"errors", string(docs.Errors), "# Error codes\n", "| `INTERNAL` | 500 |"},
		{"configuration", string(docs.Configuration), "# Configuration\n", "| `PORT` |"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if !strings.HasPrefix(tt.text, tt.title) || !strings.Contains(tt.text, tt.has) {
				t.Errorf("page begins %q, want %q and %q in it", tt.text[:min(40, len(tt.text))], tt.title, tt.has)
			}
		})
	}
}
