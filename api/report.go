package api

import "time"

// AuditReportDraft asks for the bundle of a project.
type AuditReportDraft struct {
	Project string `json:"projectId" required:"true" doc:"DID of the project." example:"did:ixo:entity:175d7824ba25002e4ec206365e206236"`
	Oracle  string `json:"oracle,omitzero" doc:"DID of the oracle whose key signs it; by default the one that issued the newest credential of the project. Another one has issued credentials of it too, or you control it and may change it."`
}

// AuditReport is a bundle for auditors: one signed archive.
type AuditReport struct {
	ID         string     `json:"id" doc:"The same as the id of its job."`
	Project    string     `json:"projectId"`
	Oracle     string     `json:"oracle,omitzero" doc:"Who signed it."`
	Issuer     string     `json:"issuer,omitzero" doc:"The signer's id in the manifest: give it to hearth audit verify --issuer." example:"did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw"`
	Status     string     `json:"status" enum:"queued,running,succeeded,completedWithErrors,failed,cancelled"`
	Files      int        `json:"files,omitzero" doc:"How many files the archive has."`
	Bytes      int64      `json:"bytes,omitzero"`
	SHA256     string     `json:"sha256,omitzero" doc:"Of the archive, once it is whole."`
	Errors     []JobError `json:"errors,omitzero" doc:"Why it failed."`
	CreatedBy  string     `json:"createdBy"`
	CreatedAt  time.Time  `json:"createdAt"`
	FinishedAt time.Time  `json:"finishedAt,omitzero"`
	ExpiresAt  time.Time  `json:"expiresAt,omitzero" doc:"When the file is removed."`

	Links AuditReportLinks `json:"links"`
}

// AuditReportLinks are the addresses of a report.
type AuditReportLinks struct {
	Self string `json:"self"`
	Job  string `json:"job"`
	File string `json:"file,omitzero" doc:"The archive, while it can be read."`
}
