package survey

import "github.com/hearth-dmrv/hearth/internal/privacy"

// Parts of area B that erase, as certificates count them.
const (
	PartLists   = "survey lists"
	PartAnswers = "answers"
	PartDrafts  = "unsent interviews"
	PartTests   = "kitchen tests"
	PartWaiting = "submissions that wait for files"
	PartAsked   = "what its interviews asked of twins"
)

// Personal says what the tables of area B can hold about a person.
func Personal() []privacy.Table {
	const (
		lists      = "Files that were sent with templates stay as long as a version uses them: what such a list says about it is not looked for."
		listed     = "It stays on lists of surveys with its DID, stratum, cluster, group, the household it replaces and its outcomes, marked as erased."
		responses  = "Its responses stay with their ids and revisions, its DID, survey, round, stratum and group, how and when they were given, their collector and sender, and their status."
		unmarked   = "Answers that the template does not mark as personal stay."
		decisions  = "Decisions about its responses stay: who decided what and when, without reason and note. The findings of checks and back-checks stay too."
		files      = "Of files that came with its responses only the hashes stay; a file itself stays only if a response of another household has the same file."
		clashes    = "Of contents that clashed with a stored response, only a record stays that they came, when and from whom."
		counted    = "It stays counted in the progress of surveys."
		sampled    = "It stays in frozen frames of sample designs and among what was drawn of them, with its DID, stratum and cluster: otherwise the draws could not be checked."
		tests      = "Its kitchen performance tests stay with their ids, its DID, project, group, fuel and days, and who recorded or changed them and when; what was measured and noted is gone."
		certified  = "This certificate stays, and its DID among those that surveys store nothing new about."
		numbersFor = "what checks over many responses have found, in numbers and DIDs of collectors"
	)
	kept := func(sentence, columns string) privacy.Rule { return privacy.Kept(PartAnswers, sentence, columns) }
	return []privacy.Table{
		{Name: "templates", Rules: []privacy.Rule{privacy.None(privacy.Program, "ws template_id summary")}},
		{Name: "template_versions", Rules: []privacy.Rule{privacy.None(privacy.Program, "ws template_id status body")}},
		{Name: "template_files", Rules: []privacy.Rule{privacy.None(privacy.Ours, "ws sha256"), privacy.Kept("", lists, "data")}},
		{Name: "template_file_uses", Rules: []privacy.Rule{privacy.None(privacy.Ours, "ws template_id sha256")}},
		{Name: "template_reviews", Rules: []privacy.Rule{privacy.None(privacy.Ours, "ws template_id"), privacy.Kept("", privacy.Elsewhere, "body")}},
		{Name: "surveys", Rules: []privacy.Rule{
			privacy.None(privacy.Program, "ws survey_id id_key name_key project stage template_id status rev_action"), privacy.None(privacy.Request, "rev_request"),
			privacy.Kept("", privacy.Acts, "rev_actor"), privacy.Kept("", privacy.Elsewhere, "rev_reason body"),
		}},
		{Name: "survey_history", Rules: []privacy.Rule{
			privacy.None(privacy.Ours, "action"), privacy.None(privacy.Request, "request"),
			privacy.Kept("", privacy.Acts, "actor"), privacy.Kept("", privacy.Elsewhere, "reason body"),
		}},
		{Name: "survey_households", Rules: []privacy.Rule{
			privacy.Erased(PartLists, "area collector lat lon attributes replacement"), privacy.Kept(PartLists, listed, "household stratum cluster replaces"),
		}},
		{Name: "survey_outcomes", Rules: []privacy.Rule{privacy.Kept(PartLists, listed, "household")}},
		{Name: "sampling_designs", Rules: []privacy.Rule{privacy.None(privacy.Program, "ws design_id project"), privacy.Kept("", privacy.Elsewhere, "body")}},
		{Name: "sampling_versions", Rules: []privacy.Rule{privacy.Kept("", privacy.Elsewhere, "body")}},
		{Name: "sampling_frames", Rules: []privacy.Rule{privacy.None(privacy.Ours, "state hash"), privacy.Kept("", privacy.Elsewhere, "body")}},
		{Name: "sampling_pieces", Rules: []privacy.Rule{privacy.Kept(PartLists, sampled, "units homes")}},
		{Name: "sampling_projects", Rules: []privacy.Rule{privacy.None(privacy.Program, "ws project")}},
		{Name: "sampling_draws", Rules: []privacy.Rule{
			privacy.None(privacy.Program, "ws project survey"), privacy.None(privacy.Ours, "frame_hash state"), privacy.None(privacy.Keyed, "sealed"), privacy.Kept("", privacy.Elsewhere, "body"),
		}},
		{Name: "sampling_drawn", Rules: []privacy.Rule{
			privacy.Kept(PartLists, sampled, "cell unit household stratum cluster replaces replaced_by"), privacy.None(privacy.Ours, "hash state"), privacy.Kept("", privacy.Elsewhere, "reason"), privacy.Kept("", privacy.Acts, "actor"),
		}},
		{Name: "kpt_tests", Rules: []privacy.Rule{
			privacy.Erased(PartTests, "unit total heads adults reason body"), privacy.Kept("", privacy.Elsewhere, "reason body"), privacy.Kept(PartTests, tests, "kpt_id project household grp fuel actor"), privacy.None(privacy.Ours, "ws status"),
		}},
		{Name: "kpt_history", Rules: []privacy.Rule{
			privacy.Erased(PartTests, "reason body"), privacy.Kept("", privacy.Elsewhere, "reason body"), privacy.Kept(PartTests, tests, "actor"), privacy.None(privacy.Ours, "status"),
		}},
		{Name: "kpt_projects", Rules: []privacy.Rule{privacy.None(privacy.Program, "ws project")}},
		{Name: "survey_counts", Rules: []privacy.Rule{kept(counted, "stratum")}},
		{Name: "survey_figures", Rules: []privacy.Rule{privacy.None(privacy.Ours, "asked job"), privacy.Erased(PartAnswers, "body")}},
		{Name: "survey_days", Rules: []privacy.Rule{kept(counted, "status")}},
		{Name: "survey_lengths", Rules: []privacy.Rule{privacy.Kept("", privacy.Acts, "collector")}},
		{Name: "responses", Rules: []privacy.Rule{
			privacy.Erased(PartAnswers, "rev_reason first_hash hash body sealed"), privacy.Kept("", privacy.Elsewhere, "rev_reason body sealed"), kept(unmarked, "answers"),
			kept(responses, "response_id id_key household stratum grp status mode collector sender rev_action rev_actor masked body imported_by"),
			kept(decisions, "vstatus verifier"), privacy.None(privacy.Ours, "ws"), privacy.None(privacy.Request, "rev_request"),
		}},
		{Name: "answers", Rules: []privacy.Rule{privacy.Erased(PartAnswers, "code num")}},
		{Name: "response_history", Rules: []privacy.Rule{
			privacy.Erased(PartAnswers, "reason body sealed"), privacy.Kept("", privacy.Elsewhere, "reason body sealed"), kept(unmarked, "answers"), kept(responses, "action actor status masked body imported_by"),
			kept(decisions, "vstatus verifier"), privacy.None(privacy.Request, "request"),
		}},
		{Name: "response_flags", Rules: []privacy.Rule{kept(decisions, "rule question source data")}},
		{Name: "flag_settlements", Rules: []privacy.Rule{
			privacy.Erased(PartAnswers, "note"), privacy.Kept("", privacy.Elsewhere, "note"), kept(decisions, "rule question data outcome"), privacy.Kept("", privacy.Acts, "actor"),
		}},
		{Name: "response_decisions", Rules: []privacy.Rule{
			privacy.Erased(PartAnswers, "reason notes"), privacy.Kept("", privacy.Elsewhere, "reason notes"), kept(decisions, "from_st to_st verifier"), privacy.None(privacy.Request, "request"),
		}},
		{Name: "response_conflicts", Rules: []privacy.Rule{
			privacy.Erased(PartAnswers, "reason hash sealed"), privacy.Kept("", privacy.Elsewhere, "reason sealed"), kept(clashes, "response_id sent_id household code sender resolved_by resolution"), privacy.None(privacy.Ours, "ws"),
		}},
		{Name: "response_claims", Rules: []privacy.Rule{privacy.None(privacy.Ours, "ws"), privacy.Kept("", privacy.Acts, "verifier")}},
		{Name: "response_drafts", Rules: []privacy.Rule{privacy.Erased(PartDrafts, "owner response_id household sealed"), privacy.None(privacy.Ours, "ws")}},
		{Name: "collect_waiting", Rules: []privacy.Rule{privacy.Erased(PartWaiting, "sender instance household sealed"), privacy.None(privacy.Program, "survey_id project"), privacy.None(privacy.Ours, "ws")}},
		{Name: "twin_proposals", Rules: []privacy.Rule{
			privacy.Erased(PartAsked, "response_id household twin branch decided_by reason sealed"), privacy.Kept("", privacy.Elsewhere, "reason"), privacy.Kept("", privacy.Acts, "decided_by"),
			privacy.None(privacy.Program, "list action"), privacy.None(privacy.Ours, "ws status conflict"),
		}},
		{Name: "collect_files", Rules: []privacy.Rule{privacy.Erased(PartWaiting, "sender instance name sha256"), privacy.None(privacy.Ours, "ws")}},
		{Name: "attachments", Rules: []privacy.Rule{kept(files, "sha256 media_type"), privacy.Kept("", privacy.Acts, "sender"), privacy.None(privacy.Ours, "ws")}},
		{Name: "attachment_files", Rules: []privacy.Rule{privacy.None(privacy.Ours, "ws")}},
		{Name: "attachment_pieces", Rules: []privacy.Rule{privacy.Erased(PartAnswers, "data"), kept(files, "data")}},
		{Name: "attachment_uses", Rules: []privacy.Rule{kept(files, "sha256"), privacy.None(privacy.Ours, "ws")}},
		{Name: "survey_project_keys", Rules: []privacy.Rule{privacy.None(privacy.Ours, "ws project"), privacy.None(privacy.Keyed, "sealed")}},
		{Name: "survey_household_keys", Rules: []privacy.Rule{privacy.Erased(PartAnswers, "household sealed"), privacy.None(privacy.Ours, "ws project")}},
		{Name: "quality_rules", Rules: []privacy.Rule{privacy.None(privacy.Program, "data"), privacy.Kept("", privacy.Acts, "actor")}},
		{Name: "quality_rounds", Rules: []privacy.Rule{privacy.None(privacy.Ours, "job"), privacy.None(numbersFor, "data")}},
		{Name: "cross_references", Rules: []privacy.Rule{privacy.None(privacy.Program, "question"), privacy.None(numbersFor, "body"), privacy.Kept("", privacy.Acts, "actor")}},
		{Name: "cross_rounds", Rules: []privacy.Rule{privacy.None(privacy.Program, "question"), privacy.None(privacy.Ours, "job")}},
		{Name: "cross_pairs", Rules: []privacy.Rule{privacy.Erased(PartAnswers, "said measured")}},
		{Name: "back_check_draws", Rules: []privacy.Rule{privacy.None(privacy.Program, "seed data"), privacy.Kept("", privacy.Acts, "actor")}},
		{Name: "back_checks", Rules: []privacy.Rule{kept(decisions, "response_id state data"), privacy.Kept("", privacy.Acts, "collector checker")}},
		{Name: "back_check_counts", Rules: []privacy.Rule{privacy.Kept("", privacy.Acts, "collector")}},
		{Name: "survey_erased", Rules: []privacy.Rule{privacy.None(privacy.Ours, "ws"), privacy.Kept("", certified, "household")}},
	}
}
