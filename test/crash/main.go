// Command crash shows that nothing the server has acknowledged is ever lost. It
// runs the built program, writes through the API with a log of every
// acknowledgement, kills the process with SIGKILL at a random moment, starts it
// again and reads everything back, over and over.
//
//	go run ./test/crash                 200 rounds on SQLite
//	go run ./test/crash -postgres       the same on a throw-away PostgreSQL
//	go run ./test/crash -power          a power cut in each round: whatever was
//	                                    not synced to disk is gone (Linux, FUSE)
//	go run ./test/crash -seed 7         replay a run
//
// The exit code is 1 when anything was lost, duplicated, torn or damaged, and 2
// when the harness itself did not work.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/test/server"
)

// config is one run.
type config struct {
	binary  string
	dir     string // everything is below it
	seed    uint64
	rounds  int
	writers int
	fresh   int // rounds on one store before a new one is begun
	env     []string
	say     func(format string, args ...any)

	postgres, power bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c := config{say: func(format string, args ...any) { fmt.Printf(format+"\n", args...) }}
	flag.IntVar(&c.rounds, "rounds", 200, "how often the server is killed")
	flag.IntVar(&c.writers, "writers", 8, "how many write at the same time")
	flag.IntVar(&c.fresh, "fresh", 25, "rounds before a new store is begun")
	flag.Uint64Var(&c.seed, "seed", 0, "replay the run with this seed")
	flag.BoolVar(&c.postgres, "postgres", false, "on a throw-away PostgreSQL")
	flag.BoolVar(&c.power, "power", false, "cut the power instead of only killing the process")
	normal := flag.Bool("normal", false, "with -power: run with synchronous=NORMAL, which must lose writes; judges nothing")
	flag.Parse()
	if *normal {
		c.env = append(c.env, "HEARTH_SQLITE_SYNCHRONOUS=NORMAL")
	}
	r, err := start(ctx, c)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(2)
	case r == nil: // it has said why
	case *normal:
		fmt.Println("synchronous=NORMAL: the figures show that the harness notices; nothing is judged.")
	case r.bad() > 0:
		fmt.Println("FAIL")
		os.Exit(1)
	default:
		fmt.Println("PASS")
	}
	if c.power && !*normal && r != nil {
		if err := bite(ctx, c); err != nil {
			fmt.Fprintln(os.Stderr, "crash:", err)
			os.Exit(2)
		}
	}
}

// bite shows that the harness notices: without a sync before each answer a
// power cut must lose writes.
func bite(ctx context.Context, c config) error {
	c.env, c.rounds = append(c.env, "HEARTH_SQLITE_SYNCHRONOUS=NORMAL"), min(c.rounds, 8)
	say := c.say
	c.say = func(string, ...any) {}
	r, err := start(ctx, c)
	if err != nil {
		return err
	}
	say("For comparison, %d cuts with synchronous=NORMAL: %d of %d acknowledged writes lost. Not judged.", r.rounds, len(r.lost), r.acks)
	return nil
}

// start builds the program, runs all rounds and prints what they gave.
func start(ctx context.Context, c config) (r *report, err error) {
	if c.power && c.postgres {
		return nil, errors.New("-power is for the embedded store")
	}
	if why := powerMissing(); c.power && why != "" {
		c.say("!!! SKIPPED: the power-cut rounds: %s", why)
		return nil, nil
	}
	if c.dir, err = os.MkdirTemp("", "hearth-crash-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.dir)) }()
	if c.binary, err = server.Build(c.dir); err != nil {
		return nil, err
	}
	if c.seed == 0 {
		c.seed = uint64(time.Now().UnixNano())
	}
	r, err = run(ctx, c)
	if r != nil {
		c.say("%s", r)
	}
	return r, err
}

// report is what a run has found. The lists hold one line per finding.
type report struct {
	seed                      uint64
	rounds, stores, bootKills int
	acks, retried, whole      int // whole: stored though the answer was lost
	lost, doubled, torn, gaps []string
	damaged, refused          []string
	slowest                   time.Duration // longest recovery
	changes                   int64         // entries of the event log that were checked
}

func (r *report) bad() int {
	return len(r.lost) + len(r.doubled) + len(r.torn) + len(r.gaps) + len(r.damaged) + len(r.refused)
}

// String is the summary for people.
func (r *report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d rounds on %d stores, %d of them killed while starting\n", r.seed, r.rounds, r.stores, r.bootKills)
	fmt.Fprintf(&b, "acknowledged writes checked  %d\n", r.acks)
	fmt.Fprintf(&b, "unacknowledged, sent again   %d (%d had been stored)\n", r.retried, r.whole)
	fmt.Fprintf(&b, "event log entries checked    %d\n", r.changes)
	for _, l := range []struct {
		name string
		list []string
	}{
		{"lost", r.lost},
		{"doubled", r.doubled},
		{"torn", r.torn},
		{"gaps in the event log", r.gaps},
		{"damaged stores", r.damaged},
		{"refused or failed", r.refused},
	} {
		fmt.Fprintf(&b, "%-28s %d\n", l.name, len(l.list))
		for i, line := range l.list {
			if i == 3 {
				fmt.Fprintf(&b, "    and %d more\n", len(l.list)-i)
				break
			}
			fmt.Fprintf(&b, "    %.2000s\n", line)
		}
	}
	fmt.Fprintf(&b, "longest recovery             %.0f ms", float64(r.slowest.Microseconds())/1e3)
	return b.String()
}

// dice gives the random choices of a run.
func dice(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x6865617274680001)) }
