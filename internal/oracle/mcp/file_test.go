package mcp_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/oracle/mcp"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "servers.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestOpen(t *testing.T) {
	t.Parallel()
	got, err := mcp.Open(write(t, `{"mcpServers": {
		"weather": {"command": "weather-mcp", "args": ["--fast"], "env": {"KEY": "x"}, "readOnly": ["forecast"], "timeout": "5s"},
		"docs": {"type": "http", "url": "https://docs.example.org/mcp", "headers": {"Authorization": "Bearer y"}, "workspaces": ["*"]}
	}}`), []string{"docs"}, "default")
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Name != "docs" || !got[0].Protected || !slices.Equal(got[0].Workspaces, []string{"*"}) || got[0].Headers["Authorization"] != "Bearer y" {
		t.Errorf("docs = %+v", got)
	}
	w := got[1]
	if w.Protected || !slices.Equal(w.Command, []string{"weather-mcp", "--fast"}) || w.Timeout != 5*time.Second || !slices.Equal(w.Workspaces, []string{"default"}) {
		t.Errorf("weather = %+v: it is for the workspace of the operator unless the file says otherwise", w)
	}
	if got, err := mcp.Open("", nil, "default"); err != nil || len(got) != 0 {
		t.Errorf("without a file = %v, %v", got, err)
	}
}

func TestOpenNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"both", `mcpServers: {a: {command: x, url: "https://x.example"}}`, "mcpServers.a: want either command or url"},
		{"neither", `mcpServers: {a: {args: [x]}}`, "mcpServers.a: want either command or url"},
		{"name", `mcpServers: {a__b: {command: x}}`, "is no name of a server"},
		{"type", `mcpServers: {a: {command: x, type: http}}`, `mcpServers.a.type: "http" does not fit`},
		{"unknown member", "mcpServers:\n  a:\n    command: x\n    secrit: hunter2\n", "line 4"},
		{"address", `mcpServers: {a: {url: "ftp://x.example"}}`, "mcpServers.a.url: must be an address"},
		{"password", `mcpServers: {a: {url: "https://u:hunter2@x.example"}}`, "mcpServers.a.url: must not hold a user name"},
		{"header", `mcpServers: {a: {url: "https://x.example", headers: {Host: evil}}}`, "mcpServers.a.headers.Host: is set by the server itself"},
		{"header value", `mcpServers: {a: {url: "https://x.example", headers: {X-A: "hunter2\r\nX: y"}}}`, "mcpServers.a.headers.X-A: must have a value"},
		{"timeout", `mcpServers: {a: {command: x, timeout: 1h}}`, "mcpServers.a.timeout: want a time from 1s to 2m0s"},
		{"headers of a program", `mcpServers: {a: {command: x, headers: {X-A: b}}}`, "headers are for a url"},
		{"not YAML", `mcpServers: [`, ""},
		{"protected", `mcpServers: {}`, `there is no server "gone"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var protected []string
			if tt.name == "protected" {
				protected = []string{"gone"}
			}
			_, err := mcp.Open(write(t, tt.text), protected, "default")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open() = %v, want %q", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("Open() = %v: it repeats a secret", err)
			}
		})
	}
	if _, err := mcp.Open(filepath.Join(t.TempDir(), "none"), nil, "default"); err == nil {
		t.Error("a file that is not there is accepted")
	}
	if _, err := mcp.Open(t.TempDir(), nil, "default"); err == nil {
		t.Error("a folder is accepted")
	}
}

func TestShownName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long", 40)
	for _, tt := range []struct{ server, original, want string }{
		{"weather", "forecast", "weather__forecast"},
		{"a", "read-file_2", "a__read-file_2"},
		{"a", "read/file", ""},
		{"a", "read file", ""},
		{"a", "čaj", ""},
		{"a", "", ""},
		{"abc", long, ""},
		{"abc", long + "x", ""},
		{strings.Repeat("s", 32), strings.Repeat("t", 31), ""},
	} {
		got := mcp.ShownName(tt.server, tt.original)
		if tt.want != "" && tt.want != got {
			t.Errorf("ShownName(%q, %q) = %q, want %q", tt.server, tt.original, got, tt.want)
		}
		if !tool.ValidName(got) || !strings.HasPrefix(got, tt.server+"__") {
			t.Errorf("ShownName(%q, %q) = %q, which no model server takes", tt.server, tt.original, got)
		}
	}
	seen := map[string]string{}
	for _, original := range []string{"a/b", "a_b", "a b", "a.b", "a\u00a0b", long, long + "1", long + "2", "a/b "} {
		name := mcp.ShownName("s", original)
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q are both %q", original, other, name)
		}
		seen[name] = original
	}
}
