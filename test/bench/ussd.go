package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// The bars of area C: the share of the bound's rate a step must reach, how
// many times the bound's CPU a first dial may take, and how many times its p99
// at a country's pace.
const (
	stepBar = 0.65
	dialBar = 1.5
	paceBar = 2.0
)

// pace is how many steps arrive in a second, whether the last is answered or not.
const pace = 320

// dialled is how many sessions are open before steps are counted: a number may
// press only so often in a minute. A smoke run makes few steps.
const (
	dialled      = 4000
	dialledQuick = 400
)

func (b *bench) sessions() int {
	if b.quick {
		return dialledQuick
	}
	return dialled
}

// ussdBody returns the body a gateway sends.
func ussdBody(session int, text string) string {
	return fmt.Sprintf(`{"sessionId":"ATUid_%032d","serviceCode":"*2233#","phoneNumber":"+2547%08d","text":"%s"}`, session, session, text)
}

// ussdRequest returns a gateway's request on the wire.
func ussdRequest(session int, text string) []byte {
	body := ussdBody(session, text)
	return fmt.Appendf(nil, "POST /api/ussd HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// keys is what the caller of one of so many sessions presses: into the
// information centre and back. The first time is the dial.
func keys(n, sessions int) (session int, text string) {
	switch press := n / sessions; {
	case press == 0:
		text = ""
	case press%2 == 1:
		text = "1"
	default:
		text = "0"
	}
	return n % sessions, text
}

// ussd compares a first dial and a step of a handset session with the least durable
// work for the same requests: decode, read a row, write it back, behind a
// hand-written group commit.
func (b *bench) ussd(ctx context.Context) error {
	if err := b.dials(ctx, b.gateway(0, dialAgain), b.bareSteps(0, dialAgain)); err != nil {
		return err
	}
	open := b.sessions()
	ours, bound := b.gateway(open, b.stepAgain), b.bareSteps(open, b.stepAgain)
	fmt.Printf("%-26s %9s %9s %7s %9s %9s\n", "route", "per s", "bound/s", "ratio", "CPU µs", "bound")
	if err := b.rateCell(ctx, "a step", stepBar, ours, bound); err != nil {
		return err
	}
	return b.paced(ctx, ours, bound)
}

// dialAgain dials, each time from another number.
func dialAgain() func(int) []byte {
	var count atomic.Int64
	return func(int) []byte { return ussdRequest(int(count.Add(1)), "") }
}

// stepAgain presses keys in the sessions that are open.
func (b *bench) stepAgain() func(int) []byte {
	var count atomic.Int64
	open := b.sessions()
	count.Store(int64(open - 1))
	return func(int) []byte { return ussdRequest(keys(int(count.Add(1)), open)) }
}

// dials judges the CPU of a first dial.
func (b *bench) dials(ctx context.Context, ours, bound opener) error {
	p, err := b.pair(ctx, ours, bound)
	if err != nil {
		return err
	}
	cost, least := medianOf(p.ours, sample.cost), medianOf(p.bound, sample.cost)
	fmt.Printf("%-26s %9s %9s %7s\n", "", "CPU µs", "bound", "times")
	fmt.Printf("%-26s %9.1f %9.1f %7.2f   bar %.1f %s\n", "a first dial", cost, least, cost/least, dialBar, b.verdict("first dial", cost/least <= dialBar))
	return nil
}

// gateway starts Hearth with open sessions. The bench is a known gateway: a
// setting allows all local addresses.
func (b *bench) gateway(open int, next func() func(int) []byte) opener {
	return func(ctx context.Context) (side, error) {
		s, err := b.start("USSD_GATEWAY_NETWORKS=127.0.0.0/8,::1/128")
		if err != nil {
			return nil, err
		}
		if err := dialAll(strings.TrimPrefix(s.URL, "http://"), s.PID, open); err != nil {
			return nil, errors.Join(err, s.Kill())
		}
		return hearthLoad(s, entityConns, next())
	}
}

// bareSteps starts the bound with open sessions.
func (b *bench) bareSteps(open int, next func() func(int) []byte) opener {
	return func(context.Context) (side, error) {
		s, err := b.startBare("step")
		if err != nil {
			return nil, err
		}
		if err := dialAll(s.addr, s.cmd.Process.Pid, open); err != nil {
			return nil, errors.Join(err, s.close())
		}
		l, err := dial(s.addr, s.cmd.Process.Pid, entityConns, next())
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		l.stop = s.close
		return l, nil
	}
}

// dialAll opens the sessions 0 to n-1.
func dialAll(addr string, pid, n int) error {
	if n == 0 {
		return nil
	}
	var count atomic.Int64
	l, err := dial(addr, pid, entityConns, nil)
	if err != nil {
		return err
	}
	failed := make(chan error, len(l.conns))
	for _, w := range l.conns {
		go func() {
			for i := int(count.Add(1)) - 1; i < n; i = int(count.Add(1)) - 1 {
				if _, err := w.c.Write(ussdRequest(i, "")); err != nil {
					failed <- err
					return
				}
				if err := w.answer(); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	for range l.conns {
		err = errors.Join(err, <-failed)
	}
	return errors.Join(err, l.close())
}

// paced compares the p99 when steps arrive at a fixed pace.
func (b *bench) paced(ctx context.Context, ours, bound opener) error {
	var slow, least []float64
	for range b.rounds {
		for _, side := range []struct {
			open opener
			to   *[]float64
		}{{ours, &slow}, {bound, &least}} {
			ms, err := b.openLoop(ctx, side.open)
			if err != nil {
				return err
			}
			*side.to = append(*side.to, ms)
		}
	}
	slices.Sort(slow)
	slices.Sort(least)
	o, c := slow[len(slow)/2], least[len(least)/2]
	fmt.Printf("%-26s %9s %9s %7s\n", "", "p99 ms", "bound", "times")
	fmt.Printf("%-26s %9.2f %9.2f %7.2f   bar %.1f %s\n", fmt.Sprintf("%d steps a second", pace), o, c, o/c, paceBar, b.verdict("p99 at pace", o/c <= paceBar))
	return nil
}

// paceTime returns how long steps arrive at the pace.
func (b *bench) paceTime() time.Duration {
	if b.quick {
		return 5 * b.cell
	}
	return max(5*b.cell, time.Second)
}

// openLoop sends at the pace, on a connection that is free, and returns the p99
// in milliseconds, from when each step was due.
func (b *bench) openLoop(ctx context.Context, open opener) (float64, error) {
	s, err := open(ctx)
	if err != nil {
		return 0, err
	}
	l, ok := s.(*load)
	if !ok {
		return 0, errors.Join(errors.New("an open loop needs connections"), s.close())
	}
	took, err := l.atPace(ctx, b.paceTime())
	if err := errors.Join(err, l.close()); err != nil {
		return 0, err
	}
	slices.Sort(took)
	return float64(took[len(took)*99/100].Microseconds()) / 1000, nil
}

// atPace sends requests when they are due for a time, and returns how long
// each took from then on.
func (l *load) atPace(ctx context.Context, d time.Duration) ([]time.Duration, error) {
	due := make(chan time.Time, pace*10)
	type outcome struct {
		took []time.Duration
		err  error
	}
	out := make(chan outcome, len(l.conns))
	for _, w := range l.conns {
		go func() {
			var o outcome
			for at := range due {
				_, err := w.c.Write(w.next(w.n))
				if err == nil {
					err = w.answer()
				}
				if err != nil {
					o.err = errors.Join(o.err, err)
					break
				}
				o.took = append(o.took, time.Since(at))
			}
			out <- o
		}()
	}
	tick := time.NewTicker(time.Second / pace)
	defer tick.Stop()
	for start := time.Now(); time.Since(start) < d && ctx.Err() == nil; {
		due <- <-tick.C
	}
	close(due)
	var all []time.Duration
	var err error
	for range l.conns {
		o := <-out
		all, err = append(all, o.took...), errors.Join(err, o.err)
	}
	if len(all) == 0 && err == nil {
		err = errors.New("no step was answered")
	}
	return all, err
}
