package protocol

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol/schema"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// propertyName is what the name of a property looks like. Dots would clash
// with paths in filters.
var propertyName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// parseProperties reads the properties of a protocol and notes all that is
// wrong with them.
func parseProperties(o Object, c *fault.Checks) map[string]*schema.Property {
	out := map[string]*schema.Property{}
	if o.IsZero() {
		return out
	}
	var members map[string]jsontext.Value
	if json.Unmarshal(o.Value, &members) != nil {
		c.Add("/properties", "wrong_type", "The value must be an object: name → type name or JSON Schema.")
		return out
	}
	if len(members) > maxProperties {
		c.Add("/properties", "too_many", fmt.Sprintf("There may be at most %d properties.", maxProperties))
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		at := "/properties/" + check.Escape(name)
		if !propertyName.MatchString(name) {
			c.Add(at, "invalid_name", "A property is a word of at most 64 letters, digits, - and _ that begins with a letter or _.")
			continue
		}
		if p := schema.Parse(members[name], at, c); p != nil {
			out[name] = p
		}
	}
	return out
}

// schemaID is the identifier of the schema of a version: a DID URL.
func schemaID(did, version string) string {
	return did + "?versionId=" + url.QueryEscape(version)
}

// compile makes a version ready: record with the protocol it extends, nil
// without one. What is wrong is noted.
func compile(r Record, parent *Protocol, c *fault.Checks) (*Protocol, error) {
	p := &Protocol{Record: r, lineage: []string{r.DID}, writers: r.written()}
	own := parseProperties(r.Properties, c)
	roles := parseRoles(r.Relationships, c)
	noteLists(r.Content, own, parent, c)
	p.inherit(own, roles, parent)
	if len(p.indexed) > maxIndexed {
		c.Add("/indexed", "too_many", fmt.Sprintf("At most %d properties may be indexed, inherited ones too.", maxIndexed))
	}
	if len(p.lineage) > maxAncestors+1 {
		c.Add("/extends", "too_deep", fmt.Sprintf("A protocol may have at most %d ancestors.", maxAncestors))
	}
	if len(p.set.Properties) > maxProperties {
		c.Add("/properties", "too_many", fmt.Sprintf("There may be at most %d properties, inherited ones too.", maxProperties))
	}
	if p.set.Nodes() > maxAllNodes {
		c.Add("/properties", "too_large", fmt.Sprintf("All properties together may have at most %d subschemas, inherited ones too.", maxAllNodes))
	}
	if !c.OK() {
		return nil, nil
	}
	p.set.ID, p.set.Title, p.set.Description = schemaID(r.DID, r.Version), r.Name, r.Description
	return p, p.set.Compile(c)
}

// noteLists notes names in required, indexed and pii that are no properties,
// and indexed ones that are no scalars.
func noteLists(k Content, own map[string]*schema.Property, parent *Protocol, c *fault.Checks) {
	find := func(name string) *schema.Property {
		if p, ok := own[name]; ok {
			return p
		}
		if parent != nil {
			return parent.set.Properties[name]
		}
		return nil
	}
	known := func(list []string, at string) {
		if len(list) > maxProperties { // noted already; and every name is looked for among all
			return
		}
		for i, name := range list {
			where := fmt.Sprintf("%s/%d", at, i)
			switch {
			case slices.Index(list, name) < i:
				c.Add(where, "duplicate", "This name is in the list twice.")
			case find(name) == nil && !missingParent(k, parent):
				c.Add(where, "unknown_property", "There is no property of this name.")
			}
		}
	}
	known(k.Required, "/required")
	known(k.Indexed, "/indexed")
	known(k.PII, "/pii")
	for i, name := range k.Indexed[:min(len(k.Indexed), maxProperties)] {
		if p := find(name); p != nil && !schema.Scalar(p.Kind) {
			c.Add(fmt.Sprintf("/indexed/%d", i), "not_scalar", "Only a string, number, integer, boolean, date, date-time, uri, did or duration can be indexed.")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if p := own[name]; p.Indexed && !schema.Scalar(p.Kind) {
			c.Add("/properties/"+check.Escape(name)+"/indexed", "not_scalar", "Only a string, number, integer, boolean, date, date-time, uri, did or duration can be indexed.")
		}
	}
}

// missingParent reports whether a draft names a parent which is not there yet: its
// properties cannot be known.
func missingParent(k Content, parent *Protocol) bool { return k.Extends != "" && parent == nil }
