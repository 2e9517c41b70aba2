package bus_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/bus"
	"github.com/hearth-dmrv/hearth/internal/cache"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

const topic = "things"

// dropped counts what a cache was told.
type dropped struct {
	mu  sync.Mutex
	got []string
}

func (d *dropped) add(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.got = append(d.got, text)
}
func (d *dropped) Flush()           { d.add("all") }
func (d *dropped) Forget(ws string) { d.add(ws) }

func (d *dropped) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.got
	d.got = nil
	return out
}

// node is a process on the store.
type node struct {
	*bus.Changes
	d    *db.DB
	kept dropped
}

// fleet is some processes on one database.
type fleet struct{ url string }

// start adds a process that hears the others by b; it reads the versions when
// reads says so.
func (f *fleet) start(t *testing.T, b bus.Bus, reads bool) *node {
	t.Helper()
	d, err := db.Open(t.Context(), db.Config{URL: f.url, Log: dbtest.Log(t), Conns: 4})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Join(t.Context(), db.Node{Name: "test", Version: "1"}); err != nil {
		t.Fatal(err)
	}
	n := &node{d: d}
	n.Changes = bus.NewChanges(t.Context(), bus.ChangesConfig{
		DB: d, Bus: b, Log: dbtest.Log(t), Self: func() string { return d.Self().ID }, Silent: d.Silent,
		Live: func(ctx context.Context) ([]string, error) {
			all, err := d.Instances(ctx)
			var ids []string
			for _, one := range all {
				ids = append(ids, one.ID)
			}
			return ids, err
		},
	})
	n.Follow(topic, &n.kept)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	if reads {
		wg.Go(func() { _ = n.Run(ctx) })
		wait(t, "the lease holds", n.Lease().Held)
	}
	t.Cleanup(func() {
		stop()
		wg.Wait()
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func postgresBus(t *testing.T, url string) bus.Bus {
	t.Helper()
	b, err := bus.NewPostgres(t.Context(), url, dbtest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick, end := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// change changes something in workspaces.
func (n *node) change(t *testing.T, workspaces ...string) time.Duration {
	t.Helper()
	begin := time.Now()
	err := n.d.InTx(t.Context(), func(tx *db.Tx) error {
		for _, ws := range workspaces {
			tx.Changed(topic, ws)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return time.Since(begin)
}

func TestOneProcess(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	b := bus.New()
	defer b.Close()
	s := bus.NewChanges(t.Context(), bus.ChangesConfig{DB: d, Bus: b})
	var kept dropped
	s.Follow(topic, &kept)
	if s.Lease() != nil || !s.Lease().Held() {
		t.Error("one process waits for nobody")
	}
	n := &node{Changes: s, d: d}
	n.change(t, "a")
	if err := s.Run(t.Context()); err != nil {
		t.Error(err)
	}
	if got := kept.take(); got != nil {
		t.Errorf("told %q, want nothing", got)
	}
	var rows int
	if err := d.QueryRow(t.Context(), `SELECT count(*) FROM cache_versions`).Scan(&rows); err != nil || rows != 0 {
		t.Errorf("%d rows, %v; want none", rows, err)
	}
}

// TestTold: what was changed in one process is dropped in all when the change
// is answered; only what is of its workspace, if nothing else has changed.
func TestTold(t *testing.T) {
	t.Parallel()
	f := &fleet{url: dbtest.Migrated(t)}
	var all []*node
	for range 3 {
		all = append(all, f.start(t, postgresBus(t, f.url), true))
	}
	for i := range 30 {
		ws := fmt.Sprint("ws", i)
		all[i%3].change(t, ws, ws)
		for k, n := range all {
			want := []string{ws}
			if i == 0 {
				want = []string{"all"} // whoever comes new knows nothing of what was before
			}
			if got := n.kept.take(); len(got) == 0 || i > 0 && !slices.Equal(got, want) {
				t.Errorf("change %d: node %d dropped %q, want %q", i, k, got, want)
			}
		}
	}
	all[0].change(t, "a", "b")
	for k, n := range all {
		if got := n.kept.take(); !slices.Equal(got, []string{"all"}) {
			t.Errorf("two workspaces: node %d dropped %q, want all", k, got)
		}
	}
}

// TestSilentBus: without notes the rows tell it.
func TestSilentBus(t *testing.T) {
	t.Parallel()
	f := &fleet{url: dbtest.Migrated(t)}
	one, two := bus.New(), bus.New()
	t.Cleanup(one.Close)
	t.Cleanup(two.Close)
	a, b := f.start(t, one, true), f.start(t, two, true)
	for range 3 {
		b.kept.take()
		took := a.change(t, "ws")
		if got := b.kept.take(); len(got) == 0 {
			t.Errorf("after %s nothing was dropped", took)
		}
	}
}

// TestSilentProcess: one that has stopped hearing no longer uses what it keeps
// when the change is answered.
func TestSilentProcess(t *testing.T) {
	t.Parallel()
	f := &fleet{url: dbtest.Migrated(t)}
	one, two := bus.New(), bus.New()
	t.Cleanup(one.Close)
	t.Cleanup(two.Close)
	a, b := f.start(t, one, true), f.start(t, two, false)
	b.Lease().Renew(time.Now()) // the last news it gets
	if took := a.change(t, "ws"); took < cache.LeaseTime || b.Lease().Held() {
		t.Errorf("answered after %s; the other still uses what it keeps: %v", took, b.Lease().Held())
	}
}

// TestRolledBack: what was not stored is not told.
func TestRolledBack(t *testing.T) {
	t.Parallel()
	f := &fleet{url: dbtest.Migrated(t)}
	a, b := f.start(t, postgresBus(t, f.url), true), f.start(t, postgresBus(t, f.url), true)
	err := a.d.InTx(t.Context(), func(tx *db.Tx) error {
		tx.Changed(topic, "ws")
		return context.Canceled
	})
	if err == nil {
		t.Fatal("no error")
	}
	a.change(t, "other")
	b.kept.take()
	a.change(t, "ws")
	if got := b.kept.take(); !slices.Equal(got, []string{"ws"}) {
		t.Errorf("dropped %q, want ws once", got)
	}
}

// TestCrowd: changes at once in all processes, of several topics, all end.
func TestCrowd(t *testing.T) {
	t.Parallel()
	f := &fleet{url: dbtest.Migrated(t)}
	var all []*node
	for range 3 {
		all = append(all, f.start(t, postgresBus(t, f.url), true))
	}
	var wg sync.WaitGroup
	for i, n := range all {
		for k := range 4 {
			wg.Go(func() {
				for c := range 20 {
					err := n.d.InTx(t.Context(), func(tx *db.Tx) error {
						names := []string{topic, "one", "two"}
						for j := range names {
							tx.Changed(names[(i+j+k)%3], fmt.Sprint(c))
						}
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	var version int64
	if err := all[0].d.QueryRow(t.Context(), `SELECT version FROM cache_versions WHERE topic = $1`, topic).Scan(&version); err != nil || version != 240 {
		t.Errorf("version %d, %v; want each change counted: 240", version, err)
	}
}
