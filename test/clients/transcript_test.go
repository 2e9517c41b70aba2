package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
	"github.com/hearth-dmrv/hearth/test/server"
)

// TestTranscript: a conversation with the example oracle, which is built in a module
// of its own.
func TestTranscript(t *testing.T) {
	t.Parallel()
	clienttest.Need(t)
	root, err := server.Root()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "oracle")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", binary, ".")
	build.Dir = filepath.Join(root, "examples", "oracle")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", server.Beside(t, build.Dir))
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the example: %v\n%s", err, out)
	}
	s := server.Run(t, server.Options{Binary: binary, Env: []string{"CORS_ORIGIN=" + origin, "HEARTH_PLUGIN_HELP_DESK_PHONE=+254700000009"}})
	clienttest.Run(t, "transcript.mjs", append(tokens(t, s), "URL="+s.URL, "ORIGIN="+origin)...)
}
