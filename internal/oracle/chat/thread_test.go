package chat_test

import (
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// TestThreads: the name of a conversation of another protocol is one session of
// its user, made once, also by two requests at once.
func TestThreads(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		g := newRig(t, d)
		ctx := t.Context()
		ids := make([]string, 8)
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() {
				s, err := g.s.OpenThread(ctx, ann, "kitchen")
				if err != nil {
					t.Errorf("OpenThread() = %v", err)
				}
				ids[i] = s.ID
			})
		}
		all.Wait()
		if _, total, err := g.s.ListSessions(ctx, ann, 20, 0); err != nil || total != 1 || len(slices.Compact(slices.Clone(ids))) != 1 {
			t.Fatalf("%d sessions %v, %v; want one", total, ids, err)
		}
		open := func(user, name string) string {
			t.Helper()
			s, err := g.s.OpenThread(ctx, user, name)
			if err != nil {
				t.Fatalf("OpenThread(%s) = %v", name, err)
			}
			return s.ID
		}
		hers, own := ids[0], g.session(ann).ID
		if !regexp.MustCompile(`^\$[A-Za-z0-9_-]{43}$`).MatchString(hers) || open(ann, hers) != hers || open(ann, own) != own {
			t.Errorf("the id of a session of hers is not that session")
		}
		for _, name := range []string{"kitchen", hers, own} {
			if id := open(bob, name); id == hers || id == own || id != open(bob, name) {
				t.Errorf("thread %s of somebody else is %s", name, id)
			}
		}
		if err := g.s.DeleteSession(ctx, ann, hers); err != nil {
			t.Fatal(err)
		}
		if id := open(ann, "kitchen"); id != hers {
			t.Errorf("the thread begins anew as %s, want %s", id, hers)
		}
	})
}
