package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/hearth-dmrv/hearth/test/server"
)

// The bars of area A, as shares of the bound's rate.
const (
	createBar     = 0.40
	createOnceBar = 0.30
	readBar       = 0.50
)

const (
	entityConns = 64
	storeConns  = 32 // with PostgreSQL
)

// conns returns how many connections send to each of two compared programs.
func (b *bench) conns() int {
	if b.store != nil {
		return storeConns
	}
	return entityConns
}

// stoveProtocol declares four indexed properties.
const stoveProtocol = `{"type":"Protocol","did":"did:ixo:protocol/bench","name":"bench","properties":{` +
	`"serial":{"type":"string","indexed":true},"model":{"type":"string","indexed":true},` +
	`"power":{"type":"number","indexed":true},"installed":{"type":"string","indexed":true},` +
	`"note":"string","bucket":"integer"}}`

// stoveDraft returns a twin of about 500 bytes.
func stoveDraft(n int) string {
	return fmt.Sprintf(`{"type":"Stove","protocol":"did:ixo:protocol/bench","properties":{"serial":"SN-%08d","model":"M%d","power":%d,`+
		`"installed":"2026-0%d-01","bucket":%d,"note":"%s"}}`, n, n%10, n%1000, n%9+1, n%100, strings.Repeat("a household stove ", 18))
}

// prepareStoves publishes the protocol of the twins.
func prepareStoves(ctx context.Context, s *server.Server) error {
	c := s.Client(1)
	defer c.Close()
	for _, call := range []struct{ path, body string }{
		{"/v1/protocols", stoveProtocol},
		{"/v1/protocols/did:ixo:protocol%2Fbench/publish", `{}`},
	} {
		a, err := c.Do(ctx, "POST", call.path, []byte(call.body))
		if err != nil {
			return err
		}
		if a.Status >= 300 {
			return fmt.Errorf("POST %s: status %d: %s", call.path, a.Status, a.Body)
		}
	}
	return nil
}

// startStoves starts a server that can create stove twins.
func (b *bench) startStoves(ctx context.Context) (*server.Server, error) {
	s, err := b.start()
	if err != nil {
		return nil, err
	}
	if err := prepareStoves(ctx, s); err != nil {
		return nil, errors.Join(err, s.Kill())
	}
	return s, nil
}

// creates compares a new twin with one row of the same bytes behind a
// hand-written group commit, see durableCell.
func (b *bench) creates(ctx context.Context) error {
	fmt.Printf("%-26s %9s %9s %7s %9s %9s\n", "route", "per s", "bound/s", "ratio", "CPU µs", "bound")
	for _, cell := range []struct {
		name string
		once bool
		bar  float64
	}{{"POST /v1/entities", false, createBar}, {"with an Idempotency-Key", true, createOnceBar}} {
		if err := b.durableCell(ctx, cell.name, cell.bar, b.createSide(cell.once), stoveDraft(1)); err != nil {
			return err
		}
	}
	return nil
}

// createSide makes twins, each with its own Idempotency-Key if once is set.
func (b *bench) createSide(once bool) opener {
	var count atomic.Int64
	return func(ctx context.Context) (side, error) {
		s, err := b.startStoves(ctx)
		if err != nil {
			return nil, err
		}
		return hearthLoad(s, b.conns(), func(int) []byte {
			n, key := int(count.Add(1)), s.Key
			if once {
				key += fmt.Sprintf("\r\nIdempotency-Key: bench-%d", n)
			}
			return request("POST", "/v1/entities", key, stoveDraft(n))
		})
	}
}

// durableCell judges ours against a bare server that parses a JSON body and stores
// it. The second line compares with a server that stores any bytes. It has no bar,
// only shows the ratio, because a real store of records has to look at
// them.
func (b *bench) durableCell(ctx context.Context, name string, bar float64, ours opener, body string) error {
	req := request("POST", "/", server.OwnerKey, body)
	if err := b.rateCell(ctx, name, bar, ours, b.bareLoad("record", entityConns, req)); err != nil {
		return err
	}
	return b.rateCell(ctx, "  against bytes unread", 0, ours, b.bareLoad("group", entityConns, req))
}

// rateCell measures one line of a table of rates and judges its bar, if it has
// one.
func (b *bench) rateCell(ctx context.Context, name string, bar float64, ours, bound opener) error {
	p, err := b.pair(ctx, ours, bound)
	if err != nil {
		return err
	}
	ratio, word := p.ratio(sample.rate), "not judged"
	if bar > 0 {
		word = fmt.Sprintf("bar %.2f %s", bar, b.verdict(name, ratio >= bar))
	}
	fmt.Printf("%-26s %9.0f %9.0f %7.2f %9.1f %9.1f   %s\n", name,
		medianOf(p.ours, sample.rate), medianOf(p.bound, sample.rate), ratio,
		medianOf(p.ours, sample.cost), medianOf(p.bound, sample.cost), word)
	return nil
}

// readsEntity compares the read of a twin by its DID with a constant answer.
func (b *bench) readsEntity(ctx context.Context) error {
	fmt.Printf("%-26s %9s %9s %7s %9s %9s\n", "route", "per s", "hello/s", "ratio", "CPU µs", "bound")
	return b.rateCell(ctx, "GET /v1/entities/{did}", readBar, b.readSide(), b.bareLoad("hello", entityConns, request("GET", "/", server.OwnerKey, "")))
}

// readSide reads twins by their DIDs.
func (b *bench) readSide() opener {
	twins := 1000
	if b.quick {
		twins = 100
	}
	return func(ctx context.Context) (side, error) {
		s, err := b.startStoves(ctx)
		if err != nil {
			return nil, err
		}
		reqs, err := someStoves(ctx, s, twins)
		if err != nil {
			return nil, errors.Join(err, s.Kill())
		}
		var count atomic.Int64
		return hearthLoad(s, b.conns(), func(int) []byte { return reqs[int(count.Add(1))%twins] })
	}
}

// someStoves makes twins, many at once so that no connection of the other side
// is idle for long, and returns the requests that read them.
func someStoves(ctx context.Context, s *server.Server, n int) ([][]byte, error) {
	c := s.Client(entityConns)
	defer c.Close()
	reqs := make([][]byte, n)
	var g errgroup.Group
	g.SetLimit(entityConns)
	for i := range reqs {
		g.Go(func() error {
			a, err := c.Do(ctx, "POST", "/v1/entities", []byte(stoveDraft(i)))
			if err != nil {
				return err
			}
			if a.Status != 201 {
				return fmt.Errorf("make a twin: status %d: %s", a.Status, a.Body)
			}
			reqs[i] = request("GET", a.Header.Get("Location"), s.Key, "")
			return nil
		})
	}
	return reqs, g.Wait()
}
