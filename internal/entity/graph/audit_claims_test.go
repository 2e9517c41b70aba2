package graph_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
)

// prove adds what the asset of fill did: a claim that was verified and became a
// credential, besides a credential of nothing yet.
func (w *world) prove(t testing.TB, ws string) {
	t.Helper()
	w.make(t, ws, made{"did:x:oracle", "oracle", `{"name":"Oracle"}`, nil})
	w.make(t, ws, made{"did:x:claim", "claim", `{"kind":"fuel-saved"}`, []string{"producedBy", "did:x:asset", "verifiedBy", "did:x:oracle"}})
	judge := callerIn(ws)
	judge.DID = "did:x:judge"
	if _, err := w.entities.Verify(as(t.Context(), judge), "did:x:claim", `"1"`, entity.Verdict{Status: "verified"}); err != nil {
		t.Fatal(err)
	}
	w.make(t, ws, made{"did:x:credential", "credential", `{"kind":"fuel-saved"}`, []string{"becameFrom", "did:x:claim"}})
	w.make(t, ws, made{"did:x:second", "credential", `{"kind":"fuel-saved"}`, nil})
}

func claimBreakages() []breakage {
	const edge = `UPDATE relationships SET %s WHERE ws = $1 AND src_did = '%s' AND dst_did = '%s' AND removed_at IS NULL`
	const twin = `UPDATE entities SET %s WHERE ws = $1 AND did = '%s'`
	return []breakage{
		{"an organisation that has left", []string{fmt.Sprintf(edge, "until = 1", "did:x:org", "did:x:project")}, []string{"project_without_organisation project"}},
		{
			"an organisation that is yet to come",
			[]string{fmt.Sprintf(edge, "since = 4000000000000", "did:x:org", "did:x:project")},
			[]string{"project_without_organisation project"},
		},
		{"a project that has ended", []string{fmt.Sprintf(edge, "until = 1", "did:x:project", "did:x:asset")}, []string{"asset_without_project asset"}},
		{
			"an organisation that is a stove",
			[]string{`UPDATE relationships SET src = dst, src_did = 'did:x:project', dst = 0, mirror = NULL, dst_did = 'did:x:stove', role = 'implementedBy'
				WHERE ws = $1 AND src_did = 'did:x:org' AND role = 'implements'`},
			[]string{"edge_class_mismatch project"},
		},
		{"a claim of nothing", []string{fmt.Sprintf(edge, "removed_at = 1", "did:x:asset", "did:x:claim")}, []string{"claim_without_producer claim"}},
		{"a claim of what has gone", []string{fmt.Sprintf(twin, "status = 'deactivated'", "did:x:asset")}, []string{"record_mismatch asset"}},
		{"a claim verified by nobody", []string{fmt.Sprintf(edge, "removed_at = 1", "did:x:oracle", "did:x:claim")}, []string{"claim_without_oracle claim"}},
		{"an oracle that has left", []string{fmt.Sprintf(edge, "until = 1", "did:x:oracle", "did:x:claim")}, []string{}},
		{
			"a claim verified by its maker",
			[]string{fmt.Sprintf(twin, `body = replace(body, '"verifier":"did:x:judge"', '"verifier":"did:key:ann"')`, "did:x:claim")},
			[]string{"claim_verified_by_claimant claim", "hash_mismatch claim"},
		},
		{
			"a claim that two were to verify",
			[]string{fmt.Sprintf(twin, `body = replace(body, '"verifier":"did:x:judge"', '"verifier":"did:x:judge","missing":1')`, "did:x:claim")},
			[]string{"claim_without_quorum claim", "hash_mismatch claim"},
		},
		{
			"a claim that one has verified twice",
			[]string{fmt.Sprintf(twin, `body = replace(body, '"verifier":"did:x:judge"',
				'"verifier":"did:x:judge","approvals":[{"oracle":"a","verifier":"v"},{"oracle":"b","verifier":"v"}]')`, "did:x:claim")},
			[]string{"claim_without_quorum claim", "hash_mismatch claim"},
		},
		{
			"a claim its maker has had a voice in",
			[]string{fmt.Sprintf(twin, `body = replace(body, '"verifier":"did:x:judge"',
				'"verifier":"did:x:judge","approvals":[{"oracle":"a","verifier":"did:key:ann"}]')`, "did:x:claim")},
			[]string{"claim_verified_by_claimant claim", "hash_mismatch claim"},
		},
		{
			"a credential shown as it was",
			[]string{fmt.Sprintf(twin, `body = replace(body, '"issuer":"did:key:ann","status":"active"', '"issuer":"did:key:ann","status":"revoked"')`, "did:x:claim")},
			[]string{"credential_status_stale credential", "hash_mismatch claim"},
		},
		{"a credential of nothing", []string{fmt.Sprintf(edge, "removed_at = 1", "did:x:claim", "did:x:credential")}, []string{"credential_without_claim credential"}},
		{
			"a claim that has gone",
			[]string{fmt.Sprintf(twin, "status = 'deactivated'", "did:x:claim")},
			[]string{"credential_without_claim credential", "record_mismatch claim"},
		},
		{
			"a claim that counts twice",
			[]string{
				`INSERT INTO relationships (nid, ws, src, src_did, dst, dst_did, role, mirror, since, until, source, added_at, added_by, removed_at, removed_by, reason)
					SELECT -c.nid, c.ws, c.nid, c.did, k.nid, k.did, 'becomes', k.nid, NULL, NULL, 'declared', 1, '', NULL, '', ''
					FROM entities c JOIN entities k ON k.ws = c.ws AND k.did = 'did:x:second' WHERE c.ws = $1 AND c.did = 'did:x:claim'`,
			},
			[]string{"claim_of_many_credentials claim"},
		},
		{
			"a claim that was taken back",
			[]string{fmt.Sprintf(twin, `body = replace(body, '"status":"verified"', '"status":"revoked"')`, "did:x:claim")},
			[]string{"credential_of_unverified_claim credential", "hash_mismatch claim"},
		},
	}
}

func TestInvariantsOfClaims(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		w.fill(t, "healthy")
		w.prove(t, "healthy")
		if broken, checked, _ := w.audit(t, "in healthy", 2000); len(broken) > 0 || checked != programme+4 {
			t.Errorf("broken %v, %d checked; want a healthy store of %d", broken, checked, programme+4)
		}
		for i, b := range claimBreakages() {
			ws := fmt.Sprintf("w%d", i)
			w.fill(t, ws)
			w.prove(t, ws)
			for _, text := range b.sql {
				if n, err := d.Exec(t.Context(), text, ws); err != nil || n == 0 {
					t.Fatalf("%s: %d rows, %v", b.name, n, err)
				}
			}
			for _, limit := range []int{1, 2000} {
				broken, _, _ := w.audit(t, "in "+ws, limit)
				if diff := cmp.Diff(b.want, append([]string{}, slices.Sorted(slices.Values(broken))...)); diff != "" {
					t.Errorf("%s, limit %d (-want +got):\n%s", b.name, limit, diff)
				}
			}
		}
	})
}
