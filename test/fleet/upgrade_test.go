package fleet

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/test/server"
)

// seat is a node whose program changes.
type seat struct {
	options server.Options
	running *server.Server
}

// start runs the node with a program.
func (s *seat) start(t *testing.T, program string) {
	t.Helper()
	s.options.Binary = program
	var err error
	if s.running, err = server.Start(s.options); err != nil {
		t.Fatal(err)
	}
}

// stop ends the node in order.
func (s *seat) stop(t *testing.T) {
	t.Helper()
	if err := s.running.Stop(patience); err != nil {
		t.Error(err)
	}
}

// TestUpgrade: nodes are replaced one after the other under load by a program that knows
// one more migration, and then by the one of before, which serves with the newer
// schema: whoever comes through the proxy notices nothing.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	whole(t)
	older := server.Binary(t)
	newer, err := server.BuildWith(t.TempDir(), map[string]string{
		"internal/db/migrations/postgres/9001_next.sql": "ALTER TABLE entities ADD COLUMN of_the_next_version TEXT;\nCREATE TABLE of_the_next_version (id BIGINT PRIMARY KEY);\n",
		"internal/db/migrations/sqlite/9001_next.sql":   "ALTER TABLE entities ADD COLUMN of_the_next_version TEXT;\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	url, dir := dbtest.URL(t), t.TempDir()
	seats, all := make([]*seat, 3), make([]*server.Server, 3)
	for i := range seats {
		seats[i] = &seat{options: server.Options{
			Dir: filepath.Join(dir, fmt.Sprint(i)), DatabaseURL: url, Ready: patience,
			Env: append(sharedKeys(), "HEARTH_DRAIN_DELAY=4s", "PORT="+freePort(t)),
		}}
		seats[i].start(t, older)
		all[i] = seats[i].running
		t.Cleanup(func() {
			if err := seats[i].running.Kill(); err != nil {
				t.Error(err)
			}
			if t.Failed() {
				t.Log(seats[i].running.Output())
			}
		})
	}
	at := proxies()[0].run(t, all)
	l := writeUntil(t, &server.Client{URL: at, Key: all[0].Key, HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}, 4)
	l.more(t, 50)
	for step, program := range []string{newer, older, newer} {
		for i, s := range seats {
			s.stop(t)
			s.start(t, program)
			l.more(t, 50)
			schema := decode[struct {
				Checks map[string]any `json:"checks"`
			}](t, call(t, s.running.Client(1), 200, "GET /readyz", nil))
			t.Logf("step %d, node %d: %v", step, i, schema.Checks)
		}
	}
	l.end(t)
}
