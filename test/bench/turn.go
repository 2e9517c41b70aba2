package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/test/bench/chatter"
	"github.com/hearth-dmrv/hearth/test/server"
)

// The bars of a turn of the oracle, in milliseconds of the server's CPU.
const (
	turnBar  = 2.0
	toolsBar = 5.0
)

// talkers is how many callers talk at once, each in its own session. Each sends some
// messages that are not measured and some that are: a conversation grows with every
// turn, so two servers compare only after the same number of turns. The first
// conversation is not measured: connections, statements and code are cold.
const (
	talkers       = 8
	warmed        = 15
	measured      = 45
	conversations = 2
)

// chats turns a measurement of package chatter into a row.
func chats(measure func(context.Context, chatter.Config) error) func(*bench, context.Context) error {
	return func(b *bench, ctx context.Context) error {
		return measure(ctx, chatter.Config{Rounds: b.rounds, Quick: b.quick, Dir: b.dir, Start: b.start, Verdict: b.verdict, CPU: cpuTime})
	}
}

// turnCosts measures what a streamed answer costs with a model that needs no time:
// HTTP, the token, the stored turn, its frames and the answer.
func (b *bench) turnCosts(ctx context.Context) error {
	fmt.Printf("%-26s %9s\n", "", "CPU ms")
	call := `{"name":"search_twins","args":{"limit":%d}}`
	var calls []string
	for i := range 5 {
		calls = append(calls, fmt.Sprintf(call, i+1))
	}
	for _, cell := range []struct {
		name, say string
		bar       float64
	}{
		{"100 words", "/echo " + strings.TrimSpace(strings.Repeat("word ", 100)), turnBar},
		{"five calls of tools", "/tools [" + strings.Join(calls, ",") + "]", toolsBar},
	} {
		var costs []float64
		for range b.rounds {
			ms, err := b.talk(ctx, cell.say)
			if err != nil {
				return err
			}
			costs = append(costs, ms)
		}
		slices.Sort(costs)
		ms := costs[len(costs)/2]
		fmt.Printf("%-26s %9.2f   bar %.1f %s\n", cell.name, ms, cell.bar, b.verdict(cell.name, ms < cell.bar))
	}
	return nil
}

// talk makes the talkers send a message repeatedly, and returns the server's CPU for
// one turn in milliseconds.
func (b *bench) talk(ctx context.Context, say string, env ...string) (ms float64, err error) {
	return b.talkWith(ctx, say, nil, env...)
}

// talkWith is talk on a server that ready has prepared.
func (b *bench) talkWith(ctx context.Context, say string, ready func(*server.Server) error, env ...string) (ms float64, err error) {
	s, err := b.start(append(env, "THROTTLE_LIMIT=0")...)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	if ready != nil {
		if err := ready(s); err != nil {
			return 0, err
		}
	}
	callers := make([]*chatter.Talker, talkers)
	for i := range callers {
		if callers[i], err = chatter.Known(s, byte(i+1)); err != nil {
			return 0, err
		}
	}
	before, after := warmed, measured
	if b.quick {
		before, after = 1, 2
	}
	var spent time.Duration
	for n := range 1 + conversations {
		if err := openAll(ctx, callers); err != nil {
			return 0, err
		}
		if err := sayAll(ctx, callers, say, before); err != nil {
			return 0, err
		}
		took, err := cpuOf(s, func() error { return sayAll(ctx, callers, say, after) })
		if err != nil {
			return 0, err
		}
		if n > 0 {
			spent += took
		}
	}
	return float64(spent.Microseconds()) / 1000 / float64(talkers*after*conversations), nil
}

// cpuOf returns the CPU a server uses while do runs.
func cpuOf(s *server.Server, do func() error) (time.Duration, error) {
	begun, err := s.CPU()
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	ended, err := s.CPU()
	return ended - begun, err
}

// openAll starts another session for each caller.
func openAll(ctx context.Context, callers []*chatter.Talker) error {
	for _, t := range callers {
		if err := t.Open(ctx); err != nil {
			return err
		}
	}
	return nil
}

// sayAll makes all callers send a message this many times, in parallel.
func sayAll(ctx context.Context, callers []*chatter.Talker, say string, times int) error {
	var wg sync.WaitGroup
	failed := make([]error, len(callers))
	for i, t := range callers {
		wg.Go(func() {
			for n := 0; n < times && failed[i] == nil; n++ {
				failed[i] = t.Turn(ctx, say)
			}
		})
	}
	wg.Wait()
	return errors.Join(failed...)
}
