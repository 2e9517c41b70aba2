package entity_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
)

// count counts rows by a statement with the workspace as its parameter.
func (v *env) count(t testing.TB, sql string) int {
	t.Helper()
	var n int
	if err := v.d.QueryRow(t.Context(), sql, "ws").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// indexed counts the properties of a twin in the property index.
func (v *env) indexed(t testing.TB, id string) int {
	t.Helper()
	var n int
	err := v.d.QueryRow(t.Context(), `SELECT count(*) FROM entity_props p JOIN entities e ON e.nid = p.nid WHERE e.did = $1 AND p.pid >= 0`, id).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// checkHistory wants revisions 1 to newest, each hashed over the one before,
// each a record that says its own number, and an event for each in order.
func (v *env) checkHistory(t testing.TB, ws, id string, newest int64) {
	t.Helper()
	row, err := v.s.Find(as(t, ws, "owner"), v.d, id)
	if err != nil {
		t.Fatal(err)
	}
	if row.Revision != newest {
		t.Errorf("%s is at revision %d, want %d", id, row.Revision, newest)
	}
	rows, err := v.d.Query(t.Context(), `SELECT revision, hash, body FROM entity_history WHERE nid = $1 ORDER BY revision`, row.NID)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var before []byte
	next := int64(1)
	check := func(revision int64, hash, body []byte) {
		if e := decode(t, body); e.Revision != revision || revision != next {
			t.Errorf("revision %d says %d, want %d", revision, e.Revision, next)
		}
		sum := sha256.Sum256(append(slices.Clone(before), body...))
		if !bytes.Equal(sum[:], hash) {
			t.Errorf("revision %d: the hash does not fit", revision)
		}
		before, next = hash, next+1
	}
	for rows.Next() {
		var revision int64
		var hash []byte
		var body string
		if err := rows.Scan(&revision, &hash, &body); err != nil {
			t.Fatal(err)
		}
		check(revision, hash, twin.Body(body))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	check(row.Revision, row.Hash, row.Body)
	var seen []int64
	for _, it := range v.events(t, ws, 0) {
		if it.Subject == id && !slices.Contains(seen, it.Revision) {
			seen = append(seen, it.Revision)
		}
	}
	if !slices.IsSorted(seen) || len(seen) != int(newest) {
		t.Errorf("events of revisions %v, want 1 to %d in order", seen, newest)
	}
}

// consistent wants each twin to show exactly the edges that are stored.
func (v *env) consistent(t testing.TB, ws string, ids ...string) {
	t.Helper()
	for _, id := range ids {
		row, err := v.s.Find(as(t, ws, "owner"), v.d, id)
		if err != nil {
			t.Fatal(err)
		}
		e := decode(t, row.Body)
		want := v.stored(t, row)
		var got []string
		for _, r := range e.Relationships {
			got = append(got, fmt.Sprint(r.ID, " ", r.Role, " ", r.Target))
		}
		more := len(want) > 100
		slices.Sort(got)
		if !more && !slices.Equal(got, want) || e.MoreRelationships != more || more && len(got) != 100 {
			t.Errorf("%s shows %d edges (more: %v), stored are %d\n%v\n%v", id, len(got), e.MoreRelationships, len(want), got, want)
		}
		v.checkHistory(t, ws, id, e.Revision)
	}
}

// stored lists the edges a record should show.
func (v *env) stored(t testing.TB, row *entity.Row) []string {
	t.Helper()
	rows, err := v.d.Query(t.Context(), `SELECT nid, src, src_did, dst_did, role, mirror IS NOT NULL FROM relationships
		WHERE (src = $1 OR dst = $1) AND removed_at IS NULL`, row.NID)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var nid, src int64
		var srcDID, dstDID, role string
		var mirror bool
		if err := rows.Scan(&nid, &src, &srcDID, &dstDID, &role, &mirror); err != nil {
			t.Fatal(err)
		}
		switch {
		case src == row.NID:
			out = append(out, fmt.Sprintf("rel_%d %s %s", nid, role, dstDID))
		case mirror:
			out = append(out, fmt.Sprintf("rel_%d %s %s", nid, relationship.Inverse(role), srcDID))
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}
