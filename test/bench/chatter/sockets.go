package chatter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hearth-dmrv/hearth/test/server"
)

// The bars of sockets: KiB of the server's memory for one that is idle, and how
// long after their end a goroutine of theirs may be left.
const (
	idleBar  = 15.0
	leaveBar = 5 * time.Second
)

const (
	idleSockets = 10_000
	goneSockets = 2000
	// Within this time the runtime collects garbage, whether there is much or
	// not: two minutes after the last time.
	collectTime = 140 * time.Second
)

// startSockets starts a server that takes n sockets, with callers for them. It
// has seen a few before, so that what it needs once does not count for any.
func (b Config) startSockets(ctx context.Context, n int, env ...string) (*server.Server, []*Talker, error) {
	// Some more for the files of the store and for requests.
	if err := needFiles(uint64(n) + 1000); err != nil {
		return nil, nil, err
	}
	s, err := b.Start(append(env, "THROTTLE_LIMIT=0", fmt.Sprint("HEARTH_MAX_CONNECTIONS=", n+1000))...)
	if err != nil {
		return nil, nil, err
	}
	hosts, err := newTalkers(ctx, s, (n+socketsOfUser-1)/socketsOfUser)
	if err != nil {
		return nil, nil, errors.Join(err, s.Kill())
	}
	few, err := gather(ctx, hosts, min(n, 100))
	if err != nil {
		return nil, nil, errors.Join(err, s.Kill())
	}
	few.leave()
	c := s.Client(1)
	defer c.Close()
	if _, gone, err := until(ctx, c, patience, func(g gauges) bool { return g[openSockets] == 0 }); err != nil || !gone {
		return nil, nil, errors.Join(err, errors.New("sockets that have left stay open"), s.Kill())
	}
	return s, hosts, nil
}

// errRefused means that the machine does not allow what a row needs.
var errRefused = errors.New("refused by this machine")

// skipRefused prints that a row is not measured on this machine, and returns all
// other errors.
func skipRefused(err error) error {
	if !errors.Is(err, errRefused) {
		return err
	}
	fmt.Printf("SKIPPED, nothing was measured: %v\n", err)
	return nil
}

// Idle measures the server's memory with many sockets that do nothing: right after
// their handshakes, and after the runtime has collected the garbage of those. It
// sends no requests meanwhile, because answers leave garbage too.
func Idle(ctx context.Context, b Config) (err error) {
	n, settle := idleSockets, collectTime
	if b.Quick {
		n, settle = 20, 0
	}
	s, hosts, err := b.startSockets(ctx, n)
	if err != nil {
		return skipRefused(err)
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	c := s.Client(1)
	defer c.Close()
	base, err := s.RSS()
	if err != nil {
		return err
	}
	start := time.Now()
	all, err := gather(ctx, hosts, n)
	if err != nil {
		return err
	}
	defer all.leave()
	took := time.Since(start)
	entered, err := s.RSS()
	if err != nil {
		return err
	}
	if err := pause(ctx, settle); err != nil {
		return err
	}
	rested, err := s.RSS()
	if err != nil {
		return err
	}
	g, err := readGauges(ctx, c)
	if err != nil {
		return err
	}
	if int(g[openSockets]) != n {
		return fmt.Errorf("%.0f sockets are open, want %d", g[openSockets], n)
	}
	each := func(rss int64) float64 { return float64(rss-base) / 1024 / float64(n) }
	fmt.Printf("%d handshakes in %.1f s; memory %.1f MB before, %.1f after, %.1f at rest; %.1f MB of that stacks\n",
		n, took.Seconds(), megabytes(base), megabytes(entered), megabytes(rested), g[stackBytes]/(1<<20))
	fmt.Printf("%-26s %9.1f KiB   after its handshake %.1f   bar %.0f KiB %s\n", "an idle socket", each(rested), each(entered), idleBar,
		b.Verdict("memory of an idle socket", each(rested) <= idleBar))
	return nil
}

// Leave counts the goroutines that closed sockets leave behind.
func Leave(ctx context.Context, b Config) (err error) {
	n := goneSockets
	if b.Quick {
		n = 20
	}
	s, hosts, err := b.startSockets(ctx, n)
	if err != nil {
		return skipRefused(err)
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	c := s.Client(1)
	defer c.Close()
	// What else it does comes and goes: the most of some looks is what it may
	// have afterwards.
	most := 0.0
	for range 20 {
		g, err := readGauges(ctx, c)
		if err != nil {
			return err
		}
		most = max(most, g[goroutines])
	}
	all, err := gather(ctx, hosts, n)
	if err != nil {
		return err
	}
	with, err := readGauges(ctx, c)
	if err != nil {
		return err
	}
	start := time.Now()
	all.leave()
	g, gone, err := until(ctx, c, leaveBar-time.Since(start), func(g gauges) bool { return g[goroutines] <= most })
	if err != nil {
		return err
	}
	fmt.Printf("goroutines: %.0f before, %.0f with %d sockets, %.0f after %.2f s   bar %.0f after 5 s %s\n",
		most, with[goroutines], n, g[goroutines], time.Since(start).Seconds(), most, b.Verdict("goroutines of sockets that left", gone))
	return nil
}
