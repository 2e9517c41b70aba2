package api

import "time"

// Revision is one change in the history of a twin.
type Revision struct {
	Revision     int64         `json:"revision"`
	At           time.Time     `json:"at" doc:"When it was made."`
	Actor        string        `json:"actor" doc:"DID of whoever made it."`
	RequestID    string        `json:"requestId,omitzero" doc:"X-Request-Id of the request that made it."`
	Action       string        `json:"action" doc:"What was done." example:"update"`
	Reason       string        `json:"reason,omitzero" doc:"Why, in the words of whoever did it."`
	Hash         string        `json:"hash" doc:"Hexadecimal SHA-256 of the hash before and the bytes of the record. Callers who do not see all of the record get an HMAC of it, because the hash itself would let them guess what is withheld."`
	Erased       bool          `json:"erased,omitzero" doc:"Its content was erased; its hash stays."`
	PreviousHash string        `json:"previousHash,omitzero" doc:"Hash of the revision before; the first has none."`
	Links        RevisionLinks `json:"links"`
}

// RevisionLinks are the addresses of a revision.
type RevisionLinks struct {
	Record string `json:"record" doc:"The record as it was."`
	Diff   string `json:"diff,omitzero" doc:"What it changed."`
}

// HistoryAudit is the result of checking a part of the history.
type HistoryAudit struct {
	DID      string   `json:"did"`
	OK       bool     `json:"ok" doc:"Every revision that was checked exists and is as it was stored."`
	Checked  int      `json:"checked" doc:"How many revisions were checked."`
	Erased   int      `json:"erased,omitzero" doc:"How many of them were erased. Their bytes cannot be checked, but it can be checked that nothing replaced them."`
	From     int64    `json:"from" doc:"First revision of this page."`
	To       int64    `json:"to" doc:"Last revision that was checked and is right; 0 when none is."`
	Revision int64    `json:"revision" doc:"The newest."`
	Hash     string   `json:"hash" doc:"Hash of the newest revision. Keep a copy elsewhere: as long as the history still leads to this hash, it has not been changed."`
	BrokenAt int64    `json:"brokenAt,omitzero" doc:"First revision that is wrong; nothing after it was checked."`
	Problem  string   `json:"problem,omitzero" enum:"missing,changed" doc:"missing: the revision does not exist. changed: its bytes or its hash differ."`
	Page     PageInfo `json:"page"`
}
