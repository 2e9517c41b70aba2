package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// TestStop sends SIGTERM to a server with open streams, a request whose body
// is on its way and one that waits for somebody else: streams are told, both
// requests are answered, and the exit code is 0 within 15 seconds.
func TestStop(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		o.Env = append(o.Env, allow)
		s := server.Run(t, o)
		c := owner(t, s)
		asked, release := make(chan struct{}), make(chan struct{})
		slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			close(asked)
			<-release
		}))
		defer slow.Close()
		hook, err := c.Webhooks.Create(t.Context(), client.WebhookDraft{URL: slow.URL, Events: []string{"webhook.disabled"}})
		if err != nil {
			t.Fatal(err)
		}
		streams := openStreams(t, s, c)
		half := newHalf(t, s)
		pinged := make(chan error, 1)
		go func() {
			out, err := c.Webhooks.Ping(t.Context(), hook.ID)
			if err == nil && !out.Delivered {
				err = fmt.Errorf("ping = %+v", out)
			}
			pinged <- err
		}()
		<-asked

		begin := time.Now()
		stopped := make(chan error, 1)
		go func() { stopped <- s.Stop(15 * time.Second) }()
		for i, end := range streams {
			if text := receive(t, end, "the end of a stream"); !strings.HasSuffix(text, "event: close\ndata: {\"reason\":\"shutdown\"}\n\n") {
				t.Errorf("stream %d ended with %q, want a close event", i, text)
			}
		}
		// The streams have ended, so the server is stopping by now.
		until(t, "new connections are refused", func() bool { return !reachable(t, s) })
		if got := half.finish(); !strings.HasPrefix(got, "HTTP/1.1 201 ") {
			t.Errorf("a request whose body came late: %q, want 201", got)
		}
		close(release)
		if err := receive(t, pinged, "the slow answer"); err != nil {
			t.Errorf("a request accepted before the stop: %v", err)
		}
		if err := receive(t, stopped, "the end of the server"); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took > 15*time.Second {
			t.Errorf("took %s, want 15 s at most", took)
		}
	})
}

func reachable(t *testing.T, s *server.Server) bool {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// openStreams opens streams of several keys. Each channel gets what came over
// one of them, when it has ended.
func openStreams(t *testing.T, s *server.Server, c *client.Client) []<-chan string {
	t.Helper()
	var out []<-chan string
	for i := range 5 {
		k, err := c.Keys.Create(t.Context(), client.KeyDraft{Name: fmt.Sprint("stream ", i), Scopes: []string{"events:read"}})
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			out = append(out, openStream(t, s, k.Text))
		}
	}
	return out
}

func openStream(t *testing.T, s *server.Server, key string) <-chan string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/v1/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 200 {
		t.Fatalf("GET /v1/events = %d, want 200", res.StatusCode)
	}
	end := make(chan string, 1)
	go func() {
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			text = append(text, err.Error()...)
		}
		end <- string(text)
	}()
	return end
}

// half is a request of which the last byte is still missing.
type half struct {
	conn net.Conn
	t    *testing.T
}

func newHalf(t *testing.T, s *server.Server) *half {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	body := `{"name":"late","scopes":["entities:read"]}`
	// The server asks for the body once the route has begun to read it: from
	// then on the request is accepted.
	fmt.Fprintf(conn, "POST /v1/api-keys HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n",
		s.Key, len(body))
	_ = conn.SetDeadline(time.Now().Add(patience))
	line, err := bufio.NewReaderSize(conn, 16).ReadString('\n')
	if err != nil || !strings.Contains(line, "100 Continue") {
		t.Fatalf("asked to continue: %q, %v", line, err)
	}
	fmt.Fprint(conn, body[:len(body)-1])
	return &half{conn, t}
}

// finish sends the rest and reads the answer.
func (h *half) finish() string {
	fmt.Fprint(h.conn, "}")
	text, err := io.ReadAll(h.conn)
	if err != nil {
		h.t.Errorf("read answer: %v", err)
	}
	_, answer, _ := strings.Cut("\r\n"+string(text), "HTTP/1.1")
	return "HTTP/1.1" + answer
}

// TestStopUnderLoad stops a server that is being written to: every request
// either fails to reach it or is answered without a server error, and what was
// acknowledged is there afterwards.
func TestStopUnderLoad(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		ctx, cancel := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		acks := make(chan string, 10000)
		for range 8 {
			wait.Go(func() { load(ctx, t, s, acks) })
		}
		for range 50 {
			receive(t, acks, "acknowledged writes")
		}
		if err := s.Stop(15 * time.Second); err != nil {
			t.Error(err)
		}
		cancel()
		wait.Wait()
		close(acks)
		again := owner(t, server.Run(t, o))
		for id := range acks {
			if _, err := again.Keys.Get(t.Context(), id); err != nil {
				t.Errorf("key %s was acknowledged: %v", id, err)
			}
		}
	})
}

// load makes keys until the server cannot be reached.
func load(ctx context.Context, t *testing.T, s *server.Server, acks chan<- string) {
	c := s.Client(1)
	defer c.Close()
	for ctx.Err() == nil {
		got, err := c.Do(ctx, "POST", "/v1/api-keys", draft("load"))
		if err != nil {
			return
		}
		if got.Status != 201 {
			t.Errorf("an accepted request: %d %s, want 201", got.Status, got.Body)
			return
		}
		var k client.Key
		if err := got.JSON(&k); err != nil {
			t.Error(err)
			return
		}
		acks <- k.ID
	}
}
