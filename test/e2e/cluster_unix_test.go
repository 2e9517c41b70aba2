//go:build unix

package e2e

import (
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/test/server"
)

// cluster is a PostgreSQL of the test's own that can be switched off.
type cluster struct {
	url  string
	data string // its folder
	bin  string // the program that serves it
	cmd  *exec.Cmd
}

// startCluster skips the test where there is no PostgreSQL to start.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	c, err := dbtest.Start(t.Context())
	if err != nil {
		if os.Getenv("HEARTH_TEST_REQUIRE") == "all" {
			t.Fatal(err)
		}
		t.Skipf("SKIPPED: no PostgreSQL to switch off: %v", err)
	}
	t.Cleanup(func() { _ = c.Stop() }) // it may have lost its server to us
	u, err := url.Parse(c.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	own := &cluster{url: u.String(), data: filepath.Join(u.Query().Get("host"), "data")}
	opts, err := os.ReadFile(filepath.Join(own.data, "postmaster.opts"))
	if err != nil {
		t.Fatal(err)
	}
	own.bin, _, _ = strings.Cut(string(opts), " ")
	return own
}

// pid is that of the running server, 0 when there is none.
func (c *cluster) pid() int {
	text, err := os.ReadFile(filepath.Join(c.data, "postmaster.pid"))
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	return pid
}

// stop ends the server, cutting its connections.
func (c *cluster) stop(t *testing.T) {
	t.Helper()
	if err := syscall.Kill(c.pid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if c.cmd != nil {
		_ = c.cmd.Wait() // it says how it ended; we know
		c.cmd = nil
	}
	until(t, "PostgreSQL has stopped", func() bool { return c.pid() == 0 })
}

// start starts the server again, as the user its folder belongs to.
func (c *cluster) start(t *testing.T) {
	t.Helper()
	info, err := os.Stat(c.data)
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	c.cmd = exec.Command(c.bin, "-D", c.data)
	c.cmd.Dir = c.data
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 {
		c.cmd.SysProcAttr.Credential = &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.cmd != nil {
			c.stop(t)
		}
	})
}

// TestPostgresAway switches the database off under a running server: health
// says so, writes are refused by name, and all is well when it is back.
func TestPostgresAway(t *testing.T) {
	t.Parallel()
	pg := startCluster(t)
	s := server.Run(t, server.Options{DatabaseURL: pg.url})
	ctx, c := t.Context(), owner(t, s)
	kept, err := c.Keys.Create(ctx, draft("before"))
	if err != nil {
		t.Fatal(err)
	}
	pg.stop(t)
	until(t, "health says degraded", func() bool {
		h, err := c.Health(ctx)
		if err != nil {
			t.Fatalf("health without a database: %v, want an answer", err)
		}
		return h.Status == "degraded" && h.Database == "disconnected"
	})
	until(t, "it is not ready", func() bool {
		r, err := c.Ready(ctx)
		return err == nil && !r.Ready() && r.Checks["store"] != "ok"
	})
	raw := s.Client(1)
	defer raw.Close()
	for _, tt := range []struct {
		method, path string
		body         any
	}{{"POST", "/v1/api-keys", draft("meanwhile")}, {"GET", "/v1/api-keys", nil}} {
		got, err := raw.Do(ctx, tt.method, tt.path, tt.body)
		if err != nil {
			t.Fatal(err)
		}
		if got.Status != 503 || got.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(string(got.Body), `"code":"STORE_UNAVAILABLE"`) {
			t.Errorf("%s %s without a database = %d %s, want 503 STORE_UNAVAILABLE", tt.method, tt.path, got.Status, got.Body)
		}
	}
	if got := status(t, s.URL+"/livez"); got != 200 {
		t.Errorf("livez = %d, want 200: a restart would not help", got)
	}
	pg.start(t)
	until(t, "it is ready again", func() bool {
		r, err := c.Ready(ctx)
		return err == nil && r.Ready()
	})
	if h, err := c.Health(ctx); err != nil || h.Status != "ok" || h.Database != "connected" {
		t.Errorf("health = %+v, %v; want ok again", h, err)
	}
	if _, err := c.Keys.Get(ctx, kept.ID); err != nil {
		t.Errorf("what was acknowledged before: %v", err)
	}
	if _, err := c.Keys.Create(ctx, draft("after")); err != nil {
		t.Errorf("a write afterwards: %v", err)
	}
	if err := s.Stop(patience); err != nil {
		t.Error(err)
	}
}

// TestStreamOverPostgresTrouble keeps a stream through the same trouble.
func TestStreamOverPostgresTrouble(t *testing.T) {
	t.Parallel()
	pg := startCluster(t)
	s := server.Run(t, server.Options{DatabaseURL: pg.url})
	c := owner(t, s)
	events := make(chan client.Event, 100)
	go func() { _ = follow(t.Context(), c, events) }()
	first := receive(t, events, "the first event")
	pg.stop(t)
	pg.start(t)
	var made *client.IssuedKey
	until(t, "a key can be made again", func() bool {
		var err error
		made, err = c.Keys.Create(t.Context(), draft("after"), client.IdempotencyKey("after"))
		if e := new(client.Error); errors.As(err, &e) && e.Status != 503 {
			t.Fatal(err)
		}
		return err == nil
	})
	for next := first.Seq + 1; ; next++ {
		ev := receive(t, events, "the event of the key")
		if ev.Seq != next {
			t.Fatalf("event %d, want %d", ev.Seq, next)
		}
		if ev.Subject == made.ID {
			return
		}
	}
}
