package bus

import (
	"context"
	"encoding/base32"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	natsPing    = 5 * time.Second // a silent server is asked whether it lives
	natsWait    = 250 * time.Millisecond
	natsPending = 64 << 20 // bytes that wait for subscribers of this process
	missedToken = "missed" // the subject for messages that messages were lost
	// lookEvery is how often subscribers look at the store while there is no
	// server: the messages are only hints about rows.
	lookEvery = time.Second
)

// NATSConfig configures a NATS bus. URL and Space are needed.
type NATSConfig struct {
	URL         string // one or several, with commas between them
	Credentials string // file with a JWT and its key; "" is none
	CA          string // file with certificates of authorities; "" are the system's
	// Space is the part of the subjects that belongs to one store, so that several
	// stores can share servers.
	Space string
	Log   *slog.Logger
}

// NATS is a bus between instances over core NATS: messages are not kept, and lost
// ones are made up for by looking at the store. Without a server it works within
// the process, and makes its subscribers look at the store each second.
type NATS struct {
	local   *Local
	conn    *nats.Conn
	prefix  string
	log     *slog.Logger
	out     *outbox
	closing chan struct{} // closed: the sender sends what waits and ends
	close   func()
	wg      sync.WaitGroup
}

var _ Bus = (*NATS)(nil)

// NewNATS makes a bus. A missing server is not an error: the bus connects when
// it is available.
func NewNATS(ctx context.Context, c NATSConfig) (*NATS, error) {
	n := &NATS{local: New(), prefix: "hearth." + token(c.Space) + ".", log: c.Log, out: newOutbox(), closing: make(chan struct{})}
	n.close = sync.OnceFunc(func() { close(n.closing) })
	opts := []nats.Option{
		nats.Name("hearth"), nats.NoEcho(), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(natsWait), nats.ReconnectBufSize(-1),
		nats.PingInterval(natsPing), nats.MaxPingsOutstanding(1), nats.Timeout(connectTimeout),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) { n.lost(ctx, err) }),
		nats.ConnectHandler(func(*nats.Conn) { n.back(ctx) }), nats.ReconnectHandler(func(*nats.Conn) { n.back(ctx) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { n.trouble(ctx, err) }),
	}
	if c.Credentials != "" {
		opts = append(opts, nats.UserCredentials(c.Credentials))
	}
	if c.CA != "" {
		opts = append(opts, nats.RootCAs(c.CA))
	}
	var err error
	if n.conn, err = nats.Connect(c.URL, opts...); err != nil {
		return nil, fmt.Errorf("bus: %w", err)
	}
	sub, err := n.conn.Subscribe(n.prefix+">", n.receive)
	if err == nil {
		err = sub.SetPendingLimits(-1, natsPending)
	}
	if err != nil {
		n.conn.Close()
		return nil, fmt.Errorf("bus: subscribe: %w", err)
	}
	n.wg.Go(func() { n.send(ctx) })
	n.wg.Go(n.look)
	return n, nil
}

// token is a text as one token of a subject: those of NATS have no blanks, dots
// and wildcards.
func token(text string) string {
	plain := strings.IndexFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	}) < 0
	if plain && text != "" {
		return text
	}
	return "=" + base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(text))
}

// name is a token as the text it was made of.
func name(token string) string {
	coded, ok := strings.CutPrefix(token, "=")
	if !ok {
		return token
	}
	text, err := base32.HexEncoding.WithPadding(base32.NoPadding).DecodeString(coded)
	if err != nil {
		return token
	}
	return string(text)
}

// Publish works like that of Postgres: it never waits.
func (n *NATS) Publish(_ context.Context, subject, payload string) error {
	if err := checkMessage(subject, payload); err != nil {
		return err
	}
	n.local.deliver(subject, payload)
	n.out.put(note{subject, payload})
	return nil
}

// Subscribe calls f for every message on a subject from any instance.
func (n *NATS) Subscribe(subject string, f func(Message)) (cancel func()) {
	return n.local.Subscribe(subject, f)
}

// Degraded reports whether there is no server: instances then learn of each
// other's changes only from the store.
func (n *NATS) Degraded() bool { return !n.conn.IsConnected() }

// Close sends pending messages, if that is possible, and ends all
// subscriptions.
func (n *NATS) Close() {
	n.close()
	n.wg.Wait()
	n.conn.Close()
	n.local.Close()
}

// send carries the outbox to the servers until the bus is closed.
func (n *NATS) send(ctx context.Context) {
	for {
		select {
		case <-n.out.wake:
			if n.try() {
				continue
			}
		case <-n.closing:
			if n.try() {
				_ = n.conn.FlushTimeout(time.Second) // instances that miss it look at the store
			}
			return
		}
		select { // it would fail again
		case <-n.closing:
			return
		case <-time.After(natsWait):
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// try sends pending messages; false when it failed, and the others must be told
// that they missed some.
func (n *NATS) try() bool {
	for _, one := range n.out.take() {
		root, rest, _ := strings.Cut(one.topic, ".")
		subject := n.prefix + token(root) + "." + token(rest)
		if one == (note{}) {
			subject = n.prefix + missedToken
		}
		if err := n.conn.Publish(subject, []byte(one.payload)); err != nil {
			n.out.fail()
			return false
		}
	}
	return true
}

// receive hands on a message of another instance.
func (n *NATS) receive(m *nats.Msg) {
	subject := strings.TrimPrefix(m.Subject, n.prefix)
	if subject == missedToken {
		n.local.missed()
		return
	}
	root, rest, _ := strings.Cut(subject, ".")
	subject = name(root)
	if rest = name(rest); rest != "" {
		subject += "." + rest
	}
	if checkMessage(subject, string(m.Data)) == nil {
		n.local.deliver(subject, string(m.Data))
	}
}

// look makes subscribers look at the store while there is no server.
func (n *NATS) look() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-n.closing:
			return
		case <-tick.C:
		}
		if n.Degraded() {
			n.local.missed()
		}
	}
}

func (n *NATS) lost(ctx context.Context, err error) {
	if err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		n.log.WarnContext(ctx, "bus connection lost, connecting again", "err", err.Error())
	}
}

// back tells subscribers here, and those of other instances, that they may have
// missed something, because both were without a server.
func (n *NATS) back(ctx context.Context) {
	n.log.InfoContext(ctx, "bus connected")
	n.local.missed()
	n.out.fail()
}

// trouble logs errors of the server or the client, such as that messages
// arrived faster than they were read.
func (n *NATS) trouble(ctx context.Context, err error) {
	n.log.WarnContext(ctx, "bus", "err", err.Error())
	n.local.missed()
}
