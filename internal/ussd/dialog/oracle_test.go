package dialog_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ussd/fetch"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// TestOraclePack plays the example of a menu that asks the oracle.
func TestOraclePack(t *testing.T) {
	t.Parallel()
	report, err := menu.ReviewFile("../../../examples/ussd/oracle.yaml", known(), menu.LintOptions{})
	if err != nil || len(report.Problems) > 0 {
		t.Fatal(report.Problems, err)
	}
	for _, f := range report.Findings {
		if f.Level == menu.LevelError {
			t.Error(f)
		}
	}
	playAll(t, report.Pack, "oracle")
}

// seer is an oracle that answers with how often it was asked, some things slowly.
type seer struct {
	mu    sync.Mutex
	keys  map[string]string // answers by key
	slow  chan struct{}     // closed: slow answers are there
	calls int
	rest  []func() // what comes with slow answers
}

// after has something happen when slow answers are there.
func (s *seer) after(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = append(s.rest, f)
}

// answer has slow answers there.
func (s *seer) answer() {
	close(s.slow)
	s.mu.Lock()
	rest := s.rest
	s.mu.Unlock()
	for _, f := range rest {
		f()
	}
}

func newSeer() *seer { return &seer{keys: map[string]string{}, slow: make(chan struct{})} }

// Send answers a question once.
func (s *seer) Send(_ context.Context, q fetch.Question) (user, run string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q.Account == "" || q.DID == "" {
		return "", "", errors.New("nobody asks")
	}
	if _, ok := s.keys[q.Key]; !ok {
		s.calls++
		s.keys[q.Key] = "**Answer** " + string(rune('0'+s.calls)) + " to “" + q.Text + "” in " + q.Lang + "."
		if strings.HasPrefix(q.Text, "tell") {
			s.keys[q.Key] = strings.Repeat("everything ", 60)
		}
	}
	return q.DID, q.Key, nil
}

// Await gives the answer.
func (s *seer) Await(ctx context.Context, _, run string) (fetch.Reply, error) {
	s.mu.Lock()
	text := s.keys[run]
	s.mu.Unlock()
	switch {
	case strings.Contains(text, "fail"):
		return fetch.Reply{}, errors.New("out of order")
	case strings.Contains(text, "slow"):
		select {
		case <-s.slow:
		default:
			return fetch.Reply{}, context.DeadlineExceeded
		}
	}
	return fetch.Reply{Text: text}, ctx.Err()
}

// Public knows the weather of one town, and of another one slowly.
func (s *seer) Public(ctx context.Context, tool string, args []byte, after func(context.Context, fetch.Reply, error)) (fetch.Reply, error) {
	switch text := string(args); {
	case tool != "get_weather":
		return fetch.Reply{}, fault.New(fault.Forbidden, "TOOL_NOT_PUBLIC", "")
	case strings.Contains(text, "Slow"):
		s.after(func() {
			after(context.WithoutCancel(ctx), fetch.Reply{Text: `{"ok":true,"city":"Slowtown","temp_c":8,"conditions":"fog"}`}, nil)
		})
		return fetch.Reply{}, context.DeadlineExceeded
	case strings.Contains(text, "Broken"):
		return fetch.Reply{}, errors.New("broken")
	case text != `{"city":"Kisumu"}`:
		return fetch.Reply{Refused: true}, nil
	}
	return fetch.Reply{Text: `{"ok":true,"city":"Kisumu","temp_c":24.5,"conditions":"partly cloudy"}`}, nil
}
