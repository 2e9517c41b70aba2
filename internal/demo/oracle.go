package demo

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

func oracleStages() []stage {
	return []stage{{"conversations", false, (*loader).converse}}
}

// conversations are what the manager asks the oracle, session by session.
var conversations = [][]string{
	{"how many households are there in Kitui?", "count households by district", "list surveys"},
	{"how many stoves are active in Ukambani stoves?", "how much are the stoves used in Ukambani stoves?"},
	{"progress of survey demo-monitoring", "progress of survey demo-baseline"},
}

// speaker signs for the one who talks to the oracle. Nobody who has not the
// server's own key can make hers.
func (s *Service) speaker(id string) (*ucan.Signer, error) {
	seed := s.cfg.Key.Derive("demo oracle " + id)
	return ucan.NewSigner("", ed25519.NewKeyFromSeed(seed[:ed25519.SeedSize]))
}

// converse talks to the oracle. For this time its user is in the group of the
// managers: tools read what she may.
func (l *loader) converse(ctx context.Context) error {
	l.counts.Conversations = 0
	if l.s.cfg.Oracle == "" {
		l.skip("conversations: this server has no oracle with the built-in model")
		return nil
	}
	signer, err := l.s.speaker(l.id)
	if err != nil {
		return err
	}
	group, err := l.group(ctx, l.teams()[0])
	if err != nil {
		return err
	}
	if _, err := l.owner.Groups.Add(ctx, group, signer.DID().String()); err != nil {
		return err
	}
	t := &talk{l, signer}
	if err := t.all(ctx); err != nil {
		return err
	}
	_, err = l.owner.Groups.Remove(ctx, group, signer.DID().String())
	return err
}

// talk is the oracle's user at work.
type talk struct {
	*loader
	as *ucan.Signer
}

// spoken is a call of the oracle.
type spoken struct {
	method, path string
	body         any
	key          string // for one effect in all attempts
}

// all holds the conversations, or what an earlier attempt has left of them.
func (t *talk) all(ctx context.Context) error {
	var open struct {
		Sessions []struct {
			SessionID string `json:"sessionId"`
		} `json:"sessions"`
	}
	if err := t.tell(ctx, spoken{method: http.MethodGet, path: "/sessions"}, &open); err != nil {
		return err
	}
	slices.Reverse(open.Sessions) // the newest comes first
	for i, said := range conversations {
		var at struct {
			SessionID string `json:"sessionId"`
		}
		if i < len(open.Sessions) {
			at.SessionID = open.Sessions[i].SessionID
		} else if err := t.tell(ctx, spoken{method: http.MethodPost, path: "/sessions", body: struct{}{}}, &at); err != nil {
			return err
		}
		for n, text := range said {
			say := spoken{http.MethodPost, "/messages/" + at.SessionID, map[string]string{"message": text}, fmt.Sprintf("%s/said/%d/%d", t.id, i, n)}
			if _, err := t.ask(ctx, say); err != nil {
				return fmt.Errorf("%q: %w", text, err)
			}
		}
		t.counts.Conversations++
	}
	return nil
}

// tell calls the oracle and reads the answer.
func (t *talk) tell(ctx context.Context, s spoken, into any) error {
	raw, err := t.ask(ctx, s)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// tokenLife is how long a token of the oracle's user is good.
const tokenLife = 5 * time.Minute

// ask calls the oracle with a fresh token.
func (t *talk) ask(ctx context.Context, s spoken) ([]byte, error) {
	token, err := t.as.Mint(ucan.Draft{
		Audience: did.DID(t.s.cfg.Oracle), Expires: t.s.cfg.Now().Add(tokenLife), Capabilities: []ucan.Capability{{Can: "*", With: ucan.DefaultResource}},
	})
	if err != nil {
		return nil, err
	}
	head := http.Header{"Authorization": {"Bearer " + token.Text()}, "X-Auth-Type": {"ucan"}}
	var text []byte
	if s.body != nil {
		if text, err = json.Marshal(s.body); err != nil {
			return nil, err
		}
		head.Set("Content-Type", "application/json")
	}
	if s.key != "" {
		head.Set("Idempotency-Key", s.key)
	}
	status, raw, err := t.send(ctx, s.method, s.path, bytes.NewReader(text), head)
	if err == nil && status/100 != 2 {
		err = fault.New(fault.Conflict, "DEMO_REFUSED", fmt.Sprintf("The oracle answers %d to the demo: %s", status, raw))
	}
	return raw, err
}

// maxAnswer is more than any answer of the areas without a client has, in bytes.
const maxAnswer = 1 << 20

// send sends a request that the client has no method for.
func (l *loader) send(ctx context.Context, method, path string, body io.Reader, head http.Header) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address+path, body)
	if err != nil {
		return 0, nil, err
	}
	req.Header = head
	res, err := l.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	return res.StatusCode, raw, err
}
