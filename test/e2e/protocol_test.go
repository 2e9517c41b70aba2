package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// TestProtocolAsDocumented takes the documented protocol from a draft to its
// twins and on to its end.
func TestProtocolAsDocumented(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		ctx, c := t.Context(), owner(t, s)
		a := curl(t, s, "POST /v1/protocols", `{
  "type": "Protocol",
  "properties": {
    "metricOne": "string",
    "metricTwo": "number",
    "measurements": "object"
  },
  "relationships": {
    "verifier": "OracleEntity",
    "operator": "OrganisationEntity"
  }
}`)
		p := wants[client.Protocol](t, 201, a)
		if p.Status != "draft" || p.Version != "1.0.0" || p.Properties["metricTwo"] != "number" || p.Relationships["operator"] != "OrganisationEntity" {
			t.Errorf("protocol = %+v, want a draft as it was sent", p)
		}
		twin := client.EntityDraft{Type: "Device", Protocol: p.DID, Properties: client.Object{"metricOne": "value", "metricTwo": 100}}
		_, err := c.Entities.Create(ctx, twin)
		refused(t, "a twin of a draft", "PROTOCOL_NOT_PUBLISHED", err)
		must(c.Protocols.Update(ctx, p.DID, "", client.Object{"name": "Device of ours"}, client.IfRevision(p.Revision)))(t)
		live := must(c.Protocols.Publish(ctx, p.DID, client.ProtocolMove{}))(t)
		if live.Status != "published" || live.Name != "Device of ours" {
			t.Errorf("published = %+v", live)
		}
		_, err = c.Protocols.Update(ctx, p.DID, "1.0.0", client.Object{"name": "other"}, client.IfRevision(live.Revision))
		refused(t, "a change of a published version", "PROTOCOL_PUBLISHED", err)
		made := must(c.Entities.Create(ctx, twin))(t)
		if made.ProtocolVersion != "1.0.0" || made.Class != "physical" {
			t.Errorf("twin of %s, %s; want 1.0.0 and physical", made.ProtocolVersion, made.Class)
		}
		v := must(c.Protocols.Validate(ctx, p.DID, "", client.Sample{Properties: client.Object{"metricOne": 1, "none": true}}))(t)
		if v.Valid || len(v.Errors) != 2 || !slices.Equal(v.MissingRelationships, []string{"operator", "verifier"}) {
			t.Errorf("verdict = %+v, want two errors", v)
		}
		if schema := must(c.Protocols.Schema(ctx, p.DID, ""))(t); !strings.Contains(string(schema), "https://json-schema.org/draft/2020-12/schema") {
			t.Errorf("schema = %s, want one of 2020-12", schema)
		}
		must(c.Protocols.Retire(ctx, p.DID, client.ProtocolMove{Reason: "expired"}))(t)
		_, err = c.Entities.Create(ctx, twin)
		refused(t, "a twin of a retired protocol", "PROTOCOL_VERSION_RETIRED", err)
		if still := must(c.Entities.Get(ctx, made.DID))(t); still.Status != made.Status {
			t.Errorf("the twin of a retired protocol is %s, want it as it was", still.Status)
		}
		shipped := 0
		for one, err := range c.Protocols.List(ctx, client.ProtocolQuery{Limit: 5}) {
			if err != nil {
				t.Fatal(err)
			}
			if one.Shipped {
				shipped++
			}
		}
		if shipped < 10 {
			t.Errorf("%d shipped protocols, want at least 10", shipped)
		}
	})
}

// TestProtocolExtends builds on another protocol, and not in a circle.
func TestProtocolExtends(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{})
	ctx, c := t.Context(), owner(t, s)
	child := must(c.Protocols.Create(ctx, client.ProtocolDraft{DID: "did:ixo:protocol/our-stove", ProtocolContent: client.ProtocolContent{
		Extends: "did:ixo:protocol/clean-cooking", Properties: client.Object{"colour": "string"}, Required: []string{"colour"},
	}}))(t)
	grandchild := must(c.Protocols.Create(ctx, client.ProtocolDraft{ProtocolContent: client.ProtocolContent{Extends: child.DID}}))(t)
	_, err := c.Protocols.Update(ctx, child.DID, "", client.Object{"extends": grandchild.DID}, client.IfRevision(child.Revision))
	refused(t, "a circle", "PROTOCOL_CYCLE", err)
	must(c.Protocols.Publish(ctx, child.DID, client.ProtocolMove{}))(t)
	must(c.Protocols.Publish(ctx, grandchild.DID, client.ProtocolMove{}))(t)
	all := must(c.Protocols.Effective(ctx, grandchild.DID, ""))(t)
	if all.Properties["colour"] == nil || all.Properties["efficiency"] == nil || all.Relationships["household"] == nil || all.DomainType != "device" {
		t.Errorf("effective = %+v, want what it inherits", all)
	}
	_, err = c.Entities.Create(ctx, client.EntityDraft{Type: "Stove", Protocol: grandchild.DID, Properties: client.Object{"efficiency": 40}})
	refused(t, "a twin without what the ancestor requires", "PROPERTY_SCHEMA_VIOLATION", err)
	must(c.Entities.Create(ctx, client.EntityDraft{Type: "Stove", Protocol: grandchild.DID, Properties: client.Object{"efficiency": 40, "colour": "red"}}))(t)
}

// TestProtocolMigration takes twins to a new version of their protocol, first
// to see what would come of it.
func TestProtocolMigration(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		ctx, c := t.Context(), owner(t, s)
		p := must(c.Protocols.Create(ctx, client.ProtocolDraft{ProtocolContent: client.ProtocolContent{Properties: client.Object{"sn": "string", "power": "string"}}}))(t)
		must(c.Protocols.Publish(ctx, p.DID, client.ProtocolMove{}))(t)
		good := must(c.Entities.Create(ctx, client.EntityDraft{Type: "Stove", Protocol: p.DID, Properties: client.Object{"sn": "A1"}}))(t)
		bad := must(c.Entities.Create(ctx, client.EntityDraft{Type: "Stove", Protocol: p.DID, Properties: client.Object{"sn": "A2", "power": "strong"}}))(t)
		must(c.Protocols.AddVersion(ctx, p.DID, "2.0.0", client.Object{"properties": client.Object{"sn": nil, "serial": "string", "power": "number"}, "required": []string{"serial", "power"}}))(t)
		must(c.Protocols.Publish(ctx, p.DID, client.ProtocolMove{Version: "2.0.0"}))(t)
		if d := must(c.Protocols.Diff(ctx, p.DID, "1.0.0", "2.0.0"))(t); d.Compatible || d.Suggested != "major" || len(d.Changes) == 0 {
			t.Errorf("diff = %+v, want a breaking one", d)
		}
		how := client.MigrationDraft{To: "2.0.0", Rename: map[string]*string{"sn": new("serial")}, Defaults: client.Object{"power": 1.5}, Reason: "second programme", DryRun: true}
		for _, how.DryRun = range []bool{true, false} {
			job := must(c.Protocols.Migrate(ctx, p.DID, how))(t)
			if job = must(c.Jobs.Wait(ctx, job.ID))(t); job.Status != "completedWithErrors" {
				t.Fatalf("job = %+v, want one of two refused", job)
			}
			m := must(c.Migrations.Get(ctx, job.ID))(t)
			if m.Counts.Migrated != 1 || m.Counts.Refused != 1 || m.DryRun != how.DryRun {
				t.Errorf("migration = %+v, want one of two", m)
			}
			for row, err := range c.Migrations.Rows(ctx, job.ID, client.RowQuery{OK: new(false)}) {
				if err != nil || row.DID != bad.DID || row.Error == nil || row.Error.Errors[0].Pointer != "/properties/power" {
					t.Errorf("row = %+v, %v; want the one that does not fit, and why", row, err)
				}
			}
			want := "1.0.0"
			if !how.DryRun {
				want = "2.0.0"
			}
			if e := must(c.Entities.Get(ctx, good.DID))(t); e.ProtocolVersion != want {
				t.Errorf("after a migration (dry %v) the twin is of %s, want %s", how.DryRun, e.ProtocolVersion, want)
			}
		}
		done := must(c.Entities.Get(ctx, good.DID))(t)
		if done.Properties["serial"] != "A1" || done.Properties["sn"] != nil || done.Properties["power"] != 1.5 || done.Revision != 2 {
			t.Errorf("twin = %+v, want it renamed and filled", done)
		}
		if left := must(c.Entities.Get(ctx, bad.DID))(t); left.Revision != 1 || left.ProtocolVersion != "1.0.0" {
			t.Errorf("twin that does not fit = %+v, want it as it was", left)
		}
	})
}
