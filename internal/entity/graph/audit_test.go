package graph_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/graph"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// world is a store that the entity package itself has filled.
type world struct {
	*rig
	entities *entity.Service
	handler  http.Handler
}

func newWorld(t testing.TB, d *db.DB) *world {
	t.Helper()
	l := event.New(event.Config{DB: d, Cursors: eventtest.Cursors()})
	p := protocol.New(protocol.Config{DB: d, Events: l, Cursors: eventtest.Cursors()})
	w := &world{
		rig:      &rig{Service: graph.New(graph.Config{DB: d, Protocols: p, Cursors: eventtest.Cursors()}), db: d, nids: map[string]int64{}},
		entities: entity.New(entity.Config{DB: d, Protocols: p, Events: l, Cursors: eventtest.Cursors(), Relayer: "did:key:server"}),
	}
	w.handler = w.rig.handler(t)
	return w
}

func callerIn(ws string) web.Caller {
	return web.Caller{Workspace: ws, DID: "did:key:ann", Scopes: []string{"*"}}
}

// made is a twin to create: its roles and targets stand in pairs.
type made struct {
	id, kind, properties string
	pairs                []string
}

func (w *world) make(t testing.TB, ws string, m made) {
	t.Helper()
	id, kind, properties, pairs := m.id, m.kind, m.properties, m.pairs
	d := entity.Draft{DID: id, Type: kind, Protocol: "did:ixo:protocol/" + kind, Properties: entity.Object{Value: jsontext.Value(properties)}}
	for i := 0; i+1 < len(pairs); i += 2 {
		d.Relationships = append(d.Relationships, entity.RelationDraft{Role: pairs[i], Target: pairs[i+1]})
	}
	if _, err := w.entities.Create(as(t.Context(), callerIn(ws)), d); err != nil {
		t.Fatalf("create %s: %+v", id, err)
	}
}

// programme is how many twins fill makes.
const programme = 12

// fill makes a small programme in which all rules hold.
func (w *world) fill(t testing.TB, ws string) {
	t.Helper()
	for _, m := range []made{
		{"did:x:org", "organisation", `{"name":"Org"}`, nil},
		{"did:x:project", "project", `{"name":"P"}`, []string{"implementedBy", "did:x:org"}},
		{"did:x:asset", "asset", `{"serial":"S1","model":"M"}`, []string{"generatedBy", "did:x:project"}},
		{"did:x:stove", "clean-cooking", `{"serial":"S2","model":"M","efficiency":41}`, []string{"generatedBy", "did:x:project", "maker", "did:y:elsewhere"}},
		{"did:x:house", "household", `{"district":"North"}`, []string{"partOf", "did:x:project"}},
		{"did:x:net", "network", `{"name":"Net"}`, []string{"contains", "did:x:project"}},
		{"did:x:net2", "network", `{"name":"Net2"}`, []string{"contains", "did:x:net"}},
		{"did:x:draft", "project", `{"name":"Waits"}`, nil},
		{"did:x:checker", "oracle", `{"name":"O"}`, nil},
		{"did:x:meter", "template", `{}`, []string{"operator", "did:x:org", "verifier", "did:x:checker", "operator", "did:y:far"}},
		{"did:x:lent", "template", `{}`, []string{"operator", "did:y:far", "verifier", "did:x:checker"}},
	} {
		w.make(t, ws, m)
	}
	for i := range 3 {
		w.edit(t, ws, "did:x:stove", fmt.Sprintf(`{"properties":{"serial":"S2-%d"}}`, i))
	}
}

func (w *world) edit(t testing.TB, ws, id, merge string) {
	t.Helper()
	ctx := as(t.Context(), callerIn(ws))
	err := w.db.InTx(ctx, func(tx *db.Tx) error {
		r, err := w.entities.Find(ctx, tx, id)
		if err != nil {
			return err
		}
		_, err = w.entities.PatchTx(ctx, tx, id, web.ETag(r.Revision), entity.Change{Merge: []byte(merge)})
		return err
	})
	if err != nil {
		t.Fatalf("patch %s: %v", id, err)
	}
}

type auditAnswer struct {
	OK         bool              `json:"ok"`
	Checked    int               `json:"checked"`
	Violations []graph.Violation `json:"violations"`
	Unproven   []graph.Violation `json:"unproven"`
	Complete   bool              `json:"complete"`
	Page       web.PageInfo      `json:"page"`
}

// audit follows all pages. It returns rule and subject of what is broken.
func (w *world) audit(t testing.TB, as string, limit int) (broken []string, checked, pages int) {
	t.Helper()
	broken = []string{}
	next := ""
	for pages = 1; pages < 10_000; pages++ {
		target := fmt.Sprintf("GET /v1/invariants?limit=%d", limit)
		if next != "" {
			target += "&cursor=" + url.QueryEscape(next)
		}
		r := send(w.handler, as, target, nil)
		var a auditAnswer
		if err := json.Unmarshal(r.Body.Bytes(), &a, json.RejectUnknownMembers(true)); err != nil || r.Code != 200 {
			t.Fatalf("invariants = %d %s: %v", r.Code, r.Body, err)
		}
		if a.OK != (len(a.Violations) == 0) || a.Complete == a.Page.HasMore || a.Checked > limit || len(a.Unproven) > 0 {
			t.Fatalf("invariants contradict themselves: %s", r.Body)
		}
		for _, v := range a.Violations {
			if v.Detail == "" {
				t.Errorf("no detail: %+v", v)
			}
			broken = append(broken, v.Rule+" "+strings.TrimPrefix(v.Subject, "did:x:"))
		}
		checked += a.Checked
		if a.Complete {
			return broken, checked, pages
		}
		next = a.Page.NextCursor
	}
	t.Fatal("the audit does not end")
	return nil, 0, 0
}

// breakage is one way to damage a store behind our back.
type breakage struct {
	name string
	sql  []string // $1 is the workspace
	want []string
}

func breakages() []breakage {
	const edgeOf = `UPDATE relationships SET %s WHERE ws = $1 AND src_did = '%s' AND role = '%s' AND removed_at IS NULL`
	const twin = `UPDATE entities SET %s WHERE ws = $1 AND did = '%s'`
	return []breakage{
		{
			"group deactivated",
			[]string{`UPDATE entities SET status = 'deactivated' WHERE ws = $1 AND domain_type = 'group'`},
			[]string{"organisation_without_group org", "record_mismatch group"},
		},
		{
			"group taken out",
			[]string{fmt.Sprintf(edgeOf, "removed_at = 1", "did:x:org", "contains")},
			[]string{"group_without_parent group", "organisation_without_group org"},
		},
		{
			"project without organisation",
			[]string{fmt.Sprintf(edgeOf, "removed_at = 1", "did:x:org", "implements")},
			[]string{"project_without_organisation project"},
		},
		{
			"the organisation of an active project deactivated",
			[]string{fmt.Sprintf(twin, "status = 'deactivated'", "did:x:org")},
			[]string{"project_without_organisation project", "record_mismatch org"},
		},
		{
			"the project of an active asset deactivated",
			[]string{fmt.Sprintf(twin, "status = 'deactivated'", "did:x:project")},
			[]string{"asset_without_project asset", "record_mismatch project"},
		},
		{
			"what fills a role deactivated",
			[]string{fmt.Sprintf(twin, "status = 'deactivated'", "did:x:checker")},
			[]string{"active_role_unfilled lent", "active_role_unfilled meter", "record_mismatch checker"},
		},
		{
			"what fills a role unconfirmed",
			[]string{`UPDATE relationships SET unconfirmed = 1 WHERE ws = $1 AND dst_did = 'did:y:far'`},
			[]string{"active_role_unfilled lent"},
		},
		{
			"what fills a role over",
			[]string{fmt.Sprintf(edgeOf, "until = 1", "did:x:lent", "operator")},
			[]string{"active_role_unfilled lent"},
		},
		{
			"parent unconfirmed",
			[]string{fmt.Sprintf(edgeOf, "role = 'implementedBy', src = (SELECT nid FROM entities WHERE ws = $1 AND did = 'did:x:project'), src_did = 'did:x:project', dst = 0, dst_did = 'did:y:far', mirror = NULL, unconfirmed = 1", "did:x:org", "implements")},
			[]string{"project_without_organisation project"},
		},
		{
			"asset without project",
			[]string{`UPDATE relationships SET removed_at = 1 WHERE ws = $1 AND dst_did = 'did:x:asset'`},
			[]string{"asset_without_project asset"},
		},
		{
			"wrong pair",
			[]string{fmt.Sprintf(edgeOf, "role = 'verifies'", "did:x:net", "contains")},
			[]string{"edge_class_mismatch net"},
		},
		{
			"inverse word between held twins",
			[]string{fmt.Sprintf(edgeOf, "role = 'partOf'", "did:x:net", "contains")},
			[]string{"edge_class_mismatch net"},
		},
		{
			"word of the domain model to the outside",
			[]string{fmt.Sprintf(edgeOf, "role = 'implements'", "did:x:stove", "maker")},
			[]string{"edge_class_mismatch stove"},
		},
		{
			"target gone",
			[]string{`DELETE FROM entities WHERE ws = $1 AND did = 'did:x:net'`},
			[]string{"edge_end_missing net2", "edge_end_missing project"},
		},
		{
			"edge of another workspace",
			[]string{fmt.Sprintf(edgeOf, "ws = 'elsewhere'", "did:x:net", "contains")},
			[]string{"edge_workspace net", "edge_workspace project"},
		},
		{
			"end in another workspace",
			[]string{`UPDATE entities SET ws = 'elsewhere-' || ws WHERE ws = $1 AND did = 'did:x:net'`},
			[]string{"edge_workspace net2", "edge_workspace project"},
		},
		{
			"edge names another",
			[]string{fmt.Sprintf(edgeOf, "dst_did = 'did:x:other'", "did:x:net", "contains")},
			[]string{"edge_end_mismatch net"},
		},
		{
			"target does not know",
			[]string{fmt.Sprintf(edgeOf, "mirror = NULL", "did:x:net", "contains")},
			[]string{"edge_end_mismatch net"},
		},
		{
			"circle",
			[]string{
				`UPDATE relationships SET (src, src_did) = (SELECT nid, did FROM entities WHERE ws = $1 AND did = 'did:x:net2') WHERE ws = $1 AND src_did = 'did:x:net'`,
				`UPDATE relationships SET (dst, mirror, dst_did) = (SELECT nid, nid, did FROM entities WHERE ws = $1 AND did = 'did:x:net2'),
				src = (SELECT nid FROM entities WHERE ws = $1 AND did = 'did:x:net'), src_did = 'did:x:net' WHERE ws = $1 AND dst_did = 'did:x:project' AND src_did = 'did:x:net2'`,
			},
			[]string{"cycle net", "cycle net2"},
		},
		{"status", []string{fmt.Sprintf(twin, "status = 'suspended'", "did:x:stove")}, []string{"record_mismatch stove"}},
		{"revision", []string{fmt.Sprintf(twin, "revision = 9", "did:x:stove")}, []string{"hash_mismatch stove", "history_incomplete stove", "record_mismatch stove"}},
		{"did", []string{fmt.Sprintf(twin, "did = 'did:x:renamed'", "did:x:draft")}, []string{"record_mismatch renamed"}},
		{"record", []string{`UPDATE entities SET body = 'no record' WHERE ws = $1 AND did = 'did:x:draft'`}, []string{"hash_mismatch draft", "record_mismatch draft"}},
		{"one letter", []string{fmt.Sprintf(twin, `body = replace(body, '"name":"Waits"', '"name":"Waitz"')`, "did:x:draft")}, []string{"hash_mismatch draft", "index_incomplete draft"}},
		{
			"active and misses",
			[]string{fmt.Sprintf(twin, `status = 'active', body = replace(body, '"status":"draft"', '"status":"active"')`, "did:x:draft")},
			[]string{"active_misses_relationships draft", "hash_mismatch draft", "project_without_organisation draft"},
		},
		{
			"revision lost",
			[]string{`DELETE FROM entity_history WHERE revision = 2 AND nid = (SELECT nid FROM entities WHERE ws = $1 AND did = 'did:x:stove')`},
			[]string{"history_incomplete stove"},
		},
		{
			"last revision lost",
			[]string{`DELETE FROM entity_history WHERE revision = 3 AND nid = (SELECT nid FROM entities WHERE ws = $1 AND did = 'did:x:stove')`},
			[]string{"hash_mismatch stove", "history_incomplete stove"},
		},
		{
			"index row lost",
			[]string{`DELETE FROM entity_props WHERE val = 'sS2-2' AND nid = (SELECT nid FROM entities WHERE ws = $1 AND did = 'did:x:stove')`},
			[]string{"index_incomplete stove"},
		},
		{
			"index row changed",
			[]string{`UPDATE entity_props SET val = 'sNo' WHERE val = 'sM' AND nid = (SELECT nid FROM entities WHERE ws = $1 AND did = 'did:x:asset')`},
			[]string{"index_incomplete asset"},
		},
		{"protocol gone", []string{fmt.Sprintf(twin, "protocol_version = '7.0.0'", "did:x:draft")}, []string{"protocol_missing draft", "record_mismatch draft"}},
	}
}

func TestInvariants(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		w.fill(t, "healthy")
		for _, limit := range []int{1, 2, 7, 2000} {
			if broken, checked, pages := w.audit(t, "in healthy", limit); len(broken) > 0 || checked != programme || pages < programme/limit {
				t.Errorf("limit %d: broken %v, %d checked in %d pages; want a healthy store of %d", limit, broken, checked, pages, programme)
			}
		}
		for i, b := range breakages() {
			ws := fmt.Sprintf("w%d", i)
			w.fill(t, ws)
			for _, text := range b.sql {
				if n, err := d.Exec(t.Context(), text, ws); err != nil || n == 0 {
					t.Fatalf("%s: %d rows, %v", b.name, n, err)
				}
			}
			for _, limit := range []int{2, 2000} {
				broken, _, _ := w.audit(t, "in "+ws, limit)
				w.nameGroup(t, ws, broken)
				if diff := cmp.Diff(b.want, slices.Sorted(slices.Values(broken))); diff != "" {
					t.Errorf("%s, limit %d (-want +got):\n%s", b.name, limit, diff)
				}
			}
		}
		if broken, _, _ := w.audit(t, "in healthy", 500); len(broken) > 0 {
			t.Errorf("the neighbours' damage shows in a healthy workspace: %v", broken)
		}
	})
}

// nameGroup puts a name in place of the group's DID, which is made anew.
func (w *world) nameGroup(t testing.TB, ws string, broken []string) {
	t.Helper()
	var did string
	if err := w.db.QueryRow(t.Context(), `SELECT did FROM entities WHERE ws = $1 AND domain_type = 'group'`, ws).Scan(&did); err != nil {
		t.Fatal(err)
	}
	for i := range broken {
		broken[i] = strings.ReplaceAll(broken[i], did, "group")
	}
}

// TestInvariantsOfHub has a twin with more edges than a call looks at, some of
// them broken, and small twins after it.
func TestInvariantsOfHub(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		w.fill(t, "hub")
		w.nids["hub did:x:net"] = w.find(t, "hub", "did:x:net")
		var all []join
		want := []string{}
		for i := range 300 {
			all = append(all, join{ws: "hub", from: "did:x:net", role: "knows", to: fmt.Sprintf("did:y:%d", i)})
			if i%100 == 50 { // an end that does not exist
				w.nids[fmt.Sprintf("hub did:y:%d", i)] = int64(i)
				want = append(want, "edge_end_missing net")
			}
		}
		w.join(t, all...)
		for _, limit := range []int{1, 4, 2000} {
			w.SetAudit(40, 30)
			broken, checked, pages := w.audit(t, "in hub", limit)
			if !slices.Equal(broken, want) || checked != programme || pages < 7 {
				t.Errorf("limit %d: %v, %d checked in %d pages; want %v, %d checked, more than 6 pages", limit, broken, checked, pages, want, programme)
			}
		}
	})
}

func (r *rig) find(t testing.TB, ws, did string) int64 {
	t.Helper()
	var nid int64
	if err := r.db.QueryRow(t.Context(), `SELECT nid FROM entities WHERE ws = $1 AND did = $2`, ws, did).Scan(&nid); err != nil {
		t.Fatal(err)
	}
	return nid
}

// TestInvariantsOfProjects has a key that must not learn of other projects.
func TestInvariantsOfProjects(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		w.fill(t, "p")
		if _, err := d.Exec(t.Context(), `UPDATE entities SET status = 'suspended' WHERE ws = 'p'`); err != nil {
			t.Fatal(err)
		}
		broken, checked, _ := w.audit(t, "in p for did:x:project", 2000)
		want := []string{"record_mismatch asset", "record_mismatch house", "record_mismatch project", "record_mismatch stove"}
		if got := slices.Sorted(slices.Values(broken)); !slices.Equal(got, want) || checked != 4 {
			t.Errorf("a key for one project sees %v of %d twins, want %v", got, checked, want)
		}
	})
}

// TestInvariantsMeanwhile audits while somebody writes: work in progress must
// not look like damage.
func TestInvariantsMeanwhile(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d)
		w.fill(t, "busy")
		done := make(chan struct{})
		go func() {
			defer close(done)
			for i := range 25 {
				w.edit(t, "busy", "did:x:stove", fmt.Sprintf(`{"properties":{"serial":"S-%d","model":"M%d"}}`, i, i))
				w.make(t, "busy", made{fmt.Sprintf("did:x:asset/%d", i), "asset", fmt.Sprintf(`{"serial":"A%d"}`, i), []string{"generatedBy", "did:x:project"}})
			}
		}()
		for busy := true; busy; {
			select {
			case <-done:
				busy = false
			default:
			}
			if broken, _, _ := w.audit(t, "in busy", 5); len(broken) > 0 {
				t.Fatalf("broken %v, want nothing", broken)
			}
		}
		if _, checked, _ := w.audit(t, "in busy", 2000); checked != programme+25 {
			t.Errorf("%d twins checked, want %d", checked, programme+25)
		}
	})
}
