package app

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/plugin"
	bundled "github.com/hearth-dmrv/hearth/plugins"
)

// Built is a whole server without its ports, for tests of all routes.
type Built struct {
	*App
	Handler http.Handler // of the merged listener
	Routes  []web.Route
	Shut    func() // ends it before the test does
}

// Build makes a server on a fresh folder. Its owner key is ownerKey.
func Build(t testing.TB, ownerKey string, change func(*config.Config)) *Built {
	t.Helper()
	return BuildTo(t, ownerKey, io.Discard, change)
}

// BuildTo is Build with a log, and with plugins.
func BuildTo(t testing.TB, ownerKey string, out io.Writer, change func(*config.Config), plugins ...plugin.Plugin) *Built {
	t.Helper()
	b := &Built{}
	if err := b.begin(t, ownerKey, out, change, plugins); err != nil {
		t.Fatalf("start: %v", err)
	}
	tables := b.tables(places(b.cfg))
	b.Handler = b.open[0].server.Handler
	for _, api := range tables[mergedName] {
		b.Routes = append(b.Routes, api.Routes()...)
	}
	return b
}

// StartError is why a server with plugins does not start.
func StartError(t testing.TB, change func(*config.Config), plugins ...plugin.Plugin) error {
	t.Helper()
	return (&Built{}).begin(t, "", io.Discard, change, plugins)
}

// Begin starts a server without its owner, to see whether it does.
func (b *Built) Begin(t testing.TB, change func(*config.Config)) error {
	t.Helper()
	return b.begin(t, "", io.Discard, change, nil)
}

// begin starts a server.
func (b *Built) begin(t testing.TB, ownerKey string, out io.Writer, change func(*config.Config), plugins []plugin.Plugin) error {
	t.Helper()
	cfg := config.Default()
	cfg.Data.Dir = t.TempDir()
	cfg.Auth.OwnerKey = config.Secret(ownerKey)
	cfg.Server.Port = 0
	cfg.Server.Host = "127.0.0.1"
	cfg.Limits.RateLimit, cfg.Limits.AddressRateLimit = 0, 0
	if change != nil {
		change(cfg)
	}
	log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	a := &App{cfg: cfg, log: log, opt: Options{Version: "test", Out: io.Discard, Err: io.Discard, Plugins: append(bundled.Bundled(), plugins...)}, small: small(t)}
	ctx, cancel := context.WithCancel(t.Context())
	b.App = a
	b.Shut = sync.OnceFunc(func() {
		cancel()
		if err := a.close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	t.Cleanup(b.Shut)
	return a.start(ctx)
}

// Greeting is what the person at the terminal reads.
func (b *Built) Greeting() string {
	var out strings.Builder
	b.opt.Out = &out
	b.greet("")
	return out.String()
}

// RunJobs runs the background jobs until ctx ends.
func (b *Built) RunJobs(ctx context.Context) { b.runner.Run(ctx) }

// Metrics are what the server counts, as they are scraped.
func (b *Built) Metrics() string {
	w := httptest.NewRecorder()
	b.metrics.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

// RunTasks asks what users have scheduled until ctx ends.
func (b *Built) RunTasks(ctx context.Context) error { return b.mind.tasks.Serve(ctx) }

// Dir is the data folder.
func (b *Built) Dir() string { return b.cfg.Data.Dir }

// OracleDID is who the oracle is.
func (b *Built) OracleDID() did.DID { return b.identity.DID }

// Tools are what the oracle can look up here.
func (b *Built) Tools(ctx context.Context) []tool.Tool { return b.mind.tools.ForRun(ctx) }

// KeepFile has the first turn of a conversation hold a file that was read.
func (b *Built) KeepFile(ctx context.Context, user, session, text string) error {
	return b.mind.chats.KeepFiles(ctx, user, session, 1, []llm.Attachment{{Filename: "a.txt", MIMEType: "text/plain", Text: text}})
}

// Erasers names what forgets somebody.
func (b *Built) Erasers() []string {
	var out []string
	for _, e := range b.erasers() {
		out = append(out, e.Name)
	}
	return out
}

// Settle has the bytes of what was erased go, as the server does beside the
// requests. No other instance sends a file in these tests.
func (b *Built) Settle(ctx context.Context) (left bool, err error) {
	b.flights.Grace = 0
	return b.twins.erase.Settle(ctx)
}

// scales says by how much the demo of a test is smaller.
var scales sync.Map

// Small has servers that a test builds load a demo that is so many times smaller.
func Small(t testing.TB, scale int) {
	scales.Store(t.Name(), scale)
	t.Cleanup(func() { scales.Delete(t.Name()) })
}

func small(t testing.TB) int {
	scale, _ := scales.Load(t.Name())
	n, _ := scale.(int)
	return n
}

// EraseConversations does what area D does to forget a person.
func EraseConversations(ctx context.Context, tx *db.Tx, b *Built, ws, did string) error {
	for _, e := range mindErasers(b.App) {
		if _, err := e.Erase(ctx, tx, ws, did); err != nil {
			return err
		}
	}
	return nil
}

// Reread has what plugins keep read from its rows again, which a test has written past
// them.
func (a *App) Reread(ctx context.Context) error {
	return a.DB.InTx(ctx, func(tx *db.Tx) error { return a.mind.state.Erase(ctx, tx, "default", "did:x:nobody") })
}
