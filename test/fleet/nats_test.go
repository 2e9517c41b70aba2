package fleet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
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
