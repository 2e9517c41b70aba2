package search_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/rql"
)

// twin is a stored twin, all of it decoded.
type twin struct {
	nid, updated int64
	doc          map[string]any
}

func (w *world) all(t testing.TB) []twin {
	t.Helper()
	rows, err := w.d.Query(t.Context(), `SELECT nid, updated_at, body FROM entities WHERE ws = $1`, w.ws)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []twin
	for rows.Next() {
		var one twin
		var body string
		if err := rows.Scan(&one.nid, &one.updated, &body); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(body), &one.doc); err != nil {
			t.Fatal(err)
		}
		out = append(out, one)
	}
	return out
}

// property is the value a list is sorted by.
func (one twin) property(name string, kind rql.Kind) (string, bool) {
	v, ok := one.doc["properties"].(map[string]any)[name]
	if !ok {
		return "", false
	}
	return entity.IndexText(kind, v)
}

// brute answers a query by looking at everything.
func (w *world) brute(all []twin, q entity.Query, projects []string, filter *rql.Expr) []string {
	var found []twin
	name, down := strings.CutPrefix(q.Sort, "-")
	prop, byProp := strings.CutPrefix(name, "properties.")
	kind := map[string]rql.Kind{"power": rql.Number, "seen": rql.Time, "due": rql.Time}[prop]
	for _, one := range all {
		get := func(name string) string { s, _ := one.doc[name].(string); return s }
		ok := filter == nil || filter.Match(one.doc)
		for _, f := range [][2]string{{"did", q.DID}, {"type", q.Type}, {"class", q.Class}, {"protocol", q.Protocol}, {"status", q.Status}, {"project", q.Project}} {
			ok = ok && (f[1] == "" || get(f[0]) == f[1])
		}
		if q.ExternalID != "" {
			has := false
			for _, v := range one.doc["externalIds"].(map[string]any) {
				has = has || v == q.ExternalID
			}
			ok = ok && has
		}
		if !q.UpdatedSince.IsZero() {
			ok = ok && one.updated >= q.UpdatedSince.UnixMilli()
		}
		if _, has := one.property(prop, kind); byProp && !has {
			ok = false
		}
		if ok && (len(projects) == 0 || slices.Contains(projects, get("project"))) {
			found = append(found, one)
		}
	}
	if q.Sort == "" {
		down = q.UpdatedSince.IsZero()
	}
	slices.SortFunc(found, func(a, b twin) int {
		c := cmp.Compare(a.nid, b.nid)
		if name == "updated" || q.Sort == "" && !down {
			c = cmp.Or(cmp.Compare(a.updated, b.updated), c)
		} else if byProp {
			va, _ := a.property(prop, kind)
			vb, _ := b.property(prop, kind)
			c = cmp.Or(strings.Compare(va, vb), c)
		}
		if down {
			c = -c
		}
		return c
	})
	var ids []string
	for _, one := range found {
		ids = append(ids, one.doc["did"].(string))
	}
	return ids
}

// quoted writes a text as a value of a filter.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// term draws one comparison.
func (w *world) term(t *rapid.T) string {
	pick := func(name string, from ...string) string { return rapid.SampledFrom(from).Draw(t, name) }
	serial := func() string {
		return quoted(pick("serial", slices.Concat(serials, []string{"changed", "nowhere"})...))
	}
	op := pick("op", "eq", "ne", "lt", "le", "gt", "ge")
	switch pick("term", "serial", "in", "like", "prefix", "power", "on", "seen", "column", "or", "exists", "metadata", "tags", "near", "external", "district") {
	case "serial":
		return op + "(properties." + pick("text", "serial", "note") + "," + serial() + ")"
	case "in":
		return "in(properties.serial," + serial() + "," + serial() + "," + serial() + ")"
	case "like":
		return "like(properties.serial," + pick("pattern", `"*b*"`, `"a?c"`, `"?"`, `"*語"`) + ")"
	case "prefix":
		return "like(properties.serial," + quoted(pick("start", slices.Concat(serials, []string{"x", "語"})...)+"*") + ")"
	case "power":
		return op + "(properties.power," + pick("number", "0", "42", "-5", "0.4", `"42"`) + ")"
	case "on":
		return "eq(properties.on," + pick("bool", "true", "false", "null") + ")"
	case "seen":
		return op + "(properties.seen," + quoted(pick("time", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00+01:00", "2026-06-01", "1969-12-31T23:59:59Z", "2026-01-01T00:00:00.0004Z")) + ")"
	case "column":
		return pick("column", "eq(status,suspended)", "in(status,deactivated,draft)", "eq(status,active)", "ne(type,Stove)", "eq(class,system)", "like(type,*e)",
			"eq(protocol,"+quoted(w.meter)+")", "in(protocol,"+quoted(w.meter)+","+quoted(w.gauge)+")", "gt(revision,1)", "exists(project)", "eq(project,null)", "eq(domainType,device)",
			"in(class,physical,cognitive)", "eq(project,"+quoted(w.projects[1])+")", "ge(created,2020-01-01)", "eq(relationships.role,project)")
	case "or":
		return "or(eq(type,Stove),eq(type,Device))"
	case "exists":
		return "exists(properties." + pick("some", "serial", "site", "location", "power") + ")"
	case "metadata":
		return pick("meta", "eq(metadata.n,2)", `like(metadata.name,"name 3*")`, "lt(metadata.location.lat,10)", "eq(metadata.none,1)")
	case "tags":
		return pick("tag", "eq(properties.tags,red)", "ge(properties.tags,2)", "eq(properties.tags.1,0)")
	case "near":
		return pick("place", "near(10,10,500000)", "within(0,0,15,15)", "near(properties.location,5,5,300000)", "within(metadata.location,0,0,9,9)")
	case "external":
		return pick("id", "eq(externalIds.sap,X7)", "in(externalIds.sap,X7,X8)", "exists(externalIds.old26)", "eq(externalIds.old26,shared)")
	}
	return "eq(properties.district,Kitui)"
}

func (w *world) filter(t *rapid.T, depth int) string {
	if depth == 0 || rapid.Bool().Draw(t, "leaf") {
		return w.term(t)
	}
	op := rapid.SampledFrom([]string{"and", "and", "or", "not"}).Draw(t, "group")
	if op == "not" {
		return "not(" + w.filter(t, depth-1) + ")"
	}
	return op + "(" + w.filter(t, depth-1) + "," + w.filter(t, depth-1) + ")"
}

func (w *world) query(t *rapid.T, all []twin) entity.Query {
	maybe := func(name string, from ...string) string {
		if rapid.IntRange(0, 3).Draw(t, name+"?") > 0 {
			return ""
		}
		return rapid.SampledFrom(from).Draw(t, name)
	}
	q := entity.Query{
		Type: maybe("type", slices.Concat(types, []string{"Nothing"})...), Class: maybe("class", "physical", "cognitive", "system", "oracle"),
		Protocol: maybe("protocol", w.meter, w.gauge, household, template), Status: maybe("status", "active", "suspended", "deactivated", "draft"),
		Project: maybe("project", w.projects...), ExternalID: maybe("external", "X3", "shared", "nobody"),
		Sort:  maybe("sort", "created", "-created", "updated", "-updated", "properties.serial", "-properties.serial", "properties.power", "-properties.seen"),
		Limit: rapid.SampledFrom([]int{1, 3, 10, 50, 1000}).Draw(t, "limit"),
	}
	if rapid.IntRange(0, 9).Draw(t, "did?") == 0 {
		q.DID = rapid.SampledFrom(w.ids).Draw(t, "did")
	}
	if rapid.IntRange(0, 5).Draw(t, "since?") == 0 {
		q.UpdatedSince = time.UnixMilli(rapid.SampledFrom(all).Draw(t, "since").updated)
	}
	if strings.Contains(q.Sort, "properties") {
		q.Protocol = w.meter
	}
	if rapid.IntRange(0, 3).Draw(t, "filter?") > 0 {
		q.Filter = w.filter(t, 2)
	}
	return q
}

// Every query gives what looking at everything gives, in the same order,
// whatever the pages and the bounds.
func TestAgainstBruteForce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d, 240)
		all := w.all(t)
		other := &world{env: w.env, ws: "other"}
		w.store(t, ctx(t, "other"), entity.Draft{Type: "Device", Protocol: cooking, Properties: object(t, map[string]any{"serial": "abc"}), ExternalIDs: map[string]string{"sap": "X3"}})
		if len(other.all(t)) != 1 || len(all) < 240 {
			t.Fatalf("%d twins here and %d elsewhere", len(all), len(other.all(t)))
		}
		answered := 0
		rapid.Check(t, func(rt *rapid.T) {
			w.s.SetBudget(rapid.SampledFrom([]int{1, 7, 100, 1000}).Draw(rt, "candidates"), rapid.SampledFrom([]int{1, 30, 2000}).Draw(rt, "rows"))
			q := w.query(rt, all)
			var projects []string
			if rapid.IntRange(0, 3).Draw(rt, "restricted") == 0 {
				projects = w.projects[:rapid.IntRange(1, 2).Draw(rt, "projects")]
			}
			c := ctx(t, w.ws, projects...)
			var filter *rql.Expr
			if q.Filter != "" {
				var err error
				if filter, err = rql.Parse(q.Filter, w.s.Schema(c, w.ws)); err != nil {
					if _, err := w.s.List(c, d, q); fault.KindOf(err) != fault.Invalid {
						rt.Fatalf("List(%s) = %v, want a fault", q.Filter, err)
					}
					return
				}
			}
			want := w.brute(all, q, projects, filter)
			got, _ := w.walk(t, c, q)
			if !slices.Equal(got, want) {
				plan, _ := w.s.Explain(c, q)
				rt.Fatalf("%+v of %v by %s\ngot  %s\nwant %s", q, projects, plan, short(got), short(want))
			}
			if len(want) > 0 {
				answered++
			}
		})
		w.s.SetBudget(50, 50)
		for _, sort := range []string{"", "created", "-created", "updated", "-updated"} {
			q := entity.Query{Sort: sort, UpdatedSince: time.UnixMilli(all[len(all)/2].updated)}
			if got, want := first(w.walk(t, ctx(t, w.ws), q)), w.brute(all, q, nil, nil); !slices.Equal(got, want) || len(want) == len(all) {
				t.Errorf("%+v: %s, want %s", q, short(got), short(want))
			}
		}
		if answered < 5 {
			t.Errorf("only %d queries found anything", answered)
		}
	})
}

func first(ids []string, _ int) []string { return ids }

// Twins that are there when a walk begins are met once each, however many are
// made and changed meanwhile.
func TestPagesUnderWrites(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := &world{env: newEnv(t, d), ws: "ws"}
		c := ctx(t, "ws")
		stove := func(i int) entity.Draft {
			return entity.Draft{Type: "Stove", Protocol: cooking, Properties: object(t, map[string]any{"serial": fmt.Sprint("S", i%3), "model": "M"})}
		}
		var drafts []entity.Draft
		for i := range 300 {
			drafts = append(drafts, stove(i))
		}
		before := map[string]bool{}
		for _, r := range w.store(t, c, drafts...) {
			before[r.DID] = true
		}
		for i, q := range []entity.Query{
			{Limit: 7},
			{Limit: 7, Sort: "created"},
			{Limit: 7, Filter: "eq(properties.model,M)"},
			{Limit: 7, Filter: "in(properties.serial,S0,S1,S2)", Sort: "created"},
			{Limit: 7, Protocol: cooking, Sort: "properties.serial"},
			{Limit: 7, Filter: "like(metadata.name,x*)"},
			{Limit: 7, Type: "Stove", Filter: "like(properties.model,*)"},
		} {
			seen := map[string]int{}
			for n := 0; ; n++ {
				f, err := w.s.List(c, d, q)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range f.Rows {
					seen[r.DID]++
				}
				w.store(t, c, stove(n), stove(n+1))
				if q.After = f.Next; f.Next == nil || n > 400 {
					break
				}
			}
			for id, n := range seen {
				if n > 1 {
					t.Errorf("query %d met %s %d times", i, id, n)
				}
			}
			for id := range before {
				if seen[id] == 0 && i != 5 {
					t.Errorf("query %d missed %s", i, id)
				}
			}
		}
	})
}

// Texts longer than what is indexed of them, and times that a filter compares
// as texts, are found and ordered like all others.
func TestBoundsOfTheIndex(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		w := newWorld(t, d, 0)
		c := ctx(t, w.ws)
		var drafts []entity.Draft
		for _, s := range serials {
			drafts = append(drafts, entity.Draft{Type: "M", Protocol: w.meter, Properties: object(t, map[string]any{"serial": s})})
		}
		for _, m := range moments {
			drafts = append(drafts, entity.Draft{Type: "M", Protocol: w.meter, Properties: object(t, map[string]any{"seen": m, "due": m})})
		}
		w.store(t, c, drafts...)
		all := w.all(t)
		check := func(q entity.Query) {
			t.Helper()
			filter, err := rql.Parse(q.Filter, w.s.Schema(c, w.ws))
			if err != nil {
				t.Fatal(err)
			}
			got, _ := w.walk(t, c, q)
			if want := w.brute(all, q, nil, filter); !slices.Equal(got, want) {
				plan, _ := w.s.Explain(c, q)
				t.Errorf("%+v by %s\ngot  %s\nwant %s", q, plan, short(got), short(want))
			}
		}
		for _, op := range []string{"eq", "lt", "le", "gt", "ge"} {
			for _, sort := range []string{"", "properties.", "-properties."} {
				query := func(name, value string) entity.Query {
					q := entity.Query{Protocol: w.meter, Limit: 3, Filter: op + "(properties." + name + "," + quoted(value) + ")"}
					if sort != "" {
						q.Sort = sort + name
					}
					return q
				}
				for _, s := range serials {
					check(query("serial", s))
				}
				for _, m := range moments {
					check(query("seen", m.(string)))
					check(query("due", m.(string)))
				}
			}
		}
		for _, s := range serials {
			check(entity.Query{Protocol: w.meter, Sort: "properties.serial", Filter: "like(properties.serial," + quoted(s+"*") + ")"})
		}
	})
}
