// Command bench compares Hearth with a bare baseline of the same shape: the least code
// that makes the same promise. Both run in one go, alternating, on the same machine and
// in the same minute, each round on a fresh database. The table shows medians and ratios,
// and which targets are met.
//
//	go run ./test/bench              every row; most take half a minute, those of large stores more
//	go run ./test/bench -only insert one row
//	go run ./test/bench -quick       a smoke run that judges nothing
//	go run ./test/bench -rounds 5 -cell 3s -against main~20
//	                                 CPU of an operation, now and then; on PostgreSQL with -postgres
//
// The exit code is 1 when a target is missed, and 2 when something did not work.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/test/bench/chatter"
	"github.com/hearth-dmrv/hearth/test/server"
)

// bench is one run and its results.
type bench struct {
	rounds int
	cell   time.Duration // how long one measurement lasts
	quick  bool
	large  int      // rows of a large store
	dir    string   // databases and the binary; removed at the end
	binary string   // the program, "" until somebody needs it
	store  *pgStore // PostgreSQL, with -postgres
	failed []string
}

// row is a part of the run that can be chosen with -only.
type row struct {
	name, what string
	run        func(*bench, context.Context) error
}

var rows = []row{
	{"sync", "what one sync of the disk costs here", (*bench).syncs},
	{"insert", "durable one-row inserts, InTx against a hand-written group commit", (*bench).inserts},
	{"write", "one connection, one durable write through HTTP", (*bench).writes},
	{"read", "read by id at 64 connections", (*bench).reads},
	{"create", "a new twin, everything on, at 64 connections", (*bench).creates},
	{"entity", "read of a twin by its DID at 64 connections", (*bench).readsEntity},
	{"list", "pages of twins, from 10^4 to 10^6 of them", (*bench).lists},
	{"import", "an import of twins, and other writers meanwhile", (*bench).imports},
	{"submit", "a response, checked, stored once and counted, at 64 connections", (*bench).submits},
	{"collect", "a submission of ODK Collect against the same as JSON, and a list of 50 forms against a file", (*bench).collects},
	{"responses", "pages of responses, from 10^4 to 10^6 of them", (*bench).responsePages},
	{"export", "10^6 responses to CSV against a bare SELECT and encoding/csv", (*bench).exports},
	{"figures", "a question over 10^6 responses in a job against the sums of the same rows in SQL", (*bench).figures},
	{"draw", "a draw from 10^6 households against reading, hashing and sorting them", (*bench).drawing},
	{"behind", "a small export behind a hundred of another workspace", (*bench).behind},
	{"graph", "a subgraph of a hub against the bare SQL of its edges", (*bench).graphs},
	{"ussd", "a first dial and a step of a handset session", (*bench).ussd},
	{"turn", "a streamed answer of the oracle, with a model that needs no time", (*bench).turnCosts},
	{"plugins", "calls of plugins and of MCP servers, and what plugins cost a turn", (*bench).pluginCosts},
	{"ucan", "the check of a token against a bare one of a signature", (*bench).tokenChecks},
	{"sign", "signing a credential against its bare steps", (*bench).signings},
	{"issue", "a credential over the API against a twin and a signature", (*bench).issuing},
	{"simulate", "a dry run of a rubric over 100,000 claims against reading them and running the bare rules", (*bench).simulations},
	{"sockets", "memory of 10,000 idle sockets", chats(chatter.Idle)},
	{"stalled", "memory with 5,000 idle sockets and 500 readers that stall", chats(chatter.Stall)},
	{"leave", "goroutines left after 2,000 sockets close", chats(chatter.Leave)},
	{"first", "the first token against a bare durable commit", (*bench).firstTokens},
	{"frames", "storing 200 streamed answers of 50 tokens a second", chats(chatter.Frames)},
	{"history", "pages of a conversation, from 10^4 to 10^6 messages", (*bench).history},
	{"rounds", "memory left by 200 streamed answers at once, again and again", chats(chatter.Heap)},
	{"abort", "how soon an abort reaches the model", chats(chatter.Abort)},
	{"shell", "the pages of the console against a bare file server", (*bench).shell},
	{"gc", "garbage collector settings of the server", (*bench).collector},
	{"boot", "start on an empty folder, and memory at rest", (*bench).boots},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	b := &bench{}
	o := b.flags()
	if o.bare != "" { // with what Go sets by itself, see setGC
		exit(serveBare(ctx, o.bare, flag.Arg(0)))
	}
	setGC()
	dir, err := os.MkdirTemp("", "hearth-bench-")
	if err != nil {
		exit(err)
	}
	b.dir = dir
	err = b.run(ctx, o)
	if rerr := os.RemoveAll(dir); err == nil {
		err = rerr
	}
	exit(err)
}

// gcPercent is the GC percentage the server sets for itself. Measurements in this
// process use it too. A bare server keeps Go's default, unless GOGC is set, which
// applies to all processes of a run.
const gcPercent = 400

func setGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

// options holds the command line.
type options struct {
	only    string // rows; "" is all of them
	against string // an older program or commit to compare with, instead of the rows
	store   bool   // on PostgreSQL, with against
	bare    string // the bound to serve, in the processes this program starts itself
}

// flags reads the command line.
func (b *bench) flags() options {
	var o options
	flag.IntVar(&b.rounds, "rounds", 11, "how often each pair is measured")
	flag.DurationVar(&b.cell, "cell", 600*time.Millisecond, "how long one measurement lasts")
	flag.IntVar(&b.large, "large", largeStore, "rows of the large stores; bars hold for the default")
	flag.BoolVar(&b.quick, "quick", false, "a short run that judges no bar")
	flag.StringVar(&o.only, "only", "", "rows to run, with commas: sync, insert, write, read, create, entity, list, import, submit, collect, responses, export, figures, draw, behind, graph, ussd, turn, plugins, ucan, sign, issue, simulate, sockets, stalled, leave, first, frames, history, rounds, abort, shell, gc, boot; with -against: create, once, entity, submit, dial, step")
	flag.StringVar(&o.against, "against", "", "compare the CPU of an operation with an older program, or with that of a commit, and run no rows")
	flag.BoolVar(&o.store, "postgres", false, "with -against: compare on PostgreSQL, and count its CPU too")
	flag.StringVar(&o.bare, "bare", "", "serve a bare bound (used by the program itself)")
	flag.Parse()
	if b.quick {
		b.rounds, b.cell = 1, 200*time.Millisecond
	}
	return o
}

var errMissed = errors.New("a bar was missed")

func exit(err error) {
	switch {
	case err == nil:
		os.Exit(0)
	case errors.Is(err, errMissed):
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(2)
}

func (b *bench) run(ctx context.Context, o options) error {
	chosen := []row{{"against", "the same load on this program and on an older one", func(b *bench, ctx context.Context) error {
		return b.versus(ctx, o)
	}}}
	if o.against == "" {
		var err error
		if chosen, err = choose(o.only); err != nil {
			return err
		}
	}
	start := time.Now()
	fmt.Printf("%s, %d CPUs, %s/%s; %d rounds, %s a cell, medians\n", runtime.Version(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, b.rounds, b.cell)
	for _, r := range chosen {
		fmt.Printf("\n%s: %s\n", r.name, r.what)
		if err := r.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	fmt.Printf("\n%s in all\n", time.Since(start).Round(time.Second))
	if len(b.failed) > 0 {
		fmt.Printf("FAIL: %s\n", strings.Join(b.failed, ", "))
		return errMissed
	}
	return nil
}

func choose(only string) ([]row, error) {
	if only == "" {
		return rows, nil
	}
	var out []row
	for name := range strings.SplitSeq(only, ",") {
		found := false
		for _, r := range rows {
			if r.name == name {
				out, found = append(out, r), true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no row %q", name)
		}
	}
	return out, nil
}

// start runs the built program on a fresh folder.
func (b *bench) start(env ...string) (*server.Server, error) {
	if b.binary == "" {
		path, err := server.Build(b.dir)
		if err != nil {
			return nil, err
		}
		b.binary = path
	}
	dir, err := os.MkdirTemp(b.dir, "data-")
	if err != nil {
		return nil, err
	}
	// Everything on, as for users: limits that count but refuse nobody here,
	// and a line in the log for every request.
	log, err := os.Create(filepath.Join(b.dir, filepath.Base(dir)+".log"))
	if err != nil {
		return nil, err
	}
	on := []string{"LOG_LEVEL=info", "HEARTH_RATE_LIMIT=10000000", "HEARTH_ADDRESS_RATE_LIMIT=10000000"}
	url := ""
	if b.store != nil {
		if url, err = b.store.fresh(context.Background()); err != nil {
			return nil, errors.Join(err, log.Close())
		}
	}
	s, err := server.Start(server.Options{Binary: b.binary, Dir: dir, DatabaseURL: url, Env: append(on, env...), Log: log})
	return s, errors.Join(err, log.Close())
}

// verdict judges a bar of the release and returns the word for the table.
func (b *bench) verdict(name string, met bool) string {
	switch {
	case b.quick:
		return "not judged"
	case met:
		return "PASS"
	}
	b.failed = append(b.failed, name)
	return "FAIL"
}
