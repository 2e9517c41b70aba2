package client_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/client"
)

// caller makes one call.
type caller func(ctx context.Context, c *client.Client) error

// only is the error of a call whose answer does not matter.
func only[T any](_ T, err error) error { return err }

// expect makes calls and compares what the server sees of them.
func expect(t *testing.T, calls map[string]caller, want map[string]request) {
	t.Helper()
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got request
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = request{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, string(body), r.Header.Get("Content-Type")}
				_, _ = w.Write([]byte(`{}`))
			})
			if err := call(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want[name], got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

// house is a DID with a slash, home the way it stands in a path.
const (
	house = "did:ixo:household/123"
	home  = "did:ixo:household%2F123"
	plain = "application/json"
	merge = "application/merge-patch+json"
)

func day() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600)) }

func TestEntityCalls(t *testing.T) {
	t.Parallel()
	draft := client.EntityDraft{Type: "Device", Protocol: "did:ixo:protocol/template", Properties: client.Object{"metricTwo": 100}}
	const body = `{"type":"Device","protocol":"did:ixo:protocol/template","properties":{"metricTwo":100}}`
	expect(t, map[string]caller{
		"create":    func(ctx context.Context, c *client.Client) error { return only(c.Entities.Create(ctx, draft)) },
		"create as": func(ctx context.Context, c *client.Client) error { return only(c.Entities.CreateAs(ctx, house, draft)) },
		"domain": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.CreateDomain(ctx, client.DomainDraft{Type: "project", Class: "did:x:y", ValidFrom: day()}))
		},
		"get": func(ctx context.Context, c *client.Client) error { return only(c.Entities.Get(ctx, house)) },
		"at a time": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.View(ctx, house, client.EntityView{At: day(), Fields: []string{"did", "properties.serial"}, Expand: []string{"protocol"}}))
		},
		"at a revision": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.View(ctx, house, client.EntityView{At: day(), Revision: 7}))
		},
		"page": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.Page(ctx, client.EntityQuery{
				ExternalID: "SN1", UpdatedSince: day(), Filter: `eq(type,"a b")`, Sort: "-created", Limit: 7, Cursor: "x",
			}))
		},
		"points": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.Points(ctx, client.PointQuery{Type: "Household", Status: "active", Project: "did:x:p", BBox: "33,-2,36,1"}))
		},
		"replace": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.Replace(ctx, house, draft, client.IfRevision(3), client.Reason("it moved")))
		},
		"patch": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.Patch(ctx, house, client.Object{"metadata": client.Object{"name": nil}}, client.IfRevision(3), client.Reason("gone & over")))
		},
		"json patch": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.JSONPatch(ctx, house, []client.PatchStep{
				{Op: "add", Path: "/metadata/a"}, {Op: "move", Path: "/metadata/b", From: "/metadata/a"}, {Op: "remove", Path: "/metadata/c", Value: 1},
			}))
		},
		"deactivate": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.Deactivate(ctx, house, client.IfRevision(3), client.Reason("sold")))
		},
		"transition": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.Transition(ctx, house, client.Transition{To: "active"}))
		},
		"transfer": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.Transfer(ctx, house, client.Transfer{Controller: "did:x:y", Reason: "r"}))
		},
		"verify": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.Verify(ctx, house, client.Verdict{Status: "verified"}, client.IfRevision(3)))
		},
		"batch": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.Batch(ctx, client.Batch{Atomic: true, Operations: []client.Operation{{Op: "relate", DID: "$0", Relationship: &client.RelationshipDraft{Role: "r", Target: "$1"}}}}))
		},
	}, map[string]request{
		"create":        {"POST", "/v1/entities", "", body, plain},
		"create as":     {"PUT", "/v1/entities/" + home, "", body, plain},
		"domain":        {"POST", "/v1/domains", "", `{"type":"project","class":"did:x:y","validFrom":"2026-01-02T03:04:05+01:00"}`, plain},
		"get":           {Method: "GET", Path: "/v1/entities/" + home},
		"at a time":     {Method: "GET", Path: "/v1/entities/" + home, Query: "at=2026-01-02T02%3A04%3A05Z&expand=protocol&fields=did%2Cproperties.serial"},
		"at a revision": {Method: "GET", Path: "/v1/entities/" + home, Query: "at=7"},
		"page": {
			Method: "GET", Path: "/v1/entities",
			Query: "cursor=x&externalId=SN1&filter=eq%28type%2C%22a+b%22%29&limit=7&sort=-created&updatedSince=2026-01-02T02%3A04%3A05Z",
		},
		"points":  {Method: "GET", Path: "/v1/entities:points", Query: "bbox=33%2C-2%2C36%2C1&project=did%3Ax%3Ap&status=active&type=Household"},
		"replace": {"PUT", "/v1/entities/" + home, "reason=it+moved", body, plain},
		"patch":   {"PATCH", "/v1/entities/" + home, "reason=gone+%26+over", `{"metadata":{"name":null}}`, merge},
		"json patch": {
			"PATCH", "/v1/entities/" + home, "",
			`[{"op":"add","path":"/metadata/a","value":null},{"from":"/metadata/a","op":"move","path":"/metadata/b"},{"op":"remove","path":"/metadata/c"}]`,
			"application/json-patch+json",
		},
		"deactivate": {Method: "DELETE", Path: "/v1/entities/" + home, Query: "reason=sold"},
		"transition": {"POST", "/v1/entities/" + home + "/transitions", "", `{"to":"active"}`, plain},
		"transfer":   {"POST", "/v1/entities/" + home + "/transfer", "", `{"controller":"did:x:y","reason":"r"}`, plain},
		"verify":     {"POST", "/v1/entities/" + home + "/verification", "", `{"status":"verified"}`, plain},
		"batch": {
			"POST", "/v1/entities:batch", "",
			`{"atomic":true,"operations":[{"op":"relate","did":"$0","relationship":{"role":"r","target":"$1"}}]}`, plain,
		},
	})
}

func TestPartCalls(t *testing.T) {
	t.Parallel()
	expect(t, map[string]caller{
		"relate": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.Relate(ctx, house, client.RelationshipDraft{Role: "project", Target: "did:x:y"}))
		},
		"relationships": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.RelationshipPage(ctx, house, client.RelationshipQuery{Direction: "in", Role: "r"}))
		},
		"relationship": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.Relationship(ctx, house, "rel_1"))
		},
		"confirm relationship": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.ConfirmRelationship(ctx, house, "rel_1"))
		},
		"unrelate": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.Unrelate(ctx, house, "rel_1"))
		},
		"service": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.Service(ctx, house, "#data"))
		},
		"set service": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.SetService(ctx, house, "data", client.Service{Type: "T", Endpoint: "https://x"}))
		},
		"drop service": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.RemoveService(ctx, house, "data"))
		},
		"property": func(ctx context.Context, c *client.Client) error { return only(c.Entities.Property(ctx, house, "a b")) },
		"set property": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.SetProperty(ctx, house, "n", 4.5, client.IfMatch("*")))
		},
		"set null": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.SetProperty(ctx, house, "n", nil))
		},
		"drop property": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.RemoveProperty(ctx, house, "n"))
		},
		"add controller": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.AddController(ctx, house, "did:x:a/b"))
		},
		"drop controller": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.RemoveController(ctx, house, "did:x:y"))
		},
		"history": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.HistoryPage(ctx, house, client.PageQuery{Limit: 2}))
		},
		"revision": func(ctx context.Context, c *client.Client) error { return only(c.Entities.Revision(ctx, house, 2)) },
		"diff":     func(ctx context.Context, c *client.Client) error { return only(c.Entities.Diff(ctx, house, 1, 3)) },
		"diff in time": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.DiffBetween(ctx, house, day(), time.Time{}))
		},
		"audit": func(ctx context.Context, c *client.Client) error {
			return only(c.Entities.AuditPage(ctx, house, client.PageQuery{}))
		},
	}, map[string]request{
		"relate":               {"POST", "/v1/entities/" + home + "/relationships", "", `{"role":"project","target":"did:x:y"}`, plain},
		"relationships":        {Method: "GET", Path: "/v1/entities/" + home + "/relationships", Query: "direction=in&role=r"},
		"relationship":         {Method: "GET", Path: "/v1/entities/" + home + "/relationships/rel_1"},
		"confirm relationship": {Method: "POST", Path: "/v1/entities/" + home + "/relationships/rel_1/confirm"},
		"unrelate":             {Method: "DELETE", Path: "/v1/entities/" + home + "/relationships/rel_1"},
		"service":              {Method: "GET", Path: "/v1/entities/" + home + "/services/%23data"},
		"set service":          {"PUT", "/v1/entities/" + home + "/services/data", "", `{"type":"T","endpoint":"https://x"}`, plain},
		"drop service":         {Method: "DELETE", Path: "/v1/entities/" + home + "/services/data"},
		"property":             {Method: "GET", Path: "/v1/entities/" + home + "/properties/a%20b"},
		"set property":         {"PUT", "/v1/entities/" + home + "/properties/n", "", `4.5`, plain},
		"set null":             {"PUT", "/v1/entities/" + home + "/properties/n", "", `null`, plain},
		"drop property":        {Method: "DELETE", Path: "/v1/entities/" + home + "/properties/n"},
		"add controller":       {Method: "PUT", Path: "/v1/entities/" + home + "/controllers/did:x:a%2Fb"},
		"drop controller":      {Method: "DELETE", Path: "/v1/entities/" + home + "/controllers/did:x:y"},
		"history":              {Method: "GET", Path: "/v1/entities/" + home + "/history", Query: "limit=2"},
		"revision":             {Method: "GET", Path: "/v1/entities/" + home + "/history/2"},
		"diff":                 {Method: "GET", Path: "/v1/entities/" + home + "/diff", Query: "from=1&to=3"},
		"diff in time":         {Method: "GET", Path: "/v1/entities/" + home + "/diff", Query: "from=2026-01-02T02%3A04%3A05Z"},
		"audit":                {Method: "GET", Path: "/v1/entities/" + home + "/audit"},
	})
}

func TestProtocolCalls(t *testing.T) {
	t.Parallel()
	const id = "did:ixo:protocol/template"
	const at = "/v1/protocols/did:ixo:protocol%2Ftemplate"
	expect(t, map[string]caller{
		"create": func(ctx context.Context, c *client.Client) error {
			return only(c.Protocols.Create(ctx, client.ProtocolDraft{ProtocolContent: client.ProtocolContent{Properties: client.Object{"a": "string"}}}))
		},
		"get": func(ctx context.Context, c *client.Client) error { return only(c.Protocols.Get(ctx, id, "")) },
		"effective": func(ctx context.Context, c *client.Client) error {
			return only(c.Protocols.Effective(ctx, id, "1.0.0"))
		},
		"page": func(ctx context.Context, c *client.Client) error {
			return only(c.Protocols.Page(ctx, client.ProtocolQuery{Status: "draft", Name: "x"}))
		},
		"update": func(ctx context.Context, c *client.Client) error {
			return only(c.Protocols.Update(ctx, id, "2.0.0", client.Object{"name": "N"}, client.IfRevision(1)))
		},
		"delete": func(ctx context.Context, c *client.Client) error {
			return only(c.Protocols.Delete(ctx, id, "2.0.0", client.IfRevision(1)))
		},
		"versions": func(ctx context.Context, c *client.Client) error { return only(c.Protocols.Versions(ctx, id)) },
		"add version": func(ctx context.Context, c *client.Client) error {
			return only(c.Protocols.AddVersion(ctx, id, "2.0.0", client.Object{"required": []string{"a"}}))
		},
		"publish": func(ctx context.Context, c *client.Client) error {
			return only(c.Protocols.Publish(ctx, id, client.ProtocolMove{}))
		},
		"deprecate": func(ctx context.Context, c *client.Client) error {
			return only(c.Protocols.Deprecate(ctx, id, client.ProtocolMove{Version: "1.0.0"}))
		},
		"retire": func(ctx context.Context, c *client.Client) error {
			return only(c.Protocols.Retire(ctx, id, client.ProtocolMove{Reason: "r"}))
		},
		"diff": func(ctx context.Context, c *client.Client) error { return only(c.Protocols.Diff(ctx, id, "1.0.0", "")) },
		"version diff": func(ctx context.Context, c *client.Client) error {
			return only(c.Protocols.VersionDiff(ctx, id, "1.0.0", "2.0.0"))
		},
		"schema": func(ctx context.Context, c *client.Client) error { return only(c.Protocols.Schema(ctx, id, "1.0.0")) },
		"validate": func(ctx context.Context, c *client.Client) error {
			return only(c.Protocols.Validate(ctx, id, "", client.Sample{Properties: client.Object{}}))
		},
		"migrate": func(ctx context.Context, c *client.Client) error {
			return only(c.Protocols.Migrate(ctx, id, client.MigrationDraft{DryRun: true, Rename: map[string]*string{"a": new("b")}}))
		},
		"migration": func(ctx context.Context, c *client.Client) error { return only(c.Migrations.Get(ctx, "job_1")) },
		"migration rows": func(ctx context.Context, c *client.Client) error {
			return only(c.Migrations.RowPage(ctx, "job_1", client.RowQuery{OK: new(false)}))
		},
	}, map[string]request{
		"create":         {"POST", "/v1/protocols", "", `{"type":"Protocol","properties":{"a":"string"}}`, plain},
		"get":            {Method: "GET", Path: at},
		"effective":      {Method: "GET", Path: at, Query: "version=1.0.0&view=effective"},
		"page":           {Method: "GET", Path: "/v1/protocols", Query: "name=x&status=draft"},
		"update":         {"PATCH", at, "version=2.0.0", `{"name":"N"}`, merge},
		"delete":         {Method: "DELETE", Path: at, Query: "version=2.0.0"},
		"versions":       {Method: "GET", Path: at + "/versions"},
		"add version":    {"POST", at + "/versions", "", `{"required":["a"],"version":"2.0.0"}`, plain},
		"publish":        {"POST", at + "/publish", "", `{}`, plain},
		"deprecate":      {"POST", at + "/deprecate", "", `{"version":"1.0.0"}`, plain},
		"retire":         {"POST", at + "/retire", "", `{"reason":"r"}`, plain},
		"diff":           {Method: "GET", Path: at + "/diff", Query: "from=1.0.0"},
		"version diff":   {Method: "GET", Path: at + "/versions/1.0.0/diff", Query: "to=2.0.0"},
		"schema":         {Method: "GET", Path: at + "/schema", Query: "version=1.0.0"},
		"validate":       {"POST", at + "/validate", "", `{"properties":{}}`, plain},
		"migrate":        {"POST", at + "/migrations", "", `{"dryRun":true,"rename":{"a":"b"}}`, plain},
		"migration":      {Method: "GET", Path: "/v1/migrations/job_1"},
		"migration rows": {Method: "GET", Path: "/v1/migrations/job_1/rows", Query: "ok=false"},
	})
}

func TestDeviceCalls(t *testing.T) {
	t.Parallel()
	batch := client.ReadingBatch{Readings: []client.Reading{{Timestamp: time.Date(2024, 2, 20, 8, 15, 0, 0, time.UTC), Temperature: new(85.4)}}}
	const readings = `{"readings":[{"timestamp":"2024-02-20T08:15:00Z","temperature":85.4}]}`
	expect(t, map[string]caller{
		"household": func(ctx context.Context, c *client.Client) error {
			return only(c.Households.Create(ctx, client.HouseholdDraft{Location: client.Object{"district": "XYZ"}}))
		},
		"home": func(ctx context.Context, c *client.Client) error { return only(c.Households.Get(ctx, house)) },
		"households": func(ctx context.Context, c *client.Client) error {
			return only(c.Households.Page(ctx, client.PageQuery{}))
		},
		"stacking": func(ctx context.Context, c *client.Client) error {
			return only(c.Households.Stacking(ctx, house, client.StackingQuery{From: day(), MinSeconds: new(int64(0)), MinTemperature: new(60.5), StoveTypes: []string{"a", "b"}}))
		},
		"device": func(ctx context.Context, c *client.Client) error {
			return only(c.Devices.Create(ctx, client.DeviceDraft{Type: "StoveUseMonitor", Configuration: &client.DeviceConfiguration{SamplingRate: 300, TemperatureThreshold: 60, TransmissionMode: "realtime"}}))
		},
		"one": func(ctx context.Context, c *client.Client) error { return only(c.Devices.Get(ctx, "did:d:1")) },
		"devices": func(ctx context.Context, c *client.Client) error {
			return only(c.Devices.Page(ctx, client.DeviceQuery{HouseholdID: house, Type: "T"}))
		},
		"add": func(ctx context.Context, c *client.Client) error { return only(c.Devices.Add(ctx, "did:d:1", batch)) },
		"add new": func(ctx context.Context, c *client.Client) error {
			return only(c.Devices.AddNew(ctx, "did:d:1", batch))
		},
		"readings": func(ctx context.Context, c *client.Client) error {
			return only(c.Devices.ReadingPage(ctx, "did:d:1", client.ReadingQuery{To: day()}))
		},
		"gaps": func(ctx context.Context, c *client.Client) error {
			return only(c.Devices.GapPage(ctx, "did:d:1", client.ReadingQuery{}))
		},
		"events": func(ctx context.Context, c *client.Client) error {
			return only(c.Devices.EventPage(ctx, "did:d:1", client.CookingQuery{MinSeconds: new(int64(1800)), Threshold: new(60.0), Limit: 3}))
		},
		"status": func(ctx context.Context, c *client.Client) error { return only(c.Devices.Status(ctx, "did:d:1")) },
	}, map[string]request{
		"household":  {"POST", "/v1/households", "", `{"location":{"district":"XYZ"}}`, plain},
		"home":       {Method: "GET", Path: "/v1/households/" + home},
		"households": {Method: "GET", Path: "/v1/households"},
		"stacking":   {Method: "GET", Path: "/v1/households/" + home + "/stacking", Query: "from=2026-01-02T02%3A04%3A05Z&minDuration=0&minTemperature=60.5&stoveTypes=a%2Cb"},
		"device": {
			"POST", "/v1/devices", "",
			`{"type":"StoveUseMonitor","configuration":{"samplingRate":300,"temperatureThreshold":60,"transmissionMode":"realtime"}}`, plain,
		},
		"one":      {Method: "GET", Path: "/v1/devices/did:d:1"},
		"devices":  {Method: "GET", Path: "/v1/devices", Query: "householdId=did%3Aixo%3Ahousehold%2F123&type=T"},
		"add":      {"POST", "/v1/devices/did:d:1/readings", "", readings, plain},
		"add new":  {"POST", "/v1/devices/did:d:1/readings", "onConflict=skip", readings, plain},
		"readings": {Method: "GET", Path: "/v1/devices/did:d:1/readings", Query: "to=2026-01-02T02%3A04%3A05Z"},
		"gaps":     {Method: "GET", Path: "/v1/devices/did:d:1/gaps"},
		"events":   {Method: "GET", Path: "/v1/devices/did:d:1/events", Query: "limit=3&minDuration=1800&threshold=60"},
		"status":   {Method: "GET", Path: "/v1/devices/did:d:1/status"},
	})
}

func TestGraphCalls(t *testing.T) {
	t.Parallel()
	expect(t, map[string]caller{
		"around": func(ctx context.Context, c *client.Client) error {
			return only(c.Graph.Around(ctx, house, client.GraphQuery{Depth: 3, Roles: []string{"a", "b"}, Limit: 9}))
		},
		"export": func(ctx context.Context, c *client.Client) error {
			return only(c.Graph.Export(ctx, house, "graphml", client.GraphQuery{Direction: "in"}))
		},
		"neighbours": func(ctx context.Context, c *client.Client) error {
			return only(c.Graph.NeighbourPage(ctx, house, client.NeighbourQuery{Roles: []string{"a"}, On: day()}))
		},
		"subdomains": func(ctx context.Context, c *client.Client) error {
			return only(c.Graph.SubdomainPage(ctx, house, client.SubdomainQuery{DomainType: "group"}))
		},
		"path": func(ctx context.Context, c *client.Client) error {
			return only(c.Graph.Path(ctx, "did:x:a", house, client.PathQuery{MaxDepth: 4}))
		},
		"invariants": func(ctx context.Context, c *client.Client) error {
			return only(c.Graph.InvariantPage(ctx, client.PageQuery{Limit: 5}))
		},
		"group": func(ctx context.Context, c *client.Client) error {
			return only(c.Groups.Create(ctx, "did:x:org", client.GroupDraft{Name: "g", Scopes: []string{"entities:read"}}))
		},
		"groups": func(ctx context.Context, c *client.Client) error {
			return only(c.Groups.Page(ctx, "did:x:org", client.PageQuery{}))
		},
		"members": func(ctx context.Context, c *client.Client) error {
			return only(c.Groups.MemberPage(ctx, "did:x:g", client.PageQuery{}))
		},
		"join":  func(ctx context.Context, c *client.Client) error { return only(c.Groups.Add(ctx, "did:x:g", house)) },
		"leave": func(ctx context.Context, c *client.Client) error { return only(c.Groups.Remove(ctx, "did:x:g", house)) },
		"of":    func(ctx context.Context, c *client.Client) error { return only(c.Groups.Memberships(ctx, "did:x:m")) },
		"erase": func(ctx context.Context, c *client.Client) error {
			return only(c.Erasures.Create(ctx, client.ErasureDraft{Subject: house, Reason: "r"}))
		},
		"erasure": func(ctx context.Context, c *client.Client) error { return only(c.Erasures.Get(ctx, "erasure_1")) },
		"erasures": func(ctx context.Context, c *client.Client) error {
			return only(c.Erasures.Page(ctx, client.PageQuery{}))
		},
		"document": func(ctx context.Context, c *client.Client) error {
			return only(c.DIDs.Document(ctx, house, client.DIDVersion{Revision: 2}))
		},
		"resolve": func(ctx context.Context, c *client.Client) error {
			return only(c.DIDs.Resolve(ctx, house, client.DIDVersion{At: day()}))
		},
		"public": func(ctx context.Context, c *client.Client) error {
			return only(c.DIDs.ResolvePublic(ctx, house, client.DIDVersion{}))
		},
		"server": func(ctx context.Context, c *client.Client) error { return only(c.DIDs.Server(ctx)) },
		"web":    func(ctx context.Context, c *client.Client) error { return only(c.DIDs.Web(ctx, "abc")) },
	}, map[string]request{
		"around":     {Method: "GET", Path: "/v1/entities/" + home + "/graph", Query: "depth=3&limit=9&roles=a%2Cb"},
		"export":     {Method: "GET", Path: "/v1/entities/" + home + "/graph", Query: "direction=in&format=graphml"},
		"neighbours": {Method: "GET", Path: "/v1/entities/" + home + "/neighbours", Query: "on=2026-01-02T02%3A04%3A05Z&role=a"},
		"subdomains": {Method: "GET", Path: "/v1/entities/" + home + "/subdomains", Query: "domainType=group"},
		"path":       {Method: "GET", Path: "/v1/graph/paths", Query: "from=did%3Ax%3Aa&maxDepth=4&to=did%3Aixo%3Ahousehold%2F123"},
		"invariants": {Method: "GET", Path: "/v1/invariants", Query: "limit=5"},
		"group":      {"POST", "/v1/entities/did:x:org/groups", "", `{"name":"g","scopes":["entities:read"]}`, plain},
		"groups":     {Method: "GET", Path: "/v1/entities/did:x:org/groups"},
		"members":    {Method: "GET", Path: "/v1/entities/did:x:g/members"},
		"join":       {Method: "PUT", Path: "/v1/entities/did:x:g/members/" + home},
		"leave":      {Method: "DELETE", Path: "/v1/entities/did:x:g/members/" + home},
		"of":         {Method: "GET", Path: "/v1/memberships", Query: "member=did%3Ax%3Am"},
		"erase":      {"POST", "/v1/erasures", "", `{"subject":"did:ixo:household/123","reason":"r"}`, plain},
		"erasure":    {Method: "GET", Path: "/v1/erasures/erasure_1"},
		"erasures":   {Method: "GET", Path: "/v1/erasures"},
		"document":   {Method: "GET", Path: "/v1/entities/" + home + "/did-document", Query: "versionId=2"},
		"resolve":    {Method: "GET", Path: "/v1/dids/" + home, Query: "versionTime=2026-01-02T02%3A04%3A05Z"},
		"public":     {Method: "GET", Path: "/1.0/identifiers/" + home},
		"server":     {Method: "GET", Path: "/.well-known/did.json"},
		"web":        {Method: "GET", Path: "/entities/abc/did.json"},
	})
}

func TestTransferCalls(t *testing.T) {
	t.Parallel()
	expect(t, map[string]caller{
		"import": func(ctx context.Context, c *client.Client) error {
			return only(c.Imports.Create(ctx, client.ImportDraft{
				Format: "csv", Mode: "upsert", DryRun: true, Protocol: "did:x:p", Type: "T", Mapping: map[string]string{"b": "", "a": "properties.a"},
			}, strings.NewReader("a;b\n")))
		},
		"one": func(ctx context.Context, c *client.Client) error { return only(c.Imports.Get(ctx, "job_1")) },
		"rows": func(ctx context.Context, c *client.Client) error {
			return only(c.Imports.RowPage(ctx, "job_1", client.RowQuery{OK: new(true), Limit: 3}))
		},
		"export": func(ctx context.Context, c *client.Client) error {
			return only(c.Exports.Create(ctx, client.ExportDraft{Format: "csv", Columns: []string{"did"}}))
		},
		"another": func(ctx context.Context, c *client.Client) error { return only(c.Exports.Get(ctx, "job_1")) },
		"imports": func(ctx context.Context, c *client.Client) error {
			return only(c.Imports.Page(ctx, client.TransferQuery{Status: "failed", Limit: 2}))
		},
		"preview": func(ctx context.Context, c *client.Client) error {
			return only(c.Imports.Preview(ctx, client.ImportDraft{Format: "csv", Protocol: "did:x:p"}, strings.NewReader("a;b\n")))
		},
		"run": func(ctx context.Context, c *client.Client) error { return only(c.Imports.Run(ctx, "job_1")) },
		"refused": func(ctx context.Context, c *client.Client) error {
			f, err := c.Imports.Refused(ctx, "job_1")
			if err != nil {
				return err
			}
			return f.Close()
		},
		"exports": func(ctx context.Context, c *client.Client) error {
			return only(c.Exports.Page(ctx, client.TransferQuery{Cursor: "x"}))
		},
		"exports of a survey": func(ctx context.Context, c *client.Client) error {
			return only(c.Surveys.ExportPage(ctx, "srv_1", client.TransferQuery{Status: "running"}))
		},
		"file": func(ctx context.Context, c *client.Client) error {
			f, err := c.Exports.File(ctx, "job_1")
			if err != nil {
				return err
			}
			return f.Close()
		},
	}, map[string]request{
		"import": {
			"POST", "/v1/imports", "dryRun=true&format=csv&mapping=%7B%22a%22%3A%22properties.a%22%2C%22b%22%3A%22%22%7D&mode=upsert&protocol=did%3Ax%3Ap&type=T",
			"a;b\n", "application/octet-stream",
		},
		"one":                 {Method: "GET", Path: "/v1/imports/job_1"},
		"preview":             {"POST", "/v1/imports:preview", "format=csv&protocol=did%3Ax%3Ap", "a;b\n", "application/octet-stream"},
		"run":                 {Method: "POST", Path: "/v1/imports/job_1/run"},
		"refused":             {Method: "GET", Path: "/v1/imports/job_1/refused"},
		"imports":             {Method: "GET", Path: "/v1/imports", Query: "limit=2&status=failed"},
		"exports":             {Method: "GET", Path: "/v1/exports", Query: "cursor=x"},
		"exports of a survey": {Method: "GET", Path: "/v1/surveys/srv_1/exports", Query: "status=running"},
		"rows":                {Method: "GET", Path: "/v1/imports/job_1/rows", Query: "limit=3&ok=true"},
		"export":              {"POST", "/v1/exports", "", `{"format":"csv","columns":["did"]}`, plain},
		"another":             {Method: "GET", Path: "/v1/exports/job_1"},
		"file":                {Method: "GET", Path: "/v1/exports/job_1/file"},
	})
}
