package chatter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/socketio/engine"
)

// stalledBar is the most memory the server may ever have had, in MB.
const stalledBar = 256.0

// containerLimit is what the server sets for its collector in a container with
// that much memory, see ops.Tune. Without one it lets garbage grow to four
// times what is in use.
const containerLimit = "GOMEMLIMIT=160MiB"

const (
	calmSockets    = 5000
	stalledSockets = 250
	stalledStreams = 250
	streamsOfUser  = 32               // a caller may have as many
	askedEvents    = 1000             // answers of more than 0.5 KiB that a stalled socket asks for, and its queue does not take
	longAnswer     = 48_000           // words of one letter: 6 MB of frames, more than the kernel takes
	watchTime      = 10 * time.Second // as long as a stream waits for its reader
)

// Stall measures the server's peak memory with idle sockets and with clients that do
// not read: sockets that send requests and never read an answer, and streams of long
// answers.
func Stall(ctx context.Context, b Config) (err error) {
	calm, sockets, streams, words, watch := calmSockets, stalledSockets, stalledStreams, longAnswer, watchTime
	if b.Quick {
		calm, sockets, streams, words, watch = 10, 3, 3, 100, 0
	}
	s, hosts, err := b.startSockets(ctx, calm+sockets+streams, containerLimit)
	if err != nil {
		return skipRefused(err)
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	c := s.Client(1)
	defer c.Close()
	all, err := gather(ctx, hosts, calm)
	if err != nil {
		return err
	}
	defer all.leave()
	var held stuck
	defer held.close()
	var most [3]int64
	for i, step := range []func() error{
		func() error { return nil },
		func() error { return held.sockets(ctx, hosts, sockets) },
		func() error { return errors.Join(held.streams(ctx, hosts, streams, words), pause(ctx, watch)) },
	} {
		if err := step(); err != nil {
			return err
		}
		if most[i], err = s.PeakRSS(); err != nil {
			return err
		}
	}
	g, err := readGauges(ctx, c)
	if err != nil {
		return err
	}
	if int(g[openSockets]) < calm {
		return fmt.Errorf("%.0f sockets are open, want the %d that read", g[openSockets], calm)
	}
	fmt.Printf("%-26s %9s %9s %9s\n", "the most memory in MB", fmt.Sprint(calm, " idle"), fmt.Sprint("+ ", sockets), fmt.Sprint("+ ", streams))
	fmt.Printf("%-26s %9.1f %9.1f %9.1f   bar %.0f %s\n", "stalled sockets, streams", megabytes(most[0]), megabytes(most[1]), megabytes(most[2]), stalledBar,
		b.Verdict("stalled readers", megabytes(most[2]) < stalledBar))
	return nil
}

// stuck holds connections that nothing reads from.
type stuck []net.Conn

func (s *stuck) close() {
	for _, c := range *s {
		_ = c.Close() // the server may have closed it
	}
}

// keep keeps a connection open, with a small receive buffer.
func (s *stuck) keep(c net.Conn) error {
	*s = append(*s, c)
	if t, ok := c.(*net.TCPConn); ok {
		return t.SetReadBuffer(4096)
	}
	return nil
}

// sockets opens sockets that request much from the server and read none of it.
func (s *stuck) sockets(ctx context.Context, hosts []*Talker, n int) error {
	ask := engine.AppendMasked(nil, engine.OpText, false, [4]byte{1, 2, 3, 4}, []byte(`42["list-events"]`))
	for i := range n {
		g, err := enter(ctx, hosts[i%len(hosts)], calmSockets/socketsOfAddress+1)
		if err != nil {
			return err
		}
		if err := s.keep(g.conn); err != nil {
			return err
		}
		for range askedEvents / 10 {
			// The server may have closed it before all is sent.
			_, _ = g.conn.Write(bytes.Repeat(ask, 10))
		}
	}
	return nil
}

// streams opens streams that replay a long answer, which nothing reads.
func (s *stuck) streams(ctx context.Context, hosts []*Talker, n, words int) error {
	say := "/echo " + strings.TrimSpace(strings.Repeat("w ", words))
	run := ""
	for i := range n {
		t := hosts[i/streamsOfUser]
		if i%streamsOfUser == 0 {
			frames, err := t.Say(ctx, say)
			if err != nil {
				return err
			}
			_, rest, _ := strings.Cut(frames, `"runId":"`)
			run, _, _ = strings.Cut(rest, `"`)
		}
		c, err := dialFrom(ctx, calmSockets/socketsOfAddress+2, strings.TrimPrefix(t.base, "http://"))
		if err != nil {
			return err
		}
		if err := s.keep(c); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(c, "GET /runs/%s?after=0 HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n\r\n", run, t.Key()); err != nil {
			return err
		}
	}
	return nil
}
