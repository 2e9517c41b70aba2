package db_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// alter changes settings of a cluster while it runs.
func alter(t *testing.T, url string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, sql := range append(statements, `SELECT pg_reload_conf()`) {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

// replicated is a primary and a standby that streams from it.
func replicated(t *testing.T) (primary, standby *dbtest.Cluster) {
	t.Helper()
	primary = dbtest.Own(t, dbtest.Replicated()...)
	standby, err := primary.Standby(t.Context(), "second")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = standby.Stop() }) // a test may have stopped it
	return primary, standby
}

// soon waits for something that takes a moment.
func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick, end := time.NewTicker(20*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// TestStandbyRequired: requests store nothing while no standby confirms it, and store
// again when there is one; beats and jobs go on, and reading works.
func TestStandbyRequired(t *testing.T) {
	t.Parallel()
	primary, standby := replicated(t)
	url := primary.URL("postgres")
	d, err := db.Open(t.Context(), db.Config{URL: url, RequireStandby: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.Join(t.Context(), db.Node{Name: "one"}); err != nil {
		t.Fatal(err)
	}
	request := d.Lane(t.Context(), db.Request)
	write := func() error { return db.Writable(request, d) }
	refused := func() bool {
		f := fault.As(write())
		return f != nil && f.Code == "STANDBY_MISSING" && f.Kind == fault.Unavailable
	}
	if !refused() || db.Standbys(d) != 0 {
		t.Errorf("with an asynchronous standby a write = %v, %d standbys", write(), db.Standbys(d))
	}
	if err := db.Writable(t.Context(), d); err != nil {
		t.Errorf("a job does not write: %v", err)
	}
	if err := d.Ping(request); err != nil {
		t.Errorf("a request does not read: %v", err)
	}
	alter(t, url, `ALTER SYSTEM SET synchronous_standby_names = 'second'`)
	soon(t, "a standby confirms, and requests write", func() bool { return write() == nil })
	if db.Standbys(d) != 1 {
		t.Errorf("%d standbys, want 1", db.Standbys(d))
	}

	// It goes while somebody waits for it, and the primary gives up waiting, as Patroni does:
	// what was committed is on one disk, and nobody is told that it is stored.
	if err := standby.Stop(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan error, 1)
	go func() { gone <- write() }()
	select {
	case err := <-gone:
		if f := fault.As(err); f == nil || f.Code != "STANDBY_MISSING" {
			t.Errorf("a write without the standby = %v", err)
		}
	case <-time.After(300 * time.Millisecond): // it waits for the standby
		alter(t, url, `ALTER SYSTEM RESET synchronous_standby_names`)
		if err := <-gone; fault.As(err) == nil || !db.OutcomeUnknown(err) {
			t.Errorf("a write that the primary no longer holds back = %v, want that nobody knows", err)
		}
	}
	if !refused() {
		t.Error("writes are not refused")
	}
}

// TestStandbyHidden: a user who may not look at standbys is not taken for one without.
func TestStandbyHidden(t *testing.T) {
	t.Parallel()
	primary, _ := replicated(t)
	alter(t, primary.URL("postgres"), `CREATE USER small`, `GRANT ALL ON SCHEMA public TO small`)
	url := strings.Replace(primary.URL("postgres"), "user=hearth", "user=small", 1)
	d, err := db.Open(t.Context(), db.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	if db.Standbys(d) != -1 {
		t.Errorf("%d standbys, want -1", db.Standbys(d))
	}
	if got, err := db.Open(t.Context(), db.Config{URL: url, RequireStandby: true}); err == nil || !strings.Contains(err.Error(), "pg_read_all_stats") {
		t.Errorf("Open() = %v, %v, want a word about the right that is missing", got, errors.Unwrap(err))
	}
}
