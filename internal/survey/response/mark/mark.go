// Package mark keeps the flags of responses: what checks have found, each with
// the source it came from, once for a rule and a question.
package mark

// Submit is the source of flags that one response got by itself.
const Submit = "submit"

// On is what flags belong to.
type On struct {
	Response int64
	Survey   int64
	At       int64 // ms
}

// Name tells a flag from others of the response.
type Name struct{ Rule, Question string }
