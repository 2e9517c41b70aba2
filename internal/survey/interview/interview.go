// Package interview asks a survey one question at a time, where there is no form
// to look at: over USSD and in a conversation. Package form decides which
// question comes next, what can be chosen and whether an answer is accepted, as
// for every response; this package only puts questions into words and reads the
// answers. The answers so far are a draft of the person answering, so an
// interview can be continued on another day or server. Sending it makes a
// response, by the same code as all others, and nothing is sent that was not
// answered.
//
// A draft (Drafts) belongs to its collector, written by a browser or by an
// interview here: nobody else reads it, whatever scopes they have. It is sealed
// with the key of the household, as answers are, and is removed when the
// interview is sent, when the household is erased, or 30 days after it was last
// saved. Its content is not checked before it is sent.
//
// A proposal (Proposals) is what an interview asks of a twin: to make one, or to
// change one. Collectors do not change twins. What the answers of a form with an
// entity propose is stored with the response, in its transaction, and waits. A
// principal who may make or change the twin accepts or rejects it; only then the
// twin changes, by the rules of its protocol and with that principal's rights.
//
// A device says which revision of a twin it knew. If the twin has changed since,
// there is a conflict, as in ODK Entities: soft when other properties have changed,
// hard when the same ones have. Both values are shown before the decision and kept
// with it. Several proposals from one device about one twin are a branch: they do
// not conflict with each other, and are decided one after the other.
package interview

import (
	"strconv"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// Ref identifies an interview: there is one for each household, survey and
// caller.
type Ref struct {
	Survey    string
	Household string
	Language  string
	// Own means that the household is the caller's own. All others are for
	// collectors of the survey.
	Own bool
}

// Option is an option to choose.
type Option struct {
	Value string `json:"value"`
	Label string `json:"label"`
}

// how a question is answered.
type how uint8

const (
	byText    how = iota
	byOne         // one of the options
	bySeveral     // some of them
	inOrder       // all of them, in an order
	byYes         // yes or no
	byMore        // whether a repeat continues
)

// Step is a question to ask.
type Step struct {
	At       string   `json:"question"` // pointer of the answer, from the section on
	Section  string   `json:"section,omitzero"`
	Text     string   `json:"text"`
	Hint     string   `json:"hint,omitzero"`
	Options  []Option `json:"options,omitzero"`
	Several  bool     `json:"several,omitzero"`
	Required bool     `json:"required,omitzero"`
	Now      string   `json:"now,omitzero"` // the previous answer
	Problem  string   `json:"problem,omitzero"`

	how     how
	lang    string
	q       *form.Question
	done    bool // answered or passed over
	row     string
	notes   []string
	other   bool // in other words
	refuses []string
}

// Answered is a question with its answer.
type Answered struct {
	At   string `json:"question"`
	Text string `json:"text"`
	Said string `json:"answer"`
}

// Turn is the state of an interview: at a question, or with all of them answered.
type Turn struct {
	ResponseID string
	Survey     string
	Step       *Step // nil: no question is left
	Answered   int
	Left       int
	Refused    bool // there is no consent
	Consent    bool // it was asked for and given
}

// Code is a short name of the response for people to write down.
func (t *Turn) Code() string { return strings.ToUpper(t.ResponseID[max(len(t.ResponseID)-6, 0):]) }

// Skips reports whether the question may be left out.
func (s *Step) Skips() bool { return !s.Required && s.how != byMore }

// Zero reports whether 0 may be an answer.
func (s *Step) Zero() bool { return s.how == byText }

// Lines returns the options, one each, numbered from 1.
func (s *Step) Lines() []string {
	out := make([]string, len(s.Options))
	for i, o := range s.Options {
		out[i] = strconv.Itoa(i+1) + ". " + o.Label
	}
	return out
}

// Keys returns the lines for a handset: the options, and what can be typed
// instead of an answer.
func (s *Step) Keys() (out []string) {
	out = s.Lines()
	if s.Skips() {
		out = append(out, "00. "+wSkip.in(s.lang))
	}
	if s.how == byText {
		defer func() { out = append(out, "#. "+wBack.in(s.lang)) }()
		for _, value := range s.refuses {
			key := "000. "
			if value == refusedValue {
				key = "0000. "
			}
			out = append(out, key+noAnswer(value).in(s.lang))
		}
	}
	return out
}

// Show returns the text of the question with what precedes it.
func (s *Step) Show() string {
	parts := s.notes
	if s.Section != "" {
		parts = append([]string{s.Section}, parts...)
	}
	parts = append(parts[:len(parts):len(parts)], s.Text)
	if s.Hint != "" {
		parts = append(parts, s.Hint)
	}
	return strings.Join(parts, "\n")
}

func notOffered() error {
	return fault.New(fault.NotFound, "INTERVIEW_NOT_OFFERED", "There is no such survey for this household now.")
}

const answeredCode = "DUPLICATE_HOUSEHOLD_RESPONSE"

func alreadyAnswered() error {
	return fault.New(fault.Conflict, answeredCode, "The household has already answered this survey.")
}
