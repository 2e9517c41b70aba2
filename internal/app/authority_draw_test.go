package app_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// drawer draws the steps of a sequence: some follow a plan of somebody who wants
// more than they were given, the others are whatever comes.
type drawer struct {
	w    *world
	rand *rand.Rand
	made int
	todo []step
}

// founding is how every sequence begins: a second workspace, an owner and an
// organisation in each, and groups that give something.
func founding() []step {
	return []step{
		{Who: "root", Do: "workspace", New: "tenant"},
		{Who: "root", Do: "key", How: "owner", New: "boss"},
		{Who: "boss", Do: "group", List: []string{"keys:*", "groups:*", "entities:*", "events:read"}, New: "firm"},
		{Who: "tenant", Do: "group", List: []string{"keys:*", "groups:*", "entities:*"}, New: "shop"},
	}
}

// hot are the scopes that move authority, or that only few have.
var hot = []string{
	"keys:write", "keys:read", "groups:write", "entities:write", "entities:read", "entities:transfer", "entities:erase", "entities:pii",
	"imports:write", "events:read", "operations:read", "operations:write", "workspaces:write", "protocols:read",
}

// sample is scopes to probe in the end: most of the hot ones and some others.
func (d *drawer) sample() rights {
	var out rights
	for _, s := range hot {
		if d.chance(0.7) {
			out = out.and(scopesOf(s))
		}
	}
	for range 4 {
		out = out.and(bit(d.rand.IntN(len(scopeNames))))
	}
	return out
}

// fresh is a name nobody has.
func (d *drawer) fresh(kind string) string {
	d.made++
	return fmt.Sprintf("%s%d", kind, d.made)
}

// one draws one of several.
func one[T any](d *drawer, from ...T) T {
	if len(from) == 0 {
		var none T
		return none
	}
	return from[d.rand.IntN(len(from))]
}

// some draws a few of several.
func (d *drawer) some(from []string, most int) []string {
	out := []string{}
	for range d.rand.IntN(most + 1) {
		if s := one(d, from...); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func (d *drawer) chance(of float64) bool { return d.rand.Float64() < of }

// next draws a step.
func (d *drawer) next() step {
	if len(d.todo) > 0 && d.chance(0.6) {
		s := d.todo[0]
		d.todo = d.todo[1:]
		return s
	}
	return d.any()
}

// caller draws who acts: by a key, or by a UCAN.
func (d *drawer) caller() string {
	var keys, tokens []string
	for _, name := range slices.Sorted(maps.Keys(d.w.keys)) {
		if name != "root" && (!d.w.keys[name].ended || d.chance(0.1)) {
			keys = append(keys, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.w.twins)) {
		for _, hand := range hands {
			if d.w.twins[name].keys[hand] != nil {
				tokens = append(tokens, name+"/"+hand)
			}
		}
	}
	hand := one(d, hands...)
	switch n := d.rand.IntN(10); {
	case n < 2:
		return one(d, "boss", "tenant")
	case n < 6 || len(tokens) == 0 && n < 9:
		return one(d, keys...)
	case n < 9:
		return one(d, tokens...)
	}
	return hand + "/" + hand
}

func (d *drawer) twin() string  { return one(d, slices.Sorted(maps.Keys(d.w.twins))...) }
func (d *drawer) group() string { return one(d, slices.Sorted(maps.Keys(d.w.groups))...) }
func (d *drawer) key() string   { return one(d, slices.Sorted(maps.Keys(d.w.keys))...) }

// somebody draws whom a step is about: a twin, a hand, or whom a key speaks for.
func (d *drawer) somebody() string {
	return one(d, d.twin(), d.twin(), one(d, hands...), d.key())
}

// scopes draws what somebody wants to give.
func (d *drawer) scopes() []string {
	switch d.rand.IntN(6) {
	case 0:
		return []string{"*"}
	case 1:
		return []string{"keys:*", "entities:*", "groups:*"}
	}
	return append(d.some(hot, 4), one(d, hot...))
}

func (d *drawer) limits() string {
	return one(d, "", "", "", "", "", "", "+net", "+project", "+short")
}

func (d *drawer) way() string { return one(d, "", "", "", "json", "batch", "import") }

// any draws a step that follows no plan.
func (d *drawer) any() step {
	s := d.whatever()
	if s.On == "" || !d.chance(0.4) {
		return s
	}
	if t := d.w.twins[s.On]; t != nil { // who made it controls it
		s.Who = t.maker
	} else if g := d.w.groups[s.On]; g != nil {
		s.Who = g.maker
	}
	return s
}

func (d *drawer) whatever() step {
	who := d.caller()
	switch n := d.rand.IntN(100); {
	case n < 16:
		s := step{Who: who, Do: "key", New: d.fresh("k"), How: one(d, "", "", "owner", "manager", "collector", "supervisor", "verifier", "auditor", "device", "evaluator", "member") + d.limits()}
		if role, _, _ := strings.Cut(s.How, "+"); role == "" {
			s.List = d.scopes()
		}
		if d.chance(0.3) {
			s.To = d.somebody()
		}
		return s
	case n < 20:
		return step{Who: who, Do: "rotate", On: d.key(), New: d.fresh("k"), How: one(d, "", "at once")}
	case n < 24:
		return step{Who: who, Do: "revoke", On: d.key()}
	case n < 26:
		return step{Who: who, Do: "again", On: d.key(), New: d.fresh("k")}
	case n < 27:
		return step{Who: who, Do: "workspace", New: d.fresh("w")}
	case n < 36:
		s := step{Who: who, Do: "twin", New: d.fresh("p"), How: one(d, "Person", "Person", "Organisation", "Device", "Person batch"), List: d.some(hands, 2)}
		if d.chance(0.3) {
			s.To = d.somebody()
		}
		return s
	case n < 46:
		return step{Who: who, Do: "keys", On: d.twin(), To: one(d, append([]string{""}, hands...)...), How: one(d, d.way(), d.way(), "only", "put")}
	case n < 50:
		return step{Who: who, Do: "control", On: one(d, d.twin(), d.group()), To: d.somebody(), How: one(d, "", "", "patch", "remove")}
	case n < 54:
		return step{Who: who, Do: "transfer", On: one(d, d.twin(), d.twin(), d.group()), To: d.somebody()}
	case n < 59:
		return step{Who: who, Do: "status", On: one(d, d.twin(), d.group()), How: one(d, "active", "suspended", "active", "suspended", "deactivated"), To: one(d, "", "batch")}
	case n < 60:
		return step{Who: who, Do: "erase", On: d.somebody()}
	case n < 64:
		return step{Who: who, Do: "copy", On: d.somebody(), New: d.fresh("c"), List: d.some(hands, 2), How: one(d, "create", "create", "import", "upsert")}
	case n < 66:
		return step{Who: who, Do: "service", On: d.twin()}
	case n < 72:
		s := step{Who: who, Do: "group", On: one(d, d.twin(), "firm.org", "shop.org", ""), List: d.scopes(), New: d.fresh("g")}
		if s.On != "" && d.chance(0.5) {
			s.To = d.somebody()
		} else if d.chance(0.3) {
			s.How = "twin"
		}
		return s
	case n < 73:
		return step{Who: who, Do: "move", On: d.group(), To: one(d, d.twin(), "firm.org", "shop.org")}
	case n < 77:
		return step{Who: who, Do: "scopes", On: d.group(), List: d.scopes(), How: one(d, d.way(), "property")}
	case n < 88:
		s := step{Who: who, Do: "join", On: d.group(), To: d.somebody(), List: d.some(hands, 1)}
		if t := d.w.twins[s.To]; t != nil && d.chance(0.5) { // all the keys it has
			s.List = slices.Sorted(maps.Keys(t.keys))
		}
		return s
	case n < 93:
		return step{Who: who, Do: "leave", On: d.group(), To: d.somebody()}
	case n < 98:
		return step{Who: who, Do: one(d, "look", "look", "watch")}
	}
	return step{Who: who, Do: "oracle", How: one(d, "", "keys", "control", "service"), To: one(d, "api", "ws"), List: d.some(hands, 1)}
}

// plan draws what somebody is up to, besides what comes. The steps come in
// their order, with others between them.
func (d *drawer) plan() {
	m, p, g, k, c := d.fresh("k"), d.fresh("p"), d.fresh("g"), d.fresh("k"), d.fresh("c")
	scopes := d.scopes()
	boss, org := "boss", "firm.org"
	group := step{Who: boss, Do: "group", On: org, List: scopes, New: g}
	clerk := step{Who: boss, Do: "key", How: one(d, "manager", "", ""), New: m}
	if clerk.How == "" {
		clerk.List = []string{"entities:write", "entities:read", one(d, "imports:write", "entities:transfer", "entities:erase", "keys:write")}
	}
	person := step{Do: "twin", How: one(d, "Person", "Person", "Organisation"), New: p}
	switch d.rand.IntN(14) {
	case 0: // take a principal over
		person.Who, person.List = boss, []string{"ann"}
		d.todo = []step{clerk, person, group, {Who: boss, Do: "join", On: g, To: p, List: []string{"ann"}}, {Who: m, Do: "transfer", On: p, To: m}, {Who: m, Do: "keys", On: p, To: "mal", How: d.way()}}
	case 1: // be there before the rights are
		person.Who, person.List, person.To = m, one(d, []string{"mal"}, []string{"ann", "mal"}), one(d, "", org)
		join := step{Who: boss, Do: "join", On: g, To: p}
		if person.List[0] == "ann" {
			join.List = one(d, nil, []string{"ann"})
		}
		group.List = append(slices.Clone(scopes), "entities:write")
		d.todo = []step{clerk, group, person, join, {Who: p + "/mal", Do: "keys", On: p, To: "eve"}}
	case 2: // come after them
		person.Who, person.List, person.To = m, []string{"ann"}, one(d, "", org)
		d.todo = []step{clerk, group, person, {Who: boss, Do: "join", On: g, To: p, List: []string{"ann"}}, {Who: m, Do: one(d, "keys", "keys", "control"), On: p, To: "mal", How: d.way()}}
	case 3: // keep what ends, with a key
		person.Who, person.List = boss, []string{"ann"}
		member, as := one(d, "bob", p), "bob/bob"
		if member == p {
			as = p + "/ann"
		}
		group.List = append(slices.Clone(scopes), "keys:write")
		d.todo = []step{person, {}, {Who: boss, Do: "join", On: g, To: member, List: map[bool][]string{true: {"ann"}}[member == p]}}
		if d.chance(0.4) {
			as = k
			d.todo = append(d.todo, step{Who: boss, Do: "key", How: "member", To: member, New: k})
		}
		last := d.fresh("k")
		d.todo = append(d.todo, step{Who: as, Do: "key", List: scopes, New: last})
		if d.chance(0.3) {
			d.todo[len(d.todo)-1].List = append(slices.Clone(scopes), "events:read")
			group.List = append(group.List, "events:read")
			d.todo = append(d.todo, step{Who: one(d, as, last), Do: "watch"})
		}
		for range d.rand.IntN(3) {
			from := last
			last = d.fresh("k")
			d.todo = append(d.todo, one(d, step{Who: from, Do: "key", List: scopes, New: last}, step{Who: from, Do: "rotate", On: from, New: last}))
		}
		d.todo[1] = group
		ends := []step{{Who: boss, Do: "leave", On: g, To: member}, {Who: boss, Do: "status", On: g, How: "suspended"}, {Who: boss, Do: "scopes", On: g, List: []string{"protocols:read"}}}
		if member == p {
			ends = append(ends, step{Who: boss, Do: "keys", On: p, How: "only"})
		}
		d.todo = append(d.todo, one(d, ends...))
	case 4: // take away by erasing
		who := one(d, boss, "tenant")
		person.Who, person.How = who, "Person"
		d.todo = []step{person, {Who: who, Do: "key", To: p, How: one(d, "owner", "manager"), New: k}, {Who: who, Do: "key", List: []string{"entities:erase", one(d, "keys:write", "keys:read")}, New: m}, {Who: m, Do: "erase", On: p}}
	case 5: // speak for a DID that was minted elsewhere
		person.Who, person.List, person.How = "tenant", []string{"ann"}, one(d, "Person", "Device", "Organisation")
		d.todo = []step{clerk, group, person, {Who: boss, Do: "join", On: g, To: p, List: []string{"ann"}}, {Who: one(d, m, boss), Do: "copy", On: p, New: c, List: []string{"mal"}, How: one(d, "create", "import", "upsert")}}
	case 6: // the server's oracle
		clerk.How, clerk.List = "", []string{"entities:write", "entities:read", "entities:transfer"}
		for _, how := range append([]string{""}, d.some([]string{"", "keys", "control", "service", "service"}, 3)...) {
			d.todo = append(d.todo, step{Who: m, Do: "oracle", How: how, To: one(d, "api", "ws"), List: []string{"mal"}})
		}
		d.todo = append([]step{clerk}, d.todo...)
	case 7: // the last owner
		d.lastOwner(m, g, k)
	case 8: // an organisation's own key, and its members
		person.Who, person.How, person.List = boss, "Organisation", []string{"ann"}
		d.todo = []step{clerk, person, group, {Who: boss, Do: "join", On: g, To: p, List: []string{"ann"}}, {Who: boss, Do: "join", On: "firm", To: m}, {Who: m, Do: "control", On: p, To: m}, {Who: m, Do: "keys", On: p, To: "mal", How: d.way()}}
	case 9: // what was ended begins again
		d.todo = []step{
			clerk, group,
			{Who: boss, Do: "join", On: g, To: "bob"},
			{Who: boss, Do: "control", On: org, To: m},
			{Who: boss, Do: "status", On: org, How: "suspended"},
			{Who: m, Do: "status", On: org, How: "active"},
		}
	case 10: // what was ended goes on
		person.Who, person.List, person.How = boss, []string{"ann"}, "Person"
		d.todo = []step{
			person, group,
			{Who: boss, Do: "join", On: g, To: p, List: []string{"ann"}},
			{Who: p + "/ann", Do: "look"},
			one(d, step{Who: boss, Do: "status", On: p, How: "deactivated"}, step{Who: boss, Do: "keys", On: p, How: "only"}),
		}
	default:
		d.early(clerk, group, person)
	}
}

// early plans how somebody who makes a person has a key there before a group
// gives more, and what they do with it.
func (d *drawer) early(clerk, group, person step) {
	m, g, p, scopes := clerk.New, group.New, person.New, group.List
	person.Who, person.List, group.List = m, one(d, []string{"mal"}, []string{"ann", "mal"}), []string{"entities:read"}
	join, more := step{Who: group.Who, Do: "join", On: g, To: p}, d.more(group, scopes)
	switch d.rand.IntN(3) {
	case 0: // come with it
		d.todo = []step{clerk, group, person, join, more, {Who: p + "/mal", Do: "key", List: scopes, New: d.fresh("k")}}
	case 1: // add another with it
		clerk.How, clerk.List = "", []string{"entities:write", "entities:read"}
		group.List = clerk.List
		d.todo = []step{
			clerk, group, person,
			{Who: m, Do: "control", On: p, To: p},
			join,
			{Who: p + "/mal", Do: "keys", On: p, To: "eve", How: one(d, "", "json", "batch", "only")},
			more,
		}
	case 2: // vouch for it
		own := d.fresh("g")
		clerk.How, clerk.List = "", []string{"entities:write", "entities:read", "groups:write"}
		d.todo = []step{
			clerk, group, person, join, more,
			{Who: m, Do: "group", List: []string{"entities:read"}, New: own},
			{Who: m, Do: "join", On: own, To: p, List: person.List},
		}
	}
}

// more is the step in which a group gives more than it did when it was made.
func (d *drawer) more(group step, scopes []string) step {
	return step{Who: group.Who, Do: "scopes", On: group.New, List: append(slices.Clone(scopes), "keys:write", "groups:write"), How: one(d, d.way(), "property")}
}

// lastOwner plans how a workspace could lose its last owner's key. m and k are
// new keys, and g is a new group.
func (d *drawer) lastOwner(m, g, k string) {
	d.todo = []step{{Who: "tenant", Do: "key", How: "owner" + d.limits(), New: k}, {Who: k, Do: one(d, "revoke", "rotate"), On: "tenant", New: m, How: one(d, "", "at once")}, {Who: one(d, "tenant", k), Do: "revoke", On: one(d, "tenant", k)}}
	if d.chance(0.3) { // a key that ends with a membership is none
		d.todo = []step{
			{Who: "tenant", Do: "group", On: "shop.org", List: []string{"*"}, New: g},
			{Who: "tenant", Do: "join", On: g, To: "bob"},
			{Who: "tenant", Do: "key", How: "member", To: "bob", New: m},
			{Who: m, Do: "key", How: "owner", New: k},
			{Who: k, Do: "revoke", On: "tenant"},
		}
	}
}
