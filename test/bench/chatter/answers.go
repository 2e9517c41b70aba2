package chatter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sync/errgroup"

	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/test/server"
)

// The bars of answers: how much the heap in use may grow from the second round
// to the tenth, and how long after an abort the model may still be at work.
const (
	heapBar  = 1.10
	abortBar = time.Second
)

const (
	streaming        = 200 // turns at one time
	streamsOfAddress = 50  // a server allows 64
	tokenRate        = 50  // tokens a second of one answer
	heapRounds       = 10
	roundTokens      = 50
)

// paced is an answer of n words, as a model server sends them.
func paced(n int) modeltest.Script {
	var s modeltest.Script
	for range n {
		s = append(s, modeltest.Text("word"), modeltest.Pause(time.Second/tokenRate))
	}
	return append(s, modeltest.Finish("stop"))
}

// startModel starts a server whose model is in this process.
func (b Config) startModel(m *modeltest.Server, env ...string) (*server.Server, error) {
	return b.Start(append(env, "THROTTLE_LIMIT=0", "LLM_BASE_URL="+m.URL, "LLM_API_KEY=bench", "DEFAULT_MODEL=scripted")...)
}

// newStreamers makes callers from several addresses, each with its own
// connection.
func newStreamers(ctx context.Context, s *server.Server, n int) ([]*Talker, error) {
	all, err := newTalkers(ctx, s, n)
	for i, t := range all {
		from := i / streamsOfAddress
		t.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) { return dialFrom(ctx, from, addr) }}
	}
	return all, err
}

// together makes all callers send a message at once and waits for all answers.
func together(ctx context.Context, all []*Talker) error {
	var g errgroup.Group
	for _, t := range all {
		g.Go(func() error { return t.Turn(ctx, "go on") })
	}
	return g.Wait()
}

// Heap measures the memory that streamed answers leave behind.
func Heap(ctx context.Context, b Config) (err error) {
	n, tokens := streaming, roundTokens
	if b.Quick {
		n, tokens = 4, 2
	}
	m := modeltest.Start(paced(tokens))
	defer m.Close()
	s, err := b.startModel(m, "GOGC=50") // so that it collects often; what is in use is the same
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	all, err := newStreamers(ctx, s, n)
	if err != nil {
		return err
	}
	c := s.Client(1)
	defer c.Close()
	var early, late float64
	for round := 1; round <= heapRounds; round++ {
		if err := together(ctx, all); err != nil {
			return err
		}
		if round != 2 && round != heapRounds {
			continue
		}
		// Titles are made when the stream is over.
		if _, quiet, err := until(ctx, c, patience, func(g gauges) bool { return g[activeRuns] == 0 }); err != nil || !quiet {
			return errors.Join(err, errors.New("runs go on after their streams"))
		}
		early = late
		if late, err = leastHeap(ctx, c); err != nil {
			return err
		}
	}
	rss, err := s.RSS()
	if err != nil {
		return err
	}
	growth := late / early
	fmt.Printf("%-26s %9s %9s %7s %9s\n", fmt.Sprint(n, " streams at once"), "round 2", "round 10", "growth", "RSS MB")
	fmt.Printf("%-26s %9.2f %9.2f %7.3f %9.1f   bar %.2f %s\n", "MB of the heap in use", early/(1<<20), late/(1<<20), growth, megabytes(rss), heapBar,
		b.Verdict("heap after ten rounds", growth <= heapBar))
	return nil
}

// Abort measures how long the model keeps working after its answer was aborted: in
// the middle of the answer, and before its first word.
func Abort(ctx context.Context, b Config) error {
	fmt.Printf("%-26s %9s %9s\n", "the model's request ends", "p50 ms", "most ms")
	for _, cell := range []struct {
		name   string
		script modeltest.Script
		after  string // the frame that is waited for
	}{
		{"in the middle of an answer", modeltest.Script{modeltest.Text("one two three"), modeltest.Hang()}, "message"},
		{"before the first word", modeltest.Script{modeltest.Hang()}, "reasoning"},
	} {
		var took []time.Duration
		err := b.abortCell(ctx, cell.script, func(ctx context.Context, m *modeltest.Server, t *Talker) error {
			d, err := abortOnce(ctx, m, t, cell.after)
			took = append(took, d)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", cell.name, err)
		}
		slices.Sort(took)
		p50, most := took[len(took)/2], took[len(took)-1]
		fmt.Printf("%-26s %9.2f %9.2f   bar %d %s\n", cell.name, float64(p50.Microseconds())/1e3, float64(most.Microseconds())/1e3, abortBar.Milliseconds(),
			b.Verdict("abort "+cell.name, most <= abortBar))
	}
	return nil
}

// abortCell aborts a number of answers of one server.
func (b Config) abortCell(ctx context.Context, script modeltest.Script, once func(context.Context, *modeltest.Server, *Talker) error) (err error) {
	m := modeltest.Start(script)
	defer m.Close()
	s, err := b.startModel(m)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	t, err := New(ctx, s, 1)
	if err != nil {
		return err
	}
	for range 2 * b.Rounds {
		if err := once(ctx, m, t); err != nil {
			return err
		}
	}
	return nil
}

// abortOnce begins an answer, aborts it once the model is working and a frame has
// come, and returns how long after that the model's request ended.
func abortOnce(ctx context.Context, m *modeltest.Server, t *Talker, after string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	came, over := make(chan struct{}, 1), make(chan error, 1)
	go func() { over <- t.stream(ctx, "go on", after, came) }()
	for _, ch := range []<-chan struct{}{came, m.Came()} {
		select {
		case <-ch:
		case err := <-over:
			return 0, errors.Join(err, errors.New("the stream ended early"))
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	start := time.Now()
	body, err := json.Marshal(map[string]string{"sessionId": t.Session})
	if err != nil {
		return 0, err
	}
	answer, err := t.post(ctx, "/messages/abort", string(body))
	if err != nil {
		return 0, err
	}
	if !strings.Contains(string(answer), "true") {
		return 0, fmt.Errorf("the abort was answered %s", answer)
	}
	select {
	case <-m.Gone():
	case <-ctx.Done():
		return 0, errors.New("the model's request did not end")
	}
	return time.Since(start), <-over
}
