package e2e

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// canary is a text that is nowhere but where the test puts it.
const canary = "Zebedayo-Canary-7f3a"

// TestEraseCanary writes a name in every place a household has for one, erases
// the household, and looks for the name in every byte of the data folder.
func TestEraseCanary(t *testing.T) {
	t.Parallel()
	o := server.Options{Dir: t.TempDir()}
	s := server.Run(t, o)
	ctx, c := t.Context(), owner(t, s)
	home := must(c.Households.Create(ctx, client.HouseholdDraft{
		Name: canary, Phone: canary, Location: client.Object{"district": canary}, ExternalIDs: map[string]string{"erp": canary}, Metadata: client.Object{"tag": canary},
	}))(t)
	for n := range int64(3) {
		must(c.Entities.Patch(ctx, home.DID, client.Object{"properties": client.Object{"name": canary + " " + string(rune('a'+n))}}, client.IfRevision(n+1), client.Reason("name of "+canary)))(t)
	}
	must(c.Entities.SetService(ctx, home.DID, "door", client.Service{Type: "Door", Endpoint: "https://example.org/" + canary}, client.IfMatch("*")))(t)
	key := must(c.Keys.Create(ctx, client.KeyDraft{Name: canary, Role: "member", Principal: home.DID}))(t)
	org := named(t, c, "organisation", "Stoves for all")
	group := must(c.Groups.Create(ctx, org.DID, client.GroupDraft{Name: "households", Scopes: []string{"groups:read"}, Members: []string{home.DID}}))(t)
	must(with(t, s.URL, key.Text).Groups.Memberships(ctx, ""))(t)
	monitor := must(c.Devices.Create(ctx, client.DeviceDraft{Type: "StoveUseMonitor", HouseholdID: home.DID}))(t)
	if files := holding(t, o.Dir, canary); len(files) == 0 {
		t.Fatal("the name is not in the data folder: the search would find nothing either way")
	}
	done := must(c.Erasures.Create(ctx, client.ErasureDraft{Subject: home.DID, Reason: "The household has withdrawn its consent."}))(t)
	if done.Subject != home.DID || done.Counts["revisions"] == 0 {
		t.Errorf("certificate = %+v, want what was erased", done)
	}
	again := must(c.Erasures.Create(ctx, client.ErasureDraft{Subject: home.DID, Reason: "Once more."}))(t)
	read := must(c.Erasures.Get(ctx, done.ID))(t)
	if again.ID != done.ID || read.Reason != done.Reason {
		t.Errorf("asked again: %+v, read: %+v; want the same certificate", again, read)
	}
	_, err := with(t, s.URL, key.Text).Groups.Memberships(ctx, "")
	refused(t, "the key of who was erased", "KEY_INVALID", err)
	for m, err := range c.Groups.Members(ctx, group.DID, client.PageQuery{}) {
		t.Errorf("member %+v, %v after the erasure of the only one", m, err)
	}
	until(t, "the bytes are gone", func() bool { return must(c.Erasures.Get(ctx, done.ID))(t).Bytes.State == "gone" })
	if files := holding(t, o.Dir, canary); len(files) > 0 {
		t.Errorf("after the erasure the name is still in %v", files)
	}
	left := must(c.Entities.Get(ctx, home.DID))(t)
	if left.Status != "deactivated" || len(left.Properties) != 0 || len(left.Services) != 0 || len(left.ExternalIDs) != 0 {
		t.Errorf("what is left = %+v, want a DID and nothing else", left)
	}
	_, err = c.Entities.Revision(ctx, home.DID, 1)
	refused(t, "an erased revision", "REVISION_ERASED", err)
	if a := must(c.Entities.Audit(ctx, home.DID))(t); !a.OK || a.Erased == 0 {
		t.Errorf("audit = %+v, want a whole chain with erased revisions", a)
	}
	if d := must(c.Devices.Get(ctx, monitor.DID))(t); d.HouseholdID != home.DID {
		t.Errorf("the monitor = %+v, want it where it was", d)
	}
	if proof := must(c.Graph.Invariants(ctx))(t); !proof.OK {
		t.Errorf("invariants = %+v, want that the rules hold", proof)
	}
	stove := must(c.Entities.Create(ctx, client.EntityDraft{Type: "Stove", Protocol: "did:ixo:protocol/clean-cooking"}))(t)
	_, err = c.Erasures.Create(ctx, client.ErasureDraft{Subject: stove.DID, Reason: "r"})
	refused(t, "the erasure of a stove", "NOT_PERSONAL", err)
	if err := s.Stop(patience); err != nil {
		t.Fatal(err)
	}
	if files := holding(t, o.Dir, canary); len(files) > 0 {
		t.Errorf("after the end of the server the name is in %v", files)
	}
}

// holding lists the files below dir that hold a text.
func holding(t *testing.T, dir, text string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil // a journal that has ended meanwhile
		}
		if bytes.Contains(raw, []byte(text)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
