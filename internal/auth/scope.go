package auth

import (
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// OperatorWorkspace is the workspace of the server's operators. Only its keys
// can hold the operator's scopes.
const OperatorWorkspace = "default"

// all is the scope of an owner: everything its workspace may do. Outside the
// operator's workspace that leaves out the operator's scopes.
const all = "*"

// resource is a row of the table of scopes.
type resource struct {
	name     string
	verbs    []string // every workspace may hold these
	operator []string // only the operator's workspace may
}

// resources is the table of scopes of all areas. A route may only ask for a
// scope that stands here.
var resources = []resource{
	{name: "analytics", verbs: []string{"read", "write"}},
	{name: "audit", verbs: []string{"read"}},
	{name: "claims", verbs: []string{"read", "write", "evaluate", "adjudicate"}},
	{name: "collect", verbs: []string{"send"}},
	{name: "collections", verbs: []string{"read", "write"}},
	{name: "credentials", verbs: []string{"read", "write", "issue-direct"}},
	{name: "devices", verbs: []string{"read", "write"}},
	{name: "entities", verbs: []string{"read", "write", "pii", "verify", "transfer", "erase"}},
	{name: "evaluations", verbs: []string{"read", "write"}},
	{name: "events", verbs: []string{"read"}},
	{name: "exports", verbs: []string{"read", "write"}},
	{name: "groups", verbs: []string{"read", "write"}},
	{name: "imports", verbs: []string{"read", "write"}},
	{name: "jobs", verbs: []string{"read", "write"}},
	{name: "keys", verbs: []string{"read", "write"}},
	{name: "operations", operator: []string{"read", "write"}},
	{name: "oracle", verbs: []string{"read", "tools", "write"}},
	{name: "protocols", verbs: []string{"read", "write"}},
	{name: "responses", verbs: []string{"read", "write", "pii", "check", "verify"}},
	{name: "sampling", verbs: []string{"read", "write", "witness"}},
	{name: "sessions", verbs: []string{"read", "write"}},
	{name: "surveys", verbs: []string{"read", "write", "assign"}},
	{name: "templates", verbs: []string{"read", "write"}},
	{name: "ussd", verbs: []string{"read", "write", "simulate"}},
	{name: "vouchers", verbs: []string{"read", "write", "redeem"}},
	{name: "webhooks", verbs: []string{"read", "write"}},
	{name: "workspaces", verbs: []string{"read"}, operator: []string{"write"}},
}

// Role is a named set of scopes.
type Role struct {
	Name   string
	Scopes []string
}

// roles are the sets people ask for by name. None but the owner's holds
// entities:pii or responses:pii together with a right to judge.
var roles = []Role{
	{"owner", []string{all}},
	{"manager", []string{
		"analytics:*", "audit:read", "claims:read", "claims:write", "collect:send", "collections:*", "credentials:read", "credentials:write", "devices:*",
		"entities:pii", "entities:read", "entities:write", "evaluations:read", "events:read", "exports:*", "groups:*", "imports:*",
		"jobs:*", "keys:*", "oracle:*", "protocols:*", "responses:pii", "responses:read", "responses:write", "sampling:read", "sampling:write",
		"sessions:*", "surveys:*", "templates:*", "ussd:*", "vouchers:read", "vouchers:write", "webhooks:*",
	}},
	{"collector", []string{
		"devices:read", "entities:read", "protocols:read", "responses:read", "responses:write", "sampling:read", "surveys:read", "templates:read",
	}},
	{"supervisor", []string{
		"devices:read", "entities:read", "jobs:read", "protocols:read", "responses:check", "responses:read", "sampling:read", "surveys:assign",
		"surveys:read", "templates:read",
	}},
	{"verifier", []string{
		"audit:read", "claims:read", "collections:read", "devices:read", "entities:read", "entities:verify", "protocols:read", "responses:read", "responses:verify",
		"sampling:read", "sampling:witness", "surveys:read", "templates:read",
	}},
	{"evaluator", []string{
		"analytics:read", "claims:adjudicate", "claims:evaluate", "claims:read", "collections:read", "credentials:read", "credentials:write", "devices:read", "entities:read",
		"evaluations:read", "evaluations:write", "protocols:read", "responses:read", "sampling:read", "surveys:read", "templates:read",
	}},
	{"auditor", []string{
		"analytics:read", "audit:read", "claims:read", "collections:read", "credentials:read", "devices:read", "entities:read", "evaluations:read", "events:read",
		"exports:read", "exports:write", "groups:read", "jobs:read", "keys:read", "protocols:read", "responses:read", "sampling:read", "sampling:witness",
		"surveys:read", "templates:read", "vouchers:read",
	}},
	{"device", []string{"devices:read", "devices:write"}},
	{"supplier", []string{"vouchers:redeem"}},
	{member, []string{member}},
}

// member takes the place of scopes in a key whose rights come from the groups
// of its principal. It is not a scope: no group can give it, and it permits
// nothing.
const member = "member"

// Scopes lists all scopes, except the wildcards.
func Scopes() []string {
	var out []string
	for _, r := range resources {
		for _, v := range slices.Concat(r.verbs, r.operator) {
			out = append(out, r.name+":"+v)
		}
	}
	return out
}

// Roles lists the named sets of scopes, the owner's first.
func Roles() []Role { return slices.Clone(roles) }

// KnownScope reports whether s is a scope: "*", "entities:*" or "entities:read".
func KnownScope(s string) bool {
	if s == all {
		return true
	}
	name, verb, _ := strings.Cut(s, ":")
	r := findResource(name)
	return r != nil && (verb == "*" || slices.Contains(r.verbs, verb) || slices.Contains(r.operator, verb))
}

// WrongScope is the message for a text s given as a scope: the scopes in its
// area, or the areas. It is "" when s is a scope.
func WrongScope(s string) string {
	if KnownScope(s) {
		return ""
	}
	name, _, _ := strings.Cut(s, ":")
	if r := findResource(name); r != nil {
		return "There is no such scope. There are " + name + ":" + strings.Join(slices.Concat(r.verbs, r.operator), ", "+name+":") + " and " + name + ":*."
	}
	names := make([]string, len(resources))
	for i, r := range resources {
		names[i] = r.name
	}
	return "There is no such scope. A scope is *, or an area and a word, such as entities:read or entities:*. The areas are " + strings.Join(names, ", ") + "."
}

func findResource(name string) *resource {
	i := slices.IndexFunc(resources, func(r resource) bool { return r.name == name })
	if i < 0 {
		return nil
	}
	return &resources[i]
}

func roleNames() string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = r.Name
	}
	return strings.Join(names, ", ")
}

func findRole(name string) *Role {
	i := slices.IndexFunc(roles, func(r Role) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &roles[i]
}

// Effective is what scopes are worth in a workspace. In the operator's they are
// worth what they say. In any other the operator's scopes are worth nothing, so
// "*" becomes the list of the others; web.Caller takes "*" literally and must
// never see it there.
func Effective(workspace string, scopes []string) []string {
	if workspace == OperatorWorkspace {
		return slices.Clone(scopes)
	}
	var out []string
	for _, s := range scopes {
		if s == all {
			for i := range resources {
				out = append(out, resources[i].tenant("*")...)
			}
			continue
		}
		name, verb, _ := strings.Cut(s, ":")
		if r := findResource(name); r != nil {
			out = append(out, r.tenant(verb)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// tenant is what r:verb is worth outside the operator's workspace.
func (r *resource) tenant(verb string) []string {
	if verb == "*" && len(r.operator) > 0 {
		out := make([]string, len(r.verbs))
		for i, v := range r.verbs {
			out[i] = r.name + ":" + v
		}
		return out
	}
	if verb != "*" && !slices.Contains(r.verbs, verb) {
		return nil
	}
	return []string{r.name + ":" + verb}
}

// May reports whether c has a scope. It is web.Caller's own answer, except that
// nobody outside the operator's workspace has an operator's scope, whatever the
// code that made the caller put into it.
func May(c web.Caller, scope string) bool {
	if c.Workspace != OperatorWorkspace && operatorOnly(scope) {
		return false
	}
	return c.May(scope)
}

func operatorOnly(scope string) bool {
	name, verb, _ := strings.Cut(scope, ":")
	r := findResource(name)
	return r != nil && (slices.Contains(r.operator, verb) || verb == "*" && len(r.operator) > 0)
}

// CheckGrant reports whether c may grant scopes to others: nobody can give what
// they lack. The fault SCOPE_MISSING names each scope that is too much, under
// pointer. It applies to groups too, which give scopes to members.
func CheckGrant(c web.Caller, pointer string, scopes []string) error {
	f := fault.New(fault.Forbidden, codeScope, "You cannot grant a scope you do not have.")
	for _, s := range scopes {
		if !grants(c, s) {
			f = f.With(fault.Field{Pointer: pointer, Code: "scope_missing", Detail: "You do not have the scope " + s + "."})
		}
	}
	if len(f.Fields) > 0 {
		return f
	}
	return nil
}

// grants is May for granting. Outside the operator's workspace "*" is worth a
// list, and a caller with the whole list is an owner.
func grants(c web.Caller, scope string) bool {
	if scope != all || c.Workspace == OperatorWorkspace {
		return May(c, scope)
	}
	return !slices.ContainsFunc(Effective(c.Workspace, []string{all}), func(s string) bool { return !May(c, s) })
}

const codeScope = "SCOPE_MISSING"

func scopeMissing(scope string) error {
	return fault.New(fault.Forbidden, codeScope, "This needs the scope "+scope+", which you do not have.")
}
