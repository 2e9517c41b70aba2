package protocol

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol/schema"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

const maxApprovals = 1000

// sense notes what could be stored but would never work, because it cannot be
// corrected after publication. Published versions are used unchanged.
func (k *Content) sense(c *fault.Checks) {
	var unread fault.Checks // what cannot be read is noted by compile
	own := parseProperties(k.Properties, &unread)
	for _, name := range slices.Sorted(maps.Keys(own)) {
		schema.Sense(own[name], "/properties/"+check.Escape(name), c)
	}
	if k.Class != "" && k.DomainType != "" && slices.Contains(classes(), k.Class) && slices.Contains(DomainTypes(), k.DomainType) && !agree(k.Class, k.DomainType) {
		c.Add("/domainType", "conflict", fmt.Sprintf("A twin of the class %s is no %s. Leave one of the two out: it follows from the other.", k.Class, k.DomainType))
	}
	k.senseServices(c)
	k.senseClaims(c)
	k.senseRest(c)
}

// agree reports whether a class and a role in the domain model go together.
func agree(class, domainType string) bool {
	switch domainType {
	case "oracle", "system":
		return class == domainType
	case "organisation", "group", "project", "claim", "credential":
		return class == "cognitive"
	case "device", "household":
		return class == "physical"
	}
	return class == "physical" || class == "cognitive" // an asset, a person, a thing
}

// senseServices holds services to what they must be in a twin.
func (k *Content) senseServices(c *fault.Checks) {
	seen := map[string]bool{}
	for i, v := range elements(k.Services) {
		at := fmt.Sprintf("/services/%d", i)
		var s twin.Endpoint
		if v.Kind() != '{' || json.Unmarshal(v, &s) != nil {
			c.Add(at, "wrong_type", "The value must be an object of the texts id, type and endpoint.")
			continue
		}
		s.Check(c, at)
		if seen[s.ID] {
			c.Add(at+"/id", "duplicate", "Another service has this id.")
		}
		seen[s.ID] = true
	}
}

// claimForm is the checked part of a claim type. The rest is stored unchanged.
type claimForm struct {
	Schema       jsontext.Value `json:"schema"`
	Verification jsontext.Value `json:"verification"`
	DedupeKey    jsontext.Value `json:"dedupeKey"`
	Aggregates   jsontext.Value `json:"aggregates"`
	Issue        jsontext.Value `json:"issue"`
}

func (k *Content) senseClaims(c *fault.Checks) {
	if len(k.ClaimTypes.Value) > maxExtra {
		return // checkExtras says so
	}
	types := members(k.ClaimTypes)
	for _, name := range slices.Sorted(maps.Keys(types)) {
		at := "/claimTypes/" + check.Escape(name)
		var f claimForm
		if types[name].Kind() != '{' || json.Unmarshal(types[name], &f) != nil {
			c.Add(at, "wrong_type", "The value must be an object.")
			continue
		}
		if given(f.Schema) {
			schema.Compiles(f.Schema, at+"/schema", c)
		}
		if given(f.Verification) {
			senseVerification(f.Verification, at+"/verification", c)
		}
		senseForm(f, at, c)
	}
}

// senseRest looks at the templates of surveys and at who must approve.
func (k *Content) senseRest(c *fault.Checks) {
	for i, v := range elements(k.SurveyTemplates) {
		id := textOf(v)
		if v.Kind() == '{' {
			var f struct {
				ID jsontext.Value `json:"id"`
			}
			if json.Unmarshal(v, &f) == nil {
				id = textOf(f.ID)
			}
		}
		if id == "" {
			c.Add(fmt.Sprintf("/surveyTemplates/%d", i), "wrong_type", "The value must be the id of a template: a text, or an object with the member id.")
		}
	}
	senseNumber(members(k.Governance)["approvals"], "/governance/approvals", 0, maxApprovals, c)
}

// senseNumber requires a whole number, if there is a value.
func senseNumber(v jsontext.Value, at string, least, most int, c *fault.Checks) {
	var n int
	if given(v) && (v.Kind() != '0' || json.Unmarshal(v, &n) != nil || n < least || n > most) {
		c.Add(at, "out_of_range", fmt.Sprintf("The value must be a whole number from %d to %d.", least, most))
	}
}

// given reports whether there is a value. null does not count.
func given(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' }

// elements returns those of an array; none if it is not an array or is too
// large, which checkExtras reports.
func elements(a Array) []jsontext.Value {
	var list []jsontext.Value
	if a.IsZero() || len(a.Value) > maxExtra || json.Unmarshal(a.Value, &list) != nil {
		return nil
	}
	return list
}

// textOf is a JSON text, "" for any other value.
func textOf(v jsontext.Value) string {
	var s string
	if v.Kind() != '"' || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}
