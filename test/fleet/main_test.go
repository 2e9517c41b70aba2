package fleet

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/test/server"
)

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

// patience is how long anything may take on a busy machine before it counts as not
// happening.
const patience = 2 * time.Minute

// sharedKeys are what all nodes must have in common.
func sharedKeys() []string {
	return []string{"HEARTH_SERVER_KEY=a server key that all nodes have in common", "PIN_ENCRYPTION_KEY=a passphrase of all PINs here"}
}

// nodes starts servers at once on one empty PostgreSQL, each in a folder of its own;
// env is for the last of them.
func nodes(t *testing.T, n int, env ...string) []*server.Server {
	t.Helper()
	return nodesWith(t, n, nil, env...)
}

// nodesWith is nodes with settings of all of them.
func nodesWith(t *testing.T, n int, common []string, env ...string) []*server.Server {
	t.Helper()
	url, dir := dbtest.URL(t), t.TempDir()
	all, errs := make([]*server.Server, n), make(chan error, n)
	binary := server.Binary(t)
	for i := range all {
		more := append(sharedKeys(), common...)
		if i == n-1 {
			more = append(more, env...)
		}
		go func() {
			var err error
			all[i], err = server.Start(server.Options{
				Binary: binary, Dir: filepath.Join(dir, string(rune('a'+i))), DatabaseURL: url, Env: more, Ready: patience,
			})
			errs <- err
		}()
	}
	for range all {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		for _, s := range all {
			if s == nil {
				continue
			}
			if err := s.Kill(); err != nil {
				t.Error(err)
			}
			if t.Failed() {
				t.Logf("%s:\n%s", s.Dir, s.Output())
			}
		}
	})
	if t.Failed() {
		t.FailNow()
	}
	return all
}

// owner calls a node with the owner key.
func owner(t *testing.T, s *server.Server) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{BaseURL: s.URL, Key: s.Key})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// until looks at something again and again until it holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited %s in vain: %s", patience, what)
		}
	}
}
