package oracle

import "github.com/hearth-dmrv/hearth/internal/privacy"

// Personal says what the tables of area D can hold about a person.
func Personal() []privacy.Table {
	const talk = "Conversations with the oracle stay with those who had them, also where they were about it."
	return []privacy.Table{
		{Name: "chat_users", Rules: []privacy.Rule{privacy.Kept("", talk, "user_did")}},
		{Name: "chat_sessions", Rules: []privacy.Rule{privacy.Kept("", talk, "user_did title"), privacy.None(privacy.Ours, "id run before")}},
		{Name: "chat_messages", Rules: []privacy.Rule{privacy.Kept("", talk, "body hidden")}},
		{Name: "chat_declared", Rules: []privacy.Rule{privacy.Kept("", talk, "body")}},
		{Name: "chat_delegations", Rules: []privacy.Rule{privacy.Kept("", talk, "user_did"), privacy.None(privacy.Keyed, "sealed")}},
		{Name: "oracle_runs", Rules: []privacy.Rule{
			privacy.Kept("", talk, "user_did idem"), privacy.None(privacy.Ours, "id owner status abort hash usage"), privacy.None(privacy.Request, "request_id"),
		}},
		{Name: "oracle_frames", Rules: []privacy.Rule{privacy.Kept("", talk, "data")}},
		{Name: "oracle_instances", Rules: []privacy.Rule{privacy.None(privacy.Ours, "id")}},
		{Name: "oracle_used_tokens", Rules: []privacy.Rule{privacy.None("hashes of tokens", "hash bound")}},
	}
}
