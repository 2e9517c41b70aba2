package fleet

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// TestLimits: a key has its whole limit at one node, and at most a quarter more at all of
// them at once, over PostgreSQL and over NATS.
func TestLimits(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) { t.Parallel(); testLimits(t) })
	t.Run("nats", func(t *testing.T) { t.Parallel(); testLimits(t, "NATS_URL="+natsAt(t, -1).ClientURL()) })
}

func testLimits(t *testing.T, env ...string) {
	t.Helper()
	const limit = 240
	all := nodesWith(t, 3, append(env, "HEARTH_RATE_LIMIT=240"))
	key := func() string {
		made, err := owner(t, all[0]).Keys.Create(t.Context(), client.KeyDraft{Name: "counted", Scopes: []string{"keys:read"}})
		if err != nil {
			t.Fatal(err)
		}
		return made.Text
	}
	// Nodes that do not confirm for a second, on a machine that is so busy, give their shares: then
	// another key is tried. Too many is a failure always.
	for range max(1, rounds()/100) {
		until(t, "the whole limit passes at one node", func() bool {
			n, spare := drained(t, all[:1], key())
			t.Logf("%d requests of %d passed at one node, and %d could come back meanwhile", n, limit, spare)
			if n > limit+spare {
				t.Errorf("%d requests passed at one node, want at most %d", n, limit+spare)
			}
			return n >= limit
		})
		until(t, "the whole limit passes at three nodes", func() bool {
			n, spare := drained(t, all, key())
			t.Logf("%d requests of %d passed at three nodes, and %d could come back meanwhile", n, limit, spare)
			if 4*(n-spare) > 5*limit {
				t.Errorf("%d requests passed at three nodes, want at most %d", n, 5*limit/4+spare)
			}
			return n >= limit
		})
	}
}

// drained spends what a key may do at some nodes, and tells how many requests passed and
// how many could come back while they did.
func drained(t *testing.T, at []*server.Server, key string) (passed, spare int64) {
	t.Helper()
	var n atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for _, s := range at {
		for range 4 {
			wg.Go(func() {
				for get(t, s.URL+"/v1/api-keys", key) == http.StatusOK {
					n.Add(1)
				}
			})
		}
	}
	wg.Wait()
	return n.Load(), int64(time.Since(began).Seconds()*4) + 1
}

func get(t *testing.T, url, key string) int {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Error(err)
		return 0
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Error(err)
	}
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("GET %s = %d", url, res.StatusCode)
	}
	return res.StatusCode
}
