package hostile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/test/server"
)

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

// The invariants every answer keeps.
const (
	maxAnswer = 8 * time.Second // on a machine that does much else; what grows with its input takes minutes
	maxRSS    = 300 << 20       // of the process, bytes
)

// target is a server under fire.
type target struct {
	*server.Server
	c     *http.Client
	slack int // goroutines there may be more of afterwards
}

// aim starts a server of the test's own. At the end it must be alive, small,
// free of leaked goroutines, and stop in peace.
func aim(t *testing.T, env ...string) *target {
	t.Helper()
	if testing.Short() {
		t.Skip("starts the program")
	}
	// Limits of C and D would answer instead of what is tried here.
	s := server.Run(t, server.Options{Env: append([]string{"USSD_RATE_LIMIT=0", "THROTTLE_LIMIT=0"}, env...)})
	g := &target{Server: s, slack: 20, c: &http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 16, MaxConnsPerHost: 16, DisableCompression: true},
		Timeout:   20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}}
	before := g.goroutines(t)
	t.Cleanup(func() { g.survived(t, before) })
	return g
}

// survived checks the process after the fire.
func (g *target) survived(t *testing.T, before int) {
	t.Helper()
	if !g.Alive() {
		t.Fatalf("the server died:\n%s", g.Output())
	}
	if peak, err := g.PeakRSS(); err == nil {
		t.Logf("memory rose to %d MB", peak>>20)
		if peak > maxRSS {
			t.Errorf("want at most %d MB", maxRSS>>20)
		}
	}
	g.c.CloseIdleConnections()
	deadline := time.Now().Add(15 * time.Second)
	after := g.goroutines(t)
	for ; after > before+g.slack && time.Now().Before(deadline); after = g.goroutines(t) {
		<-time.After(100 * time.Millisecond)
	}
	if after > before+g.slack {
		t.Errorf("goroutines = %d, were %d before: some have leaked", after, before)
	}
	if strings.Contains(g.Output(), "goroutine ") || strings.Contains(g.Output(), "panic") {
		t.Errorf("the log tells of a panic")
	}
	if strings.Contains(g.Output(), g.Key) {
		t.Errorf("the log holds the owner key")
	}
	if err := g.Stop(20 * time.Second); err != nil {
		t.Errorf("stop after the fire: %v", err)
	}
}

var goroutineLine = regexp.MustCompile(`(?m)^go_goroutines (\d+)`)

func (g *target) goroutines(t *testing.T) int {
	t.Helper()
	req := g.request(t, "GET", "/metrics", nil)
	res, err := g.c.Do(req)
	if err != nil {
		t.Fatalf("read metrics: %v", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("read metrics: %v", err)
	}
	m := goroutineLine.FindSubmatch(text)
	if m == nil {
		t.Fatalf("metrics name no goroutines: %d %.200s", res.StatusCode, text)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// request makes a request with the owner key.
func (g *target) request(t testing.TB, method, path string, body []byte) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, g.URL, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	// The path goes out as it is: cleaning is the server's task.
	if p, q, ok := strings.Cut(path, "?"); ok {
		req.URL.RawQuery, path = q, p
	}
	req.URL.Opaque = "//" + req.URL.Host + path
	req.Header.Set("Authorization", "Bearer "+g.Key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

// answer is a complete answer, or the beginning of a stream.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// fire sends a request and checks the invariants. types are the documented
// content types; nil for requests outside the document.
func (g *target) fire(req *http.Request, types func(status int) []string) (*answer, error) {
	ctx, cancel := context.WithTimeout(req.Context(), 10*time.Second)
	defer cancel()
	start := time.Now()
	res, err := g.c.Do(req.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("no answer after %s: %w", time.Since(start).Round(time.Millisecond), err)
	}
	defer res.Body.Close()
	a := &answer{status: res.StatusCode, header: res.Header}
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		if a.body, err = io.ReadAll(io.LimitReader(res.Body, 8<<20)); err != nil {
			return nil, fmt.Errorf("half an answer: %w", err)
		}
	}
	took := time.Since(start)
	errs := []error{a.check(g.Key)}
	if took > maxAnswer {
		errs = append(errs, fmt.Errorf("the answer took %s", took))
	}
	if types != nil {
		errs = append(errs, a.checkType(types(a.status)))
	}
	return a, errors.Join(errs...)
}

// leaks are words that no answer may hold. They are looked for as they are
// before a pattern tells apart what only resembles them: the pattern alone is
// half of the run.
var (
	leaks     = regexp.MustCompile(`goroutine \d|runtime error|\.go:\d+|SQLITE_|sql: |pgx|no such table|syntax error`)
	leakWords = []string{"goroutine ", "runtime error", ".go:", "SQLITE_", "sql: ", "pgx", "no such table", "syntax error"}
)

func leaky(body []byte) bool {
	return slices.ContainsFunc(leakWords, func(w string) bool { return bytes.Contains(body, []byte(w)) }) && leaks.Match(body)
}

// check looks at what every answer has to keep.
func (a *answer) check(key string) error {
	switch {
	case a.status >= 500:
		return fmt.Errorf("status %d: %.300s", a.status, a.body)
	case a.header.Get("X-Request-Id") == "":
		return fmt.Errorf("status %d without X-Request-Id", a.status)
	case a.status >= 400 && leaky(a.body):
		return fmt.Errorf("status %d tells of its insides: %.300s", a.status, a.body)
	case bytes.Contains(a.body, []byte(key)):
		return fmt.Errorf("status %d shows the key of the caller", a.status)
	}
	return nil
}

func (a *answer) checkType(types []string) error {
	if len(a.body) == 0 && a.header.Get("Content-Type") == "" {
		return nil
	}
	got, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil || !slices.Contains(types, got) {
		return fmt.Errorf("status %d has the content type %q, documented %q", a.status, a.header.Get("Content-Type"), types)
	}
	return nil
}

// volley calls shoot for every item, eight at a time.
func volley[T any](items []T, shoot func(T)) {
	var wg sync.WaitGroup
	work := make(chan T)
	for range 8 {
		wg.Go(func() {
			for item := range work {
				shoot(item)
			}
		})
	}
	for _, item := range items {
		work <- item
	}
	close(work)
	wg.Wait()
}
