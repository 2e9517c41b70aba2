package chatter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/run"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/test/server"
)

// The bars of stored answers: rows of frames a second, and the CPU for storing
// a token in µs, with 200 answers of 50 tokens a second.
const (
	rowsBar    = 1000.0
	storingBar = 10.0
)

const frameSeconds = 4

// Frames measures the cost of storing streamed answers.
func Frames(ctx context.Context, b Config) error {
	n, tokens := streaming, frameSeconds*tokenRate
	if b.Quick {
		n, tokens = 4, 5
	}
	if err := b.frameRows(ctx, n, tokens); err != nil {
		return err
	}
	var costs, bare []float64
	for range max(b.Rounds/3, 1) {
		without, err := b.storing(ctx, n, tokens, func(c *run.Config) { c.Flush, c.Segment = time.Hour, 1<<30 })
		if err != nil {
			return err
		}
		with, err := b.storing(ctx, n, tokens, func(*run.Config) {})
		if err != nil {
			return err
		}
		costs, bare = append(costs, with-without), append(bare, without)
	}
	slices.Sort(costs)
	slices.Sort(bare)
	cost := costs[len(costs)/2]
	fmt.Printf("%-26s %9.2f µs of CPU, %.2f for all else   bar %.0f µs %s\n", "storing a token", cost, bare[len(bare)/2], storingBar,
		b.Verdict("CPU of storing a token", cost <= storingBar))
	return nil
}

// frameRows counts the rows that the server stores for streamed answers.
func (b Config) frameRows(ctx context.Context, n, tokens int) error {
	m := modeltest.Start(paced(tokens))
	defer m.Close()
	s, err := b.startModel(m)
	if err != nil {
		return err
	}
	took, cpu, err := streamAll(ctx, s, n)
	if err := errors.Join(err, s.Stop(patience)); err != nil {
		return err
	}
	d, err := db.Open(ctx, db.Config{Path: filepath.Join(s.Dir, "hearth.db")})
	if err != nil {
		return err
	}
	var rows float64
	err = d.QueryRow(ctx, `SELECT count(*) FROM oracle_frames`).Scan(&rows)
	if err := errors.Join(err, d.Close()); err != nil {
		return err
	}
	all := float64(n * tokens)
	rate := rows / took.Seconds()
	fmt.Printf("%d streams, %.0f tokens a second, %.1f µs of the server's CPU for each\n", n, all/took.Seconds(), float64(cpu.Microseconds())/all)
	fmt.Printf("%-26s %9.0f a second, %.1f tokens in each   bar %.0f %s\n", "rows of frames", rate, all/rows, rowsBar, b.Verdict("rows of frames", rate <= rowsBar))
	return nil
}

// streamAll makes n callers stream at once and returns the time and CPU that took.
func streamAll(ctx context.Context, s *server.Server, n int) (took, cpu time.Duration, err error) {
	all, err := newStreamers(ctx, s, n)
	if err != nil {
		return 0, 0, err
	}
	before, err := s.CPU()
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	err = together(ctx, all)
	took = time.Since(start)
	after, failed := s.CPU()
	return took, after - before, errors.Join(err, failed)
}

// storing runs answers at their pace in this process and returns the CPU per token
// in µs.
func (b Config) storing(ctx context.Context, n, tokens int, change func(*run.Config)) (_ float64, err error) {
	dir, err := os.MkdirTemp(b.Dir, "frames-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d, err := db.Open(ctx, db.Config{Path: filepath.Join(dir, "hearth.db")})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if err := d.Migrate(ctx); err != nil {
		return 0, err
	}
	key, err := secret.Parse(strings.Repeat("k", 32))
	if err != nil {
		return 0, err
	}
	chats := chat.New(chat.Config{DB: d, Key: key})
	cfg := run.Config{DB: d, Chat: chats, Alone: true, PerCaller: n}
	change(&cfg)
	runs, err := run.New(ctx, cfg)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, runs.Close(ctx)) }()
	const user = "did:ixo:agent/bench"
	starts := make([]run.Start, n)
	for i := range starts {
		session, err := chats.CreateSession(ctx, user)
		if err != nil {
			return 0, err
		}
		starts[i] = run.Start{User: user, Session: session.ID, RequestID: fmt.Sprint(i), Message: llm.Message{Role: llm.User, Content: "go on"}}
	}
	before := b.CPU()
	var g errgroup.Group
	for _, s := range starts {
		g.Go(func() error { return answerAtPace(ctx, runs, s, tokens) })
	}
	err = g.Wait()
	return float64((b.CPU() - before).Nanoseconds()) / 1e3 / float64(n*tokens), err
}

// answerAtPace runs one answer and reads it.
func answerAtPace(ctx context.Context, runs *run.Manager, s run.Start, tokens int) error {
	started, err := runs.Start(ctx, s, func(_ context.Context, r *run.Run) run.Result {
		tick := time.NewTicker(time.Second / tokenRate)
		defer tick.Stop()
		for range tokens {
			<-tick.C
			if err := r.Text(" token"); err != nil {
				return run.Result{Failed: true}
			}
		}
		return run.Result{}
	})
	if err != nil {
		return err
	}
	return runs.Join(ctx, s.User, started.RunID, 0, func(run.Frame) error { return nil })
}
