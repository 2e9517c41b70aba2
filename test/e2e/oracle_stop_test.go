package e2e

import (
	"bufio"
	"crypto/ed25519"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/test/server"
)

// TestStopEndsStreams holds that a server that is told to stop lets the reader of
// an answer hear its end, keeps what there was of it, and is gone in the time
// it promises.
func TestStopEndsStreams(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{Env: []string{"HEARTH_SHUTDOWN_TIMEOUT=6s"}})
	ask := oracleUser(t, s)
	var made struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.UnmarshalRead(ask("POST", s.URL+"/sessions", "").Body, &made); err != nil {
		t.Fatal(err)
	}
	res := ask("POST", s.URL+"/messages/"+made.SessionID, `{"message":"/slow 50ms 2000","stream":true}`)
	frames := bufio.NewReader(res.Body)
	for line := ""; line != "event: message\n"; {
		var err error
		if line, err = frames.ReadString('\n'); err != nil {
			t.Fatalf("before the first word: %v", err)
		}
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.Stop(10 * time.Second) }()
	rest, err := io.ReadAll(frames)
	if err != nil {
		t.Errorf("the stream was cut: %v", err)
	}
	if text := string(rest); !strings.Contains(text, "event: done\ndata: {\"status\":\"interrupted\"") {
		t.Errorf("the stream ends with %q, want done and interrupted", text[max(0, len(text)-200):])
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// oracleUser calls a server's oracle as somebody with a key of their own.
func oracleUser(t *testing.T, s *server.Server) func(method, url, body string) *http.Response {
	t.Helper()
	signer := must(ucan.NewSigner("", ed25519.NewKeyFromSeed([]byte(strings.Repeat("s", 32)))))(t)
	token := must(signer.Mint(ucan.Draft{
		Audience: did.DID(s.Oracle()), Expires: time.Now().Add(10 * time.Minute), Capabilities: []ucan.Capability{{Can: "*", With: ucan.DefaultResource}},
	}))(t)
	return func(method, url, body string) *http.Response {
		t.Helper()
		r := must(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))(t)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("X-Auth-Type", "ucan")
		r.Header.Set("Authorization", "Bearer "+token.Text())
		res := must(http.DefaultClient.Do(r))(t)
		t.Cleanup(func() { _ = res.Body.Close() })
		if res.StatusCode >= 300 {
			t.Fatalf("%s %s: %d", method, url, res.StatusCode)
		}
		return res
	}
}
