package protocol

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol/schema"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Diff is what changed between two versions, including what they inherit.
type Diff struct {
	DID        string         `json:"did"`
	From       string         `json:"from" example:"1.0.0"`
	To         string         `json:"to" example:"2.0.0"`
	Compatible bool           `json:"compatible" doc:"Whether every twin of the one version also fits the other."`
	Suggested  string         `json:"suggested" enum:"major,minor,patch,none" doc:"Which part of the version number should be raised."`
	Changes    []MemberChange `json:"changes"`
}

// MemberChange is one member that changed.
type MemberChange struct {
	Pointer  string `json:"pointer" example:"/properties/serial"`
	Change   string `json:"change" enum:"added,removed,changed"`
	From     Value  `json:"from,omitzero" doc:"As it was."`
	To       Value  `json:"to,omitzero" doc:"As it is."`
	Breaking bool   `json:"breaking" doc:"Whether twins may no longer fit."`
	Why      string `json:"why,omitzero" doc:"Why it is breaking."`
}

// Diff compares two versions. from is the one before to when it is empty, to
// the newest. Faults: PROTOCOL_NOT_FOUND, PROTOCOL_INVALID.
func (s *Service) Diff(ctx context.Context, id, from, to string) (*Diff, error) {
	ws := web.CallerFrom(ctx).Workspace
	from, to, err := s.ends(ctx, ws, id, from, to)
	if err != nil {
		return nil, err
	}
	a, err := s.FindAny(ctx, ws, id, from)
	if err != nil {
		return nil, err
	}
	b, err := s.FindAny(ctx, ws, id, to)
	if err != nil {
		return nil, err
	}
	return compare(a, b)
}

func (s *Service) ends(ctx context.Context, ws, id, from, to string) (string, string, error) {
	if shipped().has(id) || from != "" && to != "" {
		return from, to, nil
	}
	all, err := steps(ctx, s.db, ws, id)
	if err != nil {
		return "", "", err
	}
	if to == "" {
		to = newest(all)
	}
	if from == "" && check.IsVersion(to) {
		before := slices.DeleteFunc(slices.Clone(all), func(st step) bool { return check.CompareVersions(st.version, to) >= 0 })
		if from = newest(before); from == "" {
			from = to
		}
	}
	if from == "" || to == "" {
		return "", "", notFound()
	}
	return from, to, nil
}

// differ gathers changes.
type differ struct{ changes []MemberChange }

func compare(a, b *Protocol) (*Diff, error) {
	d := &differ{}
	d.texts(a, b)
	d.properties(a, b)
	d.lists(a, b)
	d.roles(a, b)
	d.extras(a.eff, b.eff)
	out := &Diff{DID: a.DID, From: a.Version, To: b.Version, Compatible: true, Suggested: "none", Changes: d.changes}
	for _, c := range d.changes {
		out.Compatible = out.Compatible && !c.Breaking
	}
	switch {
	case !out.Compatible:
		out.Suggested = "major"
	case slices.ContainsFunc(d.changes, func(c MemberChange) bool { return c.Pointer != "/name" && c.Pointer != "/description" }):
		out.Suggested = "minor"
	case len(d.changes) > 0:
		out.Suggested = "patch"
	}
	if out.Changes == nil {
		out.Changes = []MemberChange{}
	}
	return out, nil
}

// note enters a change of a member unless both are the same. An empty value is
// one that is not there.
func (d *differ) note(pointer string, from, to jsontext.Value, why string) {
	c := MemberChange{Pointer: pointer, From: Value{from}, To: Value{to}, Breaking: why != "", Why: why}
	switch {
	case string(canonical(from)) == string(canonical(to)):
		return
	case len(from) == 0:
		c.Change = "added"
	case len(to) == 0:
		c.Change = "removed"
	default:
		c.Change = "changed"
	}
	d.changes = append(d.changes, c)
}

func canonical(v jsontext.Value) jsontext.Value {
	if len(v) == 0 {
		return nil
	}
	v = v.Clone()
	if err := v.Canonicalize(); err != nil {
		return v
	}
	return v
}

// value is v as JSON, nothing when it is empty.
func value(v any) jsontext.Value {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil || string(text) == `""` || string(text) == "[]" || string(text) == "null" {
		return nil
	}
	return text
}

func (d *differ) texts(a, b *Protocol) {
	d.note("/name", value(a.Name), value(b.Name), "")
	d.note("/description", value(a.Description), value(b.Description), "")
	d.note("/class", value(a.Class()), value(b.Class()), when(a.Class() != b.Class(), "Twins would be of another class."))
	d.note("/domainType", value(a.DomainType()), value(b.DomainType()), when(a.DomainType() != b.DomainType(), "Twins would have another role in the domain model."))
	d.note("/extends", value(a.Content.Extends), value(b.Content.Extends), "")
	d.note("/extendsVersion", value(a.Content.ExtendsVersion), value(b.Content.ExtendsVersion), "")
	narrowed := len(b.eff.AppliesTo) > 0 && (len(a.eff.AppliesTo) == 0 || slices.ContainsFunc(a.eff.AppliesTo, func(t string) bool { return !b.Fits(t) }))
	d.note("/appliesTo", value(a.eff.AppliesTo), value(b.eff.AppliesTo), when(narrowed, "It no longer covers all types it covered before."))
}

// when is why if broken.
func when(broken bool, why string) string {
	if broken {
		return why
	}
	return ""
}

func members(o Object) map[string]jsontext.Value {
	var out map[string]jsontext.Value
	if o.IsZero() || json.Unmarshal(o.Value, &out) != nil {
		return nil
	}
	return out
}

func (d *differ) properties(a, b *Protocol) {
	from, to := members(a.eff.Properties), members(b.eff.Properties)
	for _, name := range both(from, to) {
		why := ""
		old, fresh := a.set.Properties[name], b.set.Properties[name]
		switch {
		case fresh == nil:
			why = when(!b.set.Open, "Twins that have this property would be refused.")
		case old == nil:
			why = when(a.set.Open, "Twins may have had this property with other values.")
		default:
			why = schema.Narrows(old, fresh)
		}
		d.note("/properties/"+check.Escape(name), from[name], to[name], why)
	}
}

// both lists the names of two objects, sorted.
func both[V any](a, b map[string]V) []string {
	return unique(slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b)))
}

func (d *differ) lists(a, b *Protocol) {
	fresh := slices.DeleteFunc(slices.Clone(b.set.Required), func(name string) bool { return slices.Contains(a.set.Required, name) })
	why := ""
	if len(fresh) > 0 {
		why = fmt.Sprintf("Twins without %s would be refused.", fresh[0])
	}
	d.note("/required", value(a.set.Required), value(b.set.Required), why)
	d.note("/additionalProperties", value(a.set.Open), value(b.set.Open), when(a.set.Open && !b.set.Open, "Twins with undeclared properties would be refused."))
	names := func(p *Protocol) (out []string) {
		for _, ix := range p.indexed {
			out = append(out, ix.Name)
		}
		return out
	}
	d.note("/indexed", value(names(a)), value(names(b)), "")
	d.note("/pii", value(a.pii), value(b.pii), "")
}

func (d *differ) roles(a, b *Protocol) {
	from, to := members(a.eff.Relationships), members(b.eff.Relationships)
	for _, name := range both(from, to) {
		old, had := a.Role(name)
		fresh, has := b.Role(name)
		why := ""
		switch {
		case !has:
			why = "Twins that have this relationship lose its meaning."
		case !had:
			why = when(fresh.Min > 0, "Twins would miss this relationship.")
		default:
			why = old.narrows(fresh)
		}
		d.note("/relationships/"+check.Escape(name), from[name], to[name], why)
	}
}

// narrows says why a role asks for more than it did.
func (r Role) narrows(to Role) string {
	switch {
	case NormalClass(r.Class) != NormalClass(to.Class) && to.Class != anyEntity:
		return "Targets of another class are asked for."
	case to.Min > r.Min:
		return "More relationships of this role are asked for."
	case to.Max > 0 && (r.Max == 0 || to.Max < r.Max):
		return "Fewer relationships of this role are allowed."
	case to.Min > 0 && r.RequiredFor == "claims" && to.RequiredFor == "active":
		return "It is asked for earlier."
	}
	return ""
}

func (d *differ) extras(a, b Content) {
	d.note("/services", a.Services.Value, b.Services.Value, "")
	d.note("/surveyTemplates", a.SurveyTemplates.Value, b.SurveyTemplates.Value, "")
	d.note("/indicators", a.Indicators.Value, b.Indicators.Value, "")
	d.note("/governance", a.Governance.Value, b.Governance.Value, "")
	for _, e := range []struct {
		at       string
		from, to Object
	}{{"/claimTypes/", a.ClaimTypes, b.ClaimTypes}, {"/credentialTypes/", a.CredentialTypes, b.CredentialTypes}} {
		from, to := members(e.from), members(e.to)
		for _, name := range both(from, to) {
			_, kept := to[name]
			d.note(e.at+check.Escape(name), from[name], to[name], when(!kept, "Existing twins made under it would have no rules any more."))
		}
	}
}
