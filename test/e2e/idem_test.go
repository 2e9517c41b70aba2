package e2e

import (
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// TestSamePostManyTimes sends one POST 64 times at once, half of them over
// connections that are cut before the answer comes: there is one record, one
// event, and everyone who gets an answer gets the same.
func TestSamePostManyTimes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		c := owner(t, s)
		const key = "one and the same"
		body := `{"name":"once","scopes":["entities:read"]}`
		var wait sync.WaitGroup
		var mu sync.Mutex
		texts := map[string]int{}
		for i := range 64 {
			wait.Go(func() {
				if i%2 == 0 {
					sendAndCut(t, s, key, body)
					return
				}
				k, err := c.Keys.Create(t.Context(), draft("once"), client.IdempotencyKey(key))
				if err != nil {
					t.Errorf("request %d: %v", i, err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				texts[k.ID+" "+k.Text]++
			})
		}
		wait.Wait()
		if len(texts) != 1 {
			t.Errorf("%d different answers, want one", len(texts))
		}
		found := 0
		for k, err := range c.Keys.List(t.Context(), client.PageQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			if k.Name == "once" {
				found++
			}
		}
		created := 0
		for _, err := range c.Events.List(t.Context(), client.ChangesQuery{Types: []string{"key.created"}}) {
			if err != nil {
				t.Fatal(err)
			}
			created++
		}
		if found != 1 || created != 2 {
			t.Errorf("%d keys and %d events of creation, want 1 and 2 with the owner's", found, created)
		}
		var m client.Meta
		if _, err := c.Keys.Create(t.Context(), draft("once"), client.IdempotencyKey(key), client.WithMeta(&m)); err != nil || !m.Replayed || m.Status != 201 {
			t.Errorf("once more: %v, %+v; want the stored answer", err, m)
		}
		if _, err := c.Keys.Create(t.Context(), draft("another"), client.IdempotencyKey(key)); client.CodeOf(err) != "IDEMPOTENCY_KEY_REUSED" {
			t.Errorf("another request with the key: %v, want IDEMPOTENCY_KEY_REUSED", err)
		}
	})
}

// sendAndCut sends a POST and closes the connection at once.
func sendAndCut(t *testing.T, s *server.Server, key, body string) {
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /v1/api-keys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s",
		s.Key, key, len(body), body)
}
