package graph_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/graph"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/web"
)

var ann = web.Caller{Workspace: "w", DID: "did:x:ann", Scopes: []string{"*"}}

// rig is a graph service over a store that the tests fill themselves: twins
// and edges stand there as the entity package stores them.
type rig struct {
	*graph.Service
	db   *db.DB
	nids map[string]int64
}

func newRig(t testing.TB, d *db.DB) *rig {
	t.Helper()
	return &rig{
		Service: graph.New(graph.Config{DB: d, Protocols: protocol.New(protocol.Config{DB: d}), Cursors: web.Cursors{Key: []byte("0123456789abcdef")}}),
		db:      d, nids: map[string]int64{},
	}
}

// thing is a twin in a test. The zero value of each member is something usual.
type thing struct {
	did, ws, domain, project, name string
	status                         entity.Status
	protocol, properties, missing  string
}

func (th thing) withDefaults() thing {
	if th.ws == "" {
		th.ws = "w"
	}
	if th.domain == "" {
		th.domain = "device"
	}
	if th.status == "" {
		th.status = entity.StatusActive
	}
	if th.protocol == "" {
		th.protocol = "did:ixo:protocol/template"
	}
	if th.properties == "" {
		th.properties = "{}"
	}
	if th.missing == "" {
		th.missing = "[]"
	}
	return th
}

// body is the record, with as many bytes as real ones have.
func (th thing) body(revision int64) string {
	return fmt.Sprintf(`{"did":%q,"type":"Thing","class":"physical","domainType":%q,"protocol":%q,"protocolVersion":"1.0.0","project":%q,`+
		`"properties":%s,"missingRelationships":%s,"status":%q,"revision":%d,"metadata":{"description":%q}}`,
		th.did, th.domain, th.protocol, th.project, th.properties, th.missing, th.status, revision, strings.Repeat("x", 600))
}

const insertTwin = `INSERT INTO entities (nid, ws, did, type, class, domain_type, protocol, protocol_version, project, name, status, revision,
	type_key, protocol_key, crowded, created_at, updated_at, rev_action, rev_actor, rev_request, rev_reason, rev_hash, body)
	VALUES ($1, $2, $3, 'Thing', 'physical', $4, $5, '1.0.0', $6, $7, $8, 1, $9, $10, 0, 1, 1, 'create', 'did:x:ann', '', '', $11, $12)`

func (r *rig) twins(t testing.TB, all ...thing) {
	t.Helper()
	for some := range slices.Chunk(all, 200) {
		r.twinsTogether(t, some)
	}
}

func (r *rig) twinsTogether(t testing.TB, all []thing) {
	t.Helper()
	err := r.db.InTx(t.Context(), func(tx *db.Tx) error {
		for _, th := range all {
			th = th.withDefaults()
			nid := r.db.NewNID()
			body := th.body(1)
			hash := sha256.Sum256([]byte(body))
			_, err := tx.Exec(t.Context(), insertTwin, nid, th.ws, th.did, th.domain, th.protocol, th.project, th.name, th.status,
				entity.Key(th.ws, "type", "Thing"), entity.Key(th.ws, "protocol", th.protocol), hash[:], body)
			if err != nil {
				return err
			}
			r.nids[th.ws+" "+th.did] = nid
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// join is an edge in a test. A target that is not held is external.
type join struct {
	from, role, to string
	ws             string
	since, until   string // dates
	removed        bool
}

const insertEdge = `INSERT INTO relationships (nid, ws, src, src_did, dst, dst_did, role, since, until, source, added_at, added_by, removed_at, removed_by, reason)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'declared', 1, 'did:x:ann', $10, '', '')`

func (r *rig) join(t testing.TB, all ...join) (ids []string) {
	t.Helper()
	for some := range slices.Chunk(all, 200) {
		ids = append(ids, r.joinTogether(t, some)...)
	}
	return ids
}

func (r *rig) joinTogether(t testing.TB, all []join) []string {
	t.Helper()
	ids := make([]string, len(all))
	err := r.db.InTx(t.Context(), func(tx *db.Tx) error {
		for i, j := range all {
			if j.ws == "" {
				j.ws = "w"
			}
			nid := r.db.NewNID()
			ids[i] = fmt.Sprintf("rel_%d", nid)
			var removed *int64
			if j.removed {
				removed = new(int64)
			}
			_, err := tx.Exec(t.Context(), insertEdge, nid, j.ws, r.nids[j.ws+" "+j.from], j.from, r.nids[j.ws+" "+j.to], j.to, j.role,
				day(t, j.since), day(t, j.until), removed)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func day(t testing.TB, s string) *int64 {
	if s == "" {
		return nil
	}
	at, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t.Fatal(err)
	}
	ms := at.UnixMilli()
	return &ms
}

func as(ctx context.Context, c web.Caller) context.Context { return web.WithCaller(ctx, c) }

func dids(nodes []graph.Node) []string {
	out := []string{}
	for _, n := range nodes {
		out = append(out, n.DID)
	}
	return out
}

func edges(all []graph.Edge) []string {
	out := []string{}
	for _, e := range all {
		out = append(out, strings.TrimPrefix(e.From, "did:x:")+" "+e.Role+" "+strings.TrimPrefix(e.To, "did:x:"))
	}
	return out
}

// hub fills the store with a twin that has n edges, held of them to twins that
// are held here.
func (r *rig) hub(t testing.TB, n, held int) {
	t.Helper()
	all, joins := []thing{{did: "did:x:hub", domain: "project"}}, []join{}
	for i := range n {
		id := fmt.Sprintf("did:x:entity:%032x", i)
		if i < held {
			all = append(all, thing{did: id, name: fmt.Sprintf("Stove %d", i)})
		}
		joins = append(joins, join{from: "did:x:hub", role: "generates", to: id, since: "2026-01-01"})
	}
	r.twins(t, all...)
	r.join(t, joins...)
}
