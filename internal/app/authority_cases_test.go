package app_test

// authorityCase is a sequence that broke a rule once.
type authorityCase struct {
	name  string
	steps []step
}

// Steps that several cases begin with.
var (
	clerk   = step{Who: "boss", Do: "key", List: []string{"entities:write", "entities:read", "imports:write"}, New: "clerk"}
	manager = step{Who: "boss", Do: "key", How: "manager", New: "manager"}
	strong  = step{Who: "boss", Do: "group", On: "firm.org", List: []string{"*"}, New: "strong"}
	weak    = step{Who: "boss", Do: "group", On: "firm.org", List: []string{"entities:write", "entities:read"}, New: "weak"}
	joined  = step{Who: "boss", Do: "join", On: "weak", To: "person"}
	gives   = step{Who: "boss", Do: "scopes", On: "weak", List: []string{"*"}}
	hers    = step{Who: "boss", Do: "twin", How: "Person", List: []string{"ann"}, New: "person"}
	known   = step{Who: "boss", Do: "join", On: "strong", To: "person", List: []string{"ann"}}
	bobIn   = step{Who: "boss", Do: "join", On: "strong", To: "bob"}
	bobOut  = step{Who: "boss", Do: "leave", On: "strong", To: "bob"}
)

// authorityCases are those sequences, as short as they can be. Steps of owners
// are done; whether the others are refused is for the rules to say.
func authorityCases() []authorityCase {
	planted := step{Who: "clerk", Do: "twin", How: "Person", List: []string{"ann", "mal"}, New: "person"}
	out := []authorityCase{
		{"a manager takes over nobody", []step{manager}},
		{"a principal that is transferred", []step{
			strong, hers, known,
			{Who: "boss", Do: "key", List: []string{"entities:write", "entities:transfer"}, New: "taker"},
			{Who: "taker", Do: "transfer", On: "person", To: "taker"},
			{Who: "taker", Do: "keys", On: "person", To: "mal"},
		}},
		{"a key that was there before the rights", []step{
			clerk, strong, planted, {Who: "boss", Do: "join", On: "strong", To: "person", How: "refused"},
		}},
		{"a key that was not named", []step{clerk, strong, planted, known, {Who: "person/mal", Do: "keys", On: "person", To: "eve"}}},
		{"of a person an organisation controls too", []step{
			clerk, strong,
			{Who: "clerk", Do: "twin", How: "Person", To: "firm.org", List: []string{"mal"}, New: "person"},
			{Who: "boss", Do: "join", On: "strong", To: "person", How: "refused"},
		}},
		{"in a group that is made with members", []step{
			clerk, planted, {Who: "boss", Do: "group", On: "firm.org", List: []string{"*"}, To: "person", New: "strong", How: "refused"},
		}},
		{"a key that such a key has added, before the group gave more", []step{
			clerk, weak, planted, joined,
			{Who: "clerk", Do: "control", On: "person", To: "person"},
			{Who: "person/mal", Do: "keys", On: "person", To: "eve"},
			gives,
		}},
		{"a key that somebody names who can do less", []step{
			clerk, weak, planted, joined, gives,
			{Who: "boss", Do: "key", List: []string{"entities:write", "entities:read", "groups:write"}, New: "helper"},
			{Who: "helper", Do: "group", List: []string{"entities:read"}, New: "own"},
			{Who: "helper", Do: "join", On: "own", To: "person", List: []string{"ann", "mal"}},
		}},
		{"a controller who comes later", []step{clerk, strong, planted, known, {Who: "clerk", Do: "control", On: "person", To: "mal"}}},
		{"a member who is removed keeps no key", []step{strong, bobIn, {Who: "bob/bob", Do: "key", List: []string{"*"}, New: "kept"}, bobOut}},
		{"nor one made by a member key", []step{
			strong, bobIn, {Who: "boss", Do: "key", How: "member", To: "bob", New: "badge"}, {Who: "badge", Do: "key", List: []string{"*"}, New: "kept"}, bobOut,
		}},
		{"nor by a key of a key that was rotated", []step{
			strong, bobIn,
			{Who: "bob/bob", Do: "key", List: []string{"*"}, New: "one"},
			{Who: "one", Do: "key", List: []string{"*"}, New: "two"},
			{Who: "two", Do: "rotate", On: "two", New: "three"},
			bobOut,
		}},
		{"nor when the group gives less", []step{
			strong, bobIn, {Who: "bob/bob", Do: "key", List: []string{"*"}, New: "kept"}, {Who: "boss", Do: "scopes", On: "strong", List: []string{"protocols:read"}},
		}},
		{"nor when it is suspended", []step{
			strong, bobIn, {Who: "bob/bob", Do: "key", List: []string{"*"}, New: "kept"}, {Who: "boss", Do: "status", On: "strong", How: "suspended"},
		}},
		{"nor a key of somebody else that was rotated", []step{
			strong, bobIn, {Who: "boss", Do: "key", How: "auditor", New: "audit"}, {Who: "bob/bob", Do: "rotate", On: "audit", New: "kept"}, bobOut,
		}},
		{"nor one that was worth little when it was rotated", []step{
			strong, bobIn,
			{Who: "bob/bob", Do: "key", List: []string{"*"}, New: "his"},
			{Who: "boss", Do: "scopes", On: "strong", List: []string{"keys:write"}},
			{Who: "boss", Do: "key", List: []string{"keys:write"}, New: "thief"},
			{Who: "thief", Do: "rotate", On: "his", New: "kept"},
		}},
		{"a stream ends with the membership", []step{strong, bobIn, {Who: "bob/bob", Do: "watch"}, bobOut}},
		{"of a member key, too", []step{strong, bobIn, {Who: "boss", Do: "key", How: "member", To: "bob", New: "badge"}, {Who: "badge", Do: "watch"}, bobOut}},
		{"a key that is taken away", []step{strong, hers, known, {Who: "person/ann", Do: "look"}, {Who: "boss", Do: "keys", On: "person", To: "mal", How: "only"}}},
		{"a twin that is deactivated", []step{strong, hers, known, {Who: "person/ann", Do: "look"}, {Who: "boss", Do: "status", On: "person", How: "deactivated"}}},
		{"an organisation that was suspended", []step{
			clerk, strong, bobIn,
			{Who: "boss", Do: "control", On: "firm.org", To: "clerk"},
			{Who: "boss", Do: "status", On: "firm.org", How: "suspended"},
			{Who: "clerk", Do: "status", On: "firm.org", How: "active"},
		}},
		{"erasing is not revoking", []step{
			hers,
			{Who: "boss", Do: "key", How: "owner", To: "person", New: "his"},
			{Who: "boss", Do: "key", List: []string{"entities:erase", "keys:write"}, New: "eraser"},
			{Who: "eraser", Do: "erase", On: "person"},
		}},
		{"the last owner is not erased", []step{
			{Who: "tenant", Do: "twin", How: "Person", New: "person"},
			{Who: "tenant", Do: "key", How: "owner", To: "person", New: "last"},
			{Who: "last", Do: "revoke", On: "tenant"},
			{Who: "last", Do: "erase", On: "person"},
		}},
		{"nor revoked", []step{{Who: "tenant", Do: "revoke", On: "tenant", How: "refused"}}},
		{"nor given an end", []step{{Who: "tenant", Do: "key", How: "owner+short", New: "short"}, {Who: "short", Do: "rotate", On: "tenant", New: "next", How: "at once"}}},
		{"nor left to somebody who may go", []step{
			{Who: "tenant", Do: "group", On: "shop.org", List: []string{"*"}, New: "owners"},
			{Who: "tenant", Do: "join", On: "owners", To: "bob"},
			{Who: "tenant", Do: "key", How: "member", To: "bob", New: "badge"},
			{Who: "badge", Do: "key", How: "owner", New: "his"},
			{Who: "his", Do: "revoke", On: "tenant"},
		}},
		{"a document that is replaced", []step{
			{Who: "tenant", Do: "twin", How: "Device", List: []string{"ann"}, New: "device"}, {Who: "boss", Do: "copy", On: "device", List: []string{"mal"}, How: "upsert", New: "squatter"},
		}},
		{"keys that are replaced", []step{
			strong,
			{Who: "tenant", Do: "twin", How: "Person", List: []string{"ann"}, New: "person"},
			clerk,
			{Who: "clerk", Do: "copy", On: "person", List: []string{"mal"}, How: "import", New: "squatter"},
			{Who: "boss", Do: "join", On: "strong", To: "person", How: "refused"},
		}},
	}
	for _, way := range []string{"json", "batch", "import", "put"} {
		out = append(out, authorityCase{"a key that comes later by " + way, []step{clerk, strong, planted, known, {Who: "clerk", Do: "keys", On: "person", To: "eve", How: way}}})
	}
	for _, how := range []string{"keys", "control", "service"} {
		out = append(out, authorityCase{"the server's oracle by " + how, []step{
			{Who: "boss", Do: "key", List: []string{"entities:write", "entities:transfer"}, New: "taker"},
			{Who: "taker", Do: "oracle"},
			{Who: "taker", Do: "oracle", How: how, To: "api", List: []string{"mal"}},
		}})
	}
	return out
}
