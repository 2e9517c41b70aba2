package cli_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/cli"
	"github.com/hearth-dmrv/hearth/internal/config"
)

// greeting keeps what a server prints and tells when it has said its last
// line, after which it serves.
type greeting struct {
	mu   sync.Mutex
	text bytes.Buffer
	once sync.Once
	done chan struct{}
}

func (g *greeting) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.text.Write(b)
	if strings.Contains(g.text.String(), "listening on") {
		g.once.Do(func() { close(g.done) })
	}
	return len(b), nil
}

// String is what was printed so far.
func (g *greeting) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.text.String()
}

// addr is the printed address of a listener.
func (g *greeting) addr(name string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	for line := range strings.Lines(g.text.String()) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == name {
			return strings.TrimPrefix(words[1], "http://")
		}
	}
	return ""
}

// withServer runs hearth serve on a fresh folder, calls f when it serves, and
// stops it.
func withServer(t *testing.T, env []string, f func(*greeting)) {
	t.Helper()
	g, errs := &greeting{done: make(chan struct{})}, &bytes.Buffer{}
	p := cli.Program{Version: "1.2.3", Out: g, Err: errs, Environ: append([]string{"HEARTH_DATA_DIR=" + t.TempDir(), "HOST=127.0.0.1", "PORT=0"}, env...)}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- p.Run(ctx, []string{"serve"}) }()
	select {
	case <-g.done:
		f(g)
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("serve with %q ended with %d: %s", env, code, errs)
		}
	case code := <-ended:
		stop()
		t.Errorf("serve with %q ended at once with %d: %s", env, code, errs)
	}
}

// What config check accepts, serve starts with: every choice there is, and
// the odd values of settings with rules of their own.
func TestAcceptedValuesServe(t *testing.T) {
	t.Parallel()
	envs := [][]string{
		{"HEARTH_SQLITE_SYNCHRONOUS=FULL"},
		{"HEARTH_SQLITE_SYNCHRONOUS=Normal"},
		{"ORACLE_DID=did:ixo:entity/abc%3A1"},
		{"ORACLE_DID=did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"},
		{"HEARTH_AREAS=b"},
		{"TRUST_PROXY_ENABLED=yes", "HEARTH_TRUSTED_PROXIES=10.0.0.0/8, ::1,192.0.2.1,::ffff:192.0.2.2"},
		{"USSD_GATEWAY_NETWORKS=198.51.100.0/24,2001:db8::/32"},
		{"CORS_ORIGIN=https://App.Example:443, http://localhost:5173"},
		{"HEARTH_OUTBOUND_ALLOW=10.0.0.5:9000,[fd00::1]:443,Hooks.Local.:8080,10.1.2.3/8,::1"},
		{"HEARTH_SERVER_KEY=" + strings.Repeat("k", 32), "HEARTH_OWNER_KEY=" + strings.Repeat("é", 32)},
		{"OTEL_EXPORTER_OTLP_HEADERS=a=b, c = d,"},
		{"HEARTH_RATE_LIMIT=0", "HEARTH_ADDRESS_RATE_LIMIT=0", "METRICS_ENABLED=no"},
		{"HEARTH_EVENT_RETENTION=0", "HEARTH_JOB_RETENTION=0", "HEARTH_DELIVERY_RETENTION=0", "HEARTH_BACKUP_EVERY=1m"},
	}
	choices := 0
	for _, s := range config.Settings() {
		for _, word := range s.Choices() {
			choices++
			envs = append(envs, []string{
				s.Env + "=" + word, "OPENAI_API_KEY=o", "NEBIUS_API_KEY=n", "OPEN_ROUTER_API_KEY=r",
				"SMS_WEBHOOK_URL=https://sms.example", "AFRICASTALKING_USERNAME=u", "AFRICASTALKING_API_KEY=k",
			})
		}
	}
	if choices < 15 {
		t.Errorf("%d choices, want those of five settings", choices)
	}
	for _, env := range envs {
		t.Run(strings.ReplaceAll(env[0], "/", "|"), func(t *testing.T) {
			t.Parallel()
			withServer(t, env, func(*greeting) {})
		})
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	ask := func(t *testing.T, env ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		p := cli.Program{Out: &out, Err: &errs, Environ: append([]string{"HEARTH_DATA_DIR=" + t.TempDir()}, env...)}
		if code := p.Run(t.Context(), []string{"health"}); code != 0 || out.String() != "ready\n" {
			t.Errorf("health with %q = %d, %s%s, want ready", env, code, &out, &errs)
		}
	}
	t.Run("merged", func(t *testing.T) {
		t.Parallel()
		withServer(t, nil, func(g *greeting) {
			host, port, _ := strings.Cut(g.addr("hearth"), ":")
			ask(t, "HOST="+host, "PORT="+port)
		})
	})
	t.Run("split", func(t *testing.T) {
		t.Parallel()
		const any0 = "127.0.0.1:0"
		withServer(t, []string{"HEARTH_API_ADDR=" + any0, "HEARTH_USSD_ADDR=" + any0, "HEARTH_ORACLE_ADDR=" + any0, "HEARTH_ADMIN_ADDR=" + any0}, func(g *greeting) {
			if got := g.addr("hearth"); got != "" {
				t.Errorf("the merged listener is open at %s", got)
			}
			// Nothing listens on port 1, where the merged listener would be.
			ask(t, "PORT=1", "HEARTH_API_ADDR="+g.addr("api"), "HEARTH_USSD_ADDR="+g.addr("ussd"), "HEARTH_ORACLE_ADDR="+g.addr("oracle"))
			ask(t, "PORT=1", "HEARTH_API_ADDR="+any0, "HEARTH_USSD_ADDR="+any0, "HEARTH_ORACLE_ADDR="+g.addr("oracle"))
			ask(t, "PORT=0", "HEARTH_ADMIN_ADDR="+g.addr("admin"))
		})
	})
	t.Run("by the data folder", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		withServer(t, []string{"HEARTH_DATA_DIR=" + dir}, func(g *greeting) {
			at := g.addr("hearth")
			host, port, _ := strings.Cut(at, ":")
			for _, tt := range []struct {
				args string
				env  string
				code int
			}{
				{"health", "PORT=0", 0},
				{"health", "PORT=1", 0},
				{"health --port 1", "PORT=" + port, 1},
				{"health --port " + port, "HOST=" + host, 0},
				{"health --url http://" + at + "/", "PORT=1", 0},
				{"health --url http://127.0.0.1:1", "PORT=" + port, 1},
				{"health --url %zz", "PORT=1", 2},
			} {
				var out, errs bytes.Buffer
				p := cli.Program{Out: &out, Err: &errs, Environ: []string{"HEARTH_DATA_DIR=" + dir, tt.env}}
				if code := p.Run(t.Context(), strings.Fields(tt.args)); code != tt.code || code == 0 && out.String() != "ready\n" {
					t.Errorf("%s with %s = %d, %s%s, want %d", tt.args, tt.env, code, &out, &errs, tt.code)
				}
			}
		})
	})
	t.Run("a port nobody knows", func(t *testing.T) {
		t.Parallel()
		p := cli.Program{Out: io.Discard, Err: io.Discard, Environ: []string{"PORT=0", "HEARTH_DATA_DIR=" + t.TempDir()}}
		if code := p.Run(t.Context(), []string{"health"}); code != 2 {
			t.Errorf("health with PORT=0 = %d, want 2", code)
		}
	})
}
