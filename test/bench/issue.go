package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/sync/errgroup"

	"github.com/hearth-dmrv/hearth/test/server"
)

// issueBar is how many times the CPU of one entity create, and one signature besides, a
// credential over the API takes.
const issueBar = 1.5

// issuedAtOnce is how many credentials are issued in one turn, and how many claims of a
// stove there are, each about days of its own.
const (
	issuedAtOnce = 512
	claimsAStove = 64
)

// court is a server on which one key claims and another, which controls an oracle,
// decides and issues.
type court struct {
	s                       *server.Server
	judge, claimant         *server.Client
	protocol, oracle, stove string
}

// openCourt makes a claimant, an oracle and a protocol whose rubric decides.
func openCourt(ctx context.Context, s *server.Server, verification map[string]any) (*court, error) {
	k := &court{s: s, judge: s.Client(entityConns), claimant: s.Client(entityConns)}
	owner := s.Client(1)
	defer owner.Close()
	for name, c := range map[string]*server.Client{"claimant": k.claimant, "judge": k.judge} {
		var key struct {
			Key string `json:"key"`
		}
		if err := k.make(ctx, owner, "/v1/api-keys", map[string]any{"name": name, "role": "owner"}, &key); err != nil {
			return nil, err
		}
		c.Key = key.Key
	}
	var made struct {
		DID string `json:"did"`
	}
	err := k.make(ctx, k.claimant, "/v1/protocols", map[string]any{
		"type": "Protocol", "name": "court", "domainType": "device", "properties": map[string]any{"name": "string"}, "relationships": map[string]any{},
		"claimTypes": map[string]any{"fuel-saved": map[string]any{"verification": verification}},
	}, &made)
	if err != nil {
		return nil, err
	}
	k.protocol = made.DID
	if _, err := post(ctx, k.claimant, "/v1/protocols/"+url.PathEscape(k.protocol)+"/publish", `{}`); err != nil {
		return nil, err
	}
	err = k.make(ctx, k.judge, "/v1/entities", map[string]any{"type": "oracle", "protocol": "did:ixo:protocol/oracle"}, &made)
	k.oracle = made.DID
	return k, err
}

func (k *court) close() {
	k.judge.Close()
	k.claimant.Close()
}

// make sends a body and reads the answer into out.
func (k *court) make(ctx context.Context, c *server.Client, path string, body, out any) error {
	raw, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		return err
	}
	a, err := post(ctx, c, path, string(raw))
	if err != nil {
		return err
	}
	return a.JSON(out)
}

// another makes a stove for the claims that follow.
func (k *court) another(ctx context.Context) error {
	var made struct {
		DID string `json:"did"`
	}
	err := k.make(ctx, k.claimant, "/v1/entities", map[string]any{"type": "stove", "protocol": k.protocol}, &made)
	k.stove = made.DID
	return err
}

// approved claims something of the stove for a day, and has the rubric approve it.
func (k *court) approved(ctx context.Context, day int) (string, error) {
	if k.stove == "" {
		if err := k.another(ctx); err != nil {
			return "", err
		}
	}
	on := time.Date(2024, 1, 1+day, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	var c struct {
		ID     string `json:"id"`
		Status string `json:"status"`
	}
	err := k.make(ctx, k.claimant, "/v1/claims", map[string]any{
		"kind": "fuel-saved", "subject": k.stove, "oracle": k.oracle, "periodStart": on, "periodEnd": on, "amount": map[string]any{"value": 12, "unit": "kg"},
		"evidence": []string{"a photo of the stove", "the readings of the day"},
	}, &c)
	if err != nil {
		return "", err
	}
	facts := map[string]any{"found": map[string]any{"value": true}, "usageRate": map[string]any{"value": 0.85, "confidence": 0.95}, "sourcesAgree": map[string]any{"value": true}}
	id := c.ID
	err = k.make(ctx, k.judge, "/v1/claims/"+url.PathEscape(id)+"/evaluations", map[string]any{"facts": facts}, &c)
	if err == nil && c.Status != "approved" {
		err = fmt.Errorf("the evaluation of %s says %q, want approved", id, c.Status)
	}
	return id, err
}

// some makes n approved claims of new stoves.
func (k *court) some(ctx context.Context, n int) ([]string, error) {
	out := make([]string, n)
	for from := 0; from < n; from += claimsAStove {
		if err := k.another(ctx); err != nil {
			return nil, err
		}
		var g errgroup.Group
		g.SetLimit(entityConns)
		for i := from; i < min(from+claimsAStove, n); i++ {
			g.Go(func() (err error) {
				out[i], err = k.approved(ctx, i-from)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// issuing compares a credential over the API with a twin and a signature. That is the
// least it has to do, because a credential is a signed twin.
func (b *bench) issuing(ctx context.Context) (err error) {
	s, err := b.startStoves(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Kill()) }()
	k, err := openCourt(ctx, s, verificationOf("0.8"))
	if err != nil {
		return err
	}
	defer k.close()
	n := issuedAtOnce
	if b.quick {
		n = entityConns
	}
	sign, err := b.signingCost(ctx)
	if err != nil {
		return err
	}
	var p pairs
	var twins atomic.Int64
	for round := range b.rounds + 1 {
		claims, err := k.some(ctx, n)
		if err != nil {
			return err
		}
		ours, err := atOnce(ctx, s, n, func(i int) []byte {
			return request("POST", "/v1/credentials", k.judge.Key, `{"claim":"`+claims[i]+`"}`)
		})
		if err != nil {
			return err
		}
		bound, err := atOnce(ctx, s, n, func(int) []byte { return request("POST", "/v1/entities", s.Key, stoveDraft(int(twins.Add(1)))) })
		if err != nil {
			return err
		}
		if round > 0 { // the first does not count: caches, statements, keys
			p.ours, p.bound = append(p.ours, ours), append(p.bound, bound)
		}
	}
	create := medianOf(p.bound, sample.cost)
	bar := issueBar*create + sign
	got := medianOf(p.ours, sample.cost)
	fmt.Printf("%-26s %9s %9s %9s %9s\n", "", "CPU µs", "a twin", "signing", "bar")
	fmt.Printf("%-26s %9.1f %9.1f %9.1f %9.1f   %.2f of the bar %s\n", "POST /v1/credentials", got, create, sign, bar, got/bar, b.verdict("issuing over the API", got <= bar))
	return nil
}

// atOnce sends n requests over all connections, each once, and measures the server.
func atOnce(ctx context.Context, s *server.Server, n int, next func(i int) []byte) (out sample, err error) {
	var count atomic.Int64
	l, err := dial(strings.TrimPrefix(s.URL, "http://"), s.PID, entityConns, func(int) []byte { return next(int(count.Add(1)) - 1) })
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	each := n / entityConns
	before, err := server.CPU(s.PID)
	if err != nil {
		return out, err
	}
	start := time.Now()
	var g errgroup.Group
	for _, w := range l.conns {
		g.Go(func() error {
			for range each {
				if _, err := w.c.Write(w.next(0)); err != nil {
					return err
				}
				if err := w.answer(); err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return out, err
	}
	took := time.Since(start)
	after, err := server.CPU(s.PID)
	return sample{ops: each * entityConns, took: took, cpu: after - before}, err
}
