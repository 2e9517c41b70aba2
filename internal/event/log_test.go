package event_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
)

// readAll reads a log to its end and fails on a gap.
func readAll(t testing.TB, l *event.Log, ws string) []event.Item {
	t.Helper()
	var out []event.Item
	for after := int64(0); ; {
		b, err := l.Read(t.Context(), event.Query{Workspace: ws, After: after, Limit: 97})
		if err != nil {
			t.Fatalf("read %s: %v", ws, err)
		}
		out = append(out, b.Items...)
		if after = b.Next; !b.HasMore {
			break
		}
	}
	for i, it := range out {
		if it.Seq != int64(i+1) {
			t.Fatalf("%s: event %d has number %d", ws, i+1, it.Seq)
		}
	}
	return out
}

func TestNumbersHaveNoGap(t *testing.T) {
	t.Parallel()
	const writers, each, spaces = 64, 25, 4
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		l := newLog(d)
		var kept [spaces]atomic.Int64
		var wg, readers sync.WaitGroup
		stop := make(chan struct{})
		for i := range 2 * spaces { // two instances number each workspace
			far := newLog(d)
			readers.Go(func() { chase(t, far, l.Subscribe(fmt.Sprint("ws", i%spaces)), fmt.Sprint("ws", i%spaces), stop) })
		}
		for w := range writers {
			wg.Go(func() {
				ws := w % spaces
				ctx := eventtest.Context(t.Context(), fmt.Sprint("ws", ws))
				for i := range each {
					fail := i%5 == 4 // a change that is rolled back takes its event along
					err := d.InTx(ctx, func(tx *db.Tx) error {
						if err := l.Append(ctx, tx, event.Event{Type: "entity.updated", Subject: fmt.Sprint(w), Revision: int64(i + 1)}); err != nil {
							return err
						}
						if fail {
							return errUndone
						}
						return nil
					})
					switch {
					case err == nil:
						kept[ws].Add(1)
					case !errors.Is(err, errUndone):
						t.Errorf("append: %v", err)
					}
				}
			})
		}
		wg.Wait()
		close(stop)
		readers.Wait()
		for ws := range spaces {
			checkSubjects(t, readAll(t, l, fmt.Sprint("ws", ws)), int(kept[ws].Load()))
		}
	})
}

var errUndone = errors.New("undone")

// chase reads behind the writers: each batch must go on exactly where the one
// before ended.
func chase(t *testing.T, l *event.Log, sub *event.Subscription, ws string, stop <-chan struct{}) {
	defer sub.Close()
	after := int64(0)
	for {
		b, err := l.Read(t.Context(), event.Query{Workspace: ws, After: after, Limit: 50})
		if err != nil {
			t.Errorf("chase: %v", err)
			return
		}
		for _, it := range b.Items {
			if after++; it.Seq != after {
				t.Errorf("%s: got number %d after %d", ws, it.Seq, after-1)
				return
			}
		}
		if b.HasMore {
			continue
		}
		select {
		case <-sub.C:
		case <-stop:
			return
		}
	}
}

// checkSubjects wants n events, those of one subject in the order of their
// revisions.
func checkSubjects(t *testing.T, items []event.Item, n int) {
	t.Helper()
	if len(items) != n {
		t.Errorf("%d events, want %d", len(items), n)
	}
	last := map[string]int64{}
	for _, it := range items {
		if it.Revision <= last[it.Subject] {
			t.Errorf("subject %s: revision %d after %d", it.Subject, it.Revision, last[it.Subject])
		}
		last[it.Subject] = it.Revision
	}
}

func TestWakeAfterCommitOnly(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		published := make(chan string, 8)
		l := newLog(d, func(c *event.Config) { c.Publish = func(ws string) { published <- ws } })
		mine, foreign := l.Subscribe("ws"), l.Subscribe("other")
		defer mine.Close()
		defer foreign.Close()
		ctx := eventtest.Context(t.Context(), "ws")
		err := d.InTx(ctx, func(tx *db.Tx) error {
			return errors.Join(l.Append(ctx, tx, event.Event{Type: "a.done"}), errUndone)
		})
		if !errors.Is(err, errUndone) {
			t.Fatalf("InTx = %v, want %v", err, errUndone)
		}
		if len(mine.C) != 0 {
			t.Error("a rollback woke a subscriber")
		}
		eventtest.Append(t, d, l, "ws", "a.done")
		if len(mine.C) != 1 {
			t.Error("a commit woke nobody")
		}
		if len(foreign.C) != 0 {
			t.Error("a commit woke another workspace")
		}
		if n, ws := len(published), <-published; n != 1 || ws != "ws" {
			t.Errorf("published %d times, first %q, want ws once", n, ws)
		}
	})
}

// A wake-up from outside must not go out again: two instances would play it
// back and forth for ever.
func TestWakeIsNotPublished(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	published := make(chan string, 8)
	l := newLog(d, func(c *event.Config) { c.Publish = func(ws string) { published <- ws } })
	sub := l.Subscribe("remote")
	defer sub.Close()
	l.Wake("remote")
	l.WakeAll()
	<-sub.C
	if len(published) != 0 {
		t.Errorf("a wake-up from another instance was published for %q", <-published)
	}
}

// Who waits for all workspaces learns that wake-ups were lost, not only of the
// workspaces somebody else waits for.
func TestWakeAll(t *testing.T) {
	t.Parallel()
	l := newLog(dbtest.SQLite(t))
	all, one := l.Subscribe(""), l.Subscribe("one")
	defer all.Close()
	defer one.Close()
	l.Wake("two")
	l.WakeAll()
	for name, sub := range map[string]*event.Subscription{"all": all, "one": one} {
		if len(sub.C) != 1 {
			t.Errorf("the subscription to %s was not woken", name)
		}
	}
	if list, lost := all.Workspaces(); !lost || len(list) != 0 {
		t.Errorf("Workspaces() = %q, %v, want that any may have events", list, lost)
	}
	l.Wake("two")
	l.Wake("one")
	if list, lost := all.Workspaces(); lost || !slices.Equal(list, []string{"one", "two"}) {
		t.Errorf("Workspaces() = %q, %v, want one and two", list, lost)
	}
}

// TestSecondProcess is two tests: run again as a child it writes to the same
// SQLite file.
func TestSecondProcess(t *testing.T) {
	t.Parallel()
	const each = 200
	if path := os.Getenv("HEARTH_TEST_CHILD_DB"); path != "" {
		d, err := db.Open(t.Context(), db.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		appendMany(t, d, newLog(d), "child", each)
		return
	}
	path := filepath.Join(t.TempDir(), "hearth.db")
	d := dbtest.SQLite(t, dbtest.With(func(c *db.Config) { c.Path = path }))
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSecondProcess$", "-test.count=1")
	child.Env = append(os.Environ(), "HEARTH_TEST_CHILD_DB="+path)
	out := make(chan error, 1)
	go func() {
		text, err := child.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, text)
		}
		out <- err
	}()
	l := newLog(d)
	appendMany(t, d, l, "parent", each)
	if err := <-out; err != nil {
		t.Fatalf("second process: %v", err)
	}
	checkSubjects(t, readAll(t, l, "ws"), 2*each)
}

func appendMany(t *testing.T, d *db.DB, l *event.Log, subject string, n int) {
	t.Helper()
	ctx := eventtest.Context(t.Context(), "ws")
	for i := range n {
		err := d.InTx(ctx, func(tx *db.Tx) error {
			return l.Append(ctx, tx, event.Event{Type: "entity.updated", Subject: subject, Revision: int64(i + 1), Data: map[string]string{"i": strconv.Itoa(i)}})
		})
		if err != nil {
			t.Fatalf("append: %v", err)
		}
	}
}
