package auth

import (
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Workspace is the type of package api.
type Workspace = api.Workspace

// Opened is a workspace that was just made, with its first owner key.
type Opened struct {
	Workspace
	OwnerKey Issued `json:"ownerKey" doc:"The first key of the workspace. Keep its text now."`
}

// String leaves the key's text out, so that printing the value does not reveal
// it.
func (o Opened) String() string { return o.ID + ", owner key " + o.OwnerKey.String() }

// WorkspaceDraft asks for a workspace.
type WorkspaceDraft api.WorkspaceDraft

// Validate names every wrong member at once, in a fault
// WORKSPACE_DRAFT_INVALID.
func (d WorkspaceDraft) Validate() error {
	var c fault.Checks
	c.Require(d.ID != "", "/id")
	if d.ID != "" && !validSlug(d.ID) {
		c.Add("/id", "invalid", "The value must be 2 to 63 characters of a-z, 0-9 and -, with a letter or digit at both ends.")
	}
	checkName(&c, "/name", d.Name)
	return c.Err("WORKSPACE_DRAFT_INVALID", "The workspace is not valid.")
}

func validSlug(s string) bool {
	return len(s) >= 2 && len(s) <= 63 && strings.Trim(s, "-") == s &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
