package search_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/search"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

func TestPlans(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.SQLite(t), 0)
	m, g := `"`+w.meter+`"`, `"`+w.gauge+`"`
	list := func(n int) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprint("T", i))
		}
		return strings.Join(out, ",")
	}
	for _, tt := range []struct {
		name string
		q    entity.Query
		want string
	}{
		{"nothing", entity.Query{}, "table"},
		{"did", entity.Query{DID: "did:ixo:entity:1"}, "did*1"},
		{"did in a filter", entity.Query{Filter: "in(did,a,b)"}, "did*2"},
		{"external id", entity.Query{ExternalID: "X"}, "externalId"},
		{"external id of a system", entity.Query{Filter: "eq(externalIds.sap,X)"}, "externalId of sap"},
		{"type", entity.Query{Type: "Device"}, "type*1"},
		{"types", entity.Query{Filter: "in(type,a,b,a)"}, "type*2"},
		{"types by or", entity.Query{Filter: "or(eq(type,a),in(type,b,c))"}, "type*3"},
		{"or of two fields", entity.Query{Filter: "or(eq(type,a),eq(status,draft))"}, "table"},
		{"20 types", entity.Query{Filter: "in(type," + list(20) + ")"}, "type*20"},
		{"21 types", entity.Query{Filter: "in(type," + list(21) + ")"}, "table"},
		{"no type", entity.Query{Filter: "eq(type,null)"}, "table"},
		{"not a type", entity.Query{Filter: "ne(type,a)"}, "table"},
		{"opposite", entity.Query{Filter: "not(eq(type,a))"}, "table"},
		{"usual status", entity.Query{Status: "active"}, "table"},
		{"rare status", entity.Query{Status: "draft"}, "status*1"},
		{"rare and usual status", entity.Query{Filter: "in(status,draft,active)"}, "table"},
		{"class", entity.Query{Class: "oracle"}, "protocol*1"},
		{"project", entity.Query{Project: "did:ixo:entity:1"}, "project*1"},
		{"property everybody indexes", entity.Query{Filter: "eq(properties.serial,1)"}, "property*5"}, // meter, gauge, asset, cooking, monitor
		{"property of one protocol", entity.Query{Protocol: w.meter, Filter: "eq(properties.serial,1)"}, "property*1"},
		{"values of it", entity.Query{Filter: "and(eq(protocol," + m + "),in(properties.serial,1,2,3))"}, "property*3"},
		{"two protocols", entity.Query{Filter: "and(in(protocol," + m + "," + g + "),eq(properties.note,x))"}, "protocol*2 loose*2"}, // meter does not index note
		{"one of the two", entity.Query{Protocol: w.gauge, Filter: "eq(properties.note,x)"}, "property*1"},
		{"too many values", entity.Query{Filter: "in(properties.serial,1,2,3,4,5)"}, "table"},
		{"kinds differ", entity.Query{Filter: "eq(properties.power,1)"}, "loose*3"}, // cooking does not index it
		{"kinds of two protocols", entity.Query{Filter: "and(in(protocol," + m + "," + g + "),eq(properties.power,1))"}, "property*2"},
		{"protocol without the property", entity.Query{Protocol: network, Filter: "eq(properties.serial,1)"}, "none*0"},
		{"not indexed", entity.Query{Filter: "eq(properties.tags,red)"}, "loose*1"},
		{"a boolean", entity.Query{Filter: "eq(properties.on,true)"}, "property*1"},
		{"inside a property", entity.Query{Filter: "eq(properties.site.name,x)"}, "table"},
		{"range", entity.Query{Filter: "gt(properties.serial,a)"}, "table"},
		{"class and protocol", entity.Query{Class: "oracle", Protocol: w.meter}, "protocol*1 none*0"},
		{"by change", entity.Query{Type: "a", Sort: "-updated"}, "by updated"},
		{"since", entity.Query{Type: "a", UpdatedSince: time.Unix(1, 0)}, "by updated"},
		{"one twin by change", entity.Query{DID: "did:ixo:entity:1", Sort: "updated"}, "did*1 by updated"},
		{"by property", entity.Query{Protocol: w.meter, Sort: "properties.serial"}, "by property ..z"},
		{"by property from", entity.Query{Protocol: w.meter, Sort: "properties.serial", Filter: "ge(properties.serial,b)"}, "by property sb..z"},
		{"by property to", entity.Query{Protocol: w.meter, Sort: "properties.serial", Filter: "lt(properties.serial,b)"}, "by property s..sb "},
		{"by property between", entity.Query{Protocol: w.meter, Sort: "properties.serial", Filter: "and(ge(properties.serial,b),le(properties.serial,c))"}, "by property sb..sc "},
		{"by property, prefix", entity.Query{Protocol: w.meter, Sort: "properties.serial", Filter: "like(properties.serial,ab*)"}, "by property sab..sac"},
		{"by property, prefix at the end", entity.Query{Protocol: w.meter, Sort: "properties.serial", Filter: "like(properties.serial,\"a\U0010ffff*\")"}, "by property sa\U0010ffff..sb"},
		{"by property, before the surrogates", entity.Query{Protocol: w.meter, Sort: "properties.serial", Filter: "like(properties.serial,\"\ud7ff*\")"}, "by property s\ud7ff..s\ue000"},
		{"by property, any end", entity.Query{Protocol: w.meter, Sort: "properties.serial", Filter: "like(properties.serial,*b)"}, "by property ..z"},
		{"by time", entity.Query{Protocol: w.meter, Sort: "-properties.seen", Filter: "lt(properties.seen,1970-01-01)"}, "by property t..t8000000000000000 "},
	} {
		got, err := w.s.Explain(ctx(t, w.ws), tt.q)
		if err != nil || got != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, err, tt.want)
		}
	}
}

// A protocol that allows undeclared properties makes their index useless to
// whoever does not say which protocol is meant.
func TestPlansWithAnOpenProtocol(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.SQLite(t), 0)
	c := ctx(t, w.ws)
	open := w.publish(t, w.ws, `{"type":"Protocol","name":"open","additionalProperties":true,"properties":{"x":"string"}}`)
	w.store(t, c, entity.Draft{Type: "Odd", Protocol: open, Properties: object(t, map[string]any{"serial": "odd", "more": map[string]any{"a": 1}})})
	for _, tt := range []struct{ protocol, want string }{{"", "table"}, {w.meter, "property*1"}} {
		got, err := w.s.Explain(c, entity.Query{Protocol: tt.protocol, Filter: "eq(properties.serial,odd)"})
		if err != nil || got != tt.want {
			t.Errorf("with protocol %q: %q, %v, want %q", tt.protocol, got, err, tt.want)
		}
	}
	for _, filter := range []string{"eq(properties.serial,odd)", "eq(properties.more.a,1)", "eq(properties.serial,\"odd\")"} {
		if ids, _ := w.walk(t, c, entity.Query{Filter: filter}); len(ids) != 1 {
			t.Errorf("%s found %v, want the twin with undeclared properties", filter, ids)
		}
	}
}

func TestHostileQueries(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.SQLite(t), 3)
	for _, tt := range []struct {
		name, code, pointer string
		q                   entity.Query
	}{
		{"unknown member", "UNKNOWN_FIELD", "query/filter", entity.Query{Filter: "eq(serial,x)"}},
		{"unknown property", "UNKNOWN_FIELD", "query/filter", entity.Query{Filter: "and(eq(type,x),eq(properties.seriall,x))"}},
		{"other case", "UNKNOWN_FIELD", "query/filter", entity.Query{Filter: "eq(Type,x)"}},
		{"inside a text", "UNKNOWN_FIELD", "query/filter", entity.Query{Filter: "eq(properties.serial.x,x)"}},
		{"inside the status", "UNKNOWN_FIELD", "query/filter", entity.Query{Filter: "eq(status.x,x)"}},
		{"column of the table", "UNKNOWN_FIELD", "query/filter", entity.Query{Filter: "eq(rev_hash,x)"}},
		{"SQL", "INVALID_FILTER", "query/filter", entity.Query{Filter: "eq(type,x'); DROP TABLE entities;--)"}},
		{"an object", "INVALID_FILTER", "query/filter", entity.Query{Filter: "eq(properties,x)"}},
		{"unfinished", "INVALID_FILTER", "query/filter", entity.Query{Filter: "and(eq(type,x)"}},
		{"long", "INVALID_FILTER", "query/filter", entity.Query{Filter: "eq(type," + strings.Repeat("x", 2000) + ")"}},
		{"deep", "INVALID_FILTER", "query/filter", entity.Query{Filter: strings.Repeat("not(", 300) + "eq(type,x)" + strings.Repeat(")", 300)}},
		{"sort by nothing", "UNKNOWN_FIELD", "query/sort", entity.Query{Sort: "size"}},
		{"sort by minus", "UNKNOWN_FIELD", "query/sort", entity.Query{Sort: "-"}},
		{"sort by an unknown property", "UNKNOWN_FIELD", "query/sort", entity.Query{Protocol: w.meter, Sort: "properties.nothing"}},
		{"sort without protocol", "INVALID_PARAMETER", "query/sort", entity.Query{Sort: "properties.serial"}},
		{"sort by a property that is not indexed", "INVALID_PARAMETER", "query/sort", entity.Query{Protocol: w.meter, Sort: "properties.note"}},
		{"sort by SQL", "UNKNOWN_FIELD", "query/sort", entity.Query{Sort: "nid; DROP TABLE entities"}},
		{"limit", "INVALID_PARAMETER", "query/limit", entity.Query{Limit: 1001}},
		{"status", "INVALID_PARAMETER", "query/status", entity.Query{Status: "lost"}},
		{"class", "INVALID_PARAMETER", "query/class", entity.Query{Class: "metaphysical"}},
		{"no DID", "INVALID_PARAMETER", "query/did", entity.Query{DID: "x"}},
		{"near", "INVALID_PARAMETER", "query/near", entity.Query{Near: "1,2"}},
		{"near with more", "INVALID_PARAMETER", "query/near", entity.Query{Near: "1,2,3),eq(type,x"}},
	} {
		_, err := w.s.List(ctx(t, w.ws), w.d, tt.q)
		f := fault.As(err)
		if f == nil || f.Kind != fault.Invalid || f.Code != tt.code || f.Fields[0].Pointer != tt.pointer {
			t.Errorf("%s: %v, want %s at %s", tt.name, err, tt.code, tt.pointer)
		}
	}
	_, err := w.s.List(ctx(t, w.ws), w.d, entity.Query{Filter: "and(eq(type,ä),eq(properties.seriall,x))"})
	if f := fault.As(err); f == nil || f.Fields[0].Detail != `At character 19: There is no field "properties.seriall".` {
		t.Errorf("unknown field: %+v, want its name and place", f)
	}
}

// The statements behind the two ways a filter is answered, as both databases
// would run them on a full table.
func TestPlansOfTheDatabases(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d, 400)
		want := map[string]string{
			"property": "entity_props", "type": "entities_type", "project": "entities_project", "sorted": "entity_props", "list": "entities_list", "updated": "entities_updated", "probe": "entity_props", "rows": "",
		}
		for name, text := range search.Statements() {
			got := explain(t, w.d, text)
			if bad := strings.Contains(got, "SCAN") || strings.Contains(got, "Seq Scan") || strings.Contains(got, `"Sort"`) || strings.Contains(got, "TEMP B-TREE"); bad || !strings.Contains(got, want[name]) {
				t.Errorf("%s: %s, want a search along %s", name, got, want[name])
			}
		}
	})
}

// explain gives the plan of a statement with parameters nobody knows yet.
func explain(t *testing.T, d *db.DB, text string) string {
	t.Helper()
	n := 0
	for i := 1; strings.Contains(text, fmt.Sprintf("$%d", i)); i++ {
		n = i
	}
	var out []string
	err := d.InTx(t.Context(), func(tx *db.Tx) error {
		out = nil
		if d.Dialect() == db.SQLite {
			rows, err := tx.Query(t.Context(), "EXPLAIN QUERY PLAN "+text, make([]any, n)...)
			return scanPlan(rows, err, 4, &out)
		}
		args := strings.TrimSuffix(strings.Repeat("NULL,", n), ",")
		for _, s := range []string{"ANALYZE", "SET LOCAL plan_cache_mode = force_generic_plan", "SET LOCAL enable_seqscan = off", "PREPARE explained AS " + text} {
			if _, err := tx.Exec(t.Context(), s); err != nil {
				return err
			}
		}
		rows, err := tx.Query(t.Context(), "EXPLAIN (FORMAT JSON) EXECUTE explained("+args+")")
		if err := scanPlan(rows, err, 1, &out); err != nil {
			return err
		}
		_, err = tx.Exec(t.Context(), "DEALLOCATE explained")
		return err
	})
	if err != nil {
		t.Fatalf("explain %s: %v", text, err)
	}
	return strings.Join(out, "; ")
}

func scanPlan(rows db.Rows, err error, width int, out *[]string) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		dest := make([]any, width)
		for i := range dest {
			dest[i] = new(any)
		}
		line := ""
		dest[width-1] = &line
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		*out = append(*out, line)
	}
	return rows.Err()
}

// A page looks at a bounded number of twins, says that there is more, and the
// walk still finds all.
func TestBudget(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := &world{env: newEnv(t, d), ws: "ws"}
		c := ctx(t, "ws")
		var drafts []entity.Draft
		for i := range 2100 {
			rare := map[bool]string{true: "rare", false: "common"}[i == 3]
			drafts = append(drafts, entity.Draft{Type: "Stove", Protocol: cooking, Metadata: object(t, map[string]any{"name": rare}), Properties: object(t, map[string]any{
				"serial": fmt.Sprint("S", i), "model": []string{"A", "B"}[i%2], "notes": rare,
			})})
		}
		rows := w.store(t, c, drafts...)
		for _, tt := range []struct {
			name  string
			q     entity.Query
			pages int
			found int
		}{
			{"table", entity.Query{Filter: "eq(metadata.name,rare)"}, 3, 1},
			{"table, upwards", entity.Query{Sort: "created", Filter: "eq(metadata.name,rare)"}, 3, 1},
			{"table, by change", entity.Query{Sort: "-updated", Filter: "eq(metadata.name,rare)"}, 3, 1},
			{"a property that is not indexed", entity.Query{Filter: "eq(properties.notes,rare)"}, 5, 1},
			{"index", entity.Query{Type: "Stove", Filter: "eq(properties.notes,rare)"}, 5, 1},
			{"index, no match", entity.Query{Filter: "and(eq(properties.model,A),like(properties.notes,x*))"}, 3, 0},
			{"two properties that meet", entity.Query{Filter: "and(eq(properties.model,B),eq(properties.serial,S3))"}, 1, 1},
			{"two properties that never meet", entity.Query{Filter: "and(eq(properties.model,A),eq(properties.serial,S3))"}, 1, 0},
			{"by property", entity.Query{Protocol: cooking, Sort: "properties.serial", Filter: "eq(properties.notes,rare)"}, 5, 1},
			{"range by property", entity.Query{Protocol: cooking, Sort: "properties.serial", Filter: "and(ge(properties.serial,S3),lt(properties.serial,S30))"}, 1, 1},
			{"whole pages", entity.Query{Limit: 1000}, 3, 2100},
			{"whole pages of an index", entity.Query{Limit: 1000, Type: "Stove"}, 3, 2100},
		} {
			ids, pages := w.walk(t, c, tt.q)
			if len(ids) != tt.found || pages != tt.pages {
				t.Errorf("%s: %d twins on %d pages, want %d on %d", tt.name, len(ids), pages, tt.found, tt.pages)
			}
		}
		if f, err := w.s.List(c, d, entity.Query{Filter: "eq(properties.serial,S3)"}); err != nil || len(f.Rows) != 1 || f.Rows[0].DID != rows[3].DID || f.Next != nil {
			t.Errorf("by serial: %+v, %v, want one twin and the end", f, err)
		}
	})
}
