package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/hearth-dmrv/hearth/test/server"
)

// writeBar is how much slower than the bare server the p50 of one durable
// write may be.
const writeBar = 1.5

// readGoal is the share of the bare server's rate a read should reach. It is
// a goal, not a bar of the release.
const readGoal = 0.50

// keyDraft is the body of a small durable write.
const keyDraft = `{"name":"bench","scopes":["events:read"]}`

// writeRoute is a durable write: how to get ready for it, and its n-th request.
type writeRoute struct {
	name string
	prep func(context.Context, *server.Server) (func(n int) []byte, error)
}

// writeRoutes are routes of the product. They do more than the bound, so the bar
// does not apply to them: each also stores an event with its indexes, revoking a
// key drops it from the cache of keys, and a new key is three rows and a random
// text.
var writeRoutes = []writeRoute{
	{"DELETE /v1/api-keys/{id}", deleteKey},
	{"PATCH /v1/webhooks/{id}", patchWebhook},
	{"POST /v1/api-keys", postKey},
}

// deleteKey revokes a different key each time, of those made before.
func deleteKey(ctx context.Context, s *server.Server) (func(int) []byte, error) {
	const keys, makers = 4000, 64
	c := s.Client(makers)
	defer c.Close()
	ids := make([]string, keys)
	var g errgroup.Group
	g.SetLimit(makers)
	for i := range ids {
		g.Go(func() error {
			a, err := c.Do(ctx, "POST", "/v1/api-keys", []byte(keyDraft))
			if err != nil {
				return err
			}
			var k struct {
				ID string `json:"id"`
			}
			err = a.JSON(&k)
			ids[i] = k.ID
			return err
		})
	}
	return func(n int) []byte {
		return request("DELETE", "/v1/api-keys/"+ids[n%keys], s.Key, "")
	}, g.Wait()
}

func postKey(_ context.Context, s *server.Server) (func(int) []byte, error) {
	req := request("POST", "/v1/api-keys", s.Key, keyDraft)
	return func(int) []byte { return req }, nil
}

// patchWebhook changes the text of a webhook that is switched off.
func patchWebhook(ctx context.Context, s *server.Server) (func(int) []byte, error) {
	c := s.Client(1)
	defer c.Close()
	a, err := c.Do(ctx, "POST", "/v1/webhooks", []byte(`{"url":"https://example.org/hook","events":["*"],"active":false}`))
	if err != nil {
		return nil, err
	}
	var hook struct {
		ID string `json:"id"`
	}
	if err := a.JSON(&hook); err != nil || a.Status != 201 {
		return nil, fmt.Errorf("create a webhook: status %d: %s: %w", a.Status, a.Body, err)
	}
	return func(n int) []byte {
		key := fmt.Sprintf("%s\r\nIf-Match: \"%d\"", s.Key, n+1)
		return request("PATCH", "/v1/webhooks/"+hook.ID, key, fmt.Sprintf(`{"description":"change %d"}`, n))
	}, nil
}

// writes compares the p50 of a durable write on one connection. The bar applies to
// a write that stores one row as the bound does, through the edge, the key, strict
// JSON and InTx. The lines below it show what the rows and events of real routes
// add.
func (b *bench) writes(ctx context.Context) error {
	fmt.Printf("%-26s %9s %9s %7s %9s %9s %9s   %s\n", "route", "p50 µs", "bound", "ratio", "p99 µs", "CPU µs", "bound", fmt.Sprintf("bar %.1f", writeBar))
	bound := b.bareLoad("write", 1, request("POST", "/", server.OwnerKey, keyDraft))
	row := b.bareLoad("row", 1, request("POST", "/v1/rows", server.OwnerKey, keyDraft))
	if err := b.writeCell(ctx, "one row", true, row, bound); err != nil {
		return err
	}
	for _, route := range writeRoutes {
		ours := func(ctx context.Context) (side, error) {
			s, err := b.start()
			if err != nil {
				return nil, err
			}
			next, err := route.prep(ctx, s)
			if err != nil {
				return nil, errors.Join(err, s.Kill())
			}
			return hearthLoad(s, 1, next)
		}
		if err := b.writeCell(ctx, route.name, false, ours, bound); err != nil {
			return err
		}
	}
	return nil
}

// writeCell measures one line of the table.
func (b *bench) writeCell(ctx context.Context, name string, bar bool, ours, bound opener) error {
	p, err := b.pair(ctx, ours, bound)
	if err != nil {
		return err
	}
	ratio := p.ratio(sample.p50)
	word := "not judged, over the bar"
	if ratio <= writeBar {
		word = "not judged, within the bar"
	}
	if bar {
		word = b.verdict("one durable write through HTTP", ratio <= writeBar)
	}
	fmt.Printf("%-26s %9.0f %9.0f %7.2f %9.0f %9.0f %9.0f   %s\n", name,
		medianOf(p.ours, sample.p50), medianOf(p.bound, sample.p50), ratio, medianOf(p.ours, sample.p99),
		medianOf(p.ours, sample.cost), medianOf(p.bound, sample.cost), word)
	return nil
}

// reads compares the rate of a read by id with a constant answer.
func (b *bench) reads(ctx context.Context) error {
	const conns = 64
	ours := func(context.Context) (side, error) {
		s, err := b.start()
		if err != nil {
			return nil, err
		}
		req := request("GET", "/v1/api-keys/current", s.Key, "")
		return hearthLoad(s, conns, func(int) []byte { return req })
	}
	p, err := b.pair(ctx, ours, b.bareLoad("hello", conns, request("GET", "/", server.OwnerKey, "")))
	if err != nil {
		return err
	}
	fmt.Printf("%-26s %9s %9s %7s %9s %9s\n", "route", "per s", "hello/s", "ratio", "CPU µs", "bound")
	ratio := p.ratio(sample.rate)
	word := "reached"
	if ratio < readGoal {
		word = "not reached"
	}
	fmt.Printf("%-26s %9.0f %9.0f %7.2f %9.1f %9.1f   goal %.2f %s\n", "GET /v1/api-keys/current",
		medianOf(p.ours, sample.rate), medianOf(p.bound, sample.rate), ratio,
		medianOf(p.ours, sample.cost), medianOf(p.bound, sample.cost), readGoal, word)
	return nil
}

// hearthLoad sends requests to a started server and stops it when it closes.
func hearthLoad(s *server.Server, conns int, next func(n int) []byte) (side, error) {
	l, err := dial(strings.TrimPrefix(s.URL, "http://"), s.PID, conns, next)
	if err != nil {
		return nil, errors.Join(err, s.Kill())
	}
	l.stop = s.Kill
	return l, nil
}

// bareLoad sends the same request to a bare server.
func (b *bench) bareLoad(kind string, conns int, req []byte) opener {
	return func(context.Context) (side, error) {
		s, err := b.startBare(kind)
		if err != nil {
			return nil, err
		}
		l, err := dial(s.addr, s.cmd.Process.Pid, conns, func(int) []byte { return req })
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		l.stop = s.close
		return l, nil
	}
}
