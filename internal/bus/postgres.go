package bus

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	pingEvery      = 30 * time.Second // a silent connection is asked whether it lives
	publishTimeout = 5 * time.Second
	connectTimeout = 5 * time.Second
	firstBackoff   = 100 * time.Millisecond
	lastBackoff    = 5 * time.Second
)

// Postgres is a bus between all instances on one PostgreSQL database and
// schema, over LISTEN and NOTIFY. One connection of its own listens and up to
// two publish, so it never waits for, or holds up, the store. LISTEN needs a
// session: a pooler in front must not pool by transaction.
type Postgres struct {
	local   *Local
	pool    *pgxpool.Pool
	conf    *pgx.ConnConfig
	log     *slog.Logger
	ping    time.Duration
	channel string
	origin  string // names this instance in what it publishes
	stop    context.CancelFunc
	wg      sync.WaitGroup
}

// NewPostgres connects a bus to the database at url. It listens until ctx
// ends or Close is called, and connects again by itself when the connection
// is lost; subscribers then get a Message with Missed set.
func NewPostgres(ctx context.Context, url string, log *slog.Logger) (*Postgres, error) {
	return newPostgres(ctx, url, log, pingEvery)
}

func newPostgres(ctx context.Context, url string, log *slog.Logger, ping time.Duration) (*Postgres, error) {
	conf, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("bus: read the database URL: %w", err)
	}
	conf.MaxConns = 2
	conf.ConnConfig.RuntimeParams["application_name"] = "hearth-bus"
	if conf.ConnConfig.ConnectTimeout == 0 {
		conf.ConnConfig.ConnectTimeout = connectTimeout
	}
	ctx, stop := context.WithCancel(ctx)
	p := &Postgres{local: New(), conf: conf.ConnConfig.Copy(), log: log, ping: ping, origin: rand.Text(), stop: stop}
	if p.pool, err = pgxpool.NewWithConfig(ctx, conf); err != nil {
		stop()
		return nil, fmt.Errorf("bus: open a pool: %w", err)
	}
	conn, err := p.open(ctx)
	if err != nil {
		stop()
		p.pool.Close()
		return nil, fmt.Errorf("bus: %w", err)
	}
	p.wg.Go(func() { p.run(ctx, conn) })
	return p, nil
}

// Publish sends a message to the subscribers of this process at once, even
// when the database is gone, and to the other instances.
func (p *Postgres) Publish(ctx context.Context, topic, payload string) error {
	if err := checkMessage(topic, payload); err != nil {
		return err
	}
	p.local.deliver(topic, payload)
	// The caller may leave as soon as its own work is stored; the others
	// still want to know. A cancelled statement would also cost a connection.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	if _, err := p.pool.Exec(ctx, `SELECT pg_notify($1, $2)`, p.channel, p.origin+"\n"+topic+"\n"+payload); err != nil {
		return fmt.Errorf("publish on %s: %w", topic, err)
	}
	return nil
}

// Subscribe calls f for every message on topic from any instance.
func (p *Postgres) Subscribe(topic string, f func(Message)) (cancel func()) {
	return p.local.Subscribe(topic, f)
}

// Close stops listening, ends all subscriptions and closes the connections.
func (p *Postgres) Close() {
	p.stop()
	p.wg.Wait()
	p.local.Close()
	p.pool.Close()
}

// open names the channel and makes the first connection. The name comes from
// the schema: installations that share a database do not hear each other.
func (p *Postgres) open(ctx context.Context) (*pgx.Conn, error) {
	var schema string
	if err := p.pool.QueryRow(ctx, `SELECT coalesce(current_schema(), '')`).Scan(&schema); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	sum := sha256.Sum256([]byte(schema))
	p.channel = "hearth_" + hex.EncodeToString(sum[:8])
	return p.connect(ctx)
}

// connect makes a connection that listens.
func (p *Postgres) connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, p.conf.Copy())
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
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
		p.drop(ctx, conn)
		if ctx.Err() != nil {
			return
		}
		p.log.WarnContext(ctx, "bus connection lost, connecting again", "err", err)
		if conn = p.reconnect(ctx); conn == nil {
			return
		}
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

// receive hands on a message of another instance; our own were delivered when
// they were published.
func (p *Postgres) receive(wire string) {
	origin, rest, _ := strings.Cut(wire, "\n")
	topic, payload, ok := strings.Cut(rest, "\n")
	if ok && origin != p.origin {
		p.local.deliver(topic, payload)
	}
}
