package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/test/server"
)

// The bars of a turn of the oracle, in milliseconds of the server's CPU.
const (
	turnBar  = 2.0
	toolsBar = 5.0
)

// talkers is how many callers talk at once, each in a session of its own.
const talkers = 8

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

// talk has the talkers say something again and again for a time, and returns
// the server's CPU for one turn in milliseconds.
func (b *bench) talk(ctx context.Context, say string) (ms float64, err error) {
	s, err := b.start("THROTTLE_LIMIT=0")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	callers := make([]*talker, talkers)
	for i := range callers {
		if callers[i], err = newTalker(ctx, s, byte(i+1)); err != nil {
			return 0, err
		}
		if err := callers[i].turn(ctx, say); err != nil { // does not count
			return 0, err
		}
	}
	before, err := server.CPU(s.PID)
	if err != nil {
		return 0, err
	}
	var wg sync.WaitGroup
	counts, failed := make([]int, talkers), make([]error, talkers)
	for i, t := range callers {
		wg.Go(func() {
			for end := time.Now().Add(b.cell); time.Now().Before(end) && failed[i] == nil; counts[i]++ {
				failed[i] = t.turn(ctx, say)
			}
		})
	}
	wg.Wait()
	after, err := server.CPU(s.PID)
	turns := 0
	for _, n := range counts {
		turns += n
	}
	if err := errors.Join(append(failed, err)...); err != nil {
		return 0, err
	}
	return float64((after - before).Microseconds()) / 1000 / float64(max(turns, 1)), nil
}

// talker is a caller of the oracle with a session.
type talker struct {
	base, token, session string
	client               http.Client
}

func newTalker(ctx context.Context, s *server.Server, seed byte) (*talker, error) {
	signer, err := ucan.NewSigner("", ed25519.NewKeyFromSeed(slices.Repeat([]byte{seed}, ed25519.SeedSize)))
	if err != nil {
		return nil, err
	}
	oracle, err := oracleOf(s)
	if err != nil {
		return nil, err
	}
	token, err := signer.Mint(ucan.Draft{
		Audience: oracle, Expires: time.Now().Add(10 * time.Minute),
		Capabilities: []ucan.Capability{{Can: "*", With: ucan.DefaultResource}},
	})
	if err != nil {
		return nil, err
	}
	t := &talker{base: s.URL, token: token.Text()}
	body, err := t.post(ctx, "/sessions", "{}")
	if err != nil {
		return nil, err
	}
	var made struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal(body, &made); err != nil {
		return nil, err
	}
	t.session = made.SessionID
	return t, nil
}

// oracleOf is the DID of the oracle of a server.
func oracleOf(s *server.Server) (did.DID, error) {
	raw, err := os.ReadFile(filepath.Join(s.Dir, "oracle.json"))
	if err != nil {
		return "", err
	}
	var f struct {
		DID did.DID `json:"did"`
	}
	err = json.Unmarshal(raw, &f)
	return f.DID, err
}

// turn says something and reads the stream to its end.
func (t *talker) turn(ctx context.Context, say string) error {
	body, err := json.Marshal(map[string]any{"message": say, "stream": true})
	if err != nil {
		return err
	}
	frames, err := t.post(ctx, "/messages/"+t.session, string(body))
	if err != nil {
		return err
	}
	if text := string(frames); !strings.Contains(text, "event: done") || strings.Contains(text, "event: error") {
		return fmt.Errorf("the stream of a turn ends with %q", text[max(len(text)-200, 0):])
	}
	return nil
}

func (t *talker) post(ctx context.Context, path, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Auth-Type", "ucan")
	req.Header.Set("Authorization", "Bearer "+t.token)
	res, err := t.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode >= 300 {
		err = fmt.Errorf("POST %s: status %d: %s", path, res.StatusCode, out)
	}
	return out, err
}
