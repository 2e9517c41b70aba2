package graph

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// mlKeys declares what nodes, edges and the graph carry.
func mlKeys() []mlKey {
	return []mlKey{
		{"root", "graph", "root", "string"},
		{"truncated", "graph", "truncated", "boolean"},
		{"did", "node", "did", "string"},
		{"type", "node", "type", "string"},
		{"class", "node", "class", "string"},
		{"domainType", "node", "domainType", "string"},
		{"status", "node", "status", "string"},
		{"name", "node", "name", "string"},
		{"external", "node", "external", "boolean"},
		{"depth", "node", "depth", "int"},
		{"role", "edge", "role", "string"},
		{"since", "edge", "since", "string"},
		{"until", "edge", "until", "string"},
	}
}

type mlKey struct {
	ID   string `xml:"id,attr"`
	For  string `xml:"for,attr"`
	Name string `xml:"attr.name,attr"`
	Type string `xml:"attr.type,attr"`
}

type mlDocument struct {
	XMLName xml.Name `xml:"graphml"`
	Space   string   `xml:"xmlns,attr"`
	Keys    []mlKey  `xml:"key"`
	Graph   mlGraph  `xml:"graph"`
}

type mlGraph struct {
	ID      string   `xml:"id,attr"`
	Default string   `xml:"edgedefault,attr"`
	Data    []mlData `xml:"data"`
	Nodes   []mlNode `xml:"node"`
	Edges   []mlEdge `xml:"edge"`
}

type mlNode struct {
	ID   string   `xml:"id,attr"`
	Data []mlData `xml:"data"`
}

type mlEdge struct {
	ID     string   `xml:"id,attr"`
	Source string   `xml:"source,attr"`
	Target string   `xml:"target,attr"`
	Data   []mlData `xml:"data"`
}

type mlData struct {
	Key  string `xml:"key,attr"`
	Text string `xml:",chardata"`
}

// mlPairs keeps the pairs that have a value.
func mlPairs(pairs ...mlData) []mlData {
	kept := pairs[:0]
	for _, d := range pairs {
		if d.Text != "" {
			kept = append(kept, d)
		}
	}
	return kept
}

// GraphML renders a graph as GraphML. The ids of nodes are numbers, because an
// id there may not contain a slash; the DID is among their data. Characters
// that XML cannot carry become U+FFFD.
func (g *Graph) GraphML() ([]byte, error) {
	doc := mlDocument{Space: "http://graphml.graphdrawing.org/xmlns", Keys: mlKeys(), Graph: mlGraph{
		ID: "subgraph", Default: "directed", Nodes: make([]mlNode, len(g.Nodes)), Edges: make([]mlEdge, len(g.Edges)),
		Data: []mlData{{"root", g.Root}, {"truncated", strconv.FormatBool(g.Truncated)}},
	}}
	ids := make(map[string]string, len(g.Nodes))
	for i, n := range g.Nodes {
		ids[n.DID] = "n" + strconv.Itoa(i)
		doc.Graph.Nodes[i] = mlNode{ids[n.DID], mlPairs(
			mlData{"did", n.DID}, mlData{"type", n.Type}, mlData{"class", n.Class}, mlData{"domainType", n.DomainType},
			mlData{"status", string(n.Status)}, mlData{"name", n.Name}, mlData{"external", strconv.FormatBool(n.External)},
			mlData{"depth", strconv.Itoa(n.Depth)},
		)}
	}
	for i, e := range g.Edges {
		doc.Graph.Edges[i] = mlEdge{e.ID, ids[e.From], ids[e.To], mlPairs(
			mlData{"role", e.Role}, mlData{"since", mlTime(e.Since)}, mlData{"until", mlTime(e.Until)},
		)}
	}
	var b bytes.Buffer
	b.WriteString(xml.Header)
	if err := xml.NewEncoder(&b).Encode(doc); err != nil {
		return nil, fmt.Errorf("encode GraphML: %w", err)
	}
	return b.Bytes(), nil
}

func mlTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(web.TimeFormat)
}
