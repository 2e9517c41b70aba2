package fleet

import (
	"crypto/ed25519"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/test/server"
)

// tokenFor is an invocation for an oracle.
func tokenFor(t *testing.T, oracle string) string {
	t.Helper()
	signer, err := ucan.NewSigner("", ed25519.NewKeyFromSeed([]byte(strings.Repeat("f", 32))))
	if err != nil {
		t.Fatal(err)
	}
	token, err := signer.Mint(ucan.Draft{
		Audience: did.DID(oracle), Expires: time.Now().Add(10 * time.Minute), Capabilities: []ucan.Capability{{Can: "*", With: ucan.DefaultResource}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return token.Text()
}

// status is how a node answers a request with a token.
func status(t *testing.T, s *server.Server, path, token string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("X-Auth-Type", "ucan")
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close() // nothing of it is read
	return res.StatusCode
}

// TestThreeNodes: three that start at once on an empty database are one oracle, see
// each other, and leave one after the other without a word at the door.
func TestThreeNodes(t *testing.T) {
	t.Parallel()
	all := nodes(t, 3, "HEARTH_DRAIN_DELAY=5m")
	oracle := all[0].Oracle()
	token := tokenFor(t, oracle)
	for _, s := range all {
		if got := s.Oracle(); got == "" || got != oracle {
			t.Errorf("a node is the oracle %q, another %q", got, oracle)
		}
		if got := status(t, s, "/sessions", token); got != http.StatusOK {
			t.Errorf("the token = %d, want 200 at every node", got)
		}
	}
	c := owner(t, all[0])
	list := func() map[string]int {
		states, selves := map[string]int{}, 0
		for n, err := range c.Operations.Nodes(t.Context(), client.PageQuery{Limit: 2}) {
			if err != nil {
				t.Fatal(err)
			}
			if states[n.State]++; n.Self {
				selves++
			}
		}
		if selves != 1 {
			t.Errorf("%d of the nodes say that they answer", selves)
		}
		return states
	}
	if got := list(); got["live"] != 3 {
		t.Errorf("the nodes are %v, want 3 live ones", got)
	}
	if err := all[1].Stop(patience); err != nil {
		t.Error(err)
	}
	if got := list(); got["live"] != 2 || len(got) != 1 {
		t.Errorf("the nodes are %v, want 2 live ones", got)
	}
	if err := all[2].Terminate(); err != nil {
		t.Fatal(err)
	}
	until(t, "the node that stops says so", func() bool { return status(t, all[2], "/readyz", "") == http.StatusServiceUnavailable })
	until(t, "the others know", func() bool { return list()["draining"] == 1 })
	for path, token := range map[string]string{"/livez": "", "/sessions": token} {
		if got := status(t, all[2], path, token); got != http.StatusOK {
			t.Errorf("%s of the node that stops = %d, want 200 until the delay is over", path, got)
		}
	}
	if err := all[2].Kill(); err != nil {
		t.Error(err)
	}
	until(t, "the node that was killed is silent", func() bool { return list()["silent"] == 1 })
}
