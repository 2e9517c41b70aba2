package dialog_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/outbound"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/ussd"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
	"github.com/hearth-dmrv/hearth/internal/ussd/dialog"
	"github.com/hearth-dmrv/hearth/internal/ussd/fetch"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/sms"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// world is a whole USSD server for one dialog, with everything outside of it
// in the hands of the test.
type world struct {
	t        *testing.T
	db       *db.DB
	pack     *menu.Pack
	gateways *wire.Set
	events   *event.Log
	jobs     *job.Service
	fake     *sms.Fake
	seer     *seer
	asker    *asker
	moved    atomic.Int64 // nanoseconds the clock is ahead
	fail     atomic.Bool  // twins cannot be made

	mu       sync.Mutex
	smsOff   bool
	twinsOff bool
	accounts *account.Service
	outbox   *sms.Outbox
	fetch    fetch.Config
	handler  http.Handler
}

// known is what packs may name.
func known() menu.Known {
	all := account.Offered()
	maps.Copy(all, fetch.Actions(fetch.Config{}))
	return machine.Known(all)
}

func openPack(t *testing.T, name string) *menu.Pack {
	t.Helper()
	p, err := menu.Open(name, known())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newWorld(t *testing.T, pack *menu.Pack) *world {
	t.Helper()
	gateways, err := wire.Open("")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, db: dbtest.SQLite(t, dbtest.With(func(c *db.Config) { c.Sync = "normal" })), pack: pack, gateways: gateways, fake: &sms.Fake{}, seer: newSeer(), asker: newAsker()}
	cursors := web.Cursors{Key: []byte("0123456789abcdef")}
	w.events = event.New(event.Config{DB: w.db, Cursors: cursors})
	w.jobs = job.New(job.Config{DB: w.db, Cursors: cursors, Record: func(ctx context.Context, tx *db.Tx, typ, subject string, revision int64) error {
		return w.events.Append(ctx, tx, event.Event{Type: typ, Subject: subject, Revision: revision})
	}})
	w.build()
	return w
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.moved.Load())) }

// Current is the pack of new sessions.
func (w *world) Current() *menu.Pack { return w.pack }

// Version is the one pack there is.
func (w *world) Version(v string) *menu.Pack {
	if v != w.pack.Version {
		return nil
	}
	return w.pack
}

// Admit takes everybody for an operator.
func (w *world) Admit(http.Header, *http.Request, web.Scope) (web.Caller, error) {
	return web.Caller{}, nil
}

// build starts the server anew on the same store.
func (w *world) build() {
	key, err := secret.Parse(strings.Repeat("k", 32))
	if err != nil {
		w.t.Fatal(err)
	}
	out := sms.Config{DB: w.db, Jobs: w.jobs, Key: key, Sender: w.fake, Now: w.now}
	if w.smsOff {
		out.Sender = nil
	}
	w.outbox = sms.New(out)
	cfg := account.Config{DB: w.db, Events: w.events, Jobs: w.jobs, SMS: w.outbox, Key: key, Now: w.now, MakeTwins: w.twins}
	if w.twinsOff {
		cfg.MakeTwins = nil
	}
	if w.accounts, err = account.New(cfg); err != nil {
		w.t.Fatal(err)
	}
	api := web.NewAPI(web.APIConfig{Name: "USSD", Errors: web.End, Gate: w, Log: dbtest.Log(w.t)})
	client, err := outbound.New(outbound.Config{Allow: []string{"127.0.0.1"}})
	if err != nil {
		w.t.Fatal(err)
	}
	actions := w.accounts.Actions()
	w.fetch = fetch.Config{
		Client: client, Types: []string{"Stove"}, Customer: w.accounts.DIDOf, Twins: w.stoves, DB: w.db, Jobs: w.jobs, SMS: w.outbox, Oracle: w.seer, Surveys: w.asker, PerHour: 3,
	}
	maps.Copy(actions, fetch.Actions(w.fetch))
	sessions := ussd.New(ussd.Config{DB: w.db, Key: key, Packs: w, Actions: actions, Gateways: w.gateways, Log: dbtest.Log(w.t), Now: w.now})
	sessions.Routes(api)
	sessions.OperatorRoutes(api)
	mux := http.NewServeMux()
	api.Mount(mux)
	proxies, err := web.NewProxies(false, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.handler = web.WithRequestIDs(proxies.Middleware(mux))
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	h := w.handler
	w.mu.Unlock()
	h.ServeHTTP(rw, r)
}

func (w *world) twins(_ context.Context, c account.Customer) (string, error) {
	if w.fail.Load() {
		return "", fault.New(fault.Invalid, "NO_TWINS", "There are no twins today.")
	}
	return c.Household, nil
}

// do is what dialogs may have happen outside of the handset.
func (w *world) do(ctx context.Context, what string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	name, arg, _ := strings.Cut(what, " ")
	switch what {
	case "sms off":
		w.smsOff = true
		w.build()
		return nil
	case "twins off":
		w.twinsOff = true
		w.build()
		return nil
	case "answers":
		w.seer.answer()
		return nil
	case "survey agents", "survey closed", "survey broken":
		w.asker.set(arg)
		return nil
	case "hold numbers":
		all, _, err := w.accounts.List(ctx, account.Filter{}, "", 100)
		for _, a := range all {
			err = errors.Join(err, w.accounts.Hold(ctx, a.Phone, time.Time{}))
		}
		return err
	case "twins made", "twins failed":
		w.fail.Store(arg == "failed")
		return w.work(ctx, func() bool {
			pending, _, err := w.accounts.List(ctx, account.Filter{Twins: account.TwinsPending}, "", 1)
			return err == nil && len(pending) == 0
		})
	}
	if name == "sms" {
		return w.work(ctx, func() bool {
			return slices.ContainsFunc(w.fake.Sent(), func(m sms.Message) bool { return m.Text == arg })
		})
	}
	if d, err := time.ParseDuration(arg); name == "later" && err == nil {
		w.moved.Add(int64(d))
		return nil
	}
	return errors.New("want later TIME, hold numbers, sms off, twins off, twins made, twins failed, answers, survey agents, survey closed, survey broken or sms TEXT")
}

// work runs jobs until something has come of them.
func (w *world) work(ctx context.Context, done func() bool) error {
	handlers := w.accounts.Handlers()
	maps.Copy(handlers, w.outbox.Handlers())
	maps.Copy(handlers, fetch.Answers(w.fetch))
	runner, err := w.jobs.NewRunner(job.RunnerConfig{Handlers: handlers, Alone: true, Backoff: func(int) time.Duration { return time.Millisecond }})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runner.Run(ctx)
	}()
	defer func() { cancel(); <-ended }()
	tick, late := time.NewTicker(2*time.Millisecond), time.After(20*time.Second)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-late:
			return errors.New("nothing came of the jobs")
		}
	}
	return nil
}

var sixDigits = regexp.MustCompile(`\b[0-9]{6}\b`)

// value is what only the phone or an operator knows.
func (w *world) value(ctx context.Context, name, phone string) (string, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch name {
	case "smsCode":
		found := ""
		err := w.work(ctx, func() bool {
			for _, m := range w.fake.Sent() {
				if code := sixDigits.FindString(m.Text); m.To == phone && code != "" {
					found = code
				}
			}
			return found != ""
		})
		return found, err == nil
	case "id": // of an account that was opened before
		all := w.accounts.Actions()
		var out machine.Result
		err := w.db.InTx(ctx, func(tx *db.Tx) (err error) {
			out, err = all["createAccount"].Run(ctx, tx, machine.ActionCall{
				Call: machine.Call{Vars: map[string]string{"name": "Amina"}, Secrets: map[string]string{"pin": "48213", "confirm": "48213"}, Lang: "en", Default: "en"}, Phone: phone, Now: w.now(),
			})
			return err
		})
		return out.Set["customerId"], err == nil
	case "temporaryPin":
		accounts, _, err := w.accounts.List(ctx, account.Filter{Phone: phone}, "", 1)
		if err != nil || len(accounts) == 0 {
			return "", false
		}
		pin, _, err := w.accounts.Reset(ctx, accounts[0].CustomerID, false)
		return pin, err == nil
	}
	return "", false
}

// TestFieldPack plays what packs of programmes use beyond the shipped ones.
func TestFieldPack(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/field.yaml")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(partner))
	t.Cleanup(server.Close)
	pack, err := menu.Parse("field.yaml", []byte(strings.ReplaceAll(string(data), "PARTNER", server.URL)), known())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range menu.Lint(pack, menu.LintOptions{}) {
		t.Error(f)
	}
	playAll(t, pack, "field")
}

// partner is the server that the field pack asks. Some numbers it does not
// like.
func partner(w http.ResponseWriter, r *http.Request) {
	phone := r.URL.Query().Get("phone")
	if status := map[string]int{"+254700000503": 503, "+254700000404": 404}[phone]; status > 0 {
		w.WriteHeader(status)
	}
	shops := []map[string]string{}
	for i := range 30 {
		if phone == "+254700000204" {
			break
		}
		shops = append(shops, map[string]string{"title": fmt.Sprint("Shop ", i+1), "id": fmt.Sprint("K", i+1)})
	}
	body, err := json.Marshal(map[string]any{"balance": jsontext.Value("1200.50"), "currency": "KES", "shops": shops})
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
	}
	_, _ = w.Write(body)
}

// stoves are those of the programme: two in Kitui, of which customers have the
// first. What a real server gives is tested where there is one.
func (w *world) stoves(_ context.Context, q fetch.TwinQuery) ([][]byte, error) {
	const stove = `{"did": "did:x:%d", "type": "Stove", "metadata": {"name": "Jiko"}, "properties": {"serial": "S%d", "district": "Kitui"}}`
	switch {
	case strings.HasPrefix(q.Filter, "eq(controllers,"):
		return [][]byte{fmt.Appendf(nil, stove, 1, 1)}, nil
	case q.Filter == `eq(properties.district,"Kitui")`:
		return [][]byte{fmt.Appendf(nil, stove, 1, 1), fmt.Appendf(nil, stove, 2, 2)}, nil
	}
	return nil, nil
}

// playAll plays the dialogs of a folder, which visit every node of the pack.
func playAll(t *testing.T, pack *menu.Pack, folder string) {
	t.Helper()
	files, err := filepath.Glob("testdata/" + folder + "/*.dialog")
	if err != nil || len(files) == 0 {
		t.Fatalf("files = %v, %v", files, err)
	}
	var mu sync.Mutex
	visits := map[string]int{}
	t.Run("dialogs", func(t *testing.T) {
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".dialog"), func(t *testing.T) {
				t.Parallel()
				seen := playShipped(t, pack, file)
				mu.Lock()
				defer mu.Unlock()
				for id, n := range seen {
					visits[id] += n
				}
			})
		}
	})
	if c := dialog.Cover(pack, visits); c.Percent() != 100 {
		t.Errorf("%d of %d nodes were visited; missing: %s", c.Visited, c.Nodes, strings.Join(c.Missing, ", "))
	}
}

// The dialogs of the shipped packs pass on a server with a store, and together
// they visit every node.
func TestShippedPacks(t *testing.T) {
	t.Parallel()
	for _, name := range menu.Shipped() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playAll(t, openPack(t, name), name)
		})
	}
}

func playShipped(t *testing.T, pack *menu.Pack, file string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, err := dialog.Parse(file, data)
	if err != nil {
		t.Fatal(err)
	}
	visits := map[string]int{}
	for _, d := range all {
		w := newWorld(t, pack)
		r := &dialog.Runner{Send: dialog.Direct(w), Gateways: w.gateways, Pack: pack, Value: w.value, Do: w.do}
		out, err := r.Run(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range out.Problems {
			t.Error(p)
		}
		if out.Steps == 0 {
			t.Errorf("%s did nothing", file)
		}
		for id, n := range out.Visits {
			visits[id] += n
		}
	}
	return visits
}
