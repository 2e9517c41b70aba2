package form

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/cel"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Input is what Check needs to know.
type Input struct {
	Answers   jsontext.Value // {section: {question: answer}}
	Household map[string]any // did, group, stratum, attributes
	Response  map[string]any // id, mode, language, collector, startedAt, submittedAt, round
	Now       time.Time      // its day is `today` in expressions
	Before    jsontext.Value // the answers that are corrected, with calculated values; nil of a new response
	Partial   bool           // answers are still to come: what a missing one decides is open
	Reach     Reach          // of the interviewer: questions beyond it count only when answered
}

// Result is what Check found.
type Result struct {
	Wrong        []fault.Field  // always an error: type, option, range, constraint, unknown name; at most 100
	Missing      []fault.Field  // required, relevant, not answered, or what answers that were kept wait for; at most 100
	NoConsent    []string       // pointers of questions for consent that are asked and not answered
	Dropped      []string       // pointers of answers that were not relevant; at most 100
	Answers      jsontext.Value // canonical (RFC 8785), with calculated values
	Public       jsontext.Value // Answers without those marked as PII; canonical; the same memory when there are none
	Private      jsontext.Value // only those; canonical; nil when there are none
	Masked       []string       // pointers of the answers in Private
	Attachments  []string       // "sha256:…" of every attachment answered, each once, sorted
	Relevant     int            // questions that are asked, given the answers, and can be
	Answered     int            // those of them with an answer
	Completeness float64        // Answered/Relevant; 1 when nothing is asked
	Complete     bool           // nothing missing and Completeness reaches the threshold
	Consent      *bool          // the answer of the consent question; false when any of several is

	ev *evaluation
}

// OK reports whether nothing is wrong. Something may still be missing.
func (r *Result) OK() bool { return len(r.Wrong) == 0 }

// Holds evaluates a condition that the form of this result has compiled. It
// does not hold when it cannot be evaluated; the error says why. A result is
// not for concurrent use.
func (r *Result) Holds(p *cel.Program) (bool, error) {
	held, _, err := p.Holds(r.ev.outside())
	return held, err
}
