package search_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// What a write has answered, the next list shows; what it took away, none.
func TestReadYourWrites(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		c := ctx(t, "ws")
		id := v.store(t, c, entity.Draft{Type: "Stove", Protocol: cooking, Properties: object(t, map[string]any{"serial": "S0", "model": "M"}), ExternalIDs: map[string]string{"sap": "E0"}})[0].DID
		for i := 1; i < 10; i++ {
			err := d.InTx(c, func(tx *db.Tx) error {
				merge := fmt.Sprintf(`{"properties":{"serial":"S%d"},"externalIds":{"sap":"E%d"}}`, i, i)
				_, err := v.e.PatchTx(c, tx, id, fmt.Sprintf(`"%d"`, i), entity.Change{Merge: []byte(merge)})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, tt := range []struct {
				q    entity.Query
				want int
			}{
				{entity.Query{Filter: fmt.Sprintf("eq(properties.serial,S%d)", i)}, 1},
				{entity.Query{Filter: fmt.Sprintf("eq(properties.serial,S%d)", i-1)}, 0},
				{entity.Query{ExternalID: fmt.Sprint("E", i)}, 1},
				{entity.Query{ExternalID: fmt.Sprint("E", i-1)}, 0},
				{entity.Query{Filter: fmt.Sprintf("eq(externalIds.sap,E%d)", i)}, 1},
				{entity.Query{Filter: "eq(properties.model,M)"}, 1},
				{entity.Query{Filter: fmt.Sprintf("eq(revision,%d)", i+1)}, 1},
			} {
				if ids, _ := v.walk(t, c, tt.q); len(ids) != tt.want {
					t.Errorf("after change %d %+v finds %d, want %d", i, tt.q, len(ids), tt.want)
				}
			}
		}
	})
}

// A list inside a transaction sees what the transaction has stored.
func TestListInATransaction(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		c := ctx(t, "ws")
		p, err := v.e.Prepare(c, entity.Draft{Type: "Stove", Protocol: cooking, Properties: object(t, map[string]any{"serial": "S"})})
		if err != nil {
			t.Fatal(err)
		}
		var inside []string
		stop := fmt.Errorf("roll back")
		err = d.InTx(c, func(tx *db.Tx) error {
			inside = nil
			if _, err := v.e.StoreTx(c, tx, p); err != nil {
				return err
			}
			for _, q := range []entity.Query{{}, {Type: "Stove"}, {Filter: "eq(properties.serial,S)"}, {Filter: "like(type,S*)"}, {Sort: "updated"}} {
				f, err := v.s.List(c, tx, q)
				if err != nil {
					return err
				}
				for _, r := range f.Rows {
					inside = append(inside, r.DID)
				}
			}
			return stop
		})
		if err == nil || !strings.Contains(err.Error(), stop.Error()) || len(inside) != 5 {
			t.Errorf("inside: %v, %v, want the twin five times", inside, err)
		}
		if ids, _ := v.walk(t, c, entity.Query{}); len(ids) != 0 {
			t.Errorf("after the rollback: %v, want none", ids)
		}
	})
}

// While values change under a page, it shows no twin twice and none that does
// not fit.
func TestValuesThatMove(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		c := ctx(t, "ws")
		var drafts []entity.Draft
		for i := range 40 {
			drafts = append(drafts, entity.Draft{Type: "Stove", Protocol: cooking, Properties: object(t, map[string]any{"serial": []string{"A", "B"}[i%2]})})
		}
		rows := v.store(t, c, drafts...)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				err := d.InTx(c, func(tx *db.Tx) error {
					_, err := v.e.PatchTx(c, tx, rows[i%40].DID, "*", entity.Change{Merge: []byte(fmt.Sprintf(`{"properties":{"serial":%q}}`, []string{"B", "A", "C"}[i%3]))})
					return err
				})
				if err != nil {
					t.Errorf("change: %v", err)
					return
				}
			}
		})
		for range 150 {
			f, err := v.s.List(c, d, entity.Query{Limit: 1000, Filter: "in(properties.serial,A,B)"})
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for _, r := range f.Rows {
				if seen[r.DID] || strings.Contains(string(r.Body), `"serial":"C"`) {
					t.Fatalf("page shows %s twice, or though it does not fit: %s", r.DID, r.Body)
				}
				seen[r.DID] = true
			}
		}
		close(stop)
		wg.Wait()
	})
}

// Rows carry what their records say.
func TestRowsOfAList(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.SQLite(t), 30)
	c := ctx(t, w.ws)
	f, err := w.s.List(c, w.d, entity.Query{Limit: 1000})
	if err != nil || len(f.Rows) != 33 {
		t.Fatalf("%d rows, %v", len(f.Rows), err)
	}
	for _, got := range f.Rows {
		want, err := w.e.Find(c, w.d, got.DID)
		if err != nil {
			t.Fatal(err)
		}
		a := fmt.Sprint(got.NID, got.Workspace, got.Type, got.Class, got.DomainType, got.Protocol, got.ProtocolVersion, got.Project, got.Status, got.Revision, got.CreatedAt, got.UpdatedAt, string(got.Body))
		b := fmt.Sprint(want.NID, want.Workspace, want.Type, want.Class, want.DomainType, want.Protocol, want.ProtocolVersion, want.Project, want.Status, want.Revision, want.CreatedAt, want.UpdatedAt, string(want.Body))
		if a != b {
			t.Errorf("row %s, want %s", a, b)
		}
	}
}

// Nobody without a workspace sees anything.
func TestNobodySeesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.SQLite(t), 5)
	for _, q := range []entity.Query{{}, {Type: "Device"}, {DID: w.ids[0]}, {ExternalID: "X1"}, {Sort: "updated"}, {Filter: "eq(properties.serial,a)"}} {
		for _, c := range []web.Caller{{}, {Workspace: "elsewhere", DID: "did:key:x", Scopes: []string{"*"}}, {Workspace: "ws", DID: "did:key:x", Projects: []string{"did:ixo:entity:none"}}} {
			f, err := w.s.List(web.WithCaller(t.Context(), c), w.d, q)
			if q.Filter != "" && fault.CodeOf(err) == "UNKNOWN_FIELD" {
				continue
			}
			if err != nil || len(f.Rows) > 0 || f.Next != nil {
				t.Errorf("%+v sees %d twins by %+v, next %v, %v", c, len(f.Rows), q, f.Next, err)
			}
		}
	}
}

// expand shows of another project's twin what a list would: nothing.
func TestExpandHidesOtherProjects(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		c := ctx(t, "ws")
		projects := v.store(t, c, entity.Draft{Type: "Project", Protocol: project, Properties: object(t, map[string]any{"name": "mine"})}, entity.Draft{Type: "Project", Protocol: project, Properties: object(t, map[string]any{"name": "SECRET"})})
		mine, other := projects[0].DID, projects[1].DID
		r := v.store(t, c, entity.Draft{Type: "Stove", Protocol: cooking, Relationships: []entity.RelationDraft{{Role: "project", Target: mine}, {Role: "neighbour", Target: other}}})[0]
		for _, tt := range []struct {
			projects []string
			names    string
		}{{nil, "mine SECRET"}, {[]string{mine}, "mine "}} {
			b, err := v.s.Expand(ctx(t, "ws", tt.projects...), d, r, r.Body, "relationships , protocol")
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				DID           string `json:"did"`
				Relationships []struct {
					Entity entity.Brief `json:"entity"`
				} `json:"relationships"`
				ProtocolRecord struct {
					Name string `json:"name"`
				} `json:"protocolRecord"`
			}
			if err := json.Unmarshal(b, &got); err != nil || len(got.Relationships) != 2 || got.DID != r.DID || got.ProtocolRecord.Name == "" {
				t.Fatalf("expanded %s, %v", b, err)
			}
			if names := got.Relationships[0].Entity.Name + " " + got.Relationships[1].Entity.Name; names != tt.names {
				t.Errorf("a key of %v sees %q, want %q", tt.projects, names, tt.names)
			}
		}
		if b, err := v.s.Expand(c, d, r, r.Body, ""); err != nil || string(b) != string(r.Body) {
			t.Errorf("expanding nothing gives %s, %v", b, err)
		}
		if _, err := v.s.Expand(c, d, r, r.Body, "owner"); fault.CodeOf(err) != "UNKNOWN_FIELD" {
			t.Errorf("expand=owner: %v, want UNKNOWN_FIELD", err)
		}
	})
}

// The reference shows items as twins, not as an opaque value.
func TestReference(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	a := web.NewAPI(web.APIConfig{Name: "test"})
	v.s.Routes(a)
	b, err := web.Document("t", "1", a).MarshalJSON()
	if err != nil || !strings.Contains(string(b), `"items":{"items":{"$ref":"#/components/schemas/TwinEntity"}`) && !strings.Contains(string(b), `"$ref":"#/components/schemas/TwinEntity"`) {
		t.Errorf("the document does not refer to TwinEntity: %v, %.500s", err, b)
	}
}
