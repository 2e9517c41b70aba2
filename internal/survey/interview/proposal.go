package interview

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
)

// What is asked, what became of it, and how it clashes with the twin.
const (
	create = "create"
	update = "update"

	open      = "open"
	accepted  = "accepted"
	rejected  = "rejected"
	withdrawn = "withdrawn"

	none = "none"
	soft = "soft"
	hard = "hard"
)

const proposalPrefix = "prp_"

func proposalID(nid int64) string { return proposalPrefix + strconv.FormatInt(nid, 10) }

func parseProposal(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimPrefix(text, proposalPrefix), 10, 64)
	if err != nil || proposalID(n) != text {
		return 0
	}
	return n
}

func noProposal() error {
	return fault.New(fault.NotFound, "PROPOSAL_NOT_FOUND", "The survey has no proposal with this id.")
}

// proposal is a stored proposal.
type proposal struct {
	nid              int64
	ws               string
	survey           int64
	responseID       string
	household        string
	list, action     string
	twin             string // DID
	base, trunk      int64  // revisions
	branch           string
	at               int64 // ms
	status, conflict string
	revision         int64 // that was made of it
	decidedAt        int64 // ms
	decidedBy        string
	reason           string
	sealed           []byte
	was              []byte // sealed, as it was before a decision
}

// version identifies the content of a proposal: a correction of the interview makes
// another one. Sealed data differs each time, so it reveals nothing.
func (r *proposal) version() string {
	sum := sha256.Sum256(slices.Concat([]byte(r.twin+"\x00"), r.sealed))
	return hex.EncodeToString(sum[:16])
}

func (r *proposal) ref(project string) vault.Ref {
	return vault.Ref{Workspace: r.ws, Project: project, Household: r.household}
}

func (r *proposal) bind() string { return "proposal " + strconv.FormatInt(r.nid, 10) }

// proposed is the sealed content of a proposal. label is among the values.
type proposed struct {
	Values   map[string]jsontext.Value `json:"values"`
	Personal []string                  `json:"personal,omitzero"` // those that identify a person
	Before   map[string]jsontext.Value `json:"before,omitzero"`   // what the twin said when it was decided
	Base     map[string]jsontext.Value `json:"base,omitzero"`     // what the device knew, likewise
}

// proposedBy is what answers ask.
func proposedBy(a *form.Asked) *proposed {
	c := &proposed{Values: maps.Clone(a.Properties), Personal: slices.Clone(a.Personal)}
	if a.Label == "" {
		return c
	}
	text, err := jsontext.AppendQuote(nil, a.Label)
	if err != nil {
		return c // it is not UTF-8 text
	}
	c.Values[form.LabelName] = text
	return c
}

// madeDID is the DID of a twin that no device has named.
func madeDID(ws, responseID string) string {
	sum := sha256.Sum256([]byte("proposal\x00" + ws + "\x00" + responseID))
	return form.Twin(hex.EncodeToString(sum[:16]))
}

// compared is a proposal with its twin.
type compared struct {
	conflict string
	base     int64
	now      *Twin // nil: it does not exist
	then     *Twin // as the device knew it; nil when that is unknown, or nothing has changed
}

// clashes reports whether a value of the twin has changed since the device knew it,
// and differs from the proposed one. If the earlier value is unknown every difference
// counts.
func (c *compared) clashes(name string, asked jsontext.Value) bool {
	if c.now == nil || c.base == c.now.Revision {
		return false
	}
	if slices.Contains(c.now.Withheld, name) {
		return true // the caller may not know
	}
	if check.SameJSON(c.now.Values[name], asked) {
		return false
	}
	return c.then == nil || !check.SameJSON(c.then.Values[name], c.now.Values[name])
}

// judge determines how values conflict with the current twin.
func (c *compared) judge(action string, values map[string]jsontext.Value) {
	switch {
	case action == create && c.now == nil:
		c.conflict = none
	case action == create, c.now == nil:
		c.conflict = hard
	case c.base == c.now.Revision:
		c.conflict = none
	default:
		c.conflict = soft
		for name, v := range values {
			if c.clashes(name, v) {
				c.conflict = hard
			}
		}
	}
}

func checkDecision(d *api.ProposalDecision) error {
	var c fault.Checks
	switch d.Decision {
	case "accept", "reject":
	case "":
		c.Require(false, "/decision")
	default:
		c.Add("/decision", "unknown", "The value must be accept or reject.")
	}
	c.Require(d.Version != "", "/version")
	check.Reason(&c, "/reason", d.Reason, d.Decision == "reject")
	if d.Decision == "reject" && len(d.Leave) > 0 {
		c.Add("/leave", "not_allowed", "Only accept takes leave: a rejection changes nothing.")
	}
	return c.Err("DECISION_INVALID", "The decision is not valid.")
}
