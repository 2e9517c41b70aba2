package history_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/history"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		eventtest.Cases(t, "history.json", d, v.l, v.h)
	})
}

// at reads serial and revision of a twin as it was.
func (v *env) at(t *testing.T, id, at string) string {
	t.Helper()
	r, err := v.e.Find(owner(t), v.d, id)
	if err != nil {
		t.Fatal(err)
	}
	body, n, err := history.At(owner(t), v.d, r, at)
	if err != nil {
		return fault.CodeOf(err)
	}
	var e struct {
		Revision   int64
		Properties struct {
			Serial string `json:"serial"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(body, &e, json.MatchCaseInsensitiveNames(true)); err != nil || e.Revision != n {
		t.Errorf("record at %s: revision %d of %s, %v, want %d", at, e.Revision, body, err, n)
	}
	return fmt.Sprint(n, " ", e.Properties.Serial)
}

func TestAt(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		v.now = start
		id := v.create(t, "one").DID
		v.now = start.Add(time.Hour)
		v.patch(t, id, `{"properties":{"serial":"two"}}`, "")
		v.patch(t, id, `{"properties":{"serial":"three"}}`, "") // in the same millisecond
		v.now = start.Add(2 * time.Hour)
		v.patch(t, id, `{"properties":{"serial":"four"}}`, "")
		for _, tt := range []struct{ at, want string }{
			{"1", "1 one"},
			{"2", "2 two"},
			{"3", "3 three"},
			{"4", "4 four"},
			{"0004", "4 four"},
			{"0", "REVISION_NOT_FOUND"},
			{"5", "REVISION_NOT_FOUND"},
			{"99999999999999999999", "REVISION_NOT_FOUND"},
			{"2026-03-01T12:00:00Z", "1 one"},
			{"2026-03-01T12:59:59.999Z", "1 one"},
			{"2026-03-01T13:00:00Z", "3 three"},
			{"2026-03-01T15:00:00+02:00", "3 three"},
			{"2026-03-01T15:00:00 02:00", "3 three"},
			{"2026-03-01T14:00:00Z", "4 four"},
			{"2999-01-01T00:00:00Z", "4 four"},
			{"2026-03-01T11:59:59.999Z", "ENTITY_NOT_FOUND"},
			{"0001-01-01T00:00:00Z", "ENTITY_NOT_FOUND"},
			{"", "INVALID_PARAMETER"},
			{"-1", "INVALID_PARAMETER"},
			{"yesterday", "INVALID_PARAMETER"},
			{"2026-03-01", "INVALID_PARAMETER"},
			{"1e3", "INVALID_PARAMETER"},
			{"٣", "INVALID_PARAMETER"},
		} {
			if got := v.at(t, id, tt.at); got != tt.want {
				t.Errorf("At(%q) = %s, want %s", tt.at, got, tt.want)
			}
		}
	})
}

// The history is whole and in order whatever the page, also while the twin
// changes.
func TestListUnderWrites(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		id := v.create(t, "s").DID
		for i := range 25 {
			v.patch(t, id, fmt.Sprintf(`{"properties":{"serial":"s%d"}}`, i), fmt.Sprint("reason ", i))
		}
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
					v.patch(t, id, fmt.Sprintf(`{"properties":{"serial":"x%d"}}`, i), "")
				}
			}
		})
		for _, limit := range []int{1, 3, 25, 1000} {
			var numbers []int64
			var last history.Entry
			for below := int64(0); ; {
				items, next, err := v.s.List(owner(t), id, below, limit)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range items {
					if last.PreviousHash != "" && last.PreviousHash != e.Hash {
						t.Errorf("revision %d has hash %s, the one after says %s", e.Revision, e.Hash, last.PreviousHash)
					}
					numbers, last = append(numbers, e.Revision), e
				}
				if below = next; next == 0 {
					break
				}
			}
			want := slices.Clone(numbers)
			for i := range want {
				want[i] = want[0] - int64(i)
			}
			if !slices.Equal(numbers, want) || numbers[len(numbers)-1] != 1 || last.PreviousHash != "" || numbers[0] < 26 {
				t.Errorf("limit %d: %v, want every revision down to 1", limit, numbers)
			}
		}
		close(stop)
		wg.Wait()
	})
}

func TestDiffTellsWhoAndWhy(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		id := v.create(t, "s").DID
		for i := range 103 {
			v.patch(t, id, fmt.Sprintf(`{"properties":{"serial":"s%d"}}`, i), fmt.Sprint("reason ", i))
		}
		for _, tt := range []struct {
			from, to string
			steps    []int64 // first and last
			more     bool
		}{
			{"", "", []int64{104, 104}, false},
			{"1", "1", nil, false},
			{"1", "3", []int64{2, 3}, false},
			{"3", "1", []int64{2, 3}, false},
			{"4", "104", []int64{5, 104}, false},
			{"3", "104", []int64{4, 103}, true},
			{"1", "", []int64{2, 101}, true},
			{"", "1", nil, false},
		} {
			got, err := v.s.Diff(owner(t), id, tt.from, tt.to)
			if err != nil {
				t.Fatal(err)
			}
			var steps []int64
			if n := len(got.Steps); n > 0 {
				steps = []int64{got.Steps[0].Revision, got.Steps[n-1].Revision}
				if e := got.Steps[0]; e.Actor != "did:key:owner" || e.Reason != fmt.Sprint("reason ", e.Revision-2) || e.PreviousHash == "" {
					t.Errorf("step %+v, want who and why", e)
				}
			}
			if !slices.Equal(steps, tt.steps) || got.MoreSteps != tt.more {
				t.Errorf("diff %s to %s: steps %v, more %v, want %v, %v", tt.from, tt.to, steps, got.MoreSteps, tt.steps, tt.more)
			}
			v.checkPatch(t, id, got)
		}
	})
}

// checkPatch applies a patch and wants the record it leads to.
func (v *env) checkPatch(t *testing.T, id string, d *history.Difference) {
	t.Helper()
	a, err := v.s.Revision(owner(t), id, d.From)
	if err != nil {
		t.Fatal(err)
	}
	b, err := v.s.Revision(owner(t), id, d.To)
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if json.Unmarshal(a, &got) != nil || json.Unmarshal(b, &want) != nil {
		t.Fatal("records are no JSON")
	}
	got = apply(t, got, d.Patch)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("patch %v gives %v, want %v", d.Patch, got, want)
	}
}

func TestForeignHistoryIsMissing(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	id := v.create(t, "s").DID
	restricted := eventtest.Caller("ws", "owner")
	restricted.Projects = []string{"did:ixo:entity:9"}
	for name, c := range map[string]web.Caller{"other workspace": eventtest.Caller("other", "owner"), "other project": restricted, "nobody": {}} {
		ctx := web.WithCaller(t.Context(), c)
		_, _, err1 := v.s.List(ctx, id, 0, 10)
		_, err2 := v.s.Revision(ctx, id, 1)
		_, err3 := v.s.Diff(ctx, id, "", "")
		for _, err := range []error{err1, err2, err3} {
			if fault.CodeOf(err) != "ENTITY_NOT_FOUND" {
				t.Errorf("%s: %v, want ENTITY_NOT_FOUND", name, err)
			}
		}
	}
}

// audit reads the whole audit of a twin, two revisions at a time.
func (v *env) audit(t *testing.T, id string) (ok bool, checked, erased int, broken string) {
	t.Helper()
	after := history.Link{}
	for {
		a, next, err := v.s.AuditFrom(owner(t), id, after, 2)
		if err != nil {
			t.Fatal(err)
		}
		checked += a.Checked
		erased += a.Erased
		if next == nil || !a.OK {
			if a.BrokenAt > 0 {
				broken = fmt.Sprint(a.BrokenAt, " ", a.Problem)
			}
			return a.OK, checked, erased, broken
		}
		after = *next
	}
}

func TestAuditFindsTampering(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for _, tt := range []struct {
			name, sql string
			ok        bool
			checked   int
			erased    int
			broken    string
		}{
			{"untouched", "", true, 6, 0, ""},
			{"changed bytes", `UPDATE entity_history SET body = replace(body, 's1', 's9') WHERE nid = $1 AND revision = 3`, false, 3, 0, "3 changed"},
			{"changed hash", `UPDATE entity_history SET hash = (SELECT h.hash FROM entity_history h WHERE h.nid = $1 AND h.revision = 1) WHERE nid = $1 AND revision = 2`, false, 2, 0, "2 changed"},
			{"gap", `DELETE FROM entity_history WHERE nid = $1 AND revision = 4`, false, 3, 0, "4 missing"},
			{"no first", `DELETE FROM entity_history WHERE nid = $1 AND revision = 1`, false, 0, 0, "1 missing"},
			{"no last", `DELETE FROM entity_history WHERE nid = $1 AND revision = 5`, false, 4, 0, "5 missing"},
			{"nothing left", `DELETE FROM entity_history WHERE nid = $1`, false, 0, 0, "1 missing"},
			{"newest changed", `UPDATE entities SET body = replace(body, 's4', 's9') WHERE nid = $1`, false, 6, 0, "6 changed"},
			{"renumbered", `UPDATE entity_history SET revision = 9 WHERE nid = $1 AND revision = 5`, false, 4, 0, "5 missing"},
			{"erased", `UPDATE entity_history SET body = '', reason = '' WHERE nid = $1 AND revision < 4`, true, 6, 3, ""},
			{"erased and changed", `UPDATE entity_history SET body = '', hash = (SELECT h.hash FROM entity_history h WHERE h.nid = $1 AND h.revision = 1) WHERE nid = $1 AND revision = 3`, false, 4, 1, "4 changed"},
		} {
			id := v.create(t, "s").DID
			for i := range 5 {
				v.patch(t, id, fmt.Sprintf(`{"properties":{"serial":"s%d"}}`, i), "")
			}
			r, err := v.e.Find(owner(t), d, id)
			if err != nil {
				t.Fatal(err)
			}
			if tt.sql != "" {
				if _, err := d.Exec(t.Context(), tt.sql, r.NID); err != nil {
					t.Fatal(err)
				}
			}
			ok, checked, erased, broken := v.audit(t, id)
			if ok != tt.ok || checked != tt.checked || erased != tt.erased || broken != tt.broken {
				t.Errorf("%s: %v, %d checked, %d erased, broken %q; want %v, %d, %d, %q", tt.name, ok, checked, erased, broken, tt.ok, tt.checked, tt.erased, tt.broken)
			}
		}
	})
}

// The hash in the history is the one anybody can compute.
func TestHashesCanBeComputed(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	id := v.create(t, "s").DID
	v.patch(t, id, `{"properties":{"serial":"s2"}}`, "")
	items, _, err := v.s.List(owner(t), id, 0, 10)
	if err != nil || len(items) != 2 {
		t.Fatalf("%v, %v", items, err)
	}
	var before []byte
	for _, e := range []history.Entry{items[1], items[0]} {
		body, err := v.s.Revision(owner(t), id, e.Revision)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(slices.Concat(before, body))
		if before = sum[:]; fmt.Sprintf("%x", before) != e.Hash {
			t.Errorf("revision %d: hash %s, want %x", e.Revision, e.Hash, before)
		}
	}
}

func TestErasedRevisions(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	id := v.create(t, "s").DID
	v.patch(t, id, `{"properties":{"serial":null}}`, "gone")
	if _, err := v.d.Exec(t.Context(), `UPDATE entity_history SET body = '', reason = '' WHERE revision = $1`, 1); err != nil {
		t.Fatal(err)
	}
	_, err1 := v.s.Revision(owner(t), id, 1)
	_, err2 := v.s.Diff(owner(t), id, "1", "2")
	if fault.CodeOf(err1) != "REVISION_ERASED" || fault.CodeOf(err2) != "REVISION_ERASED" || fault.KindOf(err1) != fault.NotFound {
		t.Errorf("erased revision: %v and %v, want REVISION_ERASED", err1, err2)
	}
	items, _, err := v.s.List(owner(t), id, 0, 10)
	if err != nil || len(items) != 2 || !items[1].Erased || items[0].Erased || items[1].Hash == "" {
		t.Errorf("history %+v, %v, want the first to be erased", items, err)
	}
	if body, err := v.s.Revision(owner(t), id, 2); err != nil || bytes.Contains(body, []byte(`"serial"`)) || !strings.Contains(string(body), id) {
		t.Errorf("newest revision %s, %v", body, err)
	}
}
