// Package group gives rights to people: an organisation contains membership
// groups, a group gives scopes, and a member has the scopes of its groups. The
// groups themselves are twins; only their membership is kept here.
//
// It promises that nobody gives a right they lack (a principal who adds a
// member holds every scope of the group), that only active groups of active
// organisations give anything, and that a change takes effect with the next
// request. A member is any DID; it need not be a twin of the workspace.
package group

import (
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Limits. Too many groups of one member would slow each of its requests, and an
// unbounded group would make its list too long.
const (
	maxMembers = 100_000 // of one group
	maxGroups  = 100     // of one member
	maxDepth   = 16      // of groups inside groups
	maxName    = 200     // characters
	maxDraft   = 100     // members in the draft of a group, and scopes it gives
)

// The protocol of groups, and the roles of twins in the domain model.
const (
	protocol     = "did:ixo:protocol/group"
	groupType    = "group"
	organisation = "organisation"
)

// Group is a membership group as lists show it. The twin holds all of its data.
type Group struct {
	DID      string        `json:"did" doc:"The twin of the group."`
	Name     string        `json:"name" example:"collectors"`
	PartOf   string        `json:"partOf" doc:"DID of the organisation or group it is part of."`
	Scopes   []string      `json:"scopes" doc:"What its members may do."`
	Status   entity.Status `json:"status" doc:"Only active groups of active organisations give scopes."`
	Members  int64         `json:"members" doc:"How many members it has."`
	Revision int64         `json:"revision"`
}

// Member is a member of a group.
type Member struct {
	Group   string    `json:"group" doc:"DID of the group."`
	Member  string    `json:"member" doc:"DID of the member."`
	Keys    []string  `json:"keys" doc:"The did:keys of the member that have every scope the group gives. API keys do not depend on them."`
	Limited []string  `json:"limitedKeys,omitempty" doc:"did:keys of the member that have only some of the scopes the group gives, because the person who vouched for them had no more. Add the member again, with keys, to vouch for them yourself."`
	AddedAt time.Time `json:"addedAt,omitzero"`
	AddedBy string    `json:"addedBy,omitzero" doc:"DID of who added it."`
}

// Confirmation names the keys of a member.
type Confirmation struct {
	Keys []string `json:"keys,omitzero" maxItems:"100" doc:"The did:keys that belong to the member. No other key speaks for it, in any group." example:"did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"`
}

// Membership is a group of a member and the scopes it gives.
type Membership struct {
	Group        string        `json:"group" doc:"DID of the group."`
	Name         string        `json:"name"`
	Organisation string        `json:"organisation,omitzero" doc:"DID of the organisation the group belongs to."`
	Status       entity.Status `json:"status"`
	Scopes       []string      `json:"scopes" doc:"What the group gives while it is in force."`
	InForce      bool          `json:"inForce" doc:"The group, everything it is part of, and its organisation are active."`
	AddedAt      time.Time     `json:"addedAt"`
	AddedBy      string        `json:"addedBy"`

	nid     int64
	project string
}

// Memberships are the groups of a member and the scopes they give together.
type Memberships struct {
	Member string       `json:"member"`
	Groups []Membership `json:"groups"`
	Scopes []string     `json:"scopes" doc:"What the groups in force give: the scopes of a key with the role member."`
}

// Draft asks for a group.
type Draft api.GroupDraft

// Validate names every wrong member at once, in a fault GROUP_INVALID.
func (d Draft) Validate() error {
	var c fault.Checks
	if strings.TrimSpace(d.Name) == "" {
		c.Require(false, "/name")
	} else {
		check.Plain(&c, "/name", d.Name, maxName)
	}
	check.Each(&c, "/scopes", d.Scopes, maxDraft, auth.WrongScope)
	check.Each(&c, "/members", d.Members, maxDraft, wrongMember)
	return c.Err("GROUP_INVALID", "The group is not valid.")
}

// wrongMember says what is wrong with s as a member, "" for nothing: nobody could ever
// sign with a did:key that holds no key.
func wrongMember(s string) string {
	if text := wrongDID(s); text != "" {
		return text
	}
	if _, _, err := did.DID(s).KeyKind(); err != nil && did.DID(s).Method() == "key" {
		return "The value must be the did:key of a key."
	}
	return ""
}

// wrongDID says what is wrong with s as a DID, "" for nothing.
func wrongDID(s string) string {
	if !did.Valid(s) {
		return "The value must be a DID."
	}
	return ""
}

// checkDID refuses a parameter that is not a DID.
func checkDID(at, s string) error {
	var c fault.Checks
	if wrong := wrongDID(s); wrong != "" {
		c.Add(at, "not_a_did", wrong)
	}
	return c.Err("INVALID_PARAMETER", "A parameter is not valid.")
}

// tidy sorts a list and removes duplicates.
func tidy(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return slices.Compact(out)
}

// given returns the scopes that memberships give together in a workspace.
func given(ws string, all []Membership) []string {
	out := []string{}
	for _, m := range all {
		if m.InForce {
			out = append(out, m.Scopes...)
		}
	}
	return auth.Effective(ws, tidy(out))
}
