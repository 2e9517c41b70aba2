package e2e

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// must gives the value of a call that has to work: must(c.Do(…))(t).
func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// refused wants a code.
func refused(t *testing.T, what, code string, err error) {
	t.Helper()
	if client.CodeOf(err) != code {
		t.Errorf("%s: %v, want %s", what, err, code)
	}
}

// curl sends a request as curl does: a body comes with the media type of a
// form, unless a header says otherwise, and an empty value removes a header.
func curl(t *testing.T, s *server.Server, route, body string, head ...string) *server.Answer {
	t.Helper()
	method, path, _ := strings.Cut(route, " ")
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Key)
	if body != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i+1 < len(head); i += 2 {
		if req.Header.Set(head[i], head[i+1]); head[i+1] == "" {
			req.Header.Del(head[i])
		}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text := must(io.ReadAll(res.Body))(t)
	return &server.Answer{Status: res.StatusCode, Header: res.Header, Body: text}
}

// wants wants a status and decodes the answer.
func wants[T any](t *testing.T, status int, a *server.Answer) T {
	t.Helper()
	var v T
	if a.Status != status {
		t.Fatalf("status %d, want %d: %s", a.Status, status, a.Body)
	}
	if err := json.Unmarshal(a.Body, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestEntityAsDocumented sends the documented request as a newcomer does.
func TestEntityAsDocumented(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		const body = `{
  "type": "Device",
  "protocol": "did:ixo:protocol/template",
  "properties": {
    "metricOne": "value",
    "metricTwo": 100
  }
}`
		for name, media := range map[string]string{"as curl -d sends it": "application/x-www-form-urlencoded", "as JSON": "application/json"} {
			a := curl(t, s, "POST /v1/entities", body, "Content-Type", media)
			record := wants[map[string]any](t, 201, a)
			id, _ := record["did"].(string)
			if a.Header.Get("Location") != "/v1/entities/"+url.PathEscape(id) || a.Header.Get("ETag") != `"1"` {
				t.Errorf("%s: Location %q, ETag %q; want the place and tag of %s", name, a.Header.Get("Location"), a.Header.Get("ETag"), id)
			}
			for _, member := range []string{"did", "type", "controller", "services", "verifiableCredential"} {
				if record[member] == nil {
					t.Errorf("%s: no member %s in %s", name, member, a.Body)
				}
			}
			if record["class"] != "physical" || record["status"] != "draft" {
				t.Errorf("%s: class %v, status %v; want physical from the protocol, and draft", name, record["class"], record["status"])
			}
			if missing, _ := record["missingRelationships"].([]any); !slices.Equal(missing, []any{"operator", "verifier"}) {
				t.Errorf("%s: missingRelationships = %v, want operator and verifier", name, missing)
			}
			if again := curl(t, s, "GET "+a.Header.Get("Location"), ""); string(again.Body) != string(a.Body) {
				t.Errorf("%s: the record reads\n%s\nafter\n%s", name, again.Body, a.Body)
			}
		}
		for _, media := range []string{"", "text/plain"} {
			if a := curl(t, s, "POST /v1/entities", body, "Content-Type", media); a.Status != 415 {
				t.Errorf("a body of type %q: %d, want 415", media, a.Status)
			}
		}
		for body, code := range map[string]string{
			`{"type":"Device","protocol":"did:ixo:protocol/none","properties":{}}`:                              "PROTOCOL_NOT_FOUND",
			`{"type":"Device","protocol":"did:ixo:protocol/template","properties":{"metricTwo":"x","other":1}}`: "PROPERTY_SCHEMA_VIOLATION",
			`{"type":"Device","protocol":"did:ixo:protocol/template","class":"oracle"}`:                         "",
			`{"protocol":"nothing"}`: "ENTITY_INVALID",
		} {
			a := curl(t, s, "POST /v1/entities", body)
			var p struct {
				Code   string         `json:"code"`
				Errors []client.Field `json:"errors"`
			}
			if err := a.JSON(&p); err != nil || a.Status < 400 || code != "" && p.Code != code {
				t.Errorf("%s: %d %s, want %s", body, a.Status, a.Body, code)
			}
			if p.Code != "PROTOCOL_NOT_FOUND" && len(p.Errors) == 0 || strings.Contains(body, "other") && len(p.Errors) != 2 {
				t.Errorf("%s: errors = %v, want every wrong field", body, p.Errors)
			}
		}
	})
}

// TestEntityDIDPaths reads a twin whose DID has slashes in every spelling.
func TestEntityDIDPaths(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{})
	ctx, c := t.Context(), owner(t, s)
	const id = "did:ixo:household/123"
	draft := client.EntityDraft{Type: "Household", Protocol: "did:ixo:protocol/household", ExternalIDs: map[string]string{"erp": "SN123"}}
	var m client.Meta
	must(c.Entities.CreateAs(ctx, id, draft, client.WithMeta(&m)))(t)
	if m.Status != 201 {
		t.Errorf("status %d, want 201", m.Status)
	}
	_, err := c.Entities.CreateAs(ctx, id, client.EntityDraft{Type: "Household", Protocol: "did:ixo:protocol/household"})
	refused(t, "a second twin with the DID", "ENTITY_EXISTS", err)
	for _, spelled := range []string{id, "did:ixo:household%2F123", "did%3Aixo%3Ahousehold%2F123", "did%3aixo%3ahousehold/123"} {
		for path, status := range map[string]int{"": 200, "/history": 200, "/history/1": 200, "/did-document": 200, "/graph": 200, "/relationships": 200, "/nothing": 404} {
			if a := curl(t, s, "GET /v1/entities/"+spelled+path, ""); a.Status != status {
				t.Errorf("GET %s%s = %d, want %d: %s", spelled, path, a.Status, status, a.Body)
			}
		}
		a := curl(t, s, "PATCH /v1/entities/"+spelled, `{"metadata":{"name":"`+spelled+`"}}`, "If-Match", "*")
		if got := wants[client.Entity](t, 200, a); got.DID != id {
			t.Errorf("PATCH %s changed %s, want %s", spelled, got.DID, id)
		}
	}
	a := curl(t, s, "PUT /v1/entities/did:ixo:stove/456/x", `{"type":"Stove","protocol":"did:ixo:protocol/clean-cooking"}`, "If-None-Match", "*")
	if got := wants[client.Entity](t, 201, a); got.DID != "did:ixo:stove/456/x" {
		t.Errorf("made %s, want the DID of the path", got.DID)
	}
	found := must(c.Entities.Page(ctx, client.EntityQuery{ExternalID: "SN123"}))(t)
	if len(found.Items) != 1 || found.Items[0].DID != id {
		t.Errorf("externalId=SN123 finds %+v, want %s", found.Items, id)
	}
}

// TestEntityHistory changes a twin and reads it as it was.
func TestEntityHistory(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		ctx, c := t.Context(), owner(t, s)
		first := must(c.Entities.Create(ctx, client.EntityDraft{Type: "Stove", Protocol: "did:ixo:protocol/clean-cooking", Properties: client.Object{"serial": "A1", "efficiency": 41.5}}))(t)
		second := must(c.Entities.Patch(ctx, first.DID, client.Object{"properties": client.Object{"efficiency": 43}},
			client.IfRevision(1), client.Reason("measured again"), client.RequestID("visit.7")))(t)
		third := must(c.Entities.JSONPatch(ctx, first.DID, []client.PatchStep{{Op: "remove", Path: "/properties/efficiency"}}, client.IfRevision(2)))(t)
		if second.Revision != 2 || third.Revision != 3 || third.Properties["efficiency"] != nil || third.Properties["serial"] != "A1" {
			t.Errorf("revisions %d, %d; properties %v", second.Revision, third.Revision, third.Properties)
		}
		for n, want := range []any{41.5, 43.0, nil} {
			byNumber := must(c.Entities.View(ctx, first.DID, client.EntityView{Revision: int64(n + 1)}))(t)
			byPath := must(c.Entities.Revision(ctx, first.DID, int64(n+1)))(t)
			if byNumber.Properties["efficiency"] != want || byPath.Properties["efficiency"] != want || byPath.Revision != int64(n+1) {
				t.Errorf("revision %d: efficiency %v and %v, want %v", n+1, byNumber.Properties["efficiency"], byPath.Properties["efficiency"], want)
			}
		}
		if then := must(c.Entities.View(ctx, first.DID, client.EntityView{At: second.Updated}))(t); then.Revision < 2 {
			t.Errorf("at the time of revision 2 it is revision %d", then.Revision)
		}
		_, err := c.Entities.View(ctx, first.DID, client.EntityView{At: first.Created.Add(-time.Minute)})
		refused(t, "before it was made", "ENTITY_NOT_FOUND", err)
		d := must(c.Entities.Diff(ctx, first.DID, 1, 2))(t)
		if !slices.ContainsFunc(d.Patch, func(s client.DiffStep) bool {
			return s.Op == "replace" && s.Path == "/properties/efficiency" && string(s.Value) == "43"
		}) || len(d.Steps) != 1 || d.Steps[0].Reason != "measured again" || d.Steps[0].RequestID != "visit.7" || d.Steps[0].Actor != second.UpdatedBy {
			t.Errorf("diff = %+v, want what, who and why", d)
		}
		var revisions []int64
		for r, err := range c.Entities.History(ctx, first.DID, client.PageQuery{Limit: 1}) {
			if err != nil {
				t.Fatal(err)
			}
			revisions = append(revisions, r.Revision)
		}
		if !slices.Equal(revisions, []int64{3, 2, 1}) {
			t.Errorf("history = %v, want 3 2 1", revisions)
		}
		if a := must(c.Entities.Audit(ctx, first.DID))(t); !a.OK || a.Checked != 3 {
			t.Errorf("audit = %+v, want 3 revisions that are right", a)
		}
		_, err = c.Entities.Patch(ctx, first.DID, client.Object{"metadata": client.Object{}}, client.IfRevision(2))
		refused(t, "a change of what was changed", "STALE_REVISION", err)
		_, err = c.Entities.Patch(ctx, first.DID, client.Object{"metadata": client.Object{}})
		refused(t, "a change without a revision", "PRECONDITION_REQUIRED", err)
		gone := must(c.Entities.Deactivate(ctx, first.DID, client.IfRevision(3), client.Reason("sold")))(t)
		if read := must(c.Entities.Get(ctx, first.DID))(t); gone.Status != "deactivated" || read.Status != "deactivated" {
			t.Errorf("status %s, then %s; want deactivated and readable", gone.Status, read.Status)
		}
	})
}

// TestEntityTwoWriters lets two change one twin at once, many times: one wins,
// the other is told, every time.
func TestEntityTwoWriters(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		ctx, c := t.Context(), owner(t, s)
		twin := must(c.Entities.Create(ctx, client.EntityDraft{Type: "Stove", Protocol: "did:ixo:protocol/clean-cooking"}))(t)
		for round := range 25 {
			var wait sync.WaitGroup
			var errs [2]error
			for i := range errs {
				wait.Go(func() {
					_, errs[i] = c.Entities.Patch(ctx, twin.DID, client.Object{"metadata": client.Object{"by": i, "round": round}}, client.IfRevision(int64(round+1)))
				})
			}
			wait.Wait()
			codes := []string{client.CodeOf(errs[0]), client.CodeOf(errs[1])}
			slices.Sort(codes)
			if !slices.Equal(codes, []string{"", "STALE_REVISION"}) || errs[0] != nil && errs[1] != nil {
				t.Fatalf("round %d: %v and %v, want one change and one STALE_REVISION", round, errs[0], errs[1])
			}
		}
		if last := must(c.Entities.Get(ctx, twin.DID))(t); last.Revision != 26 {
			t.Errorf("revision %d, want 26", last.Revision)
		}
	})
}

// TestEntityEventsInOrder changes 100 twins five times each while somebody
// reads slowly: no change is lost, and those of a twin come in their order.
func TestEntityEventsInOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, o server.Options) {
		const twins, updates = 100, 5
		s := server.Run(t, o)
		ctx, c := t.Context(), owner(t, s)
		ops := make([]client.Operation, twins)
		for i := range ops {
			ops[i] = client.Operation{Op: "create", Entity: &client.EntityDraft{Type: "Stove", Protocol: "did:ixo:protocol/clean-cooking"}}
		}
		made := must(c.Entities.Batch(ctx, client.Batch{Atomic: true, Operations: ops}))(t)
		var wait sync.WaitGroup
		for worker := range 4 {
			wait.Go(func() {
				for i := worker; i < twins; i += 4 {
					for n := range int64(updates) {
						if _, err := c.Entities.Patch(ctx, made.Results[i].DID, client.Object{"metadata": client.Object{"n": n}}, client.IfRevision(n+1)); err != nil {
							t.Errorf("update %d of twin %d: %v", n, i, err)
							return
						}
					}
				}
			})
		}
		dids := map[string]bool{}
		for _, r := range made.Results {
			dids[r.DID] = true
		}
		slow := readSlowly(t, c, dids, twins*(updates+1))
		wait.Wait()
		for did := range dids {
			if !slices.Equal(slow[did], []int64{1, 2, 3, 4, 5, 6}) {
				t.Errorf("revisions of %s in the events = %v, want 1 to 6", did, slow[did])
			}
		}
	})
}

// readSlowly reads n events of twins, with a pause after each that lets the
// server get ahead, and returns the revisions of each twin as they came.
func readSlowly(t *testing.T, c *client.Client, dids map[string]bool, n int) map[string][]int64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	pause := time.NewTicker(2 * time.Millisecond)
	defer pause.Stop()
	out := map[string][]int64{}
	last := int64(0)
	for ev, err := range c.Events.Stream(ctx, client.StreamQuery{Types: []string{"entity.*"}}) {
		if err != nil {
			t.Errorf("%d events are missing: %v", n, err)
			return out
		}
		if ev.Seq <= last {
			t.Errorf("event %d after %d", ev.Seq, last)
		}
		last = ev.Seq
		if !dids[ev.Subject] {
			continue // the oracle's own twin
		}
		out[ev.Subject] = append(out[ev.Subject], ev.Revision)
		if n--; n == 0 {
			return out
		}
		<-pause.C
	}
	return out
}
