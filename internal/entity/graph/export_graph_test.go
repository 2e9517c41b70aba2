package graph_test

import (
	"bytes"
	"encoding/xml"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/graph"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// hostile is a name that tries to leave the place it is written to.
const hostile = "</data><data key=\"did\">&amp;]]>\x00\x1f\ufffe\"'\\ \u2028é🔥"

func sample() *graph.Graph {
	day := time.Date(2026, 2, 1, 12, 30, 0, 5e6, time.UTC)
	return &graph.Graph{
		Root: "did:x:org", Truncated: true,
		Nodes: []graph.Node{
			{Twin: graph.Twin{DID: "did:x:org", Type: "a/b c", Class: "cognitive", DomainType: "organisation", Status: entity.StatusActive, Name: hostile}},
			{Twin: graph.Twin{DID: "did:x:house/1%20", Type: "T", Class: "physical", DomainType: "household", Status: entity.StatusDraft}, Depth: 1},
			{Twin: graph.Twin{DID: "did:y:out", External: true}, Depth: 2},
		},
		Edges: []graph.Edge{
			{ID: "rel_1", From: "did:x:org", To: "did:x:house/1%20", Role: "contains", Since: day, Until: day.AddDate(1, 0, 0)},
			{ID: "rel_2", From: "did:x:house/1%20", To: "did:y:out", Role: "operator", External: true},
			{ID: "rel_3", From: "did:x:org", To: "did:y:out", Role: "operator", External: true},
			{ID: "rel_4", From: "did:x:org", To: "did:x:org", Role: "knows"},
		},
	}
}

func TestJSONIsWhatEncodeGives(t *testing.T) {
	t.Parallel()
	for _, g := range []*graph.Graph{sample(), {Root: "did:x:a", Nodes: []graph.Node{}, Edges: []graph.Edge{}}} {
		got, err := g.JSON()
		if err != nil {
			t.Fatal(err)
		}
		want, err := web.Encode(g)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("JSON() differs from web.Encode (-want +got):\n%s", diff)
		}
	}
	if _, err := (&graph.Graph{Root: "\xff"}).JSON(); err == nil {
		t.Error("JSON() takes what is no UTF-8, as web.Encode does not")
	}
}

type mlFile struct {
	XMLName xml.Name `xml:"http://graphml.graphdrawing.org/xmlns graphml"`
	Keys    []struct {
		ID   string `xml:"id,attr"`
		For  string `xml:"for,attr"`
		Name string `xml:"attr.name,attr"`
		Type string `xml:"attr.type,attr"`
	} `xml:"key"`
	Graph struct {
		Default string   `xml:"edgedefault,attr"`
		Data    []mlData `xml:"data"`
		Nodes   []struct {
			ID   string   `xml:"id,attr"`
			Data []mlData `xml:"data"`
		} `xml:"node"`
		Edges []struct {
			ID     string   `xml:"id,attr"`
			Source string   `xml:"source,attr"`
			Target string   `xml:"target,attr"`
			Data   []mlData `xml:"data"`
		} `xml:"edge"`
	} `xml:"graph"`
}

type mlData struct {
	Key  string `xml:"key,attr"`
	Text string `xml:",chardata"`
}

var nmtoken = regexp.MustCompile(`^[A-Za-z0-9._:-]+$`)

// readML reads GraphML back and checks what every file must be.
func readML(t *testing.T, text []byte) (f mlFile, values func(id string, data []mlData) map[string]string) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Strict = true
	if err := d.Decode(&f); err != nil {
		t.Fatalf("GraphML cannot be read: %v\n%s", err, text)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("GraphML goes on after its end: %v", err)
	}
	declared := map[string]bool{}
	for _, k := range f.Keys {
		if declared[k.ID] || k.Name == "" || k.Type == "" || k.For == "" {
			t.Errorf("key %+v is declared twice or not wholly", k)
		}
		declared[k.ID] = true
	}
	return f, func(id string, data []mlData) map[string]string {
		if !nmtoken.MatchString(id) {
			t.Errorf("id %q is no NMTOKEN", id)
		}
		out := map[string]string{}
		for _, v := range data {
			if _, twice := out[v.Key]; twice || !declared[v.Key] {
				t.Errorf("data %q of %s is there twice or not declared", v.Key, id)
			}
			out[v.Key] = v.Text
		}
		return out
	}
}

func TestGraphML(t *testing.T) {
	t.Parallel()
	text, err := sample().GraphML()
	if err != nil {
		t.Fatal(err)
	}
	f, values := readML(t, text)
	if diff := cmp.Diff(map[string]string{"root": "did:x:org", "truncated": "true"}, values("graph", f.Graph.Data)); diff != "" || f.Graph.Default != "directed" {
		t.Errorf("graph, %s (-want +got):\n%s", f.Graph.Default, diff)
	}
	byID := map[string]string{}
	for i, n := range f.Graph.Nodes {
		got := values(n.ID, n.Data)
		byID[n.ID] = got["did"]
		if i == 0 {
			want := map[string]string{
				"did": "did:x:org", "type": "a/b c", "class": "cognitive", "domainType": "organisation", "status": "active", "external": "false", "depth": "0",
				"name": strings.NewReplacer("\x00", "\ufffd", "\x1f", "\ufffd", "\ufffe", "\ufffd").Replace(hostile),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("first node (-want +got):\n%s", diff)
			}
		}
	}
	if len(byID) != 3 || byID["n2"] != "did:y:out" {
		t.Errorf("nodes = %v", byID)
	}
	var got []string
	for _, e := range f.Graph.Edges {
		v := values(e.ID, e.Data)
		got = append(got, strings.Join([]string{e.ID, byID[e.Source], v["role"], byID[e.Target], v["since"], v["until"]}, " "))
	}
	want := []string{
		"rel_1 did:x:org contains did:x:house/1%20 2026-02-01T12:30:00.005Z 2027-02-01T12:30:00.005Z",
		"rel_2 did:x:house/1%20 operator did:y:out  ", "rel_3 did:x:org operator did:y:out  ", "rel_4 did:x:org knows did:x:org  ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("edges (-want +got):\n%s", diff)
	}
}

// FuzzGraphML writes any text and reads it back.
func FuzzGraphML(f *testing.F) {
	f.Add(hostile, "Device")
	f.Add("\r\n\t ", "\u0085")
	f.Fuzz(func(t *testing.T, name, kind string) {
		if !utf8.ValidString(name) || !utf8.ValidString(kind) {
			t.Skip("texts are UTF-8 before they get here")
		}
		text, err := (&graph.Graph{Root: "did:x:a", Nodes: []graph.Node{{Twin: graph.Twin{DID: "did:x:a", Name: name, Type: kind}}}}).GraphML()
		if err != nil {
			t.Fatal(err)
		}
		ml, values := readML(t, text)
		clean := func(s string) string {
			return strings.Map(func(r rune) rune {
				if r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000 {
					return r
				}
				return '\ufffd'
			}, s)
		}
		got := values("n0", ml.Graph.Nodes[0].Data)
		if got["name"] != clean(name) || got["type"] != clean(kind) {
			t.Errorf("read back %q and %q, want %q and %q", got["name"], got["type"], clean(name), clean(kind))
		}
	})
}

func TestJSONLD(t *testing.T) {
	t.Parallel()
	text, err := sample().JSONLD()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Context map[string]any   `json:"@context"`
		Graph   []map[string]any `json:"@graph"`
	}
	if err := json.Unmarshal(text, &doc, json.RejectUnknownMembers(true)); err != nil {
		t.Fatal(err)
	}
	terms := map[string]bool{}
	for term, v := range doc.Context {
		iri, ok := v.(string)
		if m, isMap := v.(map[string]any); isMap {
			iri, ok = m["@id"].(string)
		}
		if term != "@version" && (!ok || !strings.HasPrefix(iri, "urn:hearth:vocab:") && term != "xsd") {
			t.Errorf("term %q is %v, want an IRI of ours", term, v)
		}
		terms[term] = true
	}
	for _, item := range doc.Graph {
		for member := range item {
			if !terms[member] && member != "@id" && member != "@type" && !strings.HasPrefix(member, "urn:hearth:role:") {
				t.Errorf("member %q is not explained", member)
			}
		}
	}
	wantItems := []map[string]any{
		{"@type": "Subgraph", "root": "did:x:org", "truncated": true},
		{
			"@id": "did:x:org", "@type": []any{"Twin", "urn:hearth:domain:organisation"}, "entityType": "a/b c", "class": "cognitive", "domainType": "organisation",
			"status": "active", "name": hostile, "urn:hearth:role:contains": []any{map[string]any{"@id": "did:x:house/1%20"}},
			"urn:hearth:role:operator": []any{map[string]any{"@id": "did:y:out"}}, "urn:hearth:role:knows": []any{map[string]any{"@id": "did:x:org"}},
		},
		{
			"@id": "did:x:house/1%20", "@type": []any{"Twin", "urn:hearth:domain:household"}, "entityType": "T", "class": "physical", "domainType": "household",
			"status": "draft", "urn:hearth:role:operator": []any{map[string]any{"@id": "did:y:out"}},
		},
		{"@id": "did:y:out", "@type": []any{"Twin"}, "external": true},
		{
			"@id": "urn:hearth:relationship:rel_1", "@type": "Relationship", "from": "did:x:org", "to": "did:x:house/1%20", "role": "urn:hearth:role:contains",
			"since": "2026-02-01T12:30:00.005Z", "until": "2027-02-01T12:30:00.005Z",
		},
	}
	if diff := cmp.Diff(wantItems, doc.Graph[:5]); diff != "" {
		t.Errorf("@graph (-want +got):\n%s", diff)
	}
	if len(doc.Graph) != 8 {
		t.Errorf("@graph has %d items, want 8: itself, 3 twins, 4 relationships", len(doc.Graph))
	}
}
