package protocol

import (
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/entity/protocol/schema"
	"github.com/hearth-dmrv/hearth/internal/order"
)

// inherit merges a version with the protocol it extends. Its own members win;
// its requirements and personal properties are added to the parent's.
func (p *Protocol) inherit(own map[string]*schema.Property, roles []Role, parent *Protocol) {
	p.eff = p.Content
	p.set = schema.Set{Properties: own, Required: slices.Clone(p.Content.Required)}
	p.roles = roles
	indexed, pii := slices.Clone(p.Content.Indexed), slices.Clone(p.Content.PII)
	if parent != nil {
		p.lineage = append(p.lineage, parent.lineage...)
		p.writers = unique(slices.Concat(p.writers, parent.writers))
		p.eff = mergeContent(p.Content, parent.eff)
		p.set.Properties = maps.Clone(parent.set.Properties)
		maps.Copy(p.set.Properties, own)
		p.roles = mergeRoles(roles, parent.roles)
		p.set.Required = append(p.set.Required, parent.set.Required...)
		for _, ix := range parent.indexed {
			if own[ix.Name] == nil { // a redeclared property stands alone
				indexed = append(indexed, ix.Name)
			}
		}
		pii = append(pii, parent.pii...)
	}
	if p.eff.Class == "" && p.eff.DomainType == "" {
		p.eff.Class = "physical"
	}
	if p.eff.Class == "" {
		p.eff.Class = classOf(p.eff.DomainType)
	}
	if p.eff.DomainType == "" {
		p.eff.DomainType = domainTypeOf(p.eff.Class)
	}
	p.set.Open = p.eff.AdditionalProperties != nil && *p.eff.AdditionalProperties
	p.lists(indexed, pii)
}

// lists settles required, indexed and pii, each sorted and without repeats.
func (p *Protocol) lists(indexed, pii []string) {
	for name, d := range p.set.Properties {
		if d.Indexed {
			indexed = append(indexed, name)
		}
		if d.PII {
			pii = append(pii, name)
		}
	}
	p.set.Required = unique(p.set.Required)
	p.pii = unique(pii)
	p.indexed = nil
	for _, name := range unique(indexed) {
		if d := p.set.Properties[name]; d != nil && schema.Scalar(d.Kind) {
			p.indexed = append(p.indexed, Indexed{Name: name, Kind: schema.Compares(d.Kind)})
		}
	}
}

func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

func mergeRoles(own, parent []Role) []Role {
	out := slices.Clone(own)
	for _, r := range parent {
		if !slices.ContainsFunc(own, func(o Role) bool { return o.Name == r.Name }) {
			out = append(out, r)
		}
	}
	order.Sort(out, func(a, b Role) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// mergeContent is the child's content, completed from the parent's.
func mergeContent(child, parent Content) Content {
	out := child
	if out.Class == "" && out.DomainType == "" {
		out.Class, out.DomainType = parent.Class, parent.DomainType
	}
	if out.AppliesTo == nil {
		out.AppliesTo = parent.AppliesTo
	}
	if out.AdditionalProperties == nil {
		out.AdditionalProperties = parent.AdditionalProperties
	}
	out.Properties = mergeObjects(child.Properties, parent.Properties)
	out.Relationships = mergeObjects(child.Relationships, parent.Relationships)
	out.ClaimTypes = mergeObjects(child.ClaimTypes, parent.ClaimTypes)
	out.CredentialTypes = mergeObjects(child.CredentialTypes, parent.CredentialTypes)
	out.Governance = mergeObjects(child.Governance, parent.Governance)
	out.Services = orElse(child.Services, parent.Services)
	out.SurveyTemplates = orElse(child.SurveyTemplates, parent.SurveyTemplates)
	out.Indicators = orElse(child.Indicators, parent.Indicators)
	out.Required = unique(append(slices.Clone(child.Required), parent.Required...))
	out.PII = unique(append(slices.Clone(child.PII), parent.PII...))
	out.Indexed = unique(append(slices.Clone(child.Indexed), parent.Indexed...))
	return out
}

func orElse(child, parent Array) Array {
	if child.IsZero() {
		return parent
	}
	return child
}

// mergeObjects puts the members of child over those of parent, member by
// member: a property is replaced as a whole.
func mergeObjects(child, parent Object) Object {
	if child.IsZero() || parent.IsZero() {
		if child.IsZero() {
			return parent
		}
		return child
	}
	var a, b map[string]jsontext.Value
	if json.Unmarshal(child.Value, &a) != nil || json.Unmarshal(parent.Value, &b) != nil {
		return child
	}
	maps.Copy(b, a)
	out, err := json.Marshal(b, json.Deterministic(true))
	if err != nil {
		return child
	}
	return Object{out}
}

// Effective is the record including everything it inherits.
func (p *Protocol) Effective() Record {
	r := p.Record
	r.Content = p.eff
	r.Content.Required, r.Content.PII, r.Content.Indexed = p.set.Required, p.pii, nil
	for _, ix := range p.indexed {
		r.Content.Indexed = append(r.Content.Indexed, ix.Name)
	}
	open := p.set.Open
	r.Content.AdditionalProperties = &open
	return r
}
