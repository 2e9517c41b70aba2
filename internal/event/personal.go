package event

import "github.com/hearth-dmrv/hearth/internal/privacy"

// Personal says what the tables of events and webhooks can hold about a person.
func Personal() []privacy.Table {
	const stay = "Events about it stay with type, time and who caused them, without their data. Events about others may name its DID."
	return []privacy.Table{
		{Name: "events", Rules: []privacy.Rule{
			privacy.Erased("events", "data"), privacy.Kept("", stay, "data type subject actor"),
			privacy.None(privacy.Ours, "ws"), privacy.None(privacy.Request, "request_id"),
		}},
		{Name: "event_counters", Rules: []privacy.Rule{privacy.None(privacy.Ours, "ws")}},
		{Name: "webhooks", Rules: []privacy.Rule{
			privacy.None(privacy.Program, "url events description reason filter"), privacy.None(privacy.Ours, "ws id"), privacy.None(privacy.Keyed, "secret old_secret"),
		}},
		{Name: "webhook_deliveries", Rules: []privacy.Rule{
			privacy.None(privacy.Ours, "webhook type status lease_owner"), privacy.None("what kept an event from being delivered, never what was in it", "last_error"),
			privacy.Erased("events", "answer"),
		}},
	}
}
