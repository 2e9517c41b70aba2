package bus

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	pingEvery      = 30 * time.Second // a silent connection is asked whether it lives
	publishTimeout = 5 * time.Second
	connectTimeout = 5 * time.Second
	probeTimeout   = 10 * time.Second
	firstBackoff   = 100 * time.Millisecond
	lastBackoff    = 5 * time.Second
)

// Postgres is a bus between all instances on one PostgreSQL database and
// schema, over LISTEN and NOTIFY. It listens and publishes on connections of
// its own, so it never waits for the store or delays it, and publishers never
// wait for the network. LISTEN needs a session: a pooler in front must not pool
// by transaction.
type Postgres struct {
	local   *Local
	conf    *pgx.ConnConfig
	log     *slog.Logger
	ping    time.Duration
	channel string
	origin  string // identifies this instance in its messages
	out     *outbox
	stop    context.CancelFunc // ends the listener
	closing chan struct{}      // closed: the sender sends what waits and ends
	close   func()
	wg      sync.WaitGroup
	silent  atomic.Bool     // not listening now
	begun   strings.Builder // the pieces of a long message so far; of the listener alone
}

// NewPostgres connects a bus to the database at url. It listens until ctx ends
// or Close is called, and reconnects when the connection is lost; subscribers
// then get a Message with Missed set.
func NewPostgres(ctx context.Context, url string, log *slog.Logger) (*Postgres, error) {
	return newPostgres(ctx, url, log, pingEvery)
}

func newPostgres(ctx context.Context, url string, log *slog.Logger, ping time.Duration) (*Postgres, error) {
	pool, err := pgxpool.ParseConfig(url) // the URL may have settings of the store's pool
	if err != nil {
		return nil, fmt.Errorf("bus: read the database URL: %w", err)
	}
	conf := pool.ConnConfig
	conf.RuntimeParams["application_name"] = "hearth-bus"
	if conf.ConnectTimeout == 0 {
		conf.ConnectTimeout = connectTimeout
	}
	ctx, stop := context.WithCancel(ctx)
	p := &Postgres{
		local: New(), conf: conf, log: log, ping: ping, origin: rand.Text(),
		out: newOutbox(), stop: stop, closing: make(chan struct{}),
	}
	p.close = sync.OnceFunc(func() { close(p.closing) })
	conn, err := p.open(ctx)
	if err != nil {
		stop()
		return nil, fmt.Errorf("bus: %w", err)
	}
	p.wg.Go(func() { p.run(ctx, conn) })
	// What is published while the process stops goes out too.
	p.wg.Go(func() { (&sender{Postgres: p}).send(context.WithoutCancel(ctx)) })
	return p, nil
}

// Publish sends a message to the subscribers of this process at once and to the
// other instances soon; it waits for neither. Equal pending messages become
// one. When too many are pending, or the database cannot be reached, the others
// are told that they missed some as soon as possible. It fails only for a
// message over the limits.
func (p *Postgres) Publish(_ context.Context, topic, payload string) error {
	if err := checkMessage(topic, payload); err != nil {
		return err
	}
	p.local.deliver(topic, payload)
	p.out.put(note{topic, payload})
	return nil
}

// Subscribe calls f for every message on topic from any instance.
func (p *Postgres) Subscribe(topic string, f func(Message)) (cancel func()) {
	return p.local.Subscribe(topic, f)
}

// Close sends pending messages, stops listening, ends all subscriptions and
// closes the connections. It takes a few seconds at most when the database is
// gone.
func (p *Postgres) Close() {
	p.close()
	p.stop()
	p.wg.Wait()
	p.local.Close()
}

// open names the channel and makes the first connection. The name depends on
// the schema, so that installations that share a database do not hear each
// other.
func (p *Postgres) open(ctx context.Context) (*pgx.Conn, error) {
	conn, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer p.drop(ctx, conn)
	var schema string
	if err := conn.QueryRow(ctx, `SELECT coalesce(current_schema(), '')`).Scan(&schema); err != nil {
		return nil, fmt.Errorf("find schema: %w", err)
	}
	sum := sha256.Sum256([]byte(schema))
	p.channel = "hearth_" + hex.EncodeToString(sum[:8])
	listener, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.probe(ctx, conn, listener); err != nil {
		p.drop(ctx, listener)
		return nil, err
	}
	return listener, nil
}

// probe sends a message from one connection to another. A pooler that gives the
// session of a listener to others between two statements does not carry it.
func (p *Postgres) probe(ctx context.Context, from, to *pgx.Conn) error {
	_, text := p.wire("probe", "")
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if _, err := from.Exec(ctx, `SELECT pg_notify($1, $2)`, p.channel, text); err != nil {
		return fmt.Errorf("send probe: %w", err)
	}
	for {
		n, err := to.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrPooled, err)
		}
		if n.Payload == text {
			return nil
		}
	}
}

// ErrPooled means that the address leads to a pooler that does not keep
// sessions.
var ErrPooled = errors.New("LISTEN hears nothing: is there a pooler in between that pools by transaction? Name the database itself with HEARTH_BUS_URL")

func (p *Postgres) dial(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, p.conf.Copy())
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return conn, nil
}

// connect makes a connection that listens.
func (p *Postgres) connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{p.channel}.Sanitize()); err != nil {
		p.drop(ctx, conn)
		return nil, fmt.Errorf("listen: %w", err)
	}
	return conn, nil
}

func (p *Postgres) drop(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // it is of no use either way
}

// run listens for ever, over as many connections as it takes.
func (p *Postgres) run(ctx context.Context, conn *pgx.Conn) {
	for {
		err := p.listen(ctx, conn)
		p.silent.Store(true)
		p.drop(ctx, conn)
		if ctx.Err() != nil {
			return
		}
		p.log.WarnContext(ctx, "bus connection lost, connecting again", "err", err)
		if conn = p.reconnect(ctx); conn == nil {
			return
		}
		p.silent.Store(false)
		p.begun.Reset()
		p.log.InfoContext(ctx, "bus connected again")
		p.local.missed()
	}
}

// reconnect tries until it has a connection or ctx ends.
func (p *Postgres) reconnect(ctx context.Context) *pgx.Conn {
	for wait := firstBackoff; ; wait = min(2*wait, lastBackoff) {
		conn, err := p.connect(ctx)
		if err == nil {
			return conn
		}
		p.log.DebugContext(ctx, "bus cannot connect", "err", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// listen hands on what arrives on conn until it breaks.
func (p *Postgres) listen(ctx context.Context, conn *pgx.Conn) error {
	for {
		wait, cancel := context.WithTimeout(ctx, p.ping)
		n, err := conn.WaitForNotification(wait)
		late := wait.Err() != nil
		cancel()
		switch {
		case err == nil:
			p.receive(n.Payload)
		case ctx.Err() != nil || !late || conn.IsClosed():
			return err
		default:
			if err := p.alive(ctx, conn); err != nil {
				return err
			}
		}
	}
}

// alive asks a silent connection for an answer: a peer that vanished without
// a word would otherwise never be noticed.
func (p *Postgres) alive(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, min(p.ping, connectTimeout))
	defer cancel()
	return conn.Ping(ctx)
}

// Degraded reports whether this instance hears nothing from others now.
func (p *Postgres) Degraded() bool { return p.silent.Load() }

// receive hands on a message of another instance; our own were delivered when
// they were published. Pieces of a long one follow each other.
func (p *Postgres) receive(wire string) {
	if piece, ok := strings.CutPrefix(wire, pieceMark); ok {
		_, text, _ := strings.Cut(piece, "\n")
		p.begun.WriteString(text)
		return
	}
	if last, ok := strings.CutPrefix(wire, lastMark); ok {
		_, text, _ := strings.Cut(last, "\n")
		wire = p.begun.String() + text
		p.begun.Reset()
	}
	origin, rest, _ := strings.Cut(wire, "\n")
	topic, payload, ok := strings.Cut(rest, "\n")
	switch {
	case !ok || origin == p.origin:
	case topic == "":
		p.local.missed()
	default:
		p.local.deliver(topic, payload)
	}
}

// wire is a message in the form for pg_notify in the caller's own transaction:
// other instances receive it with the commit. Subscribers of this process do
// not.
func (p *Postgres) wire(topic, payload string) (channel, text string) {
	return p.channel, p.origin + "\n" + topic + "\n" + payload
}
