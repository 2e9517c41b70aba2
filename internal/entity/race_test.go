package entity_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// crowd runs n functions at once and gathers the codes they end with; "" is
// success.
func crowd(t testing.TB, n int, fn func(i int) error) map[string]int {
	t.Helper()
	var mu sync.Mutex
	out := map[string]int{}
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			err := fn(i)
			if err != nil && fault.As(err) == nil {
				t.Errorf("%d: %v", i, err)
			}
			mu.Lock()
			defer mu.Unlock()
			out[fault.CodeOf(err)]++
		})
	}
	close(start)
	wg.Wait()
	return out
}

// Two writers with the revision they have both read: one is stored, the other
// is told, every time, by every kind of change.
func TestTwoWriters(t *testing.T) {
	t.Parallel()
	const rounds = 60
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		made := v.create(t, "ws", draftOf("clean-cooking"))
		path := "/v1/entities/" + made.DID
		write := []func(i, rev int) *httptest.ResponseRecorder{
			func(i, rev int) *httptest.ResponseRecorder {
				return v.send(t, "ws owner", "PATCH "+path, fmt.Sprintf(`{"properties":{"serial":"S-%d-%d"}}`, rev, i), "If-Match", fmt.Sprintf("%q", fmt.Sprint(rev)))
			},
			func(i, rev int) *httptest.ResponseRecorder {
				return v.send(t, "ws owner", "PUT "+path, fmt.Sprintf(`{"type":"Stove","protocol":"did:ixo:protocol/clean-cooking","properties":{"model":"M-%d-%d"}}`, rev, i),
					"If-Match", fmt.Sprintf("%q", fmt.Sprint(rev)))
			},
			func(i, rev int) *httptest.ResponseRecorder {
				return v.send(t, "ws owner", "PUT "+path+"/properties/model", fmt.Sprintf(`"P-%d-%d"`, rev, i), "If-Match", fmt.Sprintf("%q", fmt.Sprint(rev)))
			},
			func(i, rev int) *httptest.ResponseRecorder {
				return v.send(t, "ws owner", "PUT "+path+fmt.Sprintf("/services/s%d-%d", rev, i), `{"type":"Data","endpoint":"https://example.org/"}`, "If-Match", fmt.Sprintf("%q", fmt.Sprint(rev)))
			},
		}
		for rev := 1; rev <= rounds; rev++ {
			var good, stale atomic.Int64
			var wg sync.WaitGroup
			for i := range 2 {
				wg.Go(func() {
					w := write[(rev+i)%len(write)](i, rev)
					switch {
					case w.Code == 200 || w.Code == 201:
						good.Add(1)
					case w.Code == 412 && strings.Contains(w.Body.String(), "STALE_REVISION"):
						stale.Add(1)
					default:
						t.Errorf("revision %d: %d %s", rev, w.Code, w.Body)
					}
				})
			}
			wg.Wait()
			if good.Load() != 1 || stale.Load() != 1 {
				t.Fatalf("revision %d: %d stored and %d stale, want one each", rev, good.Load(), stale.Load())
			}
		}
		v.checkHistory(t, "ws", made.DID, rounds+1)
		if n := v.indexed(t, made.DID); n > 2 {
			t.Errorf("%d entries in the property index, want those of the last revision only", n)
		}
	})
}

// Many writers that take whatever revision there is all get through.
func TestAnyRevision(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		made := v.create(t, "ws", draftOf("clean-cooking"))
		ctx := as(t, "ws", "owner")
		const n = 100
		got := crowd(t, n, func(i int) error {
			_, err := v.s.Patch(ctx, made.DID, "*", entity.Change{Merge: fmt.Appendf(nil, `{"metadata":{"k%d":%d}}`, i, i)})
			return err
		})
		if got[""] != n {
			t.Fatalf("outcomes = %v, want %d stored", got, n)
		}
		if e := v.get(t, "ws", made.DID); strings.Count(string(e.Metadata.Value), `"k`) != n || e.Revision != n+1 {
			t.Errorf("metadata %s at revision %d, want %d members at %d: an update was lost", e.Metadata.Value, e.Revision, n, n+1)
		}
	})
}

// One name for two twins: whoever asks first has it.
func TestOneNameInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := as(t, "ws", "owner")
		got := crowd(t, 16, func(i int) error {
			draft := draftOf("clean-cooking")
			draft.ExternalIDs = map[string]string{"serial": "SN1"}
			_, err := v.s.Create(ctx, draft)
			return err
		})
		if got[""] != 1 || got["EXTERNAL_ID_EXISTS"] != 15 {
			t.Errorf("outcomes = %v, want one twin and 15 refusals", got)
		}
		got = crowd(t, 16, func(i int) error {
			draft := draftOf("clean-cooking")
			draft.DID = "did:ixo:device/one"
			_, err := v.s.Create(ctx, draft)
			return err
		})
		if got[""] != 1 || got["ENTITY_EXISTS"] != 15 {
			t.Errorf("outcomes = %v, want one twin and 15 refusals", got)
		}
		if n := v.count(t, `SELECT count(*) FROM entities WHERE ws = $1`); n != 2 {
			t.Errorf("%d twins, want 2", n)
		}
	})
}

// The same edge from both ends at once, with either word.
func TestOneEdgeInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		org, project := v.create(t, "ws", draftOf("organisation")), v.create(t, "ws", draftOf("project"))
		got := crowd(t, 16, func(i int) error {
			if i%2 == 0 {
				_, err := v.relate(t, "ws", org.DID, "implements", project.DID)
				return err
			}
			_, err := v.relate(t, "ws", project.DID, "implementedBy", org.DID)
			return err
		})
		if got[""] != 1 || got["RELATIONSHIP_EXISTS"] != 15 {
			t.Errorf("outcomes = %v, want one edge", got)
		}
		v.consistent(t, "ws", org.DID, project.DID)
	})
}

// Edges in both directions between the same twins from all sides: every end
// shows exactly what is stored.
func TestEdgesInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		org := v.create(t, "ws", draftOf("organisation"))
		var projects []string
		for range 4 {
			projects = append(projects, v.create(t, "ws", draftOf("project")).DID)
		}
		got := crowd(t, 24, func(i int) error {
			p := projects[i%len(projects)]
			var err error
			switch i % 3 {
			case 0:
				_, err = v.relate(t, "ws", org.DID, "implements", p)
			case 1:
				_, err = v.relate(t, "ws", p, fmt.Sprintf("peer%d", i), projects[(i+1)%len(projects)])
			default:
				_, err = v.s.Create(as(t, "ws", "owner"), with(draftOf("clean-cooking"), "generatedBy", p))
			}
			return err
		})
		if got[""]+got["RELATIONSHIP_EXISTS"] != 24 {
			t.Errorf("outcomes = %v", got)
		}
		v.consistent(t, "ws", append(projects, org.DID)...)
	})
}

// A role for one: a crowd fills it once.
func TestMaxInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		device := v.create(t, "ws", draftOf("clean-cooking"))
		got := crowd(t, 12, func(i int) error {
			_, err := v.relate(t, "ws", device.DID, "household", fmt.Sprintf("did:ixo:household/%d", i))
			return err
		})
		if got[""] != 1 || got["RELATIONSHIP_LIMIT"] != 11 {
			t.Errorf("outcomes = %v, want one household", got)
		}
		v.consistent(t, "ws", device.DID)
	})
}

// A role for one has room again when the one that filled it ends.
func TestMaxAtATime(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := as(t, "ws", "owner")
		device := v.create(t, "ws", draftOf("clean-cooking"))
		day := time.Now().UTC().Truncate(time.Hour).Add(-48 * time.Hour)
		for _, step := range []struct {
			home, want   string
			since, until time.Time
		}{
			{"1", "", day, day.Add(time.Hour)},
			{"2", "", day.Add(time.Hour), day.Add(100 * time.Hour)},
			{"3", "RELATIONSHIP_LIMIT", time.Time{}, time.Time{}},
			{"3", "RELATIONSHIP_LIMIT", day.Add(99 * time.Hour), time.Time{}},
			{"3", "", day.Add(100 * time.Hour), time.Time{}},
			{"4", "RELATIONSHIP_LIMIT", day.Add(200 * time.Hour), time.Time{}},
			{"4", "", day.Add(-time.Hour), day},
		} {
			_, err := v.s.Relate(ctx, device.DID, entity.RelationDraft{Role: "household", Target: "did:ixo:household/" + step.home, Since: step.since, Until: step.until})
			if got := fault.CodeOf(err); got != step.want {
				t.Errorf("household %s from %s to %s = %q, %v, want %q", step.home, step.since, step.until, got, err, step.want)
			}
		}
		v.consistent(t, "ws", device.DID)
	})
}

// Two groups, and both are to go: one stays.
func TestLastGroupInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for round := range 10 {
			draft := draftOf("organisation")
			draft.Groups = []entity.GroupDraft{{Name: "a"}, {Name: "b"}, {Name: "c"}}
			org := v.create(t, "ws", draft)
			got := crowd(t, 3, func(i int) error {
				to := []entity.Status{entity.StatusDeactivated, entity.StatusSuspended, entity.StatusDeactivated}[i]
				return v.transit(t, "ws", org.Relationships[i].Target, to)
			})
			if got[""] != 2 || got["ORGANISATION_REQUIRES_GROUP"] != 1 {
				t.Fatalf("round %d: outcomes = %v, want one refusal", round, got)
			}
		}
	})
}

// A circle of three, closed from three sides at once: one side is refused.
func TestCircleInACrowd(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for round := range 10 {
			var systems []string
			for range 3 {
				systems = append(systems, v.create(t, "ws", draftOf("network")).DID)
			}
			got := crowd(t, 3, func(i int) error {
				_, err := v.relate(t, "ws", systems[i], "contains", systems[(i+1)%3])
				return err
			})
			if got[""] != 2 || got["RELATIONSHIP_CYCLE"] != 1 {
				t.Fatalf("round %d: outcomes = %v, want two edges and a refusal", round, got)
			}
		}
	})
}

// An edge is added while its end goes: no record is lost, nothing is left half.
func TestEdgeMeetsDeactivation(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for range 10 {
			org, project := v.create(t, "ws", draftOf("organisation")), v.create(t, "ws", draftOf("project"))
			got := crowd(t, 2, func(i int) error {
				if i == 0 {
					return v.transit(t, "ws", project.DID, entity.StatusDeactivated)
				}
				_, err := v.relate(t, "ws", org.DID, "implements", project.DID)
				return err
			})
			if got[""]+got["ENTITY_DEACTIVATED"] != 2 {
				t.Errorf("outcomes = %v", got)
			}
			v.consistent(t, "ws", org.DID, project.DID)
		}
	})
}

// A hundred twins, five changes each by as many writers, and a reader that
// follows at its own pace: every revision is told once, in order.
func TestEveryRevisionIsTold(t *testing.T) {
	t.Parallel()
	const twins, changes = 100, 5
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ids := make([]string, twins)
		for i := range ids {
			ids[i] = v.create(t, "ws", draftOf("clean-cooking")).DID
		}
		mark := v.newest(t, "ws")
		done := make(chan map[string]int)
		go func() {
			ctx := as(t, "ws", "owner")
			done <- crowd(t, twins, func(i int) error {
				for n := range changes {
					_, err := v.s.Patch(ctx, ids[i], fmt.Sprintf(`"%d"`, n+1), entity.Change{Merge: fmt.Appendf(nil, `{"properties":{"serial":"%d"}}`, n)})
					if err != nil {
						return err
					}
				}
				return nil
			})
		}()
		news := v.l.Subscribe("ws")
		defer news.Close()
		next, seen := map[string]int64{}, 0
		for more := true; seen < twins*changes; {
			if !more {
				<-news.C
			}
			b, err := v.l.Read(t.Context(), event.Query{Workspace: "ws", After: mark, Limit: 7})
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range b.Items {
				if want := next[it.Subject] + 2; it.Revision != want || it.Type != "entity.updated" {
					t.Fatalf("%s of %s at revision %d, want %d", it.Type, it.Subject, it.Revision, want)
				}
				next[it.Subject]++
				seen++
			}
			mark, more = b.Next, b.HasMore
		}
		if got := <-done; got[""] != twins {
			t.Errorf("outcomes = %v", got)
		}
		for _, id := range ids {
			if e := v.get(t, "ws", id); e.Revision != changes+1 {
				t.Errorf("%s is at revision %d, want %d", id, e.Revision, changes+1)
			}
		}
	})
}
