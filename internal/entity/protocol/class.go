package protocol

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// maxRoleRelations is the most relationships a role may ask for or allow.
const maxRoleRelations = 10_000

// roleName is what a role looks like: a word that begins with a small letter.
var roleName = regexp.MustCompile(`^[a-z][A-Za-z0-9_-]{0,63}$`)

// Class names of relationships, in the spelling they are compared in. Entity
// is any twin.
const anyEntity = "Entity"

// classNames maps the known class names to their roles in the domain model.
func classNames() map[string]string {
	return map[string]string{
		"OracleEntity": "oracle", "OrganisationEntity": "organisation", "ProjectEntity": "project", "AssetEntity": "asset",
		"DeviceEntity": "device", "HouseholdEntity": "household", "PersonEntity": "person", "GroupEntity": "group",
		"SystemEntity": "system", "ClaimEntity": "claim", "CredentialEntity": "credential", anyEntity: "",
	}
}

// NormalClass is a class name in the spelling for comparisons:
// OrganizationEntity and OrganisationEntity are one class.
func NormalClass(name string) string {
	if name == "OrganizationEntity" {
		return "OrganisationEntity"
	}
	return name
}

// FitsClass reports whether a twin with a role in the domain model and a
// canonical class belongs to the class that a relationship requires. A device is
// an asset too. For the DID of a protocol it is false: use Protocol.Extends.
func FitsClass(className, domainType, class string) bool {
	switch NormalClass(className) {
	case anyEntity:
		return true
	case "OracleEntity":
		return domainType == "oracle" || class == "oracle"
	case "SystemEntity":
		return domainType == "system" || class == "system"
	case "AssetEntity":
		return domainType == "asset" || domainType == "device"
	case "OrganisationEntity":
		return domainType == "organisation"
	case "ProjectEntity":
		return domainType == "project"
	case "DeviceEntity":
		return domainType == "device"
	case "HouseholdEntity":
		return domainType == "household"
	case "PersonEntity":
		return domainType == "person"
	case "GroupEntity":
		return domainType == "group"
	case "ClaimEntity":
		return domainType == "claim"
	case "CredentialEntity":
		return domainType == "credential"
	}
	return false
}

// isClass reports whether a text can be the class of a relationship.
func isClass(name string) bool {
	if _, ok := classNames()[NormalClass(name)]; ok {
		return true
	}
	return did.Valid(name)
}

// classOf is the class of a role in the domain model, for protocols that name
// only that.
func classOf(domainType string) string {
	switch domainType {
	case "organisation", "group", "project", "claim", "credential", "thing":
		return "cognitive"
	case "system", "oracle":
		return domainType
	}
	return "physical"
}

// domainTypeOf is the role of a class in the domain model, for protocols that
// name only that.
func domainTypeOf(class string) string {
	switch class {
	case "cognitive":
		return "thing"
	case "system", "oracle":
		return class
	}
	return "device"
}

func classes() []string { return []string{"physical", "cognitive", "system", "oracle"} }

// DomainTypes lists the roles in the domain model.
func DomainTypes() []string {
	return []string{"organisation", "group", "project", "asset", "device", "household", "person", "oracle", "system", "claim", "credential", "thing"}
}

// roleForm is the long form of a relationship.
type roleForm struct {
	Class       string `json:"class"`
	Min         *int   `json:"min"`
	Max         *int   `json:"max"`
	RequiredFor string `json:"requiredFor"`
	Description string `json:"description"`
}

// parseRoles reads the relationships of a protocol and notes what is wrong
// with them.
func parseRoles(o Object, c *fault.Checks) []Role {
	var members map[string]jsontext.Value
	if o.IsZero() {
		return nil
	}
	if json.Unmarshal(o.Value, &members) != nil {
		c.Add("/relationships", "wrong_type", "The value must be an object: role → class name.")
		return nil
	}
	if len(members) > maxRoles {
		c.Add("/relationships", "too_many", fmt.Sprintf("There may be at most %d relationships.", maxRoles))
		return nil
	}
	var out []Role
	for _, name := range slices.Sorted(maps.Keys(members)) {
		at := "/relationships/" + check.Escape(name)
		if !roleName.MatchString(name) {
			c.Add(at, "invalid_name", "A role is a word of at most 64 letters, digits, - and _ that begins with a small letter.")
			continue
		}
		out = append(out, parseRole(name, members[name], at, c))
	}
	return out
}

func parseRole(name string, v jsontext.Value, at string, c *fault.Checks) Role {
	r := Role{Name: name, Min: 1, RequiredFor: "active"}
	switch v.Kind() {
	case '"':
		if json.Unmarshal(v, &r.Class) != nil || !isClass(r.Class) {
			badClass(at, c)
		}
	case '{':
		var f roleForm
		if json.Unmarshal(v, &f, json.RejectUnknownMembers(true)) != nil {
			c.Add(at, "invalid", "The value must be a class name, or an object of class, min, max, requiredFor and description.")
			break
		}
		r.Class = f.Class
		if !isClass(r.Class) {
			badClass(at+"/class", c)
		}
		r.bounds(f, at, c)
	default:
		c.Add(at, "wrong_type", "The value must be a class name, or an object with class, min, max and requiredFor.")
	}
	return r
}

func (r *Role) bounds(f roleForm, at string, c *fault.Checks) {
	if f.Min != nil {
		r.Min = *f.Min
	}
	if f.Max != nil {
		r.Max = *f.Max
	}
	if r.Min < 0 || r.Min > maxRoleRelations {
		c.Add(at+"/min", "out_of_range", fmt.Sprintf("The value must be 0 to %d.", maxRoleRelations))
	}
	if f.Max != nil && (r.Max < 1 || r.Max > maxRoleRelations || r.Max < r.Min) {
		c.Add(at+"/max", "out_of_range", fmt.Sprintf("The value must be 1 to %d and not below min.", maxRoleRelations))
	}
	switch f.RequiredFor {
	case "":
	case "active", "claims":
		r.RequiredFor = f.RequiredFor
	default:
		c.Add(at+"/requiredFor", "not_allowed", "The value must be active or claims.")
	}
}

func badClass(at string, c *fault.Checks) {
	known := slices.Sorted(maps.Keys(classNames()))
	c.Add(at, "unknown_class", "The value must be the DID of a protocol or one of "+strings.Join(known, ", ")+".")
}
