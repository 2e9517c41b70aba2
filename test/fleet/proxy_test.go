package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/hearth-dmrv/hearth/test/server"
)

// proxy is one of the examples of deploy/.
type proxy struct {
	program string // as Debian names it
	config  string
	args    func(file, dir string) []string
	drains  bool // it asks /readyz, and so learns of a node that stops beforehand
}

func proxies() []proxy {
	return []proxy{
		{"haproxy", "haproxy.cfg", func(file, _ string) []string { return []string{"-db", "-f", file} }, true},
		{"nginx", "nginx.conf", func(file, dir string) []string {
			return []string{"-c", file, "-p", dir, "-e", filepath.Join(dir, "errors"), "-g", "daemon off; pid " + filepath.Join(dir, "pid") + ";"}
		}, false},
	}
}

// freePort is a port nobody listens at.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// run starts a proxy before nodes with the example as it stands, but for addresses, and
// gives its URL. Where the program is not installed the test is skipped.
func (p proxy) run(t *testing.T, all []*server.Server) string {
	t.Helper()
	program, err := exec.LookPath(p.program)
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin"} {
		if err != nil {
			program, err = exec.LookPath(filepath.Join(dir, p.program))
		}
	}
	if err != nil {
		t.Skipf("SKIPPED: %s is not installed (apt-get install %s): deploy/%s is not run", p.program, p.program, p.config)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", p.config))
	if err != nil {
		t.Fatal(err)
	}
	port, dir := freePort(t), t.TempDir()
	conf := regexp.MustCompile(`(bind |listen )(:?)8080`).ReplaceAllString(string(text), "${1}127.0.0.1:"+port)
	for i, s := range all {
		conf = strings.ReplaceAll(conf, fmt.Sprintf(" hearth-%d:3000", i+1), fmt.Sprintf(" 127.0.0.1:%d", s.Port))
	}
	file := filepath.Join(dir, p.config)
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, p.args(file, dir)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may be over
		<-over
		if t.Failed() {
			t.Logf("%s: %s", p.program, out.String())
		}
	})
	at := "http://127.0.0.1:" + port
	until(t, p.program+" answers", func() bool {
		select {
		case err := <-over:
			over <- err
			t.Fatalf("%s ended: %v", p.program, err)
		default:
		}
		res, err := http.Get(at + "/readyz")
		return err == nil && res.Body.Close() == nil && res.StatusCode == http.StatusOK
	})
	return at
}

// TestProxies: through the examples of deploy/ any node is reached, a session of
// socket.io that polls finds its node again, and neither is disturbed when nodes stop
// and come back one after the other.
func TestProxies(t *testing.T) {
	t.Parallel()
	for _, p := range proxies() {
		t.Run(p.program, func(t *testing.T) {
			t.Parallel()
			all := nodes(t, 3, "HEARTH_DRAIN_DELAY=4s")
			at := p.run(t, all)
			c := &server.Client{URL: at, Key: all[0].Key, HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
			reachAll(t, c)
			for range 20 {
				poll(t, at)
			}
			// The last node, which tells proxies for a while that it stops, is stopped under
			// load, where the proxy asks before it sends.
			var l *load
			if p.drains {
				l = writeUntil(t, c, 4)
			}
			if err := all[2].Stop(patience); err != nil {
				t.Error(err)
			}
			if !p.drains {
				l = writeUntil(t, c, 4)
			}
			l.more(t, 200)
			l.end(t)
		})
	}
}

// reachAll calls until every node has answered.
func reachAll(t *testing.T, c *server.Client) {
	t.Helper()
	seen := map[string]bool{}
	until(t, "every node answers", func() bool {
		list := decode[struct {
			Items []struct {
				ID   string `json:"id"`
				Self bool   `json:"self"`
			} `json:"items"`
		}](t, call(t, c, 200, "GET /v1/nodes", nil))
		for _, n := range list.Items {
			if n.Self {
				seen[n.ID] = true
			}
		}
		return len(seen) == 3
	})
}

// poll opens a session of socket.io by polling and goes on with it, on connections of
// its own: a node that does not have it refuses.
func poll(t *testing.T, at string) {
	t.Helper()
	session := func(method, sid, body string) (int, string) {
		q := url.Values{"EIO": {"4"}, "transport": {"polling"}}
		if sid != "" {
			q.Set("sid", sid)
		}
		r, err := http.NewRequestWithContext(t.Context(), method, at+"/socket.io/?"+q.Encode(), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Close = true
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	status, text := session(http.MethodGet, "", "")
	var open struct{ Sid string }
	if err := json.Unmarshal([]byte(strings.TrimPrefix(text, "0")), &open); status != 200 || err != nil || open.Sid == "" {
		t.Fatalf("open = %d %q, %v", status, text, err)
	}
	for range 3 {
		if status, text := session(http.MethodPost, open.Sid, "3"); status != 200 { // a pong is allowed at any time
			t.Fatalf("a message = %d %q: it went to another node", status, text)
		}
	}
}

// load writes from several places at once.
type load struct {
	done atomic.Int64
	bad  atomic.Pointer[string]
	stop context.CancelFunc
	wg   sync.WaitGroup
}

// writeUntil begins to write, each write once, until end.
func writeUntil(t *testing.T, c *server.Client, writers int) *load {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	l := &load{stop: stop}
	for w := range writers {
		l.wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				name := fmt.Sprintf("writer %d, %d", w, i)
				// Not ended in mid-request: a connection that we cut is no failure of theirs.
				got, err := c.Do(context.WithoutCancel(ctx), "POST", "/v1/entities", object{"type": "Network", "protocol": "did:ixo:protocol/network", "properties": object{"name": name}})
				if err != nil || got.Status != 201 {
					text := fmt.Sprintf("%s: %+v, %v", name, got, err)
					l.bad.CompareAndSwap(nil, &text)
				}
				l.done.Add(1)
			}
		})
	}
	t.Cleanup(stop)
	return l
}

// more waits until so many more were written.
func (l *load) more(t *testing.T, n int64) {
	t.Helper()
	want := l.done.Load() + n
	until(t, "writing goes on", func() bool { return l.done.Load() >= want || l.bad.Load() != nil })
}

// end stops, and fails if any write was refused.
func (l *load) end(t *testing.T) {
	t.Helper()
	l.stop()
	l.wg.Wait()
	if bad := l.bad.Load(); bad != nil {
		t.Errorf("of %d writes one was refused: %s", l.done.Load(), *bad)
	}
	t.Logf("%d writes", l.done.Load())
}
