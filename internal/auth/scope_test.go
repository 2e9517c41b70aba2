package auth_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestKnownScope(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{
		"*": true, "entities:read": true, "entities:*": true, "responses:pii": true, "operations:write": true, "workspaces:*": true,
		"": false, ":": false, "entities": false, "entities:": false, "entities:delete": false, "entity:read": false, "*:*": false,
		"*:read": false, "Entities:read": false, "entities:read ": false, "entities:read:x": false, "public": false, "operator": false,
		"member": false, "member:*": false, "entities:erase": true, "entities:pii": true,
	} {
		if got := auth.KnownScope(s); got != want {
			t.Errorf("KnownScope(%q) = %v, want %v", s, got, want)
		}
	}
	for _, s := range auth.Scopes() {
		if !auth.KnownScope(s) {
			t.Errorf("KnownScope(%q) = false for a listed scope", s)
		}
	}
}

func TestRolesHoldKnownScopes(t *testing.T) {
	t.Parallel()
	var names []string
	for _, r := range auth.Roles() {
		names = append(names, r.Name)
		for _, s := range r.Scopes {
			if auth.KnownScope(s) == (r.Name == "member") {
				t.Errorf("role %s has %q; scopes are for all roles but the member, which has a word that is none", r.Name, s)
			}
		}
		c := web.Caller{Workspace: "default", Scopes: r.Scopes}
		if r.Name != "owner" && auth.May(c, "entities:erase") {
			t.Errorf("role %s erases people", r.Name)
		}
		if r.Name != "owner" && (auth.May(c, "operations:read") || auth.May(c, "workspaces:read")) {
			t.Errorf("role %s reaches the operator's routes", r.Name)
		}
		if sees := r.Name == "owner" || r.Name == "manager"; auth.May(c, "entities:pii") != sees {
			t.Errorf("role %s sees personal properties: %v, want %v", r.Name, !sees, sees)
		}
		if r.Name != "owner" && (auth.May(c, "responses:pii") || auth.May(c, "entities:pii")) && slices.ContainsFunc([]string{"entities:verify", "claims:evaluate", "claims:adjudicate", "responses:verify"}, func(s string) bool { return auth.May(c, s) }) {
			t.Errorf("role %s sees people and judges them", r.Name)
		}
	}
	if got, want := strings.Join(names, " "), "owner manager collector supervisor verifier evaluator auditor device supplier member"; got != want {
		t.Errorf("roles = %s, want %s", got, want)
	}
	auditor := auth.Roles()[6]
	for _, s := range auditor.Scopes {
		if s != "exports:write" && s != "sampling:witness" && !strings.HasSuffix(s, ":read") {
			t.Errorf("the auditor has %s, want only reading, exports and the second part of seeds", s)
		}
	}
}

func TestEffective(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, workspace string
		in              []string
		may, mayNot     string
	}{
		{"operator's owner", "default", []string{"*"}, "operations:write workspaces:write entities:read anything:new", ""},
		{"tenant's owner", "kitui", []string{"*"}, "entities:write entities:pii keys:write responses:pii workspaces:read", "operations:read operations:write workspaces:write"},
		{"tenant with stolen words", "kitui", []string{"operations:read", "operations:*", "workspaces:*"}, "workspaces:read", "operations:read workspaces:write entities:read"},
		{"tenant's reader", "kitui", []string{"entities:read"}, "entities:read", "entities:write entities:pii claims:read operations:read"},
		{"one resource", "default", []string{"entities:*"}, "entities:read entities:pii entities:verify", "operations:read keys:read"},
		{"nothing", "default", nil, "", "entities:read operations:read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := web.Caller{Workspace: tt.workspace, Scopes: auth.Effective(tt.workspace, tt.in)}
			for _, s := range strings.Fields(tt.may) {
				if !auth.May(c, s) || !c.May(s) {
					t.Errorf("May(%s) = false, want true", s)
				}
			}
			for _, s := range strings.Fields(tt.mayNot) {
				if auth.May(c, s) || c.May(s) {
					t.Errorf("May(%s) = true, want false", s)
				}
			}
		})
	}
}

func TestMayDoesNotTrustTheCallersWords(t *testing.T) {
	t.Parallel()
	c := web.Caller{Workspace: "kitui", Scopes: []string{"*"}} // never made by us
	if auth.May(c, "operations:read") || auth.May(c, "workspaces:write") {
		t.Error("a tenant with a raw * has an operator's scope")
	}
}

func TestCheckGrant(t *testing.T) {
	t.Parallel()
	tenantOwner := auth.Effective("kitui", []string{"*"})
	for _, tt := range []struct {
		name, workspace string
		have, give      []string
		refused         int // scopes named in the fault
	}{
		{"equal", "default", []string{"keys:write"}, []string{"keys:write"}, 0},
		{"less", "default", []string{"keys:*"}, []string{"keys:read", "keys:write"}, 0},
		{"more", "default", []string{"keys:write"}, []string{"keys:*"}, 1},
		{"all of it", "default", []string{"keys:*", "entities:*"}, []string{"*", "keys:read", "claims:read"}, 2},
		{"owner gives all", "default", []string{"*"}, []string{"*", "operations:*"}, 0},
		{"every word is not all", "default", auth.Scopes(), []string{"*"}, 1},
		{"tenant's owner makes an owner", "kitui", tenantOwner, []string{"*"}, 0},
		{"tenant's owner stays inside", "kitui", tenantOwner, []string{"operations:read", "workspaces:*", "workspaces:write"}, 3},
		{"tenant's manager makes no owner", "kitui", []string{"entities:*", "keys:*"}, []string{"*"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := auth.CheckGrant(web.Caller{Workspace: tt.workspace, Scopes: tt.have}, "/scopes", tt.give)
			f := fault.As(err)
			switch {
			case tt.refused == 0 && err != nil:
				t.Errorf("CheckGrant() = %v, want nil", err)
			case tt.refused > 0 && (f == nil || f.Kind != fault.Forbidden || f.Code != "SCOPE_MISSING" || len(f.Fields) != tt.refused):
				t.Errorf("CheckGrant() = %+v, want SCOPE_MISSING with %d fields", f, tt.refused)
			}
		})
	}
}

// TestGrantNeverEscalates: whatever a caller may give away, the receiver may
// do nothing the giver may not.
func TestGrantNeverEscalates(t *testing.T) {
	t.Parallel()
	words := append(auth.Scopes(), "*", "entities:*", "keys:*", "operations:*", "workspaces:*")
	rapid.Check(t, func(t *rapid.T) {
		ws := rapid.SampledFrom([]string{"default", "kitui"}).Draw(t, "workspace")
		some := rapid.SliceOfNDistinct(rapid.SampledFrom(words), 0, 6, rapid.ID)
		giver := web.Caller{Workspace: ws, Scopes: auth.Effective(ws, some.Draw(t, "have"))}
		give := some.Draw(t, "give")
		if auth.CheckGrant(giver, "/scopes", give) != nil {
			return
		}
		receiver := web.Caller{Workspace: ws, Scopes: auth.Effective(ws, give)}
		for _, s := range auth.Scopes() {
			if auth.May(receiver, s) && !auth.May(giver, s) {
				t.Fatalf("%v gave %v and with it %s", giver.Scopes, give, s)
			}
		}
		if ws != "default" && slices.ContainsFunc(receiver.Scopes, func(s string) bool { return s == "*" || strings.HasPrefix(s, "operations") }) {
			t.Fatalf("a tenant has %v", receiver.Scopes)
		}
	})
}
