package twin

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Address is the path of a twin.
func Address(id string) string { return "/v1/entities/" + url.PathEscape(id) }

// LinksOf are the addresses of a twin.
func LinksOf(id string) Links {
	self := Address(id)
	// One text that all of them are parts of.
	all := self + "/history" + self + "/relationships" + self + "/graph" + self + "/did-document"
	part := func(name string) (link string) {
		n := len(self) + len(name)
		link, all = all[:n], all[n:]
		return link
	}
	return Links{Self: self, History: part("/history"), Relationships: part("/relationships"), Graph: part("/graph"), DIDDocument: part("/did-document")}
}

// Copy is a record whose lists and names do not change when those of e are
// changed in place.
func (e *Entity) Copy() *Entity {
	c := *e
	c.Controllers, c.AlsoKnownAs, c.Services = slices.Clone(e.Controllers), slices.Clone(e.AlsoKnownAs), slices.Clone(e.Services)
	c.LinkedResources, c.LinkedEntities = slices.Clone(e.LinkedResources), slices.Clone(e.LinkedEntities)
	c.AccordedRights, c.Accounts, c.ExternalIDs = slices.Clone(e.AccordedRights), slices.Clone(e.Accounts), maps.Clone(e.ExternalIDs)
	return &c
}

// ControllersOf reads only the controllers from a record: they are near its
// beginning, and a record can be long.
func ControllersOf(body []byte) ([]string, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	_, err := dec.ReadToken()
	for err == nil && dec.PeekKind() == '"' {
		var name jsontext.Token
		if name, err = dec.ReadToken(); err != nil {
			break
		}
		if name.String() == "controllers" {
			var list []string
			if err = json.UnmarshalDecode(dec, &list); err != nil {
				break
			}
			return list, nil
		}
		err = dec.SkipValue()
	}
	if err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	return nil, errors.New("read record: it names no controllers")
}

// ScopesOf reads the scopes of a group from its properties. It returns false
// when they exist and are not a list of texts: then it is unknown what the
// group gives.
func ScopesOf(properties Object) ([]string, bool) {
	var p struct {
		Scopes []string `json:"scopes"`
	}
	if properties.IsZero() {
		return nil, true
	}
	err := json.Unmarshal(properties.Value, &p)
	return p.Scopes, err == nil
}
