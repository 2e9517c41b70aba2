package graph

import (
	"net/url"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// vocabulary is the prefix of our own names in JSON-LD exports. Reading them
// fetches nothing: the context is in the document.
const vocabulary = "urn:hearth:"

// ldContext explains the members of the export.
const ldContext = `{
	"@version": 1.1,
	"xsd": "http://www.w3.org/2001/XMLSchema#",
	"Subgraph": "urn:hearth:vocab:Subgraph",
	"Twin": "urn:hearth:vocab:Twin",
	"Relationship": "urn:hearth:vocab:Relationship",
	"root": {"@id": "urn:hearth:vocab:root", "@type": "@id"},
	"truncated": {"@id": "urn:hearth:vocab:truncated", "@type": "xsd:boolean"},
	"entityType": "urn:hearth:vocab:entityType",
	"class": "urn:hearth:vocab:class",
	"domainType": "urn:hearth:vocab:domainType",
	"status": "urn:hearth:vocab:status",
	"name": "urn:hearth:vocab:name",
	"external": {"@id": "urn:hearth:vocab:external", "@type": "xsd:boolean"},
	"from": {"@id": "urn:hearth:vocab:from", "@type": "@id"},
	"to": {"@id": "urn:hearth:vocab:to", "@type": "@id"},
	"role": {"@id": "urn:hearth:vocab:role", "@type": "@id"},
	"since": {"@id": "urn:hearth:vocab:since", "@type": "xsd:dateTime"},
	"until": {"@id": "urn:hearth:vocab:until", "@type": "xsd:dateTime"}
}`

type ldDocument struct {
	Context jsontext.Value `json:"@context"`
	Graph   []any          `json:"@graph"`
}

// ldSubgraph describes the export itself.
type ldSubgraph struct {
	Type      string `json:"@type"`
	Root      string `json:"root"`
	Truncated bool   `json:"truncated"`
}

// ldTwin is a twin with its edges as plain statements: role, target.
type ldTwin struct {
	ID         string             `json:"@id"`
	Type       []string           `json:"@type"`
	EntityType string             `json:"entityType,omitzero"`
	Class      string             `json:"class,omitzero"`
	DomainType string             `json:"domainType,omitzero"`
	Status     string             `json:"status,omitzero"`
	Name       string             `json:"name,omitzero"`
	External   bool               `json:"external,omitzero"`
	Roles      map[string][]ldRef `json:",embed"` // by the IRI of the role
}

type ldRef struct {
	ID string `json:"@id"`
}

// ldEdge is an edge as a thing of its own, with what a statement cannot say.
type ldEdge struct {
	ID       string    `json:"@id"`
	Type     string    `json:"@type"`
	From     string    `json:"from"`
	To       string    `json:"to"`
	Role     string    `json:"role"`
	Since    time.Time `json:"since,omitzero"`
	Until    time.Time `json:"until,omitzero"`
	External bool      `json:"external,omitzero"`
}

func roleIRI(role string) string { return vocabulary + "role:" + url.PathEscape(role) }

// JSONLD renders a graph as a JSON-LD 1.1 document. The ids are the DIDs. An
// edge appears twice: as a statement about its source, and as a Relationship
// with its times.
func (g *Graph) JSONLD() ([]byte, error) {
	doc := ldDocument{Context: jsontext.Value(ldContext), Graph: make([]any, 0, 1+len(g.Nodes)+len(g.Edges))}
	doc.Graph = append(doc.Graph, ldSubgraph{Type: "Subgraph", Root: g.Root, Truncated: g.Truncated})
	places := make(map[string]*ldTwin, len(g.Nodes))
	for _, n := range g.Nodes {
		t := &ldTwin{
			ID: n.DID, Type: []string{"Twin"}, EntityType: n.Type, Class: n.Class, DomainType: n.DomainType,
			Status: string(n.Status), Name: n.Name, External: n.External, Roles: map[string][]ldRef{},
		}
		if n.DomainType != "" {
			t.Type = append(t.Type, vocabulary+"domain:"+url.PathEscape(n.DomainType))
		}
		places[n.DID] = t
		doc.Graph = append(doc.Graph, t)
	}
	for _, e := range g.Edges {
		role := roleIRI(e.Role)
		t := places[e.From]
		if to := (ldRef{e.To}); !slices.Contains(t.Roles[role], to) {
			t.Roles[role] = append(t.Roles[role], to)
		}
		doc.Graph = append(doc.Graph, ldEdge{
			ID: vocabulary + "relationship:" + e.ID, Type: "Relationship", From: e.From, To: e.To, Role: role,
			Since: e.Since, Until: e.Until, External: e.External,
		})
	}
	return web.Encode(doc)
}
