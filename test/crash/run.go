package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/hearth-dmrv/hearth/test/server"
)

// The server is killed at a random moment between these.
const (
	earliest = 5 * time.Millisecond
	latest   = 500 * time.Millisecond
)

// place is where a store lives, and what a crash does to it.
type place interface {
	// open makes the data folder ready for the next start.
	open() (dir string, err error)
	// crashed is called after each kill, while no server runs.
	crashed(rng *rand.Rand) error
	// export copies the database files into a folder.
	export(to string) error
	// databaseURL is set when the data is elsewhere.
	databaseURL() string
	close() error
}

// run does all rounds. It returns a report even when an error ends it early.
func run(ctx context.Context, c config) (*report, error) {
	r := &report{seed: c.seed}
	rng := dice(c.seed)
	c.say("seed %d", c.seed)
	made, stop, err := places(ctx, c)
	if err != nil {
		return nil, err
	}
	defer stop()
	for r.rounds < c.rounds && ctx.Err() == nil {
		p, err := made(r.stores)
		if err != nil {
			return r, err
		}
		r.stores++
		w := newWorld(c, p, r, rng)
		err = w.rounds(ctx, min(c.fresh, c.rounds-r.rounds))
		if err := errors.Join(err, p.close()); err != nil {
			return r, fmt.Errorf("seed %d, round %d: %w", c.seed, r.rounds, err)
		}
		c.say("%4d rounds, %7d acknowledged, %d findings", r.rounds, r.acks, r.bad())
	}
	return r, ctx.Err()
}

// world is one store and what it must hold.
type world struct {
	config
	p       place
	r       *report
	rng     *rand.Rand
	known   map[string]ack  // id → what was acknowledged
	recent  []string        // ids acknowledged in the last round
	open    []try           // sent, no answer yet
	created map[string]int  // id → how often its event was seen
	foreign map[string]bool // ids of keys that are not ours
	seq     int64           // last entry of the event log that was seen
	round   int
}

func newWorld(c config, p place, r *report, rng *rand.Rand) *world {
	return &world{config: c, p: p, r: r, rng: rng, known: map[string]ack{}, created: map[string]int{}, foreign: map[string]bool{}}
}

// rounds kills the server n times, then looks at everything once more.
func (w *world) rounds(ctx context.Context, n int) error {
	for w.round = range n {
		if err := w.once(ctx); err != nil {
			return err
		}
		w.r.rounds++
	}
	return w.finish(ctx)
}

// once does one round: start, check what the last crash left, write, kill. It
// kills one start in eight before it is complete.
func (w *world) once(ctx context.Context) error {
	if w.rng.IntN(8) == 0 {
		return w.killBoot()
	}
	s, err := w.start()
	if err != nil {
		return err
	}
	if err := w.verify(ctx, s); err != nil {
		return errors.Join(err, s.Kill())
	}
	wait := earliest + time.Duration(w.rng.Int64N(int64(latest-earliest)))
	logs, err := w.write(ctx, s, wait)
	if err != nil {
		return errors.Join(err, s.Kill())
	}
	if err := w.read(logs); err != nil {
		return err
	}
	return w.afterKill(ctx)
}

func (w *world) options() (server.Options, error) {
	dir, err := w.p.open()
	return server.Options{Binary: w.binary, Dir: dir, DatabaseURL: w.p.databaseURL(), Env: w.env, Ready: time.Minute}, err
}

func (w *world) start() (*server.Server, error) {
	o, err := w.options()
	if err != nil {
		return nil, err
	}
	s, err := server.Start(o)
	if err != nil {
		return nil, err
	}
	if w.round > 0 {
		w.r.slowest = max(w.r.slowest, s.ReadyIn)
	}
	return s, nil
}

// killBoot kills a server that is starting: in recovery, or in the migrations.
func (w *world) killBoot() error {
	o, err := w.options()
	if err != nil {
		return err
	}
	s, err := server.Launch(o)
	if err != nil {
		return err
	}
	<-time.After(time.Duration(w.rng.Int64N(int64(150 * time.Millisecond))))
	if !s.Alive() {
		return fmt.Errorf("the server ended while starting\n%s", s.Output())
	}
	w.r.bootKills++
	if err := s.Kill(); err != nil {
		return err
	}
	return w.p.crashed(w.rng)
}

// afterKill applies the crash to the place and checks the pages of the store.
func (w *world) afterKill(ctx context.Context) error {
	if err := w.p.crashed(w.rng); err != nil {
		return err
	}
	if w.p.databaseURL() != "" {
		return nil
	}
	dir, err := os.MkdirTemp(w.dir, "copy-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := w.p.export(dir); err != nil {
		return err
	}
	problem, err := integrity(ctx, filepath.Join(dir, "hearth.db"))
	if problem != "" {
		w.r.damaged = append(w.r.damaged, fmt.Sprintf("round %d: %s", w.r.rounds, problem))
	}
	return err
}
