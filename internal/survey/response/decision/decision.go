// Package decision keeps what was decided about responses, step by step. A
// decision is never changed; an erasure takes its words out.
package decision

// Decision is one step of a verification, as it is kept for ever.
type Decision struct {
	NID       int64
	Response  int64
	From, To  string
	Verifier  string
	At        int64 // ms
	Reason    string
	Notes     string
	Imported  bool
	Revision  int64 // of the response that shows it
	RequestID string
	Reviews   int64 // how many have approved with it
	Judged    int64 // the revision it is about; 0 where nobody named one
}
