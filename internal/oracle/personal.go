package oracle

import "github.com/hearth-dmrv/hearth/internal/privacy"

// PartConversations is the count of area D in certificates: conversations that
// were removed or blanked.
const PartConversations = "conversations"

// Personal says what the tables of area D can hold about a person.
func Personal() []privacy.Table {
	const (
		talk   = "Conversations with the oracle that learned of it leave a record of who had them and when; messages and tool results from that point on are blanked."
		words  = "Conversations with the oracle stay if no tool returned it and nobody wrote its DID in them, or if it had them under another DID, such as a did:key."
		others = "What plugins of the oracle keep for other users stays, even if they wrote its name there."
		tasks  = "What other users scheduled with the oracle stays, even if they wrote its name there."
		known  = "The fact that it was erased stays with its DID, so that an unfinished answer does not bring it back."
	)
	erased := func(columns string) privacy.Rule { return privacy.Erased(PartConversations, columns) }
	kept := func(columns string) privacy.Rule { return privacy.Kept(PartConversations, talk, columns) }
	return []privacy.Table{
		{Name: "chat_users", Rules: []privacy.Rule{erased("user_did did"), privacy.None(privacy.Ours, "workspace")}},
		{Name: "chat_sessions", Rules: []privacy.Rule{erased("user_did title"), kept("user_did"), privacy.Kept("", words, "title"), privacy.None(privacy.Ours, "id run before")}},
		{Name: "chat_messages", Rules: []privacy.Rule{erased("body hidden"), kept("body"), privacy.Kept("", words, "body hidden")}},
		{Name: "chat_declared", Rules: []privacy.Rule{erased("body")}},
		{Name: "chat_delegations", Rules: []privacy.Rule{erased("user_did sealed")}},
		{Name: "oracle_about", Rules: []privacy.Rule{erased("did"), privacy.Kept(PartConversations, known, "did")}},
		{Name: "oracle_runs", Rules: []privacy.Rule{
			erased("user_did idem"), kept("user_did"), privacy.None(privacy.Ours, "id owner status abort hash usage workspace"), privacy.None(privacy.Request, "request_id"),
		}},
		{Name: "oracle_confirmations", Rules: []privacy.Rule{erased("user_did args"), privacy.None(privacy.Ours, "run call tool about hash seal state")}},
		{Name: "oracle_grants", Rules: []privacy.Rule{erased("user_did"), privacy.None(privacy.Ours, "tool hash")}},
		{Name: "oracle_frames", Rules: []privacy.Rule{erased("data")}},
		{Name: "oracle_instances", Rules: []privacy.Rule{privacy.None(privacy.Ours, "id")}},
		{Name: "mcp_servers", Rules: []privacy.Rule{privacy.None(privacy.Program, "name url description"), privacy.None(privacy.Ours, "ws"), privacy.None(privacy.Keyed, "headers")}},
		{Name: "mcp_grants", Rules: []privacy.Rule{privacy.None(privacy.Program, "server tool"), privacy.None(privacy.Ours, "ws hash"), privacy.Kept("", privacy.Acts, "granted_by")}},
		{Name: "plugin_state", Rules: []privacy.Rule{
			erased("user_did did name value"), privacy.Kept("", others, "name value"), privacy.None(privacy.Program, "plugin"), privacy.None(privacy.Ours, "workspace"),
		}},
		{Name: "oracle_tasks", Rules: []privacy.Rule{
			erased("user_did did owner title prompt cron zone reason last_error session"), privacy.Kept("", tasks, "title prompt"), privacy.None(privacy.Ours, "id workspace status last_run"),
		}},
		{Name: "plugin_links", Rules: []privacy.Rule{erased("name user_did did caller"), privacy.None(privacy.Program, "plugin"), privacy.None(privacy.Ours, "workspace")}},
		{Name: "credit_accounts", Rules: []privacy.Rule{erased("did"), privacy.None(privacy.Ours, "workspace status holds")}},
		{Name: "credit_holds", Rules: []privacy.Rule{erased("did"), privacy.None(privacy.Ours, "workspace run")}},
		{Name: "credit_entries", Rules: []privacy.Rule{erased("did note"), privacy.Kept("", privacy.Acts, "by_did"), privacy.None(privacy.Ours, "workspace kind ref")}},
		{Name: "credit_charges", Rules: []privacy.Rule{erased("did"), privacy.None(privacy.Ours, "workspace run")}},
		{Name: "oracle_used_tokens", Rules: []privacy.Rule{privacy.None("hashes of tokens", "hash bound")}},
	}
}
