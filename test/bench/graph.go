package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/test/server"
)

// graphBar is how much longer a subgraph may take than the bare SQL of its
// edges and nodes.
const graphBar = 3.0

// hubEdges is how many edges the hub has, subgraphNodes how many nodes of them
// are asked for.
const (
	hubEdges      = 10_000
	subgraphNodes = 1_000
)

// bareEdges is the bound: the edges of the hub and the nodes they lead to.
const bareEdges = `SELECT r.nid, r.role, r.src_did, r.dst_did, e.type, e.class, e.domain_type, e.status
	FROM relationships r JOIN entities e ON e.nid = r.dst
	WHERE r.src = (SELECT nid FROM entities WHERE did = $1 AND ws = 'default') AND r.removed_at IS NULL ORDER BY r.nid LIMIT 999`

// graphs compares a subgraph of a hub with the bare SQL of the same edges.
func (b *bench) graphs(ctx context.Context) error {
	dir, hub, err := b.seedHub(ctx)
	if err != nil {
		return err
	}
	ours := func(context.Context) (side, error) {
		s, err := server.Start(server.Options{Binary: b.binary, Dir: dir})
		if err != nil {
			return nil, err
		}
		req := request("GET", fmt.Sprintf("/v1/entities/%s/graph?depth=1&limit=%d", url.PathEscape(hub), subgraphNodes), s.Key, "")
		return hearthLoad(s, 1, func(int) []byte { return req })
	}
	bound := func(ctx context.Context) (side, error) {
		d, err := db.Open(ctx, db.Config{Path: filepath.Join(dir, "hearth.db")})
		return &edgeReader{d: d, hub: hub}, err
	}
	p, err := b.pair(ctx, ours, bound)
	if err != nil {
		return err
	}
	ratio := p.ratio(sample.p50)
	fmt.Printf("%-26s %9s %9s %7s\n", "", "p50 µs", "SQL", "ratio")
	fmt.Printf("%-26s %9.0f %9.0f %7.2f   bar %.1f %s\n", fmt.Sprintf("%d of %d edges", subgraphNodes, hubEdges),
		medianOf(p.ours, sample.p50), medianOf(p.bound, sample.p50), ratio, graphBar, b.verdict("subgraph of a hub", ratio <= graphBar))
	return nil
}

// edgeReader reads the edges of the hub repeatedly.
type edgeReader struct {
	d   *db.DB
	hub string
}

func (r *edgeReader) close() error { return r.d.Close() }

func (r *edgeReader) run(ctx context.Context, d time.Duration) (sample, error) {
	var s sample
	start := time.Now()
	cpu := cpuTime()
	for time.Since(start) < d {
		began := time.Now()
		if err := r.once(ctx); err != nil {
			return s, err
		}
		s.each = append(s.each, time.Since(began))
		s.ops++
	}
	s.took, s.cpu = time.Since(start), cpuTime()-cpu
	return s, nil
}

func (r *edgeReader) once(ctx context.Context) error {
	rows, err := r.d.Query(ctx, bareEdges, r.hub)
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var nid int64
		var role, from, to, typ, class, domain, status string
		if err := rows.Scan(&nid, &role, &from, &to, &typ, &class, &domain, &status); err != nil {
			return err
		}
		n++
	}
	if n != subgraphNodes-1 {
		return fmt.Errorf("the hub has %d edges, want %d", n, subgraphNodes-1)
	}
	return rows.Err()
}

// seedHub makes a network that contains many stoves, through the API.
func (b *bench) seedHub(ctx context.Context) (dir, hub string, err error) {
	s, err := b.startStoves(ctx)
	if err != nil {
		return "", "", err
	}
	defer func() { err = errors.Join(err, s.Stop(stopLimit)) }()
	c := s.Client(1)
	defer c.Close()
	var made struct {
		DID string `json:"did"`
	}
	a, err := c.Do(ctx, "POST", "/v1/entities", []byte(`{"type":"Network","protocol":"did:ixo:protocol/network","properties":{"name":"hub"}}`))
	if err != nil {
		return "", "", err
	}
	if err := a.JSON(&made); err != nil || a.Status != 201 {
		return "", "", errors.Join(err, fmt.Errorf("make the hub: status %d: %s", a.Status, a.Body))
	}
	edges := hubEdges
	if b.quick {
		edges = subgraphNodes
	}
	for i := 0; i < edges; i += batchSize {
		if err := containStoves(ctx, c, made.DID, i); err != nil {
			return "", "", err
		}
	}
	return s.Dir, made.DID, nil
}

// batchSize is how many operations one batch has.
const batchSize = 500

// containStoves makes stoves that are part of the hub, in one batch.
func containStoves(ctx context.Context, c *server.Client, hub string, from int) error {
	var ops []map[string]any
	for i := range batchSize {
		ops = append(ops, map[string]any{"op": "create", "entity": map[string]any{
			"type": "Stove", "protocol": "did:ixo:protocol/bench", "properties": map[string]any{"serial": fmt.Sprintf("H-%08d", from+i)},
			"relationships": []any{map[string]any{"role": "partOf", "target": hub}},
		}})
	}
	a, err := c.Do(ctx, "POST", "/v1/entities:batch", map[string]any{"atomic": true, "operations": ops})
	if err != nil {
		return err
	}
	if a.Status != 200 {
		return fmt.Errorf("batch of stoves: status %d: %.500s", a.Status, a.Body)
	}
	return nil
}
