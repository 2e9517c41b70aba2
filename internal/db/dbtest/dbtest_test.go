package dbtest_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

func TestEachStoreIsItsOwn(t *testing.T) {
	t.Parallel()
	for range 2 {
		dbtest.Each(t, func(t *testing.T, d *db.DB) {
			if _, err := d.Exec(t.Context(), `CREATE TABLE mine (id BIGINT)`); err != nil {
				t.Errorf("create: %v", err)
			}
			s, err := d.Schema(t.Context())
			if err != nil || len(s.Pending) != 0 {
				t.Errorf("Schema = %+v, %v; want all migrations applied", s, err)
			}
		})
	}
}

// start gives a cluster of the test's own, or skips.
func start(t *testing.T) *dbtest.Cluster {
	t.Helper()
	dbtest.URL(t) // skips, or fails where all is required
	c, err := dbtest.Start(t.Context())
	if err != nil {
		t.Skipf("SKIPPED: no cluster can be started here: %v", err)
	}
	return c
}

func TestClusterStops(t *testing.T) {
	t.Parallel()
	c := start(t)
	conn, err := pgx.Connect(t.Context(), c.URL("postgres"))
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	var one int
	if err := conn.QueryRow(t.Context(), `SELECT 1`).Scan(&one); err != nil || one != 1 {
		t.Errorf("SELECT 1 = %d, %v", one, err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := c.Stop(); err != nil {
		t.Errorf("Stop: %v", err)
	}
	if _, err := os.Stat(c.Dir()); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", c.Dir(), err)
	}
	if _, err := pgx.Connect(t.Context(), c.URL("postgres")); err == nil {
		t.Error("the server still answers")
	}
}

const helperEnv = "HEARTH_DBTEST_HELPER"

// TestHelperProcess starts a cluster and waits to be killed.
func TestHelperProcess(t *testing.T) {
	if os.Getenv(helperEnv) == "" {
		t.Skip("not a test: the process TestKilledTestLeavesNothing kills")
	}
	c, err := dbtest.Start(t.Context())
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	fmt.Println(c.Dir())
	select {}
}

func TestKilledTestLeavesNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: no clusters on Windows")
	}
	dbtest.URL(t) // skips, or fails where all is required
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHelperProcess$")
	cmd.Env = append(os.Environ(), helperEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start helper: %v", err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	dir := lines.Text()
	if _, err := os.Stat(dir); err != nil {
		_ = cmd.Wait()
		t.Skipf("SKIPPED: no cluster can be started here: %s", dir)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatalf("kill: %v", err)
	}
	_ = cmd.Wait()
	deadline := time.Now().Add(20 * time.Second)
	for {
		if _, err := os.Stat(dir); os.IsNotExist(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is still there", dir)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
