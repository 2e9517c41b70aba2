package app_test

import (
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/auth"
)

// The model states who gave which right to whom, from the rules and not from
// the code: a right comes from a key or from a group, nothing else gives one,
// whoever gives a right has it, and a right that ends, ends everywhere.

// rights is a set of scopes: bit i is auth.Scopes()[i].
type rights [2]uint64

// bit is the set of one scope.
func bit(i int) (out rights) {
	out[i/64] = 1 << (i % 64)
	return out
}

func (r rights) has(i int) bool { return r[i/64]&(1<<(i%64)) != 0 }

// and is what is in either of two sets.
func (r rights) and(other rights) rights { return rights{r[0] | other[0], r[1] | other[1]} }

// both is what is in both sets.
func (r rights) both(other rights) rights { return rights{r[0] & other[0], r[1] & other[1]} }

// less is r without what is in other.
func (r rights) less(other rights) rights { return rights{r[0] &^ other[0], r[1] &^ other[1]} }

// scopeNames are all scopes, in the order of the bits of rights.
var scopeNames = auth.Scopes()

// operatorsOnly are worth nothing outside the operators' workspace.
var operatorsOnly = scopesOf("operations:read", "operations:write", "workspaces:write")

// scopesOf reads scopes and wildcards.
func scopesOf(scopes ...string) rights {
	var out rights
	for _, s := range scopes {
		area, wild := strings.CutSuffix(s, "*")
		for i, name := range scopeNames {
			if name == s || wild && strings.HasPrefix(name, area) {
				out = out.and(bit(i))
			}
		}
	}
	return out
}

// in is what rights are worth in a workspace.
func (r rights) in(ws string) rights {
	if ws != operators {
		return r.less(operatorsOnly)
	}
	return r
}

// covers reports whether r has all of other.
func (r rights) covers(other rights) bool { return other.less(r) == rights{} }

func (r rights) String() string {
	if r == scopesOf("*") {
		return "*"
	}
	var out []string
	for i, name := range scopeNames {
		if r.has(i) {
			out = append(out, name)
		}
	}
	return "[" + strings.Join(out, " ") + "]"
}

// roleRights is what a key of a role has. Managers run a programme; they do not
// take over what others control.
func roleRights(role string) rights {
	for _, r := range auth.Roles() {
		if r.Name == role && role == "manager" {
			return scopesOf(r.Scopes...).less(scopesOf("entities:transfer"))
		} else if r.Name == role {
			return scopesOf(r.Scopes...)
		}
	}
	return rights{}
}

// operators is the workspace of those who run the server.
const operators = auth.OperatorWorkspace

// modelKey is an API key.
type modelKey struct {
	name, ws, id, text string
	principal          string
	given              rights // what it was made with
	byGroups           bool   // it has what the groups of its principal give
	bound              []voice
	ended              bool
	inside             bool // works from one network only
	narrow             bool // works in one project only
	short              bool // ends by itself
}

// unlimited reports whether the key is one an owner can rely on for ever.
func (k *modelKey) unlimited() bool {
	return !k.ended && !k.byGroups && len(k.bound) == 0 && !k.inside && !k.narrow && !k.short && k.given.covers(scopesOf("*").in(k.ws))
}

// modelTwin is a record of a twin. The one its DID was minted for speaks for
// it; others are copies.
type modelTwin struct {
	name, ws, did, kind string
	copied              bool
	keys                map[string]*placed // by the name of whoever has the private key
	had                 map[string]bool    // who had one
	ended               bool
	status              string
	maker               string // who made it, by name
}

// placed is how a key came to a twin.
type placed struct {
	by      rights // what whoever vouches for it had, where the twin is
	refused bool   // it was left out of those that are the twin's
}

// voice is a DID, and who has the private key with which it spoke; "" for an API
// key.
type voice struct{ did, hand string }

// modelGroup is a membership group.
type modelGroup struct {
	name, ws, did string
	parent        string // name of the organisation
	gives         rights
	status        string
	maker         string
	members       map[string]bool // by DID
}

// ledger is everything somebody was given.
type ledger struct {
	keys   map[string]*modelKey
	twins  map[string]*modelTwin
	groups map[string]*modelGroup
	hands  map[string]string // the did:key of each holder of a private key
	names  map[string]string // what a DID is called
}

// caller is somebody who can send a request: who knows the text of a key, or
// has a private key and speaks as a DID.
type caller struct {
	key  *modelKey
	as   string // a DID, by UCAN
	hand string // who has the private key
}

func (c caller) ws() string {
	if c.key != nil {
		return c.key.ws
	}
	return operators // UCANs count there only
}

func (c caller) did() string {
	if c.key != nil {
		return c.key.principal
	}
	return c.as
}

// bound are the voices whose groups the caller's rights come from: what it makes
// is worth no more than these have.
func (c caller) bound() []voice {
	switch {
	case c.key == nil:
		return []voice{{c.as, c.hand}}
	case c.key.byGroups:
		return append([]voice{{c.key.principal, ""}}, c.key.bound...)
	}
	return c.key.bound
}

// byGroups is what the groups of a DID give. With a hand it is what they give
// to that private key: no more than whoever vouches for it had.
func (m *ledger) byGroups(ws, did, hand string) rights {
	var out rights
	for _, g := range m.groups {
		if g.ws == ws && g.members[did] && m.inForce(g) {
			out = out.and(g.gives)
		}
	}
	if hand != "" && m.hands[hand] != did {
		out = out.both(m.vouched(did, hand))
	}
	return out.in(ws)
}

// vouched is what somebody has vouched with for a private key of a DID.
func (m *ledger) vouched(did, hand string) rights {
	t := m.home(did)
	if t == nil || t.ended || t.keys[hand] == nil || t.keys[hand].refused {
		return rights{}
	}
	return t.keys[hand].by
}

// inForce reports whether a group and its organisation are active.
func (m *ledger) inForce(g *modelGroup) bool {
	org := m.twins[g.parent]
	return g.status == "active" && (org == nil || org.status == "active")
}

// has is what a caller may do, at most.
func (m *ledger) has(c caller) rights {
	if c.key != nil {
		return m.ofKey(c.key)
	}
	return m.byGroups(operators, c.as, c.hand)
}

func (m *ledger) ofKey(k *modelKey) rights {
	if k.ended {
		return rights{}
	}
	out := k.given
	if k.byGroups {
		out = m.byGroups(k.ws, k.principal, "")
	}
	for _, v := range k.bound {
		out = out.both(m.byGroups(k.ws, v.did, v.hand))
	}
	return out.in(k.ws)
}

// home is the twin a DID was minted for.
func (m *ledger) home(did string) *modelTwin {
	for _, t := range m.twins {
		if t.did == did && !t.copied {
			return t
		}
	}
	return nil
}

// record is the record of a DID in a workspace.
func (m *ledger) record(ws, did string) *modelTwin {
	for _, t := range m.twins {
		if t.did == did && t.ws == ws {
			return t
		}
	}
	return nil
}

// ofPrincipal is all that a DID can do in a workspace: by its groups and by its
// keys.
func (m *ledger) ofPrincipal(ws, did string) rights {
	out := m.byGroups(ws, did, "")
	for _, k := range m.keys {
		if k.ws == ws && k.principal == did {
			out = out.and(m.ofKey(k))
		}
	}
	return out
}

// mayBecome reports whether a caller may change who speaks for a DID: it proves
// to be it, or has everything the DID has where the record is. Of another
// workspace the record has nothing to say: memberships there admit keys.
func (m *ledger) mayBecome(c caller, did string) bool {
	has := m.has(c)
	return c.key == nil && c.as == did && has == m.byGroups(operators, did, "") || has.covers(m.ofPrincipal(c.ws(), did))
}

// place notes that a caller put a key on a twin, and vouches for it with what it
// has; whoever does so by a key of the twin, with what that one is worth.
func (m *ledger) place(c caller, t *modelTwin, hand string) {
	if t.keys[hand] != nil {
		return
	}
	p := &placed{}
	switch {
	case c.key == nil && c.as == t.did && m.hands[c.hand] != c.as:
		p.by = m.vouched(c.as, c.hand)
	case c.ws() == operators && (c.key == nil || !c.key.narrow):
		p.by = m.has(c)
	}
	t.keys[hand] = p
}

// unplace notes that a key was taken from a twin.
func (m *ledger) unplace(t *modelTwin, hand string) {
	delete(t.keys, hand)
	if t.had == nil {
		t.had = map[string]bool{}
	}
	t.had[hand] = true
}

// admit notes that a caller who has all a group gives has made a DID a member.
// The keys it has named are the DID's, by its word, and no others. It reports
// whether that changed which keys speak for the DID, or with what. Only in the
// operators' workspace does anybody come with a key of a DID.
func (m *ledger) admit(c caller, g *modelGroup, did string, named []string) (changed bool) {
	g.members[did] = true
	t := m.home(did)
	if t == nil || len(named) == 0 || g.ws != operators {
		return false
	}
	all := m.ofPrincipal(g.ws, did)
	for hand, p := range t.keys {
		hers := slices.Contains(named, hand)
		changed = changed || hers == p.refused || hers && !p.by.covers(all)
		if p.refused = !hers; hers {
			p.by = p.by.and(m.has(c))
		}
	}
	return changed
}

// forget notes that a DID was erased in a workspace.
func (m *ledger) forget(ws, did string) {
	for _, g := range m.groups {
		if g.ws == ws {
			delete(g.members, did)
		}
	}
	for _, k := range m.keys {
		if k.ws == ws && k.principal == did {
			k.ended = true
		}
	}
	if t := m.record(ws, did); t != nil {
		t.ended, t.status, t.keys = true, "deactivated", map[string]*placed{}
	}
}

// owned reports whether a workspace has a key that may everything and never
// ends by itself.
func (m *ledger) owned(ws string) bool {
	for _, k := range m.keys {
		if k.ws == ws && k.unlimited() {
			return true
		}
	}
	return false
}
