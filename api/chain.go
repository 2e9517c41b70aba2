package api

// ClaimEvidence is a piece of evidence of a claim, and whether what it refers to is
// unchanged.
type ClaimEvidence struct {
	Index       int    `json:"index" doc:"Place in the evidence of the document, from 0."`
	Type        string `json:"type" enum:"response,entity,readings,kitchenTest,calculation,file,other" doc:"other: a text or an object that does not name a record of this server."`
	ID          string `json:"id,omitzero" doc:"What it names: the id of a response or a test, the DID of a twin or of the device of readings, the SHA-256 of a file."`
	Revision    int64  `json:"revision,omitzero" doc:"Of a response, a twin or a test: which of its states it names."`
	From        string `json:"from,omitzero" doc:"Of readings: the first moment."`
	To          string `json:"to,omitzero" doc:"Of readings: the end, not included."`
	Count       int    `json:"count,omitzero" doc:"How many readings there were."`
	Hash        string `json:"hash,omitzero" doc:"What it was, as the document has it."`
	State       string `json:"state" enum:"same,changed,erased,missing,unchecked" doc:"same: it was looked up now and has this hash. changed: its hash differs. erased: it existed, and its content was erased to protect a person. missing: it does not exist. unchecked: there is nothing here to look up."`
	Corrections int    `json:"corrections,omitzero" doc:"Readings of this time that were corrected or withdrawn since; at most 1,000 corrections are searched for a claim."`
	Detail      string `json:"detail,omitzero" doc:"The same in words."`
	Link        string `json:"link,omitzero" doc:"Where callers with the right to read it find it."`
}

// ClaimEvidenceList is all evidence of a claim.
type ClaimEvidenceList struct {
	Claim string          `json:"claim" doc:"DID of the claim."`
	Items []ClaimEvidence `json:"items" doc:"In the order of the document."`
}

// ClaimChain is the chain from a credential to its evidence, step by step.
type ClaimChain struct {
	Claim string      `json:"claim" doc:"DID of the claim."`
	Holds bool        `json:"holds" doc:"No step failed. Steps that are unchecked or absent do not count."`
	Steps []ChainStep `json:"steps" doc:"From the credential down to the draw."`
}

// ChainStep is one link of the chain.
type ChainStep struct {
	Step   string `json:"step" enum:"credential,evaluation,claim,evidence,subject,draw"`
	State  string `json:"state" enum:"checked,failed,unchecked,absent" doc:"checked: it was checked for this answer and is correct. absent: there is nothing to check."`
	Detail string `json:"detail" doc:"What was checked, and what came out."`
	Link   string `json:"link,omitzero" doc:"Where it can be read."`
	Check  string `json:"check,omitzero" doc:"How to check it, where this answer has not."`

	Code   string            `json:"code,omitzero" doc:"A name for what detail says, for programs that say it in another language. There will be more; show detail for one that you do not know." example:"evaluation_same"`
	Values map[string]string `json:"values,omitzero" doc:"What stands in the sentence of detail." example:"{\"outcome\":\"approved\",\"reasonCode\":\"IN_USE\"}"`

	Evidence *ClaimEvidence `json:"evidence,omitzero" doc:"Only for the step evidence."`
}
