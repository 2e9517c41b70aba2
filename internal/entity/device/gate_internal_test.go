package device

import (
	"fmt"
	"testing"
)

// Slow files of some workspaces keep no other workspace out.
func TestEveryWorkspaceHasAPlace(t *testing.T) {
	t.Parallel()
	var g gate
	var leaves []func()
	enter := func(ws string) bool {
		leave, err := g.enter(ws)
		if err == nil {
			leaves = append(leaves, leave)
		}
		return err == nil
	}
	for i := range maxFiles {
		ws := fmt.Sprint("slow", i/maxFilesOf)
		if !enter(ws) {
			t.Fatalf("file %d of %s was kept out", i, ws)
		}
	}
	if !enter("late") {
		t.Error("a workspace without a file was kept out")
	}
	if enter("late") || enter("slow0") {
		t.Error("a busy server takes a second file of a workspace")
	}
	for _, leave := range leaves {
		leave()
	}
	if g.all != 0 || len(g.of) != 0 {
		t.Errorf("left behind: %d, %v", g.all, g.of)
	}
}
