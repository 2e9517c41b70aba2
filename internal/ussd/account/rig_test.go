package account_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/sms"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	keyOne   = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	keyTwo   = "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"
	keyThree = "fd61a03af4f77d870fc21e05e7e80678095c92d808cfb3b5c279ee04c74aca13"
	phone    = "+254700000001"
	goodPIN  = "48291"
)

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	hear func(line string) // may be nil
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hear != nil {
		l.hear(string(p))
	}
	return l.buf.Write(p)
}

func (l *lines) listen(f func(line string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hear = f
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// rig is one server with accounts.
type rig struct {
	*account.Service
	db     *db.DB
	events *event.Log
	jobs   *job.Service
	sms    *sms.Fake
	outbox *sms.Outbox
	logs   *lines

	mu  sync.Mutex
	now time.Time
}

func (r *rig) time() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// pass moves the clock of the rig.
func (r *rig) pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

// newRig starts a server on a store. change may be nil.
func newRig(t testing.TB, d *db.DB, change func(*rig, *account.Config)) *rig {
	t.Helper()
	r := &rig{db: d, sms: &sms.Fake{}, logs: &lines{}, now: time.Now().Truncate(time.Millisecond)}
	key, err := secret.Parse(strings.Repeat("k", 32))
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	cursors := web.Cursors{Key: []byte("0123456789abcdef")}
	r.events = event.New(event.Config{DB: d, Cursors: cursors, Log: log})
	r.jobs = job.New(job.Config{DB: d, Cursors: cursors, Log: log, Record: func(ctx context.Context, tx *db.Tx, typ, subject string, revision int64) error {
		return r.events.Append(ctx, tx, event.Event{Type: typ, Subject: subject, Revision: revision})
	}})
	r.outbox = sms.New(sms.Config{DB: d, Jobs: r.jobs, Key: key, Sender: r.sms, Log: log})
	cfg := account.Config{DB: d, Events: r.events, Jobs: r.jobs, SMS: r.outbox, Key: key, PINKey: keyOne, Log: log, Now: r.time}
	if change != nil {
		change(r, &cfg)
	}
	if r.Service, err = account.New(cfg); err != nil {
		t.Fatal(err)
	}
	if err := r.Prove(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// run starts the jobs of a rig until the returned function is called.
func (r *rig) run(t testing.TB, change ...func(map[string]job.Handler)) (stop func()) {
	t.Helper()
	handlers := map[string]job.Handler{}
	maps.Copy(handlers, r.Handlers())
	maps.Copy(handlers, r.outbox.Handlers())
	for _, f := range change {
		f(handlers)
	}
	runner, err := r.jobs.NewRunner(job.RunnerConfig{Handlers: handlers, Backoff: func(int) time.Duration { return time.Millisecond }, Alone: true, Grace: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		runner.Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(stop)
	return stop
}

// await polls until ok.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// call is what an action is given in a test.
type call struct {
	phone, lang, account string
	standard             string // the default language; en by default
	vars, secrets, with  map[string]string
}

// try runs an action in a transaction of its own.
func (r *rig) try(ctx context.Context, name string, c call) (machine.Result, error) {
	a, ok := r.Actions()[name]
	if !ok {
		return machine.Result{}, fmt.Errorf("no action %s", name)
	}
	if c.phone == "" {
		c.phone = phone
	}
	if c.lang == "" {
		c.lang = "en"
	}
	if c.standard == "" {
		c.standard = "en"
	}
	var out machine.Result
	err := r.db.InTx(ctx, func(tx *db.Tx) (err error) {
		out, err = a.Run(ctx, tx, machine.ActionCall{
			Call:  machine.Call{Action: name, Vars: c.vars, Secrets: c.secrets, With: c.with, Lang: c.lang, Default: c.standard, Account: c.account},
			Phone: c.phone, Now: r.time(),
		})
		return err
	})
	return out, err
}

// do is try that succeeds.
func (r *rig) do(t testing.TB, name string, c call) machine.Result {
	t.Helper()
	out, err := r.try(t.Context(), name, c)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if a := r.Actions()[name]; !contains(a.Results, out.Name) {
		t.Errorf("%s gave %q, which it does not declare: %q", name, out.Name, a.Results)
	}
	for v, value := range out.Set {
		if _, given := c.secrets[v]; value == "" && given {
			continue // any action may remove a secret it was given
		}
		if !contains(r.Actions()[name].Sets, v) {
			t.Errorf("%s sets %s, which it does not declare", name, v)
		}
	}
	return out
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// create makes an account and returns its customer id.
func (r *rig) create(t testing.TB, number, pin string) string {
	t.Helper()
	out := r.do(t, "createAccount", call{
		phone: number, vars: map[string]string{"name": "Amina Otieno", "email": "amina@example.org"}, secrets: map[string]string{"pin": pin, "confirm": pin},
	})
	if out.Name != "ok" {
		t.Fatalf("createAccount = %+v", out)
	}
	return out.Set["customerId"]
}

// login tries a PIN.
func (r *rig) login(t testing.TB, number, customer, pin string) machine.Result {
	t.Helper()
	return r.do(t, "login", call{phone: number, vars: map[string]string{"customerId": customer}, secrets: map[string]string{"pin": pin}})
}

// enter logs in and returns the id of the account.
func (r *rig) enter(t testing.TB, number, customer, pin string) string {
	t.Helper()
	out := r.login(t, number, customer, pin)
	if out.Name != "ok" || out.Account == nil {
		t.Fatalf("login = %+v, want ok", out)
	}
	return *out.Account
}

// one reads an account.
func (r *rig) one(t testing.TB, customer string) account.Account {
	t.Helper()
	list, _, err := r.List(t.Context(), account.Filter{CustomerID: customer}, "", 1)
	if err != nil || len(list) != 1 {
		t.Fatalf("List(%s) = %v, %v", customer, list, err)
	}
	return list[0]
}

// types lists the events of the workspace that begin with ussd.
func (r *rig) types(t testing.TB) []string {
	t.Helper()
	ctx := web.WithCaller(t.Context(), web.Caller{Workspace: auth.OperatorWorkspace, DID: "did:x:op", Scopes: []string{"*"}})
	b, err := r.events.Read(ctx, event.Query{Workspace: auth.OperatorWorkspace, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range b.Items {
		if strings.HasPrefix(e.Type, "ussd.") {
			out = append(out, e.Type)
		}
	}
	return out
}

// count counts rows.
func (r *rig) count(t testing.TB, sql string, args ...any) int {
	t.Helper()
	var n int
	if err := r.db.QueryRow(t.Context(), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
