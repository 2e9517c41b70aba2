package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// TestGraph walks over the twins of a programme.
func TestGraph(t *testing.T) {
	t.Parallel()
	same(t, func(t *testing.T, o server.Options) {
		s := server.Run(t, o)
		ctx, c := t.Context(), owner(t, s)
		org := named(t, c, "organisation", "Stoves for all")
		project := named(t, c, "project", "Kitui", client.RelationshipDraft{Role: "implementedBy", Target: org.DID})
		var assets []string
		for _, name := range []string{"one", "two", "three"} {
			assets = append(assets, named(t, c, "asset", name, client.RelationshipDraft{Role: "generatedBy", Target: project.DID}).DID)
		}
		if project.Status != "active" {
			t.Errorf("project made with its organisation is %s, want active", project.Status)
		}
		g := must(c.Graph.Around(ctx, org.DID, client.GraphQuery{Depth: 2}))(t)
		if len(g.Nodes) != 6 || len(g.Edges) != 5 || g.Truncated || g.Root != org.DID || g.Nodes[0].DID != org.DID {
			t.Errorf("graph = %+v, want the organisation, its group, its project and three assets", g)
		}
		if few := must(c.Graph.Around(ctx, org.DID, client.GraphQuery{Depth: 2, Limit: 3}))(t); len(few.Nodes) != 3 || !few.Truncated {
			t.Errorf("graph of 3 = %+v, want it cut", few)
		}
		for format, sign := range map[string]string{"jsonld": `"@context"`, "graphml": "<graphml"} {
			if text := string(must(c.Graph.Export(ctx, org.DID, format, client.GraphQuery{}))(t)); !strings.Contains(text, sign) || !strings.Contains(text, assets[2]) {
				t.Errorf("%s = %.300s, want the graph", format, text)
			}
		}
		var next []string
		for n, err := range c.Graph.Neighbours(ctx, project.DID, client.NeighbourQuery{Roles: []string{"generates"}, Limit: 2}) {
			if err != nil {
				t.Fatal(err)
			}
			next = append(next, n.Node.DID)
		}
		if !slices.Equal(next, assets) {
			t.Errorf("neighbours = %v, want the assets", next)
		}
		for n, err := range c.Graph.Subdomains(ctx, org.DID, client.SubdomainQuery{DomainType: "group"}) {
			if err != nil || n.Role != "contains" || n.Node.Name != "members" {
				t.Errorf("sub-domain = %+v, %v; want the first group", n, err)
			}
		}
		way := must(c.Graph.Path(ctx, assets[0], org.DID, client.PathQuery{}))(t)
		if !way.Found || way.Length != 2 || way.Nodes[1].DID != project.DID {
			t.Errorf("path = %+v, want one through the project", way)
		}
		alone := must(c.Entities.Create(ctx, client.EntityDraft{Type: "Stove", Protocol: "did:ixo:protocol/clean-cooking"}))(t)
		if none := must(c.Graph.Path(ctx, alone.DID, org.DID, client.PathQuery{}))(t); none.Found {
			t.Errorf("path = %+v, want none", none)
		}
		_, err := c.Graph.Path(ctx, "did:x:none", org.DID, client.PathQuery{})
		refused(t, "a path from nowhere", "ENTITY_NOT_FOUND", err)
		if proof := must(c.Graph.InvariantPage(ctx, client.PageQuery{Limit: 3}))(t); !proof.OK || proof.Complete || proof.Page.NextCursor == "" {
			t.Errorf("first page of the proof = %+v, want that it goes on", proof)
		}
		if proof := must(c.Graph.Invariants(ctx))(t); !proof.OK || !proof.Complete || len(proof.Unproven) != 0 {
			t.Errorf("proof = %+v, want all of it", proof)
		}
	})
}
