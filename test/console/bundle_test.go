package console

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// TestBundle has the bundle of the demo programme verified by the program alone, in an
// empty folder and without any setting: as an auditor does on another machine.
func TestBundle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(loaded(t))); err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, server: server.Run(t, server.Options{Dir: dir})}
	ctx, c := t.Context(), d.owner()
	project, err := c.Entities.Page(ctx, client.EntityQuery{ExternalID: "demo-project"})
	if err != nil || len(project.Items) != 1 {
		t.Fatalf("project = %+v, %v", project, err)
	}
	j, err := c.Reports.Create(ctx, client.AuditReportDraft{Project: project.Items[0].DID})
	if err != nil {
		t.Fatal(err)
	}
	if j, err = c.Jobs.Wait(ctx, j.ID); err != nil || j.Status != "succeeded" {
		t.Fatalf("job = %+v, %v, want succeeded", j, err)
	}
	made, err := c.Reports.Get(ctx, j.ID)
	if err != nil {
		t.Fatal(err)
	}
	file, err := c.Reports.File(ctx, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := io.ReadAll(file)
	file.Close()
	if err != nil {
		t.Fatal(err)
	}
	// verify gives what the program says, and whether it is content.
	verify := func(bundle []byte, args ...string) (string, bool) {
		t.Helper()
		away := t.TempDir()
		if err := os.WriteFile(filepath.Join(away, "bundle.zip"), bundle, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(ctx, server.Binary(t), append([]string{"audit", "verify", "bundle.zip"}, args...)...)
		cmd.Dir, cmd.Env = away, []string{"HOME=" + away}
		said, err := cmd.CombinedOutput()
		if left, _ := os.ReadDir(away); len(left) != 1 {
			t.Errorf("verifying left %v", left)
		}
		return string(said), err == nil
	}
	said, ok := verify(bundle, "--issuer", made.Issuer)
	t.Log(said)
	if !ok || !strings.HasSuffix(said, "\nverified\n") || strings.Contains(said, "Nobody vouched") {
		t.Error("the bundle is not verified")
	}
	if said, ok := verify(bundle); !ok || !strings.Contains(said, "Nobody vouched for this key") || strings.Contains(said, "verified") {
		t.Errorf("without an issuer: %v, %s", ok, said)
	}
	if said, ok := verify(bundle, "--issuer", "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"); ok || !strings.Contains(said, "signed by "+made.Issuer) {
		t.Errorf("of another issuer: %v, %s", ok, said)
	}
	changed := bytes.Clone(bundle)
	changed[len(changed)/3] ^= 1
	if said, ok := verify(changed, "--issuer", made.Issuer); ok || !strings.Contains(said, "WRONG") {
		t.Errorf("with a changed byte: %v, %s", ok, said)
	}
}
