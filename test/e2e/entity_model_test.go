package e2e

import (
	"slices"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// named creates a twin with a name.
func named(t *testing.T, c *client.Client, kind, name string, edges ...client.RelationshipDraft) *client.Entity {
	t.Helper()
	return must(c.Entities.Create(t.Context(), client.EntityDraft{
		Type: kind, Protocol: "did:ixo:protocol/" + kind, Properties: client.Object{"name": name}, Relationships: edges,
	}))(t)
}

// TestEntityDomainModel takes an organisation, its project and an asset of it
// to life, in the only order there is.
func TestEntityDomainModel(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		ctx, c := t.Context(), owner(t, s)
		org := named(t, c, "organisation", "Stoves for all")
		groups := must(c.Groups.Page(ctx, org.DID, client.PageQuery{}))(t)
		if org.Status != "active" || org.Class != "cognitive" || len(groups.Items) != 1 || groups.Items[0].Name != "members" {
			t.Fatalf("organisation %s %s with groups %+v; want active, with its first group", org.Status, org.Class, groups.Items)
		}
		first := groups.Items[0]
		_, err := c.Entities.Deactivate(ctx, first.DID, client.IfMatch("*"))
		refused(t, "the end of the last group", "ORGANISATION_REQUIRES_GROUP", err)

		project := named(t, c, "project", "Kitui")
		asset := named(t, c, "asset", "Stove 7")
		if project.Status != "draft" || !slices.Equal(project.MissingRelationships, []string{"implementedBy"}) ||
			asset.Status != "draft" || !slices.Equal(asset.MissingRelationships, []string{"generatedBy"}) {
			t.Errorf("project %s %v, asset %s %v; want drafts that miss somebody", project.Status, project.MissingRelationships, asset.Status, asset.MissingRelationships)
		}
		_, err = c.Entities.Transition(ctx, project.DID, client.Transition{To: "active"})
		refused(t, "a project without an organisation", "MISSING_RELATIONSHIPS", err)
		edge := must(c.Entities.Relate(ctx, project.DID, client.RelationshipDraft{Role: "implementedBy", Target: org.DID}))(t)
		if live := must(c.Entities.Transition(ctx, project.DID, client.Transition{To: "active", Reason: "begins"}))(t); live.Status != "active" {
			t.Errorf("project is %s, want active", live.Status)
		}
		must(c.Entities.Relate(ctx, project.DID, client.RelationshipDraft{Role: "generates", Target: asset.DID}))(t)
		live := must(c.Entities.Transition(ctx, asset.DID, client.Transition{To: "active"}))(t)
		if live.Status != "active" || live.Project != project.DID {
			t.Errorf("asset is %s of project %q, want active of %s", live.Status, live.Project, project.DID)
		}
		_, err = c.Entities.Unrelate(ctx, project.DID, edge.ID)
		refused(t, "to take the organisation from an active project", "MISSING_RELATIONSHIPS", err)
		_, err = c.Entities.Relate(ctx, asset.DID, client.RelationshipDraft{Role: "implements", Target: project.DID})
		refused(t, "an asset that implements a project", "RELATIONSHIP_CLASS_MISMATCH", err)
		if shown := must(c.Entities.Get(ctx, org.DID))(t); !slices.ContainsFunc(shown.Relationships, func(r client.Relationship) bool { return r.Role == "implements" && r.Target == project.DID }) {
			t.Errorf("relationships of the organisation = %+v, want that it implements the project", shown.Relationships)
		}
		for e, err := range c.Entities.Relationships(ctx, asset.DID, client.RelationshipQuery{}) {
			if err != nil || e.Role != "generatedBy" || e.Target != project.DID || e.Direction != "in" {
				t.Errorf("relationship of the asset = %+v, %v; want generatedBy", e, err)
			}
		}
		claim := named(t, c, "claim", "12 kg of wood", client.RelationshipDraft{Role: "producedBy", Target: asset.DID})
		oracle := must(c.Entities.Create(ctx, client.EntityDraft{Type: "oracle", Protocol: "did:ixo:protocol/oracle", Controllers: []string{"did:ixo:agent/judge"}}))(t)
		must(c.Entities.Relate(ctx, claim.DID, client.RelationshipDraft{Role: "verifiedBy", Target: oracle.DID}))(t)
		_, err = c.Entities.Create(ctx, client.EntityDraft{
			Type: "credential", Protocol: "did:ixo:protocol/credential", Relationships: []client.RelationshipDraft{{Role: "becameFrom", Target: claim.DID}},
		})
		refused(t, "a credential by hand", "CREDENTIAL_NEEDS_CLAIM", err)
		_, err = c.Entities.Verify(ctx, claim.DID, client.Verdict{Status: "verified"}, client.IfRevision(claim.Revision))
		refused(t, "a verdict about a claim of one's own", "VERIFIER_IS_CLAIMANT", err)
		key := must(c.Keys.Create(ctx, client.KeyDraft{Name: "judge", Role: "verifier", Principal: "did:ixo:agent/judge"}))(t)
		judge := with(t, s.URL, key.Text)
		_, err = judge.Entities.Verify(ctx, claim.DID, client.Verdict{Status: "verified"})
		refused(t, "a verdict that does not say about what", "PRECONDITION_REQUIRED", err)
		_, err = c.Entities.Patch(ctx, claim.DID, client.Object{"properties": map[string]any{"kind": "12,000 kg of wood"}}, client.IfMatch("*"))
		refused(t, "a change of what was submitted", "CLAIM_SUBMITTED", err)
		must(judge.Entities.Verify(ctx, claim.DID, client.Verdict{Status: "verified"}, client.IfRevision(must(judge.Entities.Get(ctx, claim.DID))(t).Revision)))(t)
		issuer := with(t, s.URL, must(c.Keys.Create(ctx, client.KeyDraft{Name: "issuer", Role: "owner", Principal: "did:ixo:agent/judge"}))(t).Text)
		issued := must(issuer.Claims.Issue(ctx, client.CredentialRequest{Claim: claim.DID}))(t)
		_, err = issuer.Claims.Issue(ctx, client.CredentialRequest{Claim: claim.DID})
		refused(t, "a second credential of one claim", "CLAIM_ALREADY_CREDENTIAL", err)
		way := must(c.Graph.Path(ctx, org.DID, issued.ID, client.PathQuery{Direction: "out"}))(t)
		if !way.Found || way.Length != 4 {
			t.Errorf("path from the organisation to the credential = %+v, want 4 steps", way)
		}
		_, err = c.Entities.Deactivate(ctx, org.DID, client.IfMatch("*"))
		refused(t, "the end of an organisation with an active project", "ACTIVE_DEPENDANTS", err)
		_, err = c.Entities.Deactivate(ctx, project.DID, client.IfMatch("*"))
		refused(t, "the end of a project with an active asset", "ACTIVE_DEPENDANTS", err)
		if proof := must(c.Graph.Invariants(ctx))(t); !proof.OK || !proof.Complete || proof.Checked < 7 {
			t.Errorf("invariants = %+v, want that the rules hold", proof)
		}
	})
}

// TestEntityMembers gives rights through a group, and takes them away.
func TestEntityMembers(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		ctx, boss := t.Context(), owner(t, s)
		const amina = "did:ixo:person/amina"
		org := must(boss.Entities.Create(ctx, client.EntityDraft{
			Type: "organisation", Protocol: "did:ixo:protocol/organisation", Groups: []client.GroupDraft{{Name: "field"}},
		}))(t)
		group := must(boss.Groups.Create(ctx, org.DID, client.GroupDraft{Name: "collectors", Scopes: []string{"entities:read", "entities:write"}}))(t)
		stove := must(boss.Entities.Create(ctx, client.EntityDraft{Type: "Stove", Protocol: "did:ixo:protocol/clean-cooking", Controller: org.DID}))(t)
		key := must(boss.Keys.Create(ctx, client.KeyDraft{Name: "Amina's tablet", Role: "member", Principal: amina}))(t)
		member := with(t, s.URL, key.Text)
		change := func() error {
			_, err := member.Entities.Patch(ctx, stove.DID, client.Object{"properties": client.Object{"notes": "seen"}}, client.IfMatch("*"))
			return err
		}
		_, err := member.Entities.Get(ctx, stove.DID)
		refused(t, "a member of no group", "SCOPE_MISSING", err)
		if m := must(boss.Groups.Add(ctx, group.DID, amina))(t); m.Member != amina || m.AddedAt.IsZero() {
			t.Errorf("member = %+v", m)
		}
		if err := change(); err != nil {
			t.Errorf("a change by a member of the controller: %v", err)
		}
		alone := must(boss.Entities.Create(ctx, client.EntityDraft{Type: "Stove", Protocol: "did:ixo:protocol/clean-cooking"}))(t)
		_, err = member.Entities.Patch(ctx, alone.DID, client.Object{"metadata": client.Object{}}, client.IfMatch("*"))
		refused(t, "a twin of another controller", "NOT_CONTROLLER", err)
		_, err = member.Groups.Add(ctx, group.DID, "did:ixo:person/friend")
		refused(t, "a member that adds members", "SCOPE_MISSING", err)
		if all := must(boss.Groups.Memberships(ctx, amina))(t); len(all.Groups) != 1 || !all.Groups[0].InForce || !slices.Equal(all.Scopes, []string{"entities:read", "entities:write"}) {
			t.Errorf("memberships = %+v, want the two scopes of one group", all)
		}
		if g := must(boss.Groups.Page(ctx, org.DID, client.PageQuery{}))(t); len(g.Items) != 2 {
			t.Errorf("groups = %+v, want 2", g.Items)
		}
		must(boss.Entities.Transition(ctx, group.DID, client.Transition{To: "suspended"}))(t)
		refused(t, "a change by a member of a suspended group", "SCOPE_MISSING", change())
		must(boss.Entities.Transition(ctx, group.DID, client.Transition{To: "active"}))(t)
		if err := change(); err != nil {
			t.Errorf("a change by a member of a group that is active again: %v", err)
		}
		must(boss.Groups.Remove(ctx, group.DID, amina))(t)
		refused(t, "a change by a former member", "SCOPE_MISSING", change())
		for m, err := range boss.Groups.Members(ctx, group.DID, client.PageQuery{}) {
			t.Errorf("member %+v, %v of an empty group", m, err)
		}
	})
}

// TestEntityWorkspaces keeps the twins of two workspaces apart.
func TestEntityWorkspaces(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{})
	ctx, boss := t.Context(), owner(t, s)
	other := must(boss.Workspaces.Create(ctx, client.WorkspaceDraft{ID: "kitui", Name: "K"}))(t)
	foreign := with(t, s.URL, other.OwnerKey.Text)
	twin := must(boss.Entities.Create(ctx, client.EntityDraft{Type: "Stove", Protocol: "did:ixo:protocol/clean-cooking", ExternalIDs: map[string]string{"erp": "1"}}))(t)
	for what, call := range map[string]func() error{
		"read":    func() error { _, err := foreign.Entities.Get(ctx, twin.DID); return err },
		"history": func() error { _, err := foreign.Entities.HistoryPage(ctx, twin.DID, client.PageQuery{}); return err },
		"graph":   func() error { _, err := foreign.Graph.Around(ctx, twin.DID, client.GraphQuery{}); return err },
		"change": func() error {
			_, err := foreign.Entities.Patch(ctx, twin.DID, client.Object{}, client.IfMatch("*"))
			return err
		},
		"relate": func() error {
			_, err := foreign.Entities.Relate(ctx, twin.DID, client.RelationshipDraft{Role: "member", Target: twin.DID})
			return err
		},
		"document": func() error { _, err := foreign.DIDs.Document(ctx, twin.DID, client.DIDVersion{}); return err },
	} {
		refused(t, what+" of a foreign twin", "ENTITY_NOT_FOUND", call())
	}
	must(foreign.Entities.Create(ctx, client.EntityDraft{Type: "Stove", Protocol: "did:ixo:protocol/clean-cooking", ExternalIDs: map[string]string{"erp": "1"}}))(t)
	seen := 0
	for e, err := range foreign.Entities.List(ctx, client.EntityQuery{}) {
		if seen++; err != nil || e.DID == twin.DID {
			t.Errorf("a foreign list shows %s, %v", e.DID, err)
		}
	}
	if seen != 1 {
		t.Errorf("%d twins, want the one of the workspace", seen)
	}
}

// TestEntityBatch does many things at once, with and without all or nothing.
func TestEntityBatch(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		ctx, c := t.Context(), owner(t, s)
		home := &client.EntityDraft{Type: "Household", Protocol: "did:ixo:protocol/household"}
		stove := &client.EntityDraft{Type: "Stove", Protocol: "did:ixo:protocol/clean-cooking", Relationships: []client.RelationshipDraft{{Role: "household", Target: "$0"}}}
		done := must(c.Entities.Batch(ctx, client.Batch{Atomic: true, Operations: []client.Operation{
			{Op: "create", Entity: home},
			{Op: "create", Entity: stove},
			{Op: "patch", DID: "$1", IfMatch: "*", Patch: client.Object{"metadata": client.Object{"name": "Stove 7"}}},
		}}))(t)
		if done.Succeeded != 3 || done.Failed != 0 || done.Results[2].ETag != `"2"` || done.Results[2].DID != done.Results[1].DID {
			t.Errorf("results = %+v, want three that worked", done)
		}
		if made := must(c.Entities.Get(ctx, done.Results[1].DID))(t); made.Relationships[0].Target != done.Results[0].DID || made.Metadata["name"] != "Stove 7" {
			t.Errorf("stove = %+v, want it in the household", made)
		}
		bad := client.Operation{Op: "create", Entity: &client.EntityDraft{Type: "Stove", Protocol: "did:ixo:protocol/clean-cooking", Properties: client.Object{"efficiency": 200}}}
		good := client.Operation{Op: "create", Entity: &client.EntityDraft{Type: "Kettle", Protocol: "did:ixo:protocol/clean-cooking"}}
		_, err := c.Entities.Batch(ctx, client.Batch{Atomic: true, Operations: []client.Operation{good, bad}})
		refused(t, "an atomic batch with a bad one", "PROPERTY_SCHEMA_VIOLATION", err)
		if p := must(c.Entities.Page(ctx, client.EntityQuery{Type: "Kettle"}))(t); len(p.Items) != 0 {
			t.Errorf("%d kettles of a batch that was refused", len(p.Items))
		}
		some := must(c.Entities.Batch(ctx, client.Batch{Operations: []client.Operation{good, bad}}))(t)
		if some.Succeeded != 1 || some.Failed != 1 || some.Results[1].Error == nil || some.Results[1].Error.Errors[0].Pointer != "/operations/1/entity/properties/efficiency" {
			t.Errorf("results = %+v, want one of two, and why", some)
		}
	})
}

// TestEntitySearch finds twins, and never answers a question it does not
// understand.
func TestEntitySearch(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		ctx, c := t.Context(), owner(t, s)
		for _, model := range []string{"EPC-1", "EPC-1", "EPC-2"} {
			must(c.Entities.Create(ctx, client.EntityDraft{Type: "Stove", Protocol: "did:ixo:protocol/clean-cooking", Properties: client.Object{"model": model, "fuel_type": "power"}}))(t)
		}
		for filter, want := range map[string]int{
			`eq(properties.model,"EPC-1")`: 2, `and(eq(type,Stove),like(properties.model,"EPC-*"))`: 3, `eq(properties.fuel_type,power)`: 3, `ne(properties.model,"EPC-1")`: 1,
		} {
			n := 0
			for e, err := range c.Entities.List(ctx, client.EntityQuery{Filter: filter, Type: "Stove", Limit: 1, Fields: []string{"properties.model"}, Expand: []string{"protocol"}}) {
				if err != nil {
					t.Fatal(err)
				}
				if n++; e.DID == "" || e.Properties["fuel_type"] != nil || e.ProtocolRecord == nil {
					t.Errorf("%s gives %+v, want what was asked for", filter, e)
				}
			}
			if n != want {
				t.Errorf("%s finds %d, want %d", filter, n, want)
			}
		}
		_, err := c.Entities.Page(ctx, client.EntityQuery{Filter: "eq(properties.colour,red)"})
		refused(t, "a field nobody has", "UNKNOWN_FIELD", err)
		_, err = c.Entities.Page(ctx, client.EntityQuery{Filter: "eq(type"})
		refused(t, "half a filter", "INVALID_FILTER", err)
		if a := curl(t, s, "GET /v1/entities?modle=x", ""); a.Status != 400 {
			t.Errorf("an unknown parameter: %d, want 400", a.Status)
		}
	})
}
