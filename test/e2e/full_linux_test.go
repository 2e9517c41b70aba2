package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// smallDisk mounts a file system of a few MiB. It needs root.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=6m"); err != nil {
		if os.Getenv("HEARTH_TEST_REQUIRE") == "all" && os.Geteuid() == 0 {
			t.Fatalf("mount a small disk: %v", err)
		}
		t.Skipf("SKIPPED: a full disk cannot be tried without the right to mount one: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// fill takes all space that is left and returns the file that has it.
func fill(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "ballast")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 64 << 10; size > 0; {
		if _, err := f.Write(bytes.Repeat([]byte{1}, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// TestFullDisk fills the disk under a running server: writes are refused by
// name, reads go on, and writes work again once there is room.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	o := server.Options{Dir: smallDisk(t)}
	s := server.Run(t, o)
	ctx, c := t.Context(), owner(t, s)
	var acked []string
	for i := range 20 {
		k, err := c.Keys.Create(ctx, draft(fmt.Sprint("before ", i)))
		if err != nil {
			t.Fatal(err)
		}
		acked = append(acked, k.ID)
	}
	ballast := fill(t, o.Dir)
	raw := s.Client(1)
	defer raw.Close()
	// What the store has in reserve is used up first.
	until(t, "writes are refused", func() bool {
		got, err := raw.Do(ctx, "POST", "/v1/api-keys", client.KeyDraft{Name: strings.Repeat("x", 200), Scopes: []string{"entities:read"}})
		if err != nil {
			t.Fatal(err)
		}
		if got.Status == 201 {
			var k client.Key
			if err := got.JSON(&k); err != nil {
				t.Fatal(err)
			}
			acked = append(acked, k.ID)
			fill(t, o.Dir)
			return false
		}
		if got.Status != 503 || !strings.Contains(string(got.Body), `"code":"STORE_UNAVAILABLE"`) || got.Header.Get("Content-Type") != "application/problem+json" {
			t.Fatalf("a write on a full disk = %d %s, want 503 STORE_UNAVAILABLE", got.Status, got.Body)
		}
		return true
	})
	if k, err := c.Keys.Get(ctx, acked[0]); err != nil || k.Name != "before 0" {
		t.Errorf("a read on a full disk: %+v, %v", k, err)
	}
	if h, err := c.Health(ctx); err != nil || h.Database != "connected" {
		t.Errorf("health on a full disk = %+v, %v; want that the store can be read", h, err)
	}
	until(t, "it is not ready", func() bool {
		r, err := c.Ready(ctx)
		return err == nil && !r.Ready() && r.Checks["store"] == "does not take writes"
	})
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	until(t, "writes work again", func() bool {
		k, err := c.Keys.Create(ctx, draft("after"), client.IdempotencyKey("after"))
		if err == nil {
			acked = append(acked, k.ID)
		}
		return err == nil
	})
	until(t, "it is ready again", func() bool {
		r, err := c.Ready(ctx)
		return err == nil && r.Ready()
	})
	for _, id := range acked {
		if _, err := c.Keys.Get(ctx, id); err != nil {
			t.Errorf("key %s was acknowledged: %v", id, err)
		}
	}
	if text := ok(t, storeEnv(o), "db", "check"); strings.Contains(text, "WRONG") {
		t.Errorf("db check afterwards:\n%s", text)
	}
	if err := s.Stop(patience); err != nil {
		t.Error(err)
	}
}
