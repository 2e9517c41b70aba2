package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hearth-dmrv/hearth/test/server"
)

// hearth mcp joins an assistant that starts a program with a running server: with a key
// in a file, and with nothing but the data folder.
func TestMCPOverStdio(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{})
	c := s.Client(1)
	defer c.Close()
	made, err := c.Do(t.Context(), "POST", "/v1/entities", []byte(`{"type":"Stove","protocol":"did:ixo:protocol/clean-cooking","metadata":{"name":"Jiko"}}`))
	var twin struct {
		DID string `json:"did"`
	}
	if err != nil || made.Status != 201 || json.Unmarshal(made.Body, &twin) != nil {
		t.Fatalf("POST /v1/entities = %d %s, %v", made.Status, made.Body, err)
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(s.Key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{"key": {"--url", s.URL, "--key-file", file}, "data folder": {"--data-dir", s.Dir}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cmd := exec.Command(server.Binary(t), append([]string{"mcp"}, args...)...)
			cmd.Env, cmd.Dir = environ(), t.TempDir()
			session, err := sdk.NewClient(&sdk.Implementation{Name: "assistant", Version: "1"}, nil).Connect(ctx, &sdk.CommandTransport{Command: cmd}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := session.Close(); err != nil {
					t.Errorf("the program ends with %v", err)
				}
			}()
			assist(ctx, t, session, twin.DID)
		})
	}
}

// assist uses what there is as an assistant does.
func assist(ctx context.Context, t *testing.T, session *sdk.ClientSession, did string) {
	t.Helper()
	tools, err := session.ListTools(ctx, nil)
	names := map[string]bool{}
	for _, one := range tools.Tools {
		names[one.Name] = one.OutputSchema != nil && one.Annotations.ReadOnlyHint
	}
	if err != nil || !names["count_twins"] || !names["twin_graph"] || names["change_twin"] {
		t.Errorf("ListTools() = %v, %v", names, err)
	}
	res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "count_twins", Arguments: map[string]any{"type": "Stove"}})
	if err != nil || res.IsError {
		t.Fatalf("CallTool() = %+v, %v", res, err)
	}
	if given, _ := json.Marshal(res.StructuredContent); !strings.Contains(string(given), `"count":1`) {
		t.Errorf("count_twins = %s", given)
	}
	if res, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "read_twin", Arguments: map[string]any{"did": "did:ixo:entity:none"}}); err != nil || !res.IsError {
		t.Errorf("a twin that is not there = %+v, %v", res, err)
	}
	read, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: "hearth://twins/" + did})
	if err != nil || len(read.Contents) != 1 || !strings.Contains(read.Contents[0].Text, "Jiko") {
		t.Errorf("ReadResource() = %+v, %v", read, err)
	}
	if all, err := session.ListPrompts(ctx, nil); err != nil || len(all.Prompts) != 3 {
		t.Errorf("ListPrompts() = %+v, %v", all, err)
	}
}
