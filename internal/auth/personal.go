package auth

import "github.com/hearth-dmrv/hearth/internal/privacy"

// Personal says what the tables of this package can hold about a person.
func Personal() []privacy.Table {
	const keys = "Its API keys stay with id, scopes and times, revoked and without their names, so that the record of what they did can be read."
	return []privacy.Table{
		{Name: "workspaces", Rules: []privacy.Rule{privacy.None(privacy.Program, "id name"), privacy.Kept("", privacy.Acts, "created_by")}},
		{Name: "principals", Rules: []privacy.Rule{
			privacy.None(privacy.Ours, "workspace kind"), privacy.Erased("keys", "name name_key"), privacy.Kept("keys", keys, "did"),
		}},
		{Name: "api_keys", Rules: []privacy.Rule{
			privacy.Erased("keys", "name"), privacy.Kept("keys", keys, "id principal prefix scopes projects networks replaces replaced_by"),
			privacy.Kept("", privacy.Acts, "created_by bound_to"), privacy.None(privacy.Ours, "workspace hash"),
		}},
		{Name: "console_sessions", Rules: []privacy.Rule{
			privacy.Erased("keys", "id key_id addr agent"), privacy.None(privacy.Ours, "ws hash"),
		}},
		{Name: "console_codes", Rules: []privacy.Rule{privacy.Erased("keys", "key_id"), privacy.None(privacy.Ours, "ws hash")}},
		{Name: "invites", Rules: []privacy.Rule{
			privacy.Erased("keys", "id draft principal made"), privacy.Kept("", privacy.Acts, "created_by key_id"), privacy.None(privacy.Ours, "ws hash"),
		}},
		{Name: "server_proof", Rules: []privacy.Rule{privacy.None(privacy.Keyed, "sealed")}},
		{Name: "server_shared", Rules: []privacy.Rule{privacy.None(privacy.Ours, "name"), privacy.None(privacy.Keyed, "sealed")}},
	}
}
