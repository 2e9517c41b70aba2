package api

import "time"

// TemplateLinks are the addresses of a version.
type TemplateLinks struct {
	Self     string `json:"self"`
	Versions string `json:"versions"`
	Reviews  string `json:"reviews"`
	XLSForm  string `json:"xlsform"`
}

// TemplateVersionInfo is a version in the list of versions.
type TemplateVersionInfo struct {
	Version      int           `json:"version" example:"1"`
	Status       string        `json:"status" enum:"draft,published,deprecated,retired"`
	Current      bool          `json:"current,omitzero" doc:"The version used when none is named."`
	ContentHash  string        `json:"contentHash"`
	Revision     int64         `json:"revision"`
	Created      time.Time     `json:"created,omitzero"`
	CreatedBy    string        `json:"createdBy,omitzero"`
	PublishedAt  time.Time     `json:"publishedAt,omitzero"`
	StatusReason string        `json:"statusReason,omitzero"`
	Links        TemplateLinks `json:"links"`
}

// TemplateVersions are the versions of a template.
type TemplateVersions struct {
	TemplateID string                `json:"templateId"`
	Items      []TemplateVersionInfo `json:"items"`
}

// TemplateMove names a version and why its status changes. The zero value is
// the newest version that can take the step.
type TemplateMove struct {
	Version int    `json:"version,omitzero" doc:"Which version; the newest one this can be done to by default." example:"1"`
	Reason  string `json:"reason,omitzero" doc:"Why, for the record; at most 1,000 characters."`
}

// TemplateDiff is what changed between two versions.
type TemplateDiff struct {
	TemplateID string `json:"templateId"`
	From       int    `json:"from" example:"1"`
	To         int    `json:"to" example:"2"`
	TemplateDifference
}

// TemplateChange is one change between two versions.
type TemplateChange struct {
	Pointer  string `json:"pointer" example:"/sections/eligibility/questions/current_cooking/options/wood"`
	Kind     string `json:"kind" enum:"added,removed,changed,moved"` // added, removed, changed or moved
	Breaking bool   `json:"breaking" doc:"Whether an old response may no longer fit, or an export would change its meaning."`
	Detail   string `json:"detail"`
}

// PreviewProblem is an answer that is wrong or missing.
type PreviewProblem struct {
	Pointer string `json:"pointer" example:"/responses/eligibility/current_cooking"`
	Code    string `json:"code" example:"unknown_option"`
	Detail  string `json:"detail"`
}

// PreviewOption is an option as one person sees it.
type PreviewOption struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

// TemplateLanguages says how complete a version is in each language.
type TemplateLanguages struct {
	TemplateID string           `json:"templateId"`
	Version    int              `json:"version"`
	Items      []LanguageReport `json:"items"`
}

// LanguageReport says how complete a version is in one language.
type LanguageReport struct {
	Language string   `json:"language" example:"sw"`
	Default  bool     `json:"default,omitzero"`
	Present  int      `json:"present" doc:"Texts that exist in the language."`
	Total    int      `json:"total" doc:"Texts that exist in any language, and the labels of all questions that people are asked."`
	Complete bool     `json:"complete"`
	Missing  []string `json:"missing" doc:"Pointers of texts that do not exist in it, at most 100."`
}

// TemplateValidations are the rules of a whole response.
type TemplateValidations struct {
	RequiredSections    []string `json:"requiredSections,omitzero" doc:"Sections that need at least one answer when they are relevant."`
	ConsentOptional     bool     `json:"consentOptional,omitzero" doc:"Whether a response without an answer to the question for consent may be complete. Without it such a response is partial."`
	CompletionThreshold float64  `json:"completionThreshold,omitzero" doc:"Share of the relevant questions that must be answered, from 0 to 1." example:"0.8"`
}

// TemplateReview is the record of an assessment of a template's suitability.
type TemplateReview struct {
	ReviewID         string    `json:"reviewId" example:"rvw_175929"`
	TemplateID       string    `json:"templateId"`
	Version          int       `json:"version" doc:"The version that was reviewed."`
	Reviewer         string    `json:"reviewer" doc:"DID of whoever reviewed it."`
	ReviewedAt       time.Time `json:"reviewedAt"`
	Findings         string    `json:"findings"`
	Decision         string    `json:"decision" enum:"keep,revise,retire"` // keep, revise or retire
	NextReviewInDays int       `json:"nextReviewInDays,omitzero" doc:"Asked for in this review; the interval of the template otherwise."`
	NextDue          time.Time `json:"nextDue" doc:"When the next review is due, unless a version is published meanwhile."`
	Created          time.Time `json:"created" doc:"When it was recorded."`
}

// TemplateReviewState is the state of a template's reviews.
type TemplateReviewState struct {
	Due     time.Time       `json:"due,omitzero" doc:"When the next review is due."`
	Overdue bool            `json:"overdue" doc:"Whether that is past. A new campaign needs a reason then."`
	Last    *TemplateReview `json:"last,omitzero"`
}

// TemplateReviewDraft is a review to record. Findings and Decision are
// required.
type TemplateReviewDraft struct {
	Findings         string    `json:"findings" doc:"What was found; at most 10,000 characters." example:"Questions are understood; the fuel units fit."`
	Decision         string    `json:"decision" enum:"keep,revise,retire"` // keep, revise or retire
	Version          int       `json:"version,omitzero" doc:"The version that was reviewed; the one that is used when none is named by default."`
	ReviewedAt       time.Time `json:"reviewedAt,omitzero" doc:"When, if not now."`
	NextReviewInDays int       `json:"nextReviewInDays,omitzero" doc:"1 to 3650; the interval of the template by default."`
}

// TemplateValidation bounds the answers of one question.
type TemplateValidation struct {
	Min           *float64 `json:"min,omitzero"`
	Max           *float64 `json:"max,omitzero"`
	Step          *float64 `json:"step,omitzero" doc:"Distance between allowed numbers, counted from min or 0."`
	Regex         string   `json:"regex,omitzero" doc:"RE2 expression that the whole text must match; at most 500 characters, and repeats that keep it quick for texts of maxLength."`
	MaxLength     int      `json:"maxLength,omitzero" doc:"Characters of a text; at most and by default 4,000."`
	MinSelections int      `json:"minSelections,omitzero"`
	MaxSelections int      `json:"maxSelections,omitzero"`
}

// TemplateDifference is what changed between two templates.
type TemplateDifference struct {
	Verdict string           `json:"verdict" enum:"identical,compatible,breaking"`
	Changes []TemplateChange `json:"changes" doc:"At most 1,000."`
	More    bool             `json:"more,omitzero" doc:"Whether there are more changes than shown."`
}
