package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/hearth-dmrv/hearth/test/server"
)

// natsAt runs a NATS server in this process; port -1 is any.
func natsAt(t *testing.T, port int) *natsserver.Server {
	t.Helper()
	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	if !s.ReadyForConnections(patience) {
		t.Fatal("the NATS server does not start")
	}
	t.Cleanup(s.Shutdown)
	return s
}

// TestNATS: with NATS between the nodes a change of a key counts everywhere once it was
// answered, also while the NATS server is gone and after it has come back.
func TestNATS(t *testing.T) {
	t.Parallel()
	n := natsAt(t, -1)
	url := n.ClientURL()
	all := clients(t, nodesWith(t, 3, []string{"NATS_URL=" + url}))
	var took time.Duration
	change := func(what string) {
		for i := range rounds() {
			writer := all[i%len(all)]
			key := decode[struct {
				ID  string `json:"id"`
				Key string `json:"key"`
			}](t, call(t, writer, 201, "POST /v1/api-keys", object{"name": fmt.Sprint(what, i), "scopes": []string{"entities:read"}}))
			for _, c := range all {
				call(t, as(c, key.Key), 200, "GET /v1/api-keys/current", nil)
			}
			took = slowest(t, took, func() { call(t, writer, 200, "DELETE /v1/api-keys/"+key.ID, nil) })
			for _, c := range all {
				if got, err := as(c, key.Key).Do(t.Context(), "GET", "/v1/api-keys/current", nil); err != nil || got.Status != 401 && got.Status != 429 {
					t.Fatalf("%s, round %d: a revoked key is answered %+v, %v", what, i, got, err)
				}
			}
		}
		t.Logf("%s: slowest revocation %s", what, took)
		took = 0
	}
	degraded := func() (n int) {
		for _, c := range all {
			if strings.Contains(string(call(t, c, 200, "GET /readyz", nil).Body), "degraded") {
				n++
			}
		}
		return n
	}
	until(t, "all nodes have NATS", func() bool { return degraded() == 0 })
	change("with NATS")
	port := n.Addr().String()
	port = port[strings.LastIndex(port, ":")+1:]
	n.Shutdown()
	n.WaitForShutdown()
	until(t, "all nodes say that NATS is gone", func() bool { return degraded() == len(all) })
	change("without NATS")
	var again int
	if _, err := fmt.Sscan(port, &again); err != nil {
		t.Fatal(err)
	}
	natsAt(t, again)
	until(t, "all nodes have NATS again", func() bool { return degraded() == 0 })
	change("with NATS again")
}

// lateMost is how long the others may act on what was before, when the node that changed it
// was killed before it could say so: they read the versions each second.
const lateMost = 1500 * time.Millisecond

// TestKilledBeforeTheNote: with NATS the note of a change follows its commit. A node that is
// killed while it revokes a key may have committed and told nobody; if the key is revoked, the
// others refuse it all the same.
func TestKilledBeforeTheNote(t *testing.T) {
	t.Parallel()
	whole(t)
	s := newShaky(t, 3, "NATS_URL="+natsAt(t, -1).ClientURL())
	silent, slowest := 0, time.Duration(0)
	for i := range rounds() / 10 {
		one, others := s.seats[0], []*server.Client{s.seats[1].running.Client(1), s.seats[2].running.Client(1)}
		key := decode[struct {
			ID  string `json:"id"`
			Key string `json:"key"`
		}](t, call(t, others[0], 201, "POST /v1/api-keys", object{"name": fmt.Sprint(i), "scopes": []string{"entities:read"}}))
		for _, c := range others {
			call(t, as(c, key.Key), 200, "GET /v1/api-keys/current", nil)
		}
		answered := make(chan bool, 1)
		writer := one.running.Client(1)
		go func() {
			got, err := writer.Do(t.Context(), "DELETE", "/v1/api-keys/"+key.ID, nil)
			answered <- err == nil && got.Status == 200
		}()
		time.Sleep(time.Duration(i%12) * 4 * time.Millisecond)
		if err := one.running.Kill(); err != nil {
			t.Fatal(err)
		}
		since, told := time.Now(), <-answered
		revoked := decode[struct {
			Status string `json:"status"`
		}](t, call(t, others[0], 200, "GET /v1/api-keys/"+key.ID, nil)).Status == "revoked"
		if told && !revoked {
			t.Errorf("round %d: a revocation was answered and is not there", i)
		}
		if revoked && !told {
			silent++
		}
		for _, c := range others {
			for revoked {
				got, err := as(c, key.Key).Do(t.Context(), "GET", "/v1/api-keys/current", nil)
				if err != nil {
					t.Fatal(err)
				}
				took := time.Since(since)
				if got.Status == 401 || got.Status == 429 {
					slowest = max(slowest, took)
					break
				}
				if took > lateMost {
					t.Fatalf("round %d: %s after the node was killed a revoked key is answered %d", i, took, got.Status)
				}
				time.Sleep(5 * time.Millisecond)
			}
			c.Close()
		}
		writer.Close()
		one.start(t, one.options.Binary)
	}
	t.Logf("%d revocations were committed and not answered; refused everywhere within %s", silent, slowest)
}
