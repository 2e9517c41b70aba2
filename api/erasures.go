package api

// ErasureDraft asks for an erasure.
type ErasureDraft struct {
	Subject string `json:"subject" doc:"DID of a household, a person, or any twin whose protocol has personal properties."`
	Reason  string `json:"reason" minLength:"1" maxLength:"1000" doc:"Why; the text is kept, so name nobody." example:"The household has withdrawn its consent."`
}
