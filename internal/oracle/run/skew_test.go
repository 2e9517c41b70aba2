package run_test

import (
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
)

// TestWrongClocksEndNoRuns: an instance whose clock is wrong does not take the others
// for dead, nor is it taken for dead.
func TestWrongClocksEndNoRuns(t *testing.T) {
	t.Parallel()
	url := dbtest.Migrated(t)
	right := dbtest.Skewed(t, url, 0)
	g := newRig(t, right, alone(false), func(c *run.Config) { c.Now = right.Now })
	busy := func(m *run.Manager, user string) *script {
		if err := m.Tend(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := newScript()
		g.start(m, message(user, g.session(user), "hi"), s.work)
		<-s.began
		return s
	}
	mine := busy(g.m, ann)
	for _, ahead := range []time.Duration{time.Minute, -time.Minute} {
		wrong := dbtest.Skewed(t, url, ahead)
		m := g.manager(alone(false), func(c *run.Config) { c.DB, c.Now = wrong, nil })
		theirs := busy(m, bob)
		for _, one := range []*run.Manager{m, g.m} {
			if n, err := one.Recover(t.Context()); err != nil || n != 0 {
				t.Errorf("with a clock %s ahead %d runs were ended, %v; want none", ahead, n, err)
			}
		}
		close(theirs.steps)
	}
	// By its own clock it would.
	naive := g.manager(alone(false), func(c *run.Config) { c.Now = func() time.Time { return right.Now().Add(time.Minute) } })
	if n, err := naive.Recover(t.Context()); err != nil || n == 0 {
		t.Errorf("by a clock that is a minute ahead %d runs were ended, %v; want one", n, err)
	}
	close(mine.steps)
}
