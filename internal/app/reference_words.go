package app

// tagText says what the routes of a group in the reference are for. The areas
// name the groups; only here all of them are known.
func tagText(name string) string {
	switch name {
	case "protocols":
		return "What twins are made from: properties, relationships, versions. Thirteen come with the program."
	case "entities":
		return "Digital twins: records, lists and filters, batches, history, relationships, services."
	case "graph":
		return "Walks along relationships: neighbours, sub-domains, paths, exports, and the proof that the rules of the domain model hold."
	case "groups":
		return "Membership groups of organisations, and who is in them: how people get rights."
	case "households":
		return "Households by the words of the monitoring platform. Each is an entity underneath."
	case "devices":
		return "Stove-use monitors and other devices: readings, gaps, cooking events. Each is an entity underneath."
	case "imports":
		return "Twins from NDJSON, CSV or XLSX, and twins moved to another version of their protocol: as jobs, dry run first."
	case "exports":
		return "Twins as files: NDJSON, CSV, XLSX."
	case "templates":
		return "What surveys ask: sections, questions, rules, languages, versions, reviews. Three come with the program."
	case "surveys":
		return "Campaigns: what is asked, whom and by whom, from draft to archive, with the households and the progress."
	case "responses":
		return "What households answered: sent once however often, checked against the template, corrected with a history."
	case "attachments":
		return "Pictures, sounds and other files of responses, by the hash of their bytes."
	case "verification":
		return "Decisions about responses, by somebody other than who collected them."
	case "quality":
		return "What checks have found, how collectors compare, and back-checks."
	case "overview":
		return "The whole programme at once, over all areas: what DIDs are called, what begins with a text, how much there is."
	case "erasures":
		return "Forgetting a person, in one call and with a certificate."
	case "dids":
		return "DID documents: of entities, of this server, and of other DIDs."
	case "keys":
		return "API keys: who may call, and do what."
	case "workspaces":
		return "Programmes side by side on one server; none sees another."
	case "events":
		return "What happened, in order and without gaps: read, followed live, audited."
	case "webhooks":
		return "Events sent to an address of yours, signed and retried."
	case "demo":
		return "A programme to look at: loaded in one call, and taken away whole."
	case "jobs":
		return "Work that goes on after the answer: progress, results, cancelling."
	case "ussd":
		return "What telecom gateways call once for each key press, and what operators see of it. Answers are texts that begin with CON or END."
	case "oracle":
		return "An agent that answers, looks things up and calls tools: chat sessions, messages as JSON or as a stream that can be joined again, sockets, delegations. Callers show a UCAN."
	case "system":
		return "Whether the server lives, and what it is."
	case "operations":
		return "For operators: readiness, metrics."
	case "reference":
		return "These pages, and the document behind them."
	}
	return ""
}
