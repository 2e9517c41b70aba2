package app

// tagTexts say what the routes of a group in the reference are for. The areas
// name the groups; only here all of them are known.
var tagTexts = map[string]string{
	"protocols":    "What twins are made from: properties, relationships, versions. Thirteen come with the program.",
	"entities":     "Digital twins: records, lists and filters, batches, history, relationships, services.",
	"graph":        "Walks along relationships: neighbours, sub-domains, paths, exports, and the proof that the rules of the domain model hold.",
	"groups":       "Membership groups of organisations, and who is in them: how people get rights.",
	"households":   "Households by the words of the monitoring platform. Each is an entity underneath.",
	"devices":      "Stove-use monitors and other devices: readings, gaps, cooking events. Each is an entity underneath.",
	"imports":      "Twins from NDJSON, CSV or XLSX, and twins moved to another version of their protocol: as jobs, dry run first.",
	"exports":      "Twins as files: NDJSON, CSV, XLSX.",
	"templates":    "What surveys ask: sections, questions, rules, languages, versions, reviews. Three come with the program.",
	"surveys":      "Campaigns: what is asked, whom and by whom, from draft to archive, with the households and the progress.",
	"responses":    "What households answered: sent once however often, checked against the template, corrected with a history.",
	"attachments":  "Pictures, sounds and other files of responses, by the hash of their bytes.",
	"verification": "Decisions about responses, by somebody other than who collected them.",
	"credentials":  "Verification of credentials and presentations of any issuer, by the W3C VC-API; an issuer for test suites.",
	"sampling":     "Sample designs, frozen frames, and draws that anybody can make again.",
	"claims":       "Claims as they were submitted: each with a document and a CID that do not change.",
	"vouchers":     "Vouchers paid from credentials: issued to a recipient, redeemed by suppliers bit by bit.",
	"kpt":          "Kitchen performance tests: what fuel households used, by weighing, with the old stove and with the new one.",
	"quality":      "What checks have found, how collectors compare, and back-checks.",
	"emissions":    "Emission calculations by versioned modules: every step, every rule that was applied, and hashes of both.",
	"overview":     "The whole programme at once, over all areas: what DIDs are called, what begins with a text, how much there is.",
	"erasures":     "Forgetting a person, in one call and with a certificate.",
	"dids":         "DID documents: of entities, of this server, and of other DIDs.",
	"keys":         "API keys: who may call, and do what.",
	"workspaces":   "Programmes side by side on one server; none sees another.",
	"events":       "What happened, in order and without gaps: read, followed live, audited.",
	"webhooks":     "Events sent to an address of yours, signed and retried.",
	"demo":         "A programme to look at: loaded in one call, and taken away whole.",
	"jobs":         "Work that goes on after the answer: progress, results, cancelling.",
	"ussd":         "What telecom gateways call once for each key press, and what operators see of it. Answers are texts that begin with CON or END.",
	"line":         "The USSD line for those who look after it: the menu, calls, customers, short messages, and a handset to try it with.",
	"oracle":       "An agent that answers, looks things up and calls tools: chat sessions, messages as JSON or as a stream that can be joined again, sockets, delegations. Callers show a UCAN.",
	"plugins":      "What plugins add to the oracle. Which ones there are depends on the program and its settings; docs/plugins.md says how to write one.",
	"system":       "Whether the server lives, and what it is.",
	"operations":   "For operators: health, errors, settings, backups, metrics.",
	"reference":    "These pages, and the document behind them.",
}

func tagText(name string) string { return tagTexts[name] }
