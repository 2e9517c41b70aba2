package twin

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

func (e *Entity) checkServices(c *fault.Checks) {
	if len(e.Services) > maxServices {
		c.Add("/services", "too_many", "At most 100 services are accepted.")
		return
	}
	seen := map[string]bool{}
	for i, s := range e.Services {
		at := fmt.Sprintf("/services/%d", i)
		s.Check(c, at)
		if seen[s.ID] {
			c.Add(at+"/id", "duplicate", "Another service has this id.")
		}
		seen[s.ID] = true
	}
}

// Check names what is wrong with a service. at is its pointer. The endpoint is
// never called.
func (s Endpoint) Check(c *fault.Checks, at string) {
	if s.ID == "" {
		c.Require(false, at+"/id")
	} else if !check.IsFragment(s.ID) {
		c.Add(at+"/id", "invalid", "The id must be # and a name of letters, digits, - . _ and ~, such as #data.")
	}
	check.Line(c, at+"/type", s.Type, MaxType)
	if s.Endpoint == "" {
		c.Require(false, at+"/endpoint")
		return
	}
	checkURL(c, at+"/endpoint", s.Endpoint)
}

// checkURL requires an address that is safe to show as a link.
func checkURL(c *fault.Checks, at, text string) {
	check.Optional(c, at, text, MaxText)
	u, err := url.Parse(text)
	switch schemes := []string{"http", "https", "ws", "wss", "mqtt", "mqtts", "ipfs"}; {
	case err != nil || !slices.Contains(schemes, u.Scheme) || u.Host == "" && u.Opaque == "" && u.Path == "":
		c.Add(at, "invalid", "The endpoint must be an absolute URL: http, https, ws, wss, mqtt, mqtts or ipfs.")
	case u.Scheme != "ipfs" && u.Hostname() == "":
		c.Add(at, "invalid", "The endpoint must name a host.")
	case u.User != nil:
		c.Add(at, "invalid", "The endpoint must not contain a user name or password.")
	}
}

func (e *Entity) checkParts(c *fault.Checks) {
	if len(e.LinkedResources) > maxParts || len(e.LinkedEntities) > maxParts || len(e.AccordedRights) > maxParts {
		c.Add("/linkedResources", "too_many", "At most 100 linked resources, linked entities and rights each are accepted.")
		return
	}
	for i, r := range e.LinkedResources {
		at := fmt.Sprintf("/linkedResources/%d", i)
		check.Line(c, at+"/id", r.ID, MaxType)
		check.Line(c, at+"/type", r.Type, MaxType)
		lines(c, at, map[string]string{"mediaType": r.MediaType, "proof": r.Proof, "right": r.Right})
		if r.ServiceEndpoint != "" {
			checkURL(c, at+"/serviceEndpoint", r.ServiceEndpoint)
		}
		check.Text(c, at+"/description", r.Description, MaxText)
		if r.Encrypted != "" && r.Encrypted != "true" && r.Encrypted != "false" {
			c.Add(at+"/encrypted", "not_allowed", "The value must be the text true or false.")
		}
	}
	for i, l := range e.LinkedEntities {
		at := fmt.Sprintf("/linkedEntities/%d", i)
		check.DID(c, at+"/id", l.ID)
		check.Line(c, at+"/relationship", l.Relationship, MaxType)
		lines(c, at, map[string]string{"type": l.Type, "service": l.Service})
	}
	for i, r := range e.AccordedRights {
		at := fmt.Sprintf("/accordedRights/%d", i)
		check.Line(c, at+"/id", r.ID, MaxType)
		check.Line(c, at+"/type", r.Type, MaxType)
		lines(c, at, map[string]string{"mechanism": r.Mechanism, "service": r.Service})
		check.Text(c, at+"/message", r.Message, MaxText)
	}
	e.checkNames(c)
}

func (e *Entity) checkNames(c *fault.Checks) {
	if len(e.Accounts) > maxAccounts {
		c.Add("/accounts", "too_many", "At most 20 accounts are accepted.")
		return
	}
	for i, a := range e.Accounts {
		at := fmt.Sprintf("/accounts/%d", i)
		check.Line(c, at+"/name", a.Name, MaxType)
		check.Line(c, at+"/address", a.Address, MaxType)
	}
	if len(e.AlsoKnownAs) > maxAliases {
		c.Add("/alsoKnownAs", "too_many", "At most 20 names are accepted.")
		return
	}
	for i, name := range e.AlsoKnownAs {
		check.Line(c, fmt.Sprintf("/alsoKnownAs/%d", i), name, MaxText)
	}
}

// lines checks members that may be missing.
func lines(c *fault.Checks, at string, members map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		check.Optional(c, at+"/"+name, members[name], MaxText)
	}
}

func (e *Entity) checkExternals(c *fault.Checks) {
	if len(e.ExternalIDs) > MaxExternals {
		c.Add("/externalIds", "too_many", "At most 20 external ids are accepted.")
		return
	}
	for _, scheme := range slices.Sorted(maps.Keys(e.ExternalIDs)) {
		at := "/externalIds/" + check.Escape(scheme)
		check.Line(c, at, e.ExternalIDs[scheme], maxExternal)
		if scheme == "" || len(scheme) > maxScheme || strings.ContainsFunc(scheme, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }) {
			c.Add(at, "invalid_name", "The name of the system must be one line of at most 64 bytes.")
		}
	}
}

// CheckScopes requires existing scopes. It does not check whether the caller
// may give them.
func CheckScopes(c *fault.Checks, at string, scopes []string) {
	for i, s := range scopes {
		if wrong := auth.WrongScope(s); wrong != "" {
			c.Add(fmt.Sprintf("%s/%d", at, i), "unknown_scope", wrong)
		}
	}
}
