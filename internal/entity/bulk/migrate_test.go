package bulk_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/job"
)

const (
	stove     = "did:ixo:protocol/stove-of-ours"
	stovePath = "/v1/protocols/did%3Aixo%3Aprotocol%2Fstove-of-ours"
)

// stoves makes a protocol with two versions and n twins of the first. Every
// tenth has a power that the second does not take.
func (r *rig) stoves(t testing.TB, n int) {
	t.Helper()
	r.do(t, call{method: "POST", path: "/v1/protocols", body: map[string]any{
		"did": stove, "type": "Protocol", "properties": map[string]any{"sn": map[string]any{"type": "string", "indexed": true}, "power": "number"},
	}}, 201, nil)
	r.do(t, call{method: "POST", path: stovePath + "/publish"}, 200, nil)
	var file strings.Builder
	for i := range n {
		power := 1.5
		if i%10 == 9 {
			power = -1
		}
		fmt.Fprintf(&file, `{"type":"Stove","protocol":%q,"properties":{"sn":"S%d","power":%v}}`+"\n", stove, i, power)
	}
	if got := r.imported(t, r.upload(t, nil, ndjson, file.String())); int(got.Counts.Created) != n {
		t.Fatalf("import = %+v", got)
	}
	r.do(t, call{method: "POST", path: stovePath + "/versions", body: map[string]any{
		"version": "2.0.0", "required": []string{"serial", "fuel"},
		"properties": map[string]any{"sn": nil, "serial": map[string]any{"type": "string", "indexed": true}, "power": map[string]any{"type": "number", "minimum": 0}, "fuel": "string"},
	}}, 201, nil)
	r.do(t, call{method: "POST", path: stovePath + "/publish"}, 200, nil)
}

// migrate runs a migration.
func (r *rig) migrate(t testing.TB, d map[string]any) bulk.Migration {
	t.Helper()
	var j job.Job
	r.do(t, call{method: "POST", path: stovePath + "/migrations", body: d}, 202, &j)
	r.wait(t, j.ID)
	var m bulk.Migration
	r.do(t, call{path: "/v1/migrations/" + j.ID}, 200, &m)
	return m
}

// all is what takes a stove to the second version.
func all(dry bool) map[string]any {
	return map[string]any{"to": "2.0.0", "dryRun": dry, "rename": map[string]any{"sn": "serial"}, "defaults": map[string]any{"fuel": "wood"}, "reason": "new methodology"}
}

func TestMigration(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		r.start(t)
		r.stoves(t, 130)
		before := r.counts(t)
		dry := r.migrate(t, all(true))
		want := bulk.Counts{Total: 130, Done: 130, Migrated: 117, Refused: 13}
		if dry.Status != job.CompletedWithErrors || dry.Counts != want || !dry.DryRun {
			t.Fatalf("dry run = %+v", dry)
		}
		if n := r.counts(t); n["entities"] != before["entities"] || n["entity_history"] != 0 || n["events"] != before["events"] || n["entity_props"] != before["entity_props"] {
			t.Errorf("rows = %v, want %v", n, before)
		}
		rows := r.report(t, dry.Links.Rows)
		if len(rows) != 13 || rows[0].Error.Errors[0].Pointer != "/properties/power" || rows[0].Line != 10 {
			t.Errorf("%d rows, first %+v", len(rows), rows[0])
		}
		if bare := r.migrate(t, map[string]any{"dryRun": true}); bare.Counts.Refused != 130 || bare.To != "2.0.0" {
			t.Errorf("without a change = %+v", bare)
		}
		if some := r.migrate(t, map[string]any{"dryRun": true, "filter": "eq(properties.sn,S7)", "rename": map[string]any{"sn": "serial"}, "defaults": map[string]any{"fuel": "x"}}); some.Counts.Migrated != 1 {
			t.Errorf("with a filter = %+v", some)
		}
		real := r.migrate(t, all(false))
		if real.Counts != want {
			t.Fatalf("migration = %+v", real.Counts)
		}
		if rows := r.report(t, real.Links.Rows); len(rows) != 130 {
			t.Errorf("%d rows, want one for each twin", len(rows))
		}
		if n := r.counts(t); n["entity_history"] != 117 {
			t.Errorf("%d revisions in the history, want 117", n["entity_history"])
		}
		r.checkStove(t, "S3", `{"power":1.5,"fuel":"wood","serial":"S3"}`, "2.0.0", 2)
		if again := r.migrate(t, all(false)); again.Counts != (bulk.Counts{Total: 13, Done: 13, Refused: 13}) {
			t.Errorf("again = %+v", again.Counts)
		}
		if found := r.eventsOf(t, "protocol.migrated"); found != 2 {
			t.Errorf("%d events protocol.migrated, want 2", found)
		}
		for _, c := range []call{{ws: "x"}, {as: "project"}} {
			c.path = real.Links.Self
			r.do(t, c, 404, nil)
		}
	})
}

// checkStove finds a stove by the property of its new version.
func (r *rig) checkStove(t testing.TB, serial, properties, version string, revision int64) {
	t.Helper()
	var page struct {
		Items []entity.Entity `json:"items"`
	}
	r.do(t, call{path: "/v1/entities?filter=" + url.QueryEscape("eq(properties.serial,"+serial+")")}, 200, &page)
	if len(page.Items) != 1 {
		t.Fatalf("%d stoves %s", len(page.Items), serial)
	}
	if e := page.Items[0]; string(e.Properties.Value) != properties || e.ProtocolVersion != version || e.Revision != revision {
		t.Errorf("%s = %s of %s, revision %d", serial, e.Properties, e.ProtocolVersion, e.Revision)
	}
}

func (r *rig) eventsOf(t testing.TB, kind string) int {
	t.Helper()
	b, err := r.log.Read(t.Context(), event.Query{Workspace: "w", Limit: 1000, Types: event.Filter{kind}})
	if err != nil {
		t.Fatal(err)
	}
	return len(b.Items)
}

// A dry run says what the real run does: an active twin does not go to a
// version whose required relationship it lacks.
func TestMigrationLacksRelationship(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		r.stoves(t, 5)
		r.do(t, call{method: "POST", path: stovePath + "/versions", body: map[string]any{
			"version": "3.0.0", "relationships": map[string]any{"operator": "OrganisationEntity"},
		}}, 201, nil)
		r.do(t, call{method: "POST", path: stovePath + "/publish"}, 200, nil)
		d := all(true)
		d["to"] = "3.0.0"
		for _, dry := range []bool{true, false} {
			d["dryRun"] = dry
			got := r.migrate(t, d)
			if got.Counts.Refused != 5 || got.Counts.Migrated != 0 {
				t.Errorf("dry run %t: %+v, want all 5 refused", dry, got.Counts)
			}
			if rows := r.report(t, got.Links.Rows); len(rows) != 5 || rows[0].Error.Code != "MISSING_RELATIONSHIPS" {
				t.Errorf("dry run %t: rows %+v, want MISSING_RELATIONSHIPS", dry, rows)
			}
		}
	})
}

// Who would not fit a version shows before it is published; then it is too
// late to change it. A job that has ended leads to its report.
func TestMigrationToDraft(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		r.stoves(t, 20)
		r.do(t, call{method: "POST", path: stovePath + "/versions", body: map[string]any{
			"version": "3.0.0", "properties": map[string]any{"power": map[string]any{"type": "number", "minimum": 5}},
		}}, 201, nil)
		d := all(true)
		d["to"] = "3.0.0"
		got := r.migrate(t, d)
		if got.Status != job.Failed || got.Counts != (bulk.Counts{Total: 20, Done: 20, Refused: 20}) {
			t.Errorf("dry run = %+v", got)
		}
		j := r.wait(t, got.ID)
		if !strings.Contains(fmt.Sprintf("%s", j.Result), `"rows":"`+got.Links.Rows+`"`) || j.Progress.Total != 20 || j.Progress.Done != 20 {
			t.Errorf("job = %+v", j)
		}
		d["dryRun"] = false
		if w := r.send(t, call{method: "POST", path: stovePath + "/migrations", body: d}); w.Code != 422 || !strings.Contains(w.Body.String(), "PROTOCOL_NOT_PUBLISHED") {
			t.Errorf("for real: %d %s", w.Code, w.Body)
		}
	})
}

// A killed migration goes on: every twin has one new revision and one row.
func TestMigrationKilled(t *testing.T) {
	both(t, func(t *testing.T, r *rig) {
		var k killer
		r.start(t, k.wrap)
		r.stoves(t, 230)
		kills := 0
		r.onEntityClock(func(n int) {
			if n%61 == 60 && kills < 3 {
				kills++
				k.now()
			}
		})
		m := r.migrate(t, all(false))
		r.onEntityClock(nil)
		if m.Counts != (bulk.Counts{Total: 230, Done: 230, Migrated: 207, Refused: 23}) || kills == 0 {
			t.Errorf("migration = %+v after %d kills", m, kills)
		}
		if n := r.counts(t); n["entity_history"] != 207 {
			t.Errorf("%d revisions in the history, want 207", n["entity_history"])
		}
		lines := []int64{}
		for _, row := range r.report(t, m.Links.Rows) {
			lines = append(lines, row.Line)
		}
		if len(lines) != 230 || !slices.IsSorted(lines) || lines[229] != 230 {
			t.Errorf("%d rows", len(lines))
		}
	})
}

// Twins of others are migrated by those who could take them over only.
func TestMigrationRights(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.SQLite(t))
	r.start(t)
	r.stoves(t, 3)
	r.do(t, call{method: "POST", path: "/v1/entities", body: map[string]any{"type": "Stove", "protocol": stove + "@1.0.0", "controller": "did:x:else", "properties": map[string]any{"sn": "X"}}}, 201, nil)
	for name, tt := range map[string]struct {
		body   map[string]any
		status int
	}{
		"no such target":   {map[string]any{"to": "9.0.0"}, 404},
		"no such source":   {map[string]any{"from": "9.0.0"}, 404},
		"the same version": {map[string]any{"from": "2.0.0"}, 400},
		"unknown names":    {map[string]any{"rename": map[string]any{"sn": "colour"}, "defaults": map[string]any{"shape": 1}}, 400},
		"bad filter":       {map[string]any{"filter": "eq(nothing,1)"}, 400},
	} {
		if w := r.send(t, call{method: "POST", path: stovePath + "/migrations", body: tt.body}); w.Code != tt.status {
			t.Errorf("%s: %d, want %d: %s", name, w.Code, tt.status, w.Body)
		}
	}
	r.do(t, call{method: "POST", path: stovePath + "/migrations", body: all(true), as: "reader"}, 403, nil)
	r.do(t, call{method: "POST", path: stovePath + "/migrations", body: all(true), ws: "x"}, 404, nil)
	if m := r.migrate(t, all(true)); m.Counts.Migrated != 4 {
		t.Errorf("an owner: %+v", m.Counts)
	}
	if m := r.migrate(t, map[string]any{"from": "1.0.0", "to": "2.0.0", "rename": map[string]any{"sn": "serial"}, "defaults": map[string]any{"fuel": "x"}}); m.Counts.Migrated != 4 {
		t.Errorf("for real: %+v", m.Counts)
	}
}

// What the target has no more is dropped where the draft says so, and what it
// requires takes its default, in the dry run and in the real one.
func TestMigrationDrops(t *testing.T) {
	rule(t, func(t *testing.T, r *rig) {
		r.start(t)
		r.stoves(t, 3)
		r.do(t, call{method: "POST", path: stovePath + "/versions", body: map[string]any{
			"version": "3.0.0", "required": []string{"serial", "fuel", "state"},
			"properties": map[string]any{
				"power": nil, "fuel": map[string]any{"type": "string", "default": "wood"}, "state": map[string]any{"type": "object", "default": map[string]any{"ok": true}},
				"colour": map[string]any{"type": "string", "default": "red"},
			},
		}}, 201, nil)
		r.do(t, call{method: "POST", path: stovePath + "/publish"}, 200, nil)
		if kept := r.migrate(t, map[string]any{"dryRun": true, "rename": map[string]any{"sn": "serial"}}); kept.Counts.Refused != 3 {
			t.Errorf("with power = %+v, want all refused", kept.Counts)
		}
		for _, dry := range []bool{true, false} {
			d := map[string]any{"dryRun": dry, "rename": map[string]any{"sn": "serial", "power": nil, "absent": nil}, "defaults": map[string]any{"fuel": "charcoal"}}
			if m := r.migrate(t, d); m.Counts.Migrated != 3 {
				t.Fatalf("dry %v = %+v, rows %+v", dry, m.Counts, r.report(t, m.Links.Rows))
			}
		}
		r.checkStove(t, "S1", `{"fuel":"charcoal","serial":"S1","state":{"ok":true}}`, "3.0.0", 2)
	})
}

// BenchmarkMigrationDryRun says how long 100,000 twins take.
func BenchmarkMigrationDryRun(b *testing.B) {
	r := newRig(b, dbtest.SQLite(b))
	r.start(b)
	const twins = 20_000
	r.stoves(b, twins)
	for b.Loop() {
		begun := time.Now()
		if m := r.migrate(b, all(true)); m.Counts.Done != twins {
			b.Fatal(m)
		}
		b.ReportMetric(time.Since(begun).Seconds()*100_000/twins, "s/100k")
	}
}
