// Package chatter measures the oracle with many callers at once: sockets that
// idle, stall or leave, and answers that are streamed, aborted and stored. The
// callers come from many addresses of 127.0.0.0/8, because a server limits each
// address.
package chatter

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/test/server"
)

// Config is the setup for measuring a row. All members but Quick are required.
type Config struct {
	Rounds  int
	Quick   bool                                        // a few callers, and nothing is judged
	Dir     string                                      // for databases
	Start   func(env ...string) (*server.Server, error) // runs the program on a fresh folder
	Verdict func(name string, met bool) string          // judges a bar
	CPU     func() time.Duration                        // processor time of this process
}

// Talker is a caller of the oracle with a session.
type Talker struct {
	base, token string
	Session     string
	client      http.Client
}

// New makes a caller with a session.
func New(ctx context.Context, s *server.Server, seed byte) (*Talker, error) {
	t, err := Known(s, seed)
	if err != nil {
		return nil, err
	}
	return t, t.Open(ctx)
}

// DID returns the DID of the caller that New makes from a seed.
func DID(seed byte) string {
	key, _ := ed25519.NewKeyFromSeed(slices.Repeat([]byte{seed}, ed25519.SeedSize)).Public().(ed25519.PublicKey)
	return did.FromEd25519(key).String()
}

// Known makes a caller without a session.
func Known(s *server.Server, seed byte) (*Talker, error) {
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
	return &Talker{base: s.URL, token: token.Text()}, nil
}

// Open starts another session.
func (t *Talker) Open(ctx context.Context) error {
	body, err := t.post(ctx, "/sessions", "{}")
	if err != nil {
		return err
	}
	var made struct {
		SessionID string `json:"sessionId"`
	}
	err = json.Unmarshal(body, &made)
	t.Session = made.SessionID
	return err
}

// oracleOf returns the DID of a server's oracle.
func oracleOf(s *server.Server) (did.DID, error) {
	return did.Parse(s.Oracle())
}

// Turn sends a message and reads the stream to its end.
func (t *Talker) Turn(ctx context.Context, say string) error {
	_, err := t.Say(ctx, say)
	return err
}

// Say sends a message and returns the frames of the answer.
func (t *Talker) Say(ctx context.Context, say string) (string, error) {
	body, err := json.Marshal(map[string]any{"message": say, "stream": true})
	if err != nil {
		return "", err
	}
	frames, err := t.post(ctx, "/messages/"+t.Session, string(body))
	if err != nil {
		return "", err
	}
	text := string(frames)
	if !strings.Contains(text, "event: done") || strings.Contains(text, "event: error") {
		return "", fmt.Errorf("the stream of a turn ends with %q", text[max(len(text)-200, 0):])
	}
	return text, nil
}

func (t *Talker) post(ctx context.Context, path, body string) ([]byte, error) {
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

// stream sends a message, signals came when a frame of that name has come, and reads
// to the end.
func (t *Talker) stream(ctx context.Context, say, name string, came chan<- struct{}) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.base+"/messages/"+t.Session, strings.NewReader(`{"message":"`+say+`","stream":true}`))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Auth-Type", "ucan")
	req.Header.Set("Authorization", "Bearer "+t.token)
	res, err := t.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		return fmt.Errorf("POST /messages: status %d: %s", res.StatusCode, text)
	}
	last := ""
	for lines := bufio.NewReader(res.Body); ; {
		line, err := lines.ReadString('\n')
		if event, ok := strings.CutPrefix(line, "event: "); ok {
			if last = strings.TrimSpace(event); last == name {
				select {
				case came <- struct{}{}:
				default:
				}
			}
		}
		switch {
		case errors.Is(err, io.EOF) && last == "done":
			return nil
		case err != nil:
			return fmt.Errorf("the stream ends after %q: %w", last, err)
		}
	}
}
