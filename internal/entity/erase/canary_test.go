package erase_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
)

// canary is in every text that tells of the household. Its case is what an
// index or a file system might change.
const canary = "cAnArY-7f3a"

// household is a draft with the canary wherever a maker may write.
func household(n int) string {
	return fmt.Sprintf(strings.ReplaceAll(`{
		"type": "Household", "protocol": "did:ixo:protocol/household",
		"properties": {"name": "X%[1]d", "phone": "X", "location": {"village": "X", "X": [1, {"deep": "X"}]}, "baseline": {"fuel": "X"}, "district": "X %[1]d", "fuelType": "woodX"},
		"metadata": {"name": "X", "tags": ["X"], "X": "X"},
		"externalIds": {"crm": "X-%[1]d", "X": "id-%[1]d"},
		"alsoKnownAs": ["https://example.org/X"],
		"services": [{"id": "#X", "type": "X", "endpoint": "https://example.org/X"}],
		"linkedResources": [{"id": "#X", "type": "X", "description": "X", "serviceEndpoint": "https://example.org/X", "proof": "X", "right": "X"}],
		"linkedEntities": [{"id": "did:web:X.example", "type": "X", "relationship": "X"}],
		"accordedRights": [{"id": "#X", "type": "X", "message": "X"}],
		"accounts": [{"name": "X", "address": "X"}],
		"relationships": [{"role": "neighbour", "target": "did:web:X.example"}]
	}`, "X", canary), n)
}

// remnants lists the files in which the canary is found.
func remnants(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	bytes := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		bytes += len(data)
		if n := strings.Count(strings.ToLower(string(data)), strings.ToLower(canary)); n > 0 {
			found = append(found, fmt.Sprintf("%s: %d", filepath.Base(path), n))
		}
		return nil
	})
	if err != nil || bytes < 100_000 {
		t.Fatalf("looked at %d bytes, %v", bytes, err)
	}
	return found
}

// crowd writes many other households in chunks, as an import does, and changes
// some, so that the pages of the store are split and filled again.
func (r *rig) crowd(ctx context.Context, t *testing.T, rnd *rand.Rand, from, to int) []string {
	t.Helper()
	var ids []string
	for n := from; n < to; {
		var ready []*entity.Prepared
		for ; n < to && len(ready) < 20; n++ {
			p, err := r.entities.Prepare(ctx, entity.Draft{
				Type: "Household", Protocol: "did:ixo:protocol/household",
				Properties: entity.Object{Value: fmt.Appendf(nil, `{"name":"h%d","district":"c%d","fuelType":"%s"}`, n, rnd.Intn(1e6), strings.Repeat("w", rnd.Intn(90)))},
				Metadata:   entity.Object{Value: fmt.Appendf(nil, `{"note":%q}`, strings.Repeat("n", rnd.Intn(3000)))},
			})
			if err != nil {
				t.Fatal(err)
			}
			ready = append(ready, p)
			ids = append(ids, p.DID())
		}
		r.tx(ctx, t, func(tx *db.Tx) error {
			for _, p := range ready {
				if _, err := r.entities.StoreTx(ctx, tx, p); err != nil {
					return err
				}
			}
			return nil
		})
		id := ids[rnd.Intn(len(ids))]
		r.patch(ctx, t, id, fmt.Sprintf(`{"properties":{"district":"d%d"},"metadata":{"note":%q}}`, rnd.Intn(1e6), strings.Repeat("m", rnd.Intn(2000))), "")
	}
	return ids
}

// live has a household do all that leaves traces.
func (r *rig) live(ctx context.Context, t *testing.T, n int) string {
	t.Helper()
	id := r.create(ctx, t, household(n))
	for i := range 4 {
		r.patch(ctx, t, id, fmt.Sprintf(`{"properties":{"district":"%s moved %d %d","baseline":{"note":%q}},"metadata":{"m%d":%q}}`,
			canary, n, i, strings.Repeat(canary, i*40), i, canary), "because of "+canary)
	}
	r.tx(ctx, t, func(tx *db.Tx) error {
		rel, err := r.entities.RelateTx(ctx, tx, id, entity.RelationDraft{Role: "friend", Target: "did:web:" + canary + ".example"})
		if err != nil {
			return err
		}
		return r.entities.UnrelateTx(ctx, tx, id, rel.ID, "no more "+canary)
	})
	r.tx(ctx, t, func(tx *db.Tx) error {
		row, err := r.entities.FindForUpdate(ctx, tx, id)
		if err != nil {
			return err
		}
		_, err = r.entities.VerifyTx(ctx, tx, id, "", entity.Verdict{Status: "verified", Evidence: canary, Reason: canary, Revision: &row.Revision})
		return err
	})
	r.tx(ctx, t, func(tx *db.Tx) error {
		_, err := r.entities.TransitionTx(ctx, tx, id, "", entity.Transition{To: entity.StatusSuspended, Reason: canary})
		return err
	})
	if _, err := r.auth.Create(ctx, auth.Draft{Name: canary, Role: "member", Principal: id}); err != nil {
		t.Fatal(err)
	}
	return id
}

// TestNothingIsLeft: no byte of an erased household is in any file of the data
// folder, not after more writes, nor after a restart.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	for seed := range int64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			open := func() *db.DB {
				t.Helper()
				d, err := db.Open(t.Context(), db.Config{Path: filepath.Join(dir, "hearth.db"), Log: dbtest.Log(t)})
				if err != nil {
					t.Fatal(err)
				}
				if err := d.Migrate(t.Context()); err != nil {
					t.Fatal(err)
				}
				return d
			}
			d := open()
			r := newRig(t, d)
			ctx, rnd := r.owner(t), rand.New(rand.NewSource(seed))
			var homes []string
			for i := range 10 {
				homes = append(homes, r.live(ctx, t, i))
				r.crowd(ctx, t, rnd, i*40, i*40+40)
			}
			if found := remnants(t, dir); len(found) == 0 {
				t.Fatal("the canary cannot be seen: nothing would be shown")
			}
			for _, id := range homes {
				if _, _, fresh := r.run(ctx, t, id); !fresh {
					t.Errorf("%s was not there to be erased", id)
				}
			}
			r.settle(t)
			if found := remnants(t, dir); len(found) > 0 {
				t.Errorf("after the erasure: %q", found)
			}
			r.crowd(ctx, t, rnd, 2000, 2100)
			if found := remnants(t, dir); len(found) > 0 {
				t.Errorf("after more writes: %q", found)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			d = open()
			if found := remnants(t, dir); len(found) > 0 {
				t.Errorf("after a restart: %q", found)
			}
			if rep, err := d.Check(t.Context()); err != nil || !rep.OK() {
				t.Errorf("Check() = %+v, %v, want a whole store", rep, err)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestNoRowIsLeft: the same over the tables, on both databases.
func TestNoRowIsLeft(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		ctx := r.owner(t)
		id := r.live(ctx, t, 1)
		keep := r.live(ctx, t, 2)
		r.run(ctx, t, id)
		for table, query := range map[string]string{
			"entities":         `SELECT count(*) FROM entities WHERE nid = $1 AND (body LIKE '%cAnArY%' OR rev_reason LIKE '%cAnArY%')`,
			"entity_history":   `SELECT count(*) FROM entity_history WHERE nid = $1 AND (body <> '' OR reason <> '' OR length(hash) <> 32)`,
			"entity_props":     `SELECT count(*) FROM entity_props WHERE nid = $1`,
			"entity_externals": `SELECT count(*) FROM entity_externals WHERE nid = $1`,
			"relationships":    `SELECT count(*) FROM relationships WHERE src = $1 AND (dst_did LIKE '%cAnArY%' OR reason <> '')`,
		} {
			gone, _ := r.record(ctx, t, id)
			there, _ := r.record(ctx, t, keep)
			var a, b int
			if err := d.QueryRow(ctx, query, gone.NID).Scan(&a); err != nil {
				t.Fatalf("%s: %v", table, err)
			}
			if err := d.QueryRow(ctx, query, there.NID).Scan(&b); err != nil {
				t.Fatalf("%s: %v", table, err)
			}
			if a != 0 || b == 0 {
				t.Errorf("%s: %d rows of the erased household and %d of the other, want 0 and some", table, a, b)
			}
		}
	})
}
