package sampling_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// TestScript runs the script of the documentation over a published record: it
// makes the draw again, and notices a household that was exchanged.
func TestScript(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("LOUD SKIP: python3 is not installed, the script of docs/sampling.md was not run")
	}
	page, err := os.ReadFile("../../../docs/sampling.md")
	if err != nil {
		t.Fatal(err)
	}
	_, script, _ := strings.Cut(string(page), "```python\n")
	script, _, ok := strings.Cut(script, "```")
	if !ok || strings.Count(script, "\n") > 22 {
		t.Fatalf("the script has %d lines", strings.Count(script, "\n"))
	}
	v := newEnv(t, dbtest.SQLite(t))
	ctx := manager(t)
	must(v.s.Create(ctx, small("d")))(t)
	must(v.s.PutFrame(ctx, "d", api.SampleFrameDraft{CSV: csv(40)}))(t)
	must(v.s.Commit(ctx, "d", api.SampleCommit{Second: api.SampleSecond{Source: "party"}}))(t)
	must(v.s.Contribute(auditor(t), "d", api.SampleContribution{Part: "x"}))(t)
	must(v.s.Draw(ctx, "d", api.SampleDrawDraft{}))(t)
	units, _, err := v.s.Units(ctx, newest("d"), "", 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	must(v.s.Replace(ctx, "d", api.SampleReplacement{Unit: units[0].Unit, Reason: "Moved away"}))(t)
	record := v.get(auditor(t), "/v1/sampling/designs/d/record").Body.String()
	dir := t.TempDir()
	run := func(name, text string) (string, error) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), python, "-c", script, path).CombinedOutput()
		return string(out), err
	}
	if out, err := run("record.json", record); err != nil || !strings.Contains(out, "verified: 8 of 40") {
		t.Errorf("the script says %s, %v", out, err)
	}
	if out, err := run("forged.json", strings.Replace(record, `"unit":"`+units[1].Unit, `"unit":"hh_forged`, 1)); err == nil || !strings.Contains(out, "another sample") {
		t.Errorf("of a forged record the script says %s, %v", out, err)
	}
}
