package export

import (
	"bytes"
	"encoding/xml"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// The types of OData that columns have.
const (
	edmText    = "Edm.String"
	edmWhole   = "Edm.Int64"
	edmNumber  = "Edm.Double"
	edmTruth   = "Edm.Boolean"
	edmDay     = "Edm.Date"
	edmInstant = "Edm.DateTimeOffset"
)

// Names of the feed that are no columns.
const (
	feedMain   = "Submissions"
	feedID     = "__id"
	feedParent = "__Submissions_id"
	feedSystem = "__system"
)

// edmTypes are the types of OData by those of columns; others are texts.
var edmTypes = map[string]string{
	string(form.Integer): edmWhole, string(form.Number): edmNumber, string(form.Rating): edmNumber, string(form.Boolean): edmTruth, string(form.Consent): edmTruth,
	string(form.Date): edmDay, string(form.DateTime): edmInstant, string(form.Repeat): edmWhole,
}

// property is a column of a feed.
type property struct {
	name    string
	edm     string
	at      int      // its cell in the row
	missing []string // codes that stand in place of a value; they are in the property with noAnswer in its name
}

// feedTable is a table of a feed: that of the responses, or that of a repeat.
type feedTable struct {
	name       string
	table      *Table // nil for the responses
	properties []property
	kids       []*feedTable // repeats inside of it
}

// feedModel are the tables of a feed.
type feedModel struct {
	layout *Layout
	main   *feedTable
	all    []*feedTable
}

// newFeedModel makes the tables of a layout.
func newFeedModel(l *Layout) *feedModel {
	m := &feedModel{layout: l, main: &feedTable{name: feedMain}}
	m.all = []*feedTable{m.main}
	taken := map[string]bool{feedID: true, feedParent: true, feedSystem: true}
	for i := range l.columns {
		m.main.add(&l.columns[i], i, taken)
	}
	names := map[string]bool{feedMain: true}
	for _, t := range l.Tables() {
		f := &feedTable{name: free(names, feedMain+"_"+plainName(t.Name)), table: t}
		within := map[string]bool{feedID: true, feedParent: true, "parentIndex": true, "index": true}
		for k, i := range t.kept {
			f.add(&t.columns[i], len(tableHeads)+k, within)
		}
		m.all = append(m.all, f)
	}
	for _, t := range m.all[1:] {
		up := m.above(t)
		up.kids = append(up.kids, t)
	}
	return m
}

// above is the table that a repeat is in.
func (m *feedModel) above(t *feedTable) *feedTable {
	best, depth := m.main, 0
	for _, other := range m.all[1:] {
		n := len(other.table.path)
		if other != t && n > depth && n < len(t.table.path) && slices.Equal(other.table.path, t.table.path[:n]) {
			best, depth = other, n
		}
	}
	return best
}

// find is a table by its name; nil for none.
func (m *feedModel) find(name string) *feedTable {
	for _, t := range m.all {
		if t.name == name {
			return t
		}
	}
	return nil
}

// add gives a table the properties of a column.
func (t *feedTable) add(c *Column, at int, taken map[string]bool) {
	p := property{name: free(taken, plainName(c.Name)), edm: edmText, at: at, missing: c.Missing}
	if edm, ok := edmTypes[c.Type]; ok {
		p.edm = edm
	}
	if len(c.inside) > 0 {
		p.edm = edmWhole
	}
	t.properties = append(t.properties, p)
	if len(c.Missing) > 0 {
		taken[p.silence()] = true
	}
}

// silence is the name of the property that says why there is no answer.
func (p *property) silence() string { return p.name + "_noAnswer" }

// plainName is the name of a column as OData takes it.
func plainName(name string) string {
	out := []byte(name)
	for i, c := range out {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			out[i] = '_'
		}
	}
	if len(out) == 0 || out[0] >= '0' && out[0] <= '9' {
		return "_" + string(out)
	}
	return string(out)
}

// free is a name that is not taken, and takes it.
func free(taken map[string]bool, name string) string {
	out := name
	for n := 2; taken[out]; n++ {
		out = name + "_" + strconv.Itoa(n)
	}
	taken[out] = true
	return out
}

// document describes the tables, in the XML that OData asks for.
func (m *feedModel) document() []byte {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<edmx:Edmx xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx" Version="4.0"><edmx:DataServices>` +
		`<Schema xmlns="http://docs.oasis-open.org/odata/ns/edm" Namespace="Hearth">` + "\n")
	for _, t := range m.all {
		t.describe(&b)
	}
	b.WriteString(`<ComplexType Name="System">`)
	for _, p := range systemProperties {
		b.WriteString(`<Property Name="` + p[0] + `" Type="` + p[1] + `"/>`)
	}
	b.WriteString("</ComplexType>\n" + `<EntityContainer Name="Survey">`)
	for _, t := range m.all {
		b.WriteString(`<EntitySet Name="` + t.name + `" EntityType="Hearth.` + t.name + `">`)
		for _, k := range t.kids {
			b.WriteString(`<NavigationPropertyBinding Path="` + k.name + `" Target="` + k.name + `"/>`)
		}
		b.WriteString("</EntitySet>")
	}
	b.WriteString("</EntityContainer></Schema></edmx:DataServices></edmx:Edmx>\n")
	return b.Bytes()
}

// describe writes the type of a table. Names are plain and need no escaping, but
// are escaped anyway.
func (t *feedTable) describe(b *bytes.Buffer) {
	property := func(name, edm string) {
		b.WriteString(`<Property Name="`)
		_ = xml.EscapeText(b, []byte(name)) // a buffer takes everything
		b.WriteString(`" Type="` + edm + `"/>`)
	}
	b.WriteString(`<EntityType Name="` + t.name + `"><Key><PropertyRef Name="` + feedID + `"/></Key><Property Name="` + feedID + `" Type="` + edmText + `" Nullable="false"/>`)
	if t.table == nil {
		property(feedSystem, "Hearth.System")
	} else {
		property(feedParent, edmText)
		property("parentIndex", edmText)
		property("index", edmText)
	}
	for i := range t.properties {
		p := &t.properties[i]
		if property(p.name, p.edm); len(p.missing) > 0 {
			property(p.silence(), edmText)
		}
	}
	for _, k := range t.kids {
		b.WriteString(`<NavigationProperty Name="` + k.name + `" Type="Collection(Hearth.` + k.name + `)"/>`)
	}
	b.WriteString("</EntityType>\n")
}

// systemProperties are those of the member that ODK Central calls so too.
var systemProperties = [][2]string{{"submissionDate", edmInstant}, {"updatedAt", edmInstant}, {"submitterId", edmText}, {"reviewState", edmText}, {"status", edmText}, {"edits", edmWhole}}

// append writes a cell under its name, and why there is no answer.
func (p *property) append(b []byte, c *cell) []byte {
	silent := ""
	if c.kind == words && slices.Contains(p.missing, c.s) {
		silent = c.s
	}
	b = append(quote(b, p.name), ':')
	if silent != "" {
		b = append(b, "null"...)
	} else {
		b = p.value(b, c)
	}
	if len(p.missing) == 0 {
		return b
	}
	b = append(quote(append(b, ','), p.silence()), ':')
	if silent == "" {
		return append(b, "null"...)
	}
	return quote(b, silent)
}

// value writes a cell as its type has it; null where it is nothing of the kind.
func (p *property) value(b []byte, c *cell) []byte {
	fits := true
	switch p.edm {
	case edmTruth:
		if c.kind == integer {
			return strconv.AppendBool(b, c.n != 0)
		}
		fits = c.kind == number && (c.s == "true" || c.s == "false")
	case edmWhole:
		fits = c.kind == integer || c.kind == number && !strings.ContainsAny(c.s, ".eEtf")
	case edmNumber:
		fits = c.kind == integer || c.kind == number && c.s != "true" && c.s != "false"
	case edmDay:
		_, err := time.Parse(time.DateOnly, c.text())
		fits = err == nil
	case edmInstant:
		_, err := time.Parse(time.RFC3339, c.text())
		fits = err == nil
	default:
		if c.kind == number || c.kind == integer || c.kind == document {
			return quote(b, c.text())
		}
	}
	if !fits {
		return append(b, "null"...)
	}
	return c.appendJSON(b)
}
