package auth

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// PrincipalKind says how a principal became known to a workspace.
type PrincipalKind string

// The kinds of principals.
const (
	OwnerPrincipal    PrincipalKind = "owner"    // made with the workspace
	ServicePrincipal  PrincipalKind = "service"  // made for a key
	PersonPrincipal   PrincipalKind = "person"   // a person who came by invitation
	ExternalPrincipal PrincipalKind = "external" // named by an owner: a person, an organisation
)

// Principal is a DID that can act in a workspace.
type Principal struct {
	DID       did.DID
	Workspace string
	Kind      PrincipalKind
	Name      string
	CreatedAt time.Time
}

// checkName requires text that a person can read on one line.
func checkName(c *fault.Checks, pointer, name string) {
	switch {
	case strings.TrimSpace(name) == "":
		c.Add(pointer, "required", "This member is required.")
	case utf8.RuneCountInString(name) > maxName:
		c.Add(pointer, "too_long", "The text must have 200 characters or fewer.")
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) }):
		c.Add(pointer, "control_character", "The text must be one line without control or direction characters.")
	}
}
