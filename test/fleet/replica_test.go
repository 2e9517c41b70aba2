package fleet

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/test/server"
)

// replicated is a node on a primary with a standby that it may read.
func replicated(t *testing.T) (s *server.Server, standby *dbtest.Cluster) {
	t.Helper()
	primary := dbtest.Own(t, dbtest.Replicated()...)
	standby, err := primary.Standby(t.Context(), "second")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = standby.Stop() }) // the test may have stopped it
	s, err = server.Start(server.Options{
		Binary: server.Binary(t), Dir: t.TempDir(), DatabaseURL: primary.URL("postgres"), Ready: patience,
		Env: append(sharedKeys(), "DATABASE_READ_URL="+standby.URL("postgres")),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Kill(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(s.Output())
		}
	})
	return s, standby
}

// on runs a statement on a cluster.
func on(t *testing.T, c *dbtest.Cluster, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// counter is the value of a metric of a node.
func counter(t *testing.T, s *server.Server, name string) int {
	t.Helper()
	c := s.Client(1)
	defer c.Close()
	text := call(t, c, 200, "GET /metrics", nil).Body
	m := regexp.MustCompile(`(?m)^` + name + ` (\d+)`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in the metrics", name)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestReplicas: whoever says how far it has written finds that in every list, by a
// replica when it has got so far and else by the primary; who says nothing asks the
// primary.
func TestReplicas(t *testing.T) {
	t.Parallel()
	s, standby := replicated(t)
	c := owner(t, s)
	made := 0
	// write makes a twin, and fails when the list does not have it at once.
	write := func() {
		t.Helper()
		made++
		twin, err := c.Entities.Create(t.Context(), client.EntityDraft{
			Type: "Network", Protocol: "did:ixo:protocol/network", Properties: client.Object{"name": fmt.Sprint("network ", made)},
		})
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range c.Entities.List(t.Context(), client.EntityQuery{Limit: 1, Sort: "-created"}) {
			if err != nil || e.DID != twin.DID {
				t.Fatalf("the newest twin = %v, %v, want %s", e, err, twin.DID)
			}
			break
		}
	}
	reads := func() int { return counter(t, s, "hearth_store_replica_reads_total") }

	silent := s.Client(1)
	defer silent.Close()
	before := reads()
	call(t, silent, 200, "GET /v1/entities?limit=1", nil)
	if got := reads(); got != before {
		t.Errorf("a caller without a position was answered by a replica, %d times", got-before)
	}
	until(t, "a replica answers", func() bool { write(); return reads() > before })

	on(t, standby, `SELECT pg_wal_replay_pause()`)
	missed := counter(t, s, "hearth_store_replica_missed_total")
	// One that has just failed is not even asked, so more than one may be needed.
	until(t, "the primary answers in its place", func() bool {
		write()
		return counter(t, s, "hearth_store_replica_missed_total") > missed
	})
	on(t, standby, `SELECT pg_wal_replay_resume()`)
	before = reads()
	until(t, "the replica answers again", func() bool { write(); return reads() > before })

	if err := standby.Stop(); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		write()
	}
}

// TestPositionRefused: what is no position is named; any other answers, also one that
// nobody has reached.
func TestPositionRefused(t *testing.T) {
	t.Parallel()
	s, _ := replicated(t)
	for at, want := range map[string]int{"0/0": 200, "FFFFFFFF/FFFFFFFF": 200, "soon": 400, "0/0'": 400, "-1/0": 400, "123456789/0": 400} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/entities", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+s.Key)
		r.Header.Set("Hearth-Position", at)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close() // nothing of it is read
		if res.StatusCode != want {
			t.Errorf("a read of %q = %d, want %d", at, res.StatusCode, want)
		}
	}
}
