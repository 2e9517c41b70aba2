package bus_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hearth-dmrv/hearth/internal/bus"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

func connect(t *testing.T, url string) *bus.Postgres {
	t.Helper()
	b, err := bus.NewPostgres(t.Context(), url, dbtest.Log(t))
	if err != nil {
		t.Fatalf("NewPostgres: %v", err)
	}
	t.Cleanup(b.Close)
	return b
}

// channelOf gives a subscription as a channel.
func channelOf(b bus.Bus, topic string) <-chan bus.Message {
	c := make(chan bus.Message, 100)
	b.Subscribe(topic, func(m bus.Message) { c <- m })
	return c
}

func receive(t *testing.T, c <-chan bus.Message) bus.Message {
	t.Helper()
	select {
	case m := <-c:
		return m
	case <-time.After(20 * time.Second):
		t.Fatal("no message came")
		return bus.Message{}
	}
}

func TestPostgresBetweenInstances(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	one, two := connect(t, url), connect(t, url)
	own, far := channelOf(one, "a"), channelOf(two, "a")
	other := channelOf(two, "b")
	payloads := []string{"x", "", "two\nlines", `quote ' " \`, "é", strings.Repeat("p", bus.MaxPayload)}
	for _, p := range payloads {
		publish(t, one, "a", p)
	}
	for _, want := range payloads {
		if got := receive(t, far); got != (bus.Message{Topic: "a", Payload: want}) {
			t.Errorf("other instance got %.20q, want %.20q", got.Payload, want)
		}
		if got := receive(t, own); got != (bus.Message{Topic: "a", Payload: want}) {
			t.Errorf("publisher got %.20q, want %.20q", got.Payload, want)
		}
	}
	// What follows arrives next on every channel: nothing came twice.
	publish(t, two, "a", "end")
	publish(t, one, "b", "end")
	for name, c := range map[string]<-chan bus.Message{"own": own, "far": far, "other": other} {
		if got := receive(t, c); got.Payload != "end" {
			t.Errorf("%s got %.20q, want only the end", name, got.Payload)
		}
	}
}

func TestPostgresSchemasApart(t *testing.T) {
	t.Parallel()
	raw := dbtest.URL(t)
	exec(t, raw, "CREATE SCHEMA elsewhere")
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("search_path", "elsewhere")
	u.RawQuery = q.Encode()
	one, two := connect(t, raw), connect(t, u.String())
	heard := channelOf(two, "a")
	publish(t, one, "a", "from the other schema")
	publish(t, two, "a", "own")
	if got := receive(t, heard); got.Payload != "own" {
		t.Errorf("got %q, want only its own schema's", got.Payload)
	}
}

func TestPostgresReconnect(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	one, two := connect(t, url), connect(t, url)
	near, far := channelOf(one, "a"), channelOf(two, "a")
	publish(t, one, "a", "before")
	receive(t, near)
	receive(t, far)
	exec(t, url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE application_name = 'hearth-bus' AND datname = current_database() AND query LIKE 'LISTEN%'`)
	for name, c := range map[string]<-chan bus.Message{"one": near, "two": far} {
		if got := receive(t, c); !got.Missed {
			t.Errorf("%s got %q after the break, want to hear that it missed some", name, got.Payload)
		}
	}
	publish(t, one, "a", "after")
	if got := receive(t, far); got.Payload != "after" {
		t.Errorf("after the break got %+v, want the message", got)
	}
}

func exec(t *testing.T, url, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatal(err)
	}
}

// TestPostgresSilentPeer: the connection neither answers nor closes, as after
// a network has lost a machine.
func TestPostgresSilentPeer(t *testing.T) {
	t.Parallel()
	raw := dbtest.URL(t)
	p := newProxy(t, raw)
	far, err := bus.NewPostgresPing(t.Context(), p.url, dbtest.Log(t), 300*time.Millisecond)
	if err != nil {
		t.Fatalf("NewPostgresPing: %v", err)
	}
	t.Cleanup(far.Close)
	near := connect(t, raw)
	c := channelOf(far, "a")
	publish(t, near, "a", "before")
	if got := receive(t, c); got.Payload != "before" {
		t.Fatalf("got %+v, want the message", got)
	}
	p.freeze()
	for got := receive(t, c); !got.Missed; got = receive(t, c) {
		t.Errorf("got %+v through a dead connection", got)
	}
	publish(t, near, "a", "after")
	for got := receive(t, c); got.Payload != "after"; got = receive(t, c) {
		if !got.Missed {
			t.Errorf("got %+v, want the message after the break", got)
		}
	}
}

// TestPostgresPublishNeverWaits: the database does not answer. Publishers go
// on, and the others learn that they missed something once it answers again.
func TestPostgresPublishNeverWaits(t *testing.T) {
	t.Parallel()
	raw := dbtest.URL(t)
	p := newProxy(t, raw)
	near, err := bus.NewPostgresPing(t.Context(), p.url, dbtest.Log(t), 2*time.Second)
	if err != nil {
		t.Fatalf("NewPostgresPing: %v", err)
	}
	t.Cleanup(near.Close)
	far := connect(t, raw)
	c := channelOf(far, "a")
	publish(t, near, "a", "before")
	if got := receive(t, c); got.Payload != "before" {
		t.Fatalf("got %+v, want the message", got)
	}
	p.freeze()
	begin := time.Now()
	for i := range 2 * bus.MaxQueue {
		publish(t, near, "a", strconv.Itoa(i))
	}
	if d := time.Since(begin); d > time.Second {
		t.Errorf("publishing took %s while the database was silent, want no wait", d)
	}
	if got := receive(t, c); !got.Missed {
		t.Errorf("the other instance got %+v, want to hear that it missed some", got)
	}
	publish(t, near, "a", "after")
	for got := receive(t, c); got.Payload != "after"; got = receive(t, c) {
		if !got.Missed {
			t.Errorf("got %+v, want the message after the break", got)
		}
	}
}

// TestPostgresCloseSends: a command that publishes and ends is heard.
func TestPostgresCloseSends(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	c := channelOf(connect(t, url), "a")
	ctx, end := context.WithCancel(t.Context())
	b, err := bus.NewPostgres(ctx, url, dbtest.Log(t))
	if err != nil {
		t.Fatalf("NewPostgres: %v", err)
	}
	end() // its life is over; what it has to say is not lost
	publish(t, b, "a", "last words")
	b.Close()
	b.Close() // twice is once
	if got := receive(t, c); got.Payload != "last words" {
		t.Errorf("got %+v, want the message", got)
	}
}

// proxy stands between a client and PostgreSQL.
type proxy struct {
	url  string
	mu   sync.Mutex
	now  chan struct{} // closed: connections made so far carry nothing more
	open []net.Conn
	over bool // the test has ended
}

func newProxy(t *testing.T, raw string) *proxy {
	t.Helper()
	conf, err := pgx.ParseConfig(raw)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword(conf.User, conf.Password), Host: l.Addr().String(), Path: "/" + conf.Database, RawQuery: "sslmode=disable"}
	p := &proxy{url: u.String(), now: make(chan struct{})}
	network, addr := pgconn.NetworkAddress(conf.Host, conf.Port)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial(network, addr)
			if err != nil {
				t.Errorf("dial PostgreSQL: %v", err)
				return
			}
			p.mu.Lock()
			p.open = append(p.open, c, s)
			frozen, over := p.now, p.over
			p.mu.Unlock()
			if over {
				_ = c.Close()
				_ = s.Close()
				return
			}
			wg.Go(func() { carry(c, s, frozen) })
			wg.Go(func() { carry(s, c, frozen) })
		}
	})
	t.Cleanup(func() {
		p.freeze()
		_ = l.Close()
		p.mu.Lock()
		p.over = true
		for _, c := range p.open {
			_ = c.Close()
		}
		p.mu.Unlock()
		wg.Wait()
	})
	return p
}

// freeze makes all connections go silent; new ones work.
func (p *proxy) freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.now)
	p.now = make(chan struct{})
}

func carry(to io.Writer, from net.Conn, frozen <-chan struct{}) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		select {
		case <-frozen:
			_, _ = io.Copy(io.Discard, from) // until somebody gives up
			return
		default:
		}
		if err != nil {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func TestPostgresDatabaseGone(t *testing.T) {
	t.Parallel()
	c, err := dbtest.Start(t.Context())
	if err != nil {
		t.Skipf("SKIPPED: no cluster of its own: %v", err)
	}
	b, err := bus.NewPostgres(t.Context(), c.URL("postgres"), dbtest.Log(t))
	if err != nil {
		t.Fatalf("NewPostgres: %v", err)
	}
	t.Cleanup(b.Close)
	heard := channelOf(b, "a")
	if err := c.Stop(); err != nil {
		t.Logf("stop: %v", err)
	}
	publish(t, b, "a", "x")
	if got := receive(t, heard); got.Payload != "x" {
		t.Errorf("own process got %+v, want the message all the same", got)
	}
}

func TestNewPostgresFails(t *testing.T) {
	t.Parallel()
	for _, u := range []string{"postgres://127.0.0.1:1/x?connect_timeout=2", "::"} {
		if b, err := bus.NewPostgres(t.Context(), u, dbtest.Log(t)); err == nil {
			b.Close()
			t.Errorf("NewPostgres(%s) succeeded, want an error", u)
		}
	}
}

func TestPostgresCallerLeaves(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t)
	one, two := connect(t, url), connect(t, url)
	c := channelOf(two, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := one.Publish(ctx, "a", "x"); err != nil {
		t.Errorf("Publish of a caller who left: %v", err)
	}
	if got := receive(t, c); got.Payload != "x" {
		t.Errorf("got %+v, want the message", got)
	}
}
