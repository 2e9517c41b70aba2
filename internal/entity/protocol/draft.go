package protocol

import (
	"fmt"
	"net/url"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol/schema"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Draft describes a version to make.
type Draft struct {
	DID         string `json:"did,omitzero" doc:"A DID of your own; one is made without it." example:"did:ixo:protocol/my-stove"`
	Type        string `json:"type" enum:"Protocol" doc:"The constant Protocol."`
	Name        string `json:"name,omitzero"`
	Version     string `json:"version,omitzero" doc:"Semantic version; 1.0.0 by default."`
	Description string `json:"description,omitzero"`
	Content
}

// check notes everything that is wrong with the members that need no parsing;
// compile checks the rest.
func (d *Draft) check(c *fault.Checks) {
	if d.Type != "Protocol" {
		c.Add("/type", "not_allowed", "The value must be Protocol.")
	}
	if d.DID != "" && !did.Valid(d.DID) {
		c.Add("/did", "invalid", "The value must be a DID.")
	}
	if d.Version == "" {
		d.Version = "1.0.0"
	}
	if !check.IsVersion(d.Version) {
		c.Add("/version", "invalid", "The value must be a semantic version such as 1.0.0 or 2.1.0-beta.1.")
	}
	check.Short(c, "/name", d.Name, maxName)
	check.Short(c, "/description", d.Description, maxDescription)
	d.Content.check(c)
}

// null removes members given as null, which mean the same as missing ones.
func (k *Content) null() {
	for _, v := range []*jsontext.Value{
		&k.Properties.Value, &k.Relationships.Value, &k.Services.Value, &k.ClaimTypes.Value, &k.CredentialTypes.Value,
		&k.SurveyTemplates.Value, &k.Indicators.Value, &k.Governance.Value,
	} {
		if len(*v) > 0 && v.Kind() == 'n' {
			*v = nil
		}
	}
}

func (k *Content) check(c *fault.Checks) {
	k.null()
	if k.DomainType == "organization" {
		k.DomainType = "organisation"
	}
	check.OneOf(c, "/class", k.Class, classes()...)
	check.OneOf(c, "/domainType", k.DomainType, DomainTypes()...)
	if len(k.AppliesTo) > maxTypes {
		c.Add("/appliesTo", "too_many", fmt.Sprintf("There may be at most %d types.", maxTypes))
	}
	for i, t := range k.AppliesTo[:min(len(k.AppliesTo), maxTypes)] {
		if t == "" || utf8.RuneCountInString(t) > maxTypeName {
			c.Add(fmt.Sprintf("/appliesTo/%d", i), "invalid", fmt.Sprintf("A type has 1 to %d characters.", maxTypeName))
		}
	}
	if k.Extends != "" && !did.Valid(k.Extends) {
		c.Add("/extends", "invalid", "The value must be the DID of a protocol.")
	}
	if k.ExtendsVersion != "" && (k.Extends == "" || !check.IsVersion(k.ExtendsVersion)) {
		c.Add("/extendsVersion", "invalid", "The value must be a version of the protocol in extends.")
	}
	for i, list := range [][]string{k.Required, k.Indexed, k.PII} {
		if len(list) > maxProperties {
			c.Add([]string{"/required", "/indexed", "/pii"}[i], "too_many", fmt.Sprintf("There may be at most %d names.", maxProperties))
		}
	}
	k.checkExtras(c)
}

// checkExtras checks the members that are stored unchanged.
func (k *Content) checkExtras(c *fault.Checks) {
	for _, e := range []struct {
		at   string
		v    jsontext.Value
		kind jsontext.Kind
	}{
		{"/services", k.Services.Value, '['},
		{"/claimTypes", k.ClaimTypes.Value, '{'},
		{"/credentialTypes", k.CredentialTypes.Value, '{'},
		{"/surveyTemplates", k.SurveyTemplates.Value, '['},
		{"/indicators", k.Indicators.Value, '['},
		{"/governance", k.Governance.Value, '{'},
	} {
		if len(e.v) == 0 {
			continue
		}
		var v any
		switch {
		case e.v.Kind() != e.kind && e.kind == '{':
			c.Add(e.at, "wrong_type", "The value must be an object.")
		case e.v.Kind() != e.kind:
			c.Add(e.at, "wrong_type", "The value must be an array.")
		case len(e.v) > maxExtra:
			c.Add(e.at, "too_large", fmt.Sprintf("The value may have at most %d bytes.", maxExtra))
		case json.Unmarshal(e.v, &v) != nil:
			c.Add(e.at, "invalid", "A number in the value is too large.")
		case schema.Depth(v) > maxExtraDepth:
			c.Add(e.at, "too_deep", fmt.Sprintf("The value may nest at most %d levels.", maxExtraDepth))
		}
	}
}

// record is the version a draft makes. An empty object is shown for what the
// record always has.
func (d *Draft) record() Record {
	r := Record{DID: d.DID, Type: "Protocol", Name: d.Name, Version: d.Version, Status: StatusDraft, Description: d.Description, Content: d.Content}
	if r.Properties.IsZero() {
		r.Properties = Object{jsontext.Value("{}")}
	}
	if r.Relationships.IsZero() {
		r.Relationships = Object{jsontext.Value("{}")}
	}
	if r.Extends == "" { // with a parent they are settled when it is known
		if r.Class == "" && r.DomainType == "" {
			r.Class = "physical"
		}
		if r.Class == "" {
			r.Class = classOf(r.DomainType)
		}
		if r.DomainType == "" {
			r.DomainType = domainTypeOf(r.Class)
		}
	}
	return r
}

// draft is what a version was made from, to be changed.
func (r *Record) draft() Draft {
	return Draft{DID: r.DID, Type: r.Type, Name: r.Name, Version: r.Version, Description: r.Description, Content: r.Content}
}

// hash is the content hash: of the same content it is the same everywhere.
func (r *Record) hash() (string, error) {
	return check.Hash(struct {
		Type        string `json:"type"`
		Name        string `json:"name,omitzero"`
		Description string `json:"description,omitzero"`
		Content
	}{r.Type, r.Name, r.Description, r.Content})
}

// render fills in derived members and returns the record as it is sent.
func (r *Record) render() ([]byte, error) {
	sum, err := r.hash()
	if err != nil {
		return nil, err
	}
	r.ContentHash = sum
	base := "/v1/protocols/" + url.PathEscape(r.DID)
	r.Links = Links{Self: base + "?version=" + url.QueryEscape(r.Version), Schema: base + "/schema?version=" + url.QueryEscape(r.Version), Versions: base + "/versions"}
	return web.Encode(r)
}

// settle renders the record of p.
func (p *Protocol) settle() (err error) {
	p.body, err = p.render()
	return err
}
