package erase

import "github.com/hearth-dmrv/hearth/internal/privacy"

// Personal says what the tables of area A can hold about a person.
func Personal() []privacy.Table {
	const (
		twin      = "Its twin stays as a deactivated DID with type, protocol, owner, controllers, project, when and by whom it was made and changed, and whether it was verified."
		revisions = "Its revisions stay with number, time, hash and who made them, without what they said and why."
		peoples   = "Its relationships to projects, devices and other twins that are not about people stay; those to people and households have ended, but for any that an active twin cannot do without or that the key of the caller does not reach. That they were there stays, as DIDs."
		things    = "Its relationships to twins held here stay, also ended ones, without the reason why they ended."
		readings  = "Readings of its devices stay; they name nobody."
		promised  = "That it was promised vouchers, their amounts and what suppliers were given of them stay, under its DID."
		member    = "That it was a member of groups stays in the events about them, as a DID."
		this      = "This certificate stays, and its DID among those that surveys store nothing new about."
		claimed   = "Claims about it stay, with its DID, its days, the amount, the evidence that was named and the facts that were found, without what people wrote when they decided about them or disputed them."
		issued    = "Credentials about it stay as they were signed, under a pseudonym; their records name it no more."
		household = "The household that was registered with it stays for others who are linked to it, without its telephone number and customer id and without earlier revisions."
		backups   = "Backups made before the erasure stay as they are: erase again after restoring one."
	)
	return []privacy.Table{
		{Name: "entities", Rules: []privacy.Rule{
			privacy.Erased("revisions", "name name_key rev_reason body"), privacy.Erased("claims", "rev_reason"), privacy.Kept("", privacy.Elsewhere, "name name_key rev_reason body"), privacy.Kept(shared, household, "body"),
			privacy.Kept(privacy.Twin, twin, "did type class domain_type protocol protocol_version project status rev_action rev_actor"),
			privacy.Kept(privacy.Twin, revisions, "rev_hash"),
			privacy.None(privacy.Ours, "ws"), privacy.None(privacy.Request, "rev_request"),
		}},
		{Name: "entity_history", Rules: []privacy.Rule{
			privacy.Erased("revisions", "reason body"), privacy.Erased("claims", "reason"), privacy.Kept("", privacy.Elsewhere, "reason body"),
			privacy.Kept(privacy.Twin, revisions, "action actor hash"), privacy.None(privacy.Request, "request"),
		}},
		{Name: "entity_props", Rules: []privacy.Rule{privacy.Erased("revisions", "val"), privacy.Kept(shared, household, "val")}},
		{Name: "entity_externals", Rules: []privacy.Rule{privacy.Erased("revisions", "value value_key"), privacy.None(privacy.Program, "ws scheme")}},
		{Name: "relationships", Rules: []privacy.Rule{
			privacy.Erased("relationships", "reason"), privacy.Kept("", privacy.Elsewhere, "reason"),
			privacy.Kept(privacy.Person, peoples, "src_did dst_did role"), privacy.Kept(privacy.Thing, things, "src_did dst_did role"),
			privacy.Kept("", privacy.Acts, "added_by removed_by"), privacy.None(privacy.Ours, "ws source"),
		}},
		{Name: "claims", Rules: []privacy.Rule{
			privacy.Kept(privacy.Twin, claimed, "did cid project type kind subject_did amount approved unit dedupe serial status document facts"), privacy.Kept("", privacy.Elsewhere, "document facts"),
			privacy.Kept("", privacy.Acts, "claimant"), privacy.None(privacy.Ours, "ws"), privacy.None(privacy.Program, "protocol version"),
		}},
		{Name: "claim_evaluations", Rules: []privacy.Rule{
			privacy.Erased("claims", "reason"), privacy.Kept(privacy.Twin, claimed, "facts amount"), privacy.Kept("", privacy.Elsewhere, "facts reason"), privacy.Kept("", privacy.Acts, "evaluator oracle"),
			privacy.None(privacy.Ours, "ws status"), privacy.None(privacy.Program, "protocol version rubric_hash outcome reason_code rule"),
		}},
		{Name: "claim_disputes", Rules: []privacy.Rule{
			privacy.Erased("claims", "reason answer"), privacy.Kept("", privacy.Elsewhere, "reason answer"), privacy.Kept("", privacy.Acts, "disputer decided_by"), privacy.None(privacy.Ours, "ws was status"),
		}},
		{Name: "claim_leases", Rules: []privacy.Rule{privacy.None(privacy.Ours, "ws"), privacy.Kept("", privacy.Acts, "holder")}},
		{Name: "evaluation_consents", Rules: []privacy.Rule{privacy.None(privacy.Ours, "ws"), privacy.Kept("", privacy.Acts, "principal")}},
		{Name: "claim_collections", Rules: []privacy.Rule{
			privacy.Kept("", privacy.Elsewhere, "name description"), privacy.Kept("", privacy.Acts, "actor"), privacy.None(privacy.Ours, "ws project state"), privacy.None(privacy.Program, "protocol version"),
		}},
		{Name: "credentials", Rules: []privacy.Rule{
			privacy.Erased("credentials", "says"), privacy.Kept("credentials", issued, "did page uri project salt says document"), privacy.None(privacy.Ours, "ws state"),
		}},
		{Name: "issuer_keys", Rules: []privacy.Rule{privacy.None(privacy.Ours, "ws controller method public sealed")}},
		{Name: "status_lists", Rules: []privacy.Rule{privacy.None(privacy.Ours, "ws list_id address")}},
		{Name: "claim_cover", Rules: []privacy.Rule{privacy.None(privacy.Program, "ws kind")}},
		{Name: "claim_kinds", Rules: []privacy.Rule{privacy.None(privacy.Program, "ws kind")}},
		{Name: "voucher_totals", Rules: []privacy.Rule{privacy.None(privacy.Program, "ws certificate currency")}},
		{Name: "vouchers", Rules: []privacy.Rule{
			privacy.Erased("vouchers", "reason attributes"), privacy.Kept("", privacy.Elsewhere, "reason attributes"),
			privacy.Kept("vouchers", promised, "voucher_id project recipient certificate supplier currency"), privacy.None(privacy.Ours, "ws state"), privacy.Kept("", privacy.Acts, "actor"),
		}},
		{Name: "voucher_redemptions", Rules: []privacy.Rule{
			privacy.Kept("vouchers", promised, "redemption_id supplier product"), privacy.None(privacy.Ours, "ws mode"), privacy.Kept("", privacy.Acts, "actor"),
		}},
		{Name: "device_readings", Rules: []privacy.Rule{privacy.Kept(privacy.Twin, readings, "temperature data")}},
		{Name: "device_reading_changes", Rules: []privacy.Rule{
			privacy.Kept(privacy.Twin, readings, "temperature data"), privacy.Kept("", privacy.Elsewhere, "reason"), privacy.Kept("", privacy.Acts, "actor"),
		}},
		{Name: "device_days", Rules: []privacy.Rule{
			privacy.Kept(privacy.Person, peoples, "household"), privacy.Kept(privacy.Thing, things, "stove"), privacy.None(privacy.Ours, "ws"),
		}},
		{Name: "device_status", Rules: []privacy.Rule{privacy.Kept(privacy.Twin, readings, "battery signal")}},
		{Name: "group_members", Rules: []privacy.Rule{
			privacy.Erased("memberships", "member"), privacy.Kept("memberships", member, "member"),
			privacy.Kept("", privacy.Acts, "added_by"), privacy.None(privacy.Ours, "ws"),
		}},
		{Name: "entity_keys", Rules: []privacy.Rule{
			privacy.Erased("revisions", "did key"), privacy.None(privacy.Ours, "ws scopes"), privacy.Kept("", privacy.Acts, "added_by"),
		}},
		{Name: "group_counts", Rules: []privacy.Rule{privacy.None(privacy.Ours, "ws kind"), privacy.Kept("memberships", member, "did")}},
		{Name: "protocols", Rules: []privacy.Rule{privacy.None(privacy.Program, "ws did version class domain")}},
		{Name: "protocol_versions", Rules: []privacy.Rule{privacy.None(privacy.Program, "ws did version status body")}},
		{Name: "protocol_properties", Rules: []privacy.Rule{privacy.None(privacy.Program, "ws property did kind")}},
		{Name: "batch_results", Rules: []privacy.Rule{privacy.None(privacy.Ours, "batch"), privacy.Kept("", privacy.Reports, "data")}},
		{Name: "", Rules: []privacy.Rule{privacy.Kept("", backups, "")}},
		{Name: "erasures", Rules: []privacy.Rule{privacy.Kept("", this, "subject body"), privacy.None(privacy.Ours, "ws")}},
	}
}
