package interview

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// compare compares a proposal with its twin. waits is an earlier, undecided one of
// its branch.
func (s *Proposals) compare(ctx context.Context, q db.Querier, r *proposal, c *proposed) (at *compared, waits *proposal, err error) {
	at = &compared{base: r.base}
	if r.branch != "" && r.trunk > 0 { // the device has counted versions on its own from there
		at.base = r.trunk
	}
	if at.now, err = s.cfg.Twins.Find(ctx, q, r.twin); err != nil {
		return nil, nil, err
	}
	earlier, err := r.before(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range earlier {
		switch {
		case e.status == open && waits == nil:
			waits = e
		case e.status == accepted: // the device continued from what it made
			at.base = e.revision
		default:
			continue
		}
		break
	}
	if r.action == update && at.now != nil && at.base > 0 && at.base < at.now.Revision {
		if at.then, err = s.cfg.Twins.At(ctx, q, r.twin, at.base); err != nil {
			return nil, nil, err
		}
	}
	if c != nil {
		at.judge(r.action, c.Values)
	}
	return at, waits, nil
}

// show renders a proposal for the caller of ctx.
func (s *Proposals) show(ctx context.Context, q db.Querier, o *survey.Open, r *proposal) (*api.Proposal, error) {
	path := "/v1/surveys/" + o.SurveyID + "/proposals/" + proposalID(r.nid)
	out := &api.Proposal{
		ProposalID: proposalID(r.nid), SurveyID: o.SurveyID, ResponseID: r.responseID, List: r.list, Action: r.action, Twin: r.twin, Status: r.status, Conflict: r.conflict,
		Base: r.base, Revision: r.revision, Changes: []api.ProposalChange{}, ReceivedAt: time.UnixMilli(r.at).UTC(), DecidedBy: r.decidedBy, Reason: r.reason,
		Links: api.ProposalLinks{Self: path, Decision: path + "/decision", Response: response.Path(r.responseID), Twin: "/v1/entities/" + r.twin},
	}
	if r.decidedAt > 0 {
		out.DecidedAt = time.UnixMilli(r.decidedAt).UTC()
	}
	c, err := s.read(ctx, q, o, r)
	if err != nil {
		return nil, err
	}
	at, _, err := s.compare(ctx, q, r, c)
	if err != nil {
		return nil, err
	}
	if out.Erased = c == nil; r.status == open {
		if out.Version, out.Conflict = r.version(), at.conflict; at.now != nil {
			out.Revision = at.now.Revision
		}
	}
	if out.Conflict == "" {
		out.Conflict = none
	}
	if c != nil {
		list(r, c, at, out)
	}
	return out, nil
}

// hidden are the properties whose values the caller may not know: what the twin says or
// has said and the caller may not see.
func hidden(at *compared) map[string]bool {
	var names []string
	for _, twin := range []*Twin{at.now, at.then} {
		if twin != nil {
			names = append(names, twin.Withheld...)
		}
	}
	out := map[string]bool{}
	for _, name := range names {
		out[name] = true
	}
	return out
}

// list names the proposed changes, as far as the caller may know them. Callers who do
// not see the twin get what the interview proposes, and nothing from the twin.
func list(r *proposal, c *proposed, at *compared, out *api.Proposal) {
	hidden := hidden(at)
	for _, name := range slices.Sorted(maps.Keys(c.Values)) {
		one := api.ProposalChange{Property: name}
		if hidden[name] {
			out.Withheld, out.Changes = append(out.Withheld, name), append(out.Changes, one)
			continue
		}
		one.Proposed = value(c.Values[name])
		switch {
		case at.now == nil:
		case r.status != open:
			one.Stored, one.Base = value(c.Before[name]), value(c.Base[name])
			one.Conflict = r.conflict == hard && c.Base[name] != nil
		default:
			if one.Stored, one.Conflict = value(at.now.Values[name]), at.clashes(name, c.Values[name]); at.then != nil {
				one.Base = value(at.then.Values[name])
			}
		}
		out.Changes = append(out.Changes, one)
	}
}

func value(v jsontext.Value) any {
	if v == nil {
		return nil
	}
	return v
}

// List reads a page of the proposals of a survey that have a status, oldest first.
// next is 0 at the end. The fault is SURVEY_NOT_FOUND.
func (s *Proposals) List(ctx context.Context, surveyID, status string, after int64, limit int) (items []*api.Proposal, next int64, err error) {
	o, err := s.open(ctx, surveyID)
	if err != nil {
		return nil, 0, err
	}
	rows, err := collectProposals(s.db.Query(ctx, selectProposalPage, o.NID, status, after, limit+1))
	if err != nil {
		return nil, 0, err
	}
	for _, r := range rows[:min(limit, len(rows))] {
		one, err := s.show(ctx, s.db, o, r)
		if err != nil {
			return nil, 0, err
		}
		items, next = append(items, one), r.nid
	}
	if len(rows) <= limit {
		next = 0
	}
	return items, next, nil
}

// Get reads a proposal. Faults: SURVEY_NOT_FOUND, PROPOSAL_NOT_FOUND.
func (s *Proposals) Get(ctx context.Context, surveyID, id string) (*api.Proposal, error) {
	o, r, err := s.find(ctx, surveyID, id)
	if err != nil {
		return nil, err
	}
	return s.show(ctx, s.db, o, r)
}

// open opens a survey for callers who may know which twin an interview was about: a
// proposal names it, where responses have pseudonyms.
func (s *Proposals) open(ctx context.Context, surveyID string) (*survey.Open, error) {
	c := web.CallerFrom(ctx)
	for _, scope := range []string{"responses:pii", "entities:read"} {
		if !c.May(scope) {
			return nil, fault.New(fault.Forbidden, "SCOPE_MISSING", "A proposal links an interview to a twin. It needs the scope "+scope+" too.")
		}
	}
	return s.cfg.Surveys.Open(ctx, surveyID)
}

func (s *Proposals) find(ctx context.Context, surveyID, id string) (*survey.Open, *proposal, error) {
	o, err := s.open(ctx, surveyID)
	if err != nil {
		return nil, nil, err
	}
	r, err := findProposal(ctx, s.db, o.NID, parseProposal(id))
	return o, r, err
}

func decided(r *proposal) error {
	return fault.New(fault.Conflict, "PROPOSAL_DECIDED", "There is nothing to decide: the proposal is "+r.status+".")
}

func changed() error {
	return fault.New(fault.Stale, "PROPOSAL_CHANGED", "The interview was corrected since you read the proposal. Read it again.").
		With(fault.Field{Pointer: "/version", Code: "stale", Detail: "This is not the version of the proposal."})
}

// Decide accepts a proposal or rejects it. The twin changes in the transaction of the
// decision, or neither is stored. Faults: SURVEY_NOT_FOUND, PROPOSAL_NOT_FOUND,
// DECISION_INVALID, PROPOSAL_DECIDED, PROPOSAL_CHANGED, PROPOSAL_WAITS, CONTENT_ERASED,
// LIST_MISSING, TWIN_MISSING, TWIN_OUTSIDE_LIST, PROPERTY_NOT_PERSONAL, STALE_REVISION, and those of a twin that is made or changed.
func (s *Proposals) Decide(ctx context.Context, surveyID, id string, d api.ProposalDecision) (web.Reply[*api.Proposal], error) {
	var no web.Reply[*api.Proposal]
	if err := checkDecision(&d); err != nil {
		return no, err
	}
	o, r, err := s.find(ctx, surveyID, id)
	if err != nil {
		return no, err
	}
	next, do, err := s.plan(ctx, o, r, d)
	if err != nil {
		return once.Refuse[*api.Proposal](ctx, s.cfg.Idem, err)
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.Proposal], error) {
		done := *next
		if err := s.decideTx(ctx, tx, o, &done, do); err != nil {
			return no, err
		}
		out, err := s.show(ctx, tx, o, &done)
		return web.Reply[*api.Proposal]{Value: out}, err
	})
}

// plan prepares a decision: the resulting row, and the change of the twin.
func (s *Proposals) plan(ctx context.Context, o *survey.Open, r *proposal, d api.ProposalDecision) (*proposal, func(tx *db.Tx) (int64, error), error) {
	if r.status != open {
		return nil, nil, decided(r)
	}
	if d.Version != r.version() {
		return nil, nil, changed()
	}
	c, err := s.read(ctx, s.db, o, r)
	if err != nil {
		return nil, nil, err
	}
	at, waits, err := s.compare(ctx, s.db, r, c)
	if err != nil {
		return nil, nil, err
	}
	if at.now != nil && d.Revision > 0 && d.Revision != at.now.Revision {
		return nil, nil, web.Overtaken()
	}
	next := *r
	next.was = r.sealed
	next.status, next.conflict, next.decidedAt, next.decidedBy, next.reason = rejected, at.conflict, s.cfg.Now().UnixMilli(), web.CallerFrom(ctx).DID, d.Reason
	if c != nil {
		c.keep(at)
		if next.sealed, err = json.Marshal(c, json.Deterministic(true)); err != nil {
			return nil, nil, fmt.Errorf("encode proposal: %w", err)
		}
	}
	if d.Decision == "reject" {
		return &next, nil, nil
	}
	next.status = accepted
	do, err := s.accept(ctx, o, r, accepting{c, at, waits, d})
	return &next, do, err
}

// keep records both values of what is decided.
func (c *proposed) keep(at *compared) {
	c.Before, c.Base = map[string]jsontext.Value{}, map[string]jsontext.Value{}
	for name := range c.Values {
		if at.now != nil && at.now.Values[name] != nil {
			c.Before[name] = at.now.Values[name]
		}
		if at.then != nil && at.then.Values[name] != nil && at.clashes(name, c.Values[name]) {
			c.Base[name] = at.then.Values[name]
		}
	}
}

// accepting is the data about a proposal that is accepted.
type accepting struct {
	*proposed
	at    *compared
	waits *proposal
	api.ProposalDecision
}

// outside reports whether a twin is not in an entity list of a survey of a project. A
// list without a type includes every type.
func (t *Twin) outside(l *survey.EntityList, project string) bool {
	return t.Project != project || t.Protocol != l.Protocol || l.Type != "" && t.Type != l.Type
}

// accept prepares what accepting does to the twin.
func (s *Proposals) accept(ctx context.Context, o *survey.Open, r *proposal, a accepting) (func(tx *db.Tx) (int64, error), error) {
	l := o.EntityList(r.list)
	switch {
	case a.proposed == nil:
		return nil, fault.New(fault.Conflict, "CONTENT_ERASED", "The content of the proposal can no longer be read. Reject it.")
	case a.waits != nil:
		return nil, fault.New(fault.Conflict, "PROPOSAL_WAITS", "The same device asked for another change of this twin earlier. Decide about "+proposalID(a.waits.nid)+" first.")
	case l == nil:
		return nil, fault.New(fault.Conflict, "LIST_MISSING", "The survey has no entity list "+r.list+" any more. Add it, or reject the proposal.")
	case r.action == update && a.at.now == nil:
		return nil, fault.New(fault.Conflict, "TWIN_MISSING", "You see no such twin. First accept the proposal that makes it, or reject this one.")
	case r.action == update && a.at.now.outside(l, o.Project):
		return nil, fault.New(fault.Conflict, "TWIN_OUTSIDE_LIST", "The twin is not of the project of the survey, or not of the protocol and type of the entity list "+r.list+". Reject the proposal.")
	}
	if a.at.conflict != none {
		var c fault.Checks
		check.Reason(&c, "/reason", a.Reason, true)
		if err := c.Err("DECISION_INVALID", "The twin has changed since the device read it: give a reason for accepting."); err != nil {
			return nil, err
		}
	}
	values := maps.Clone(a.Values)
	for i, name := range a.Leave {
		if _, ok := values[name]; !ok {
			return nil, fault.New(fault.Invalid, "DECISION_INVALID", "The decision is not valid.").
				With(fault.Field{Pointer: fault.Pointer(fmt.Sprintf("/leave/%d", i)), Code: "unknown", Detail: "The proposal does not have this property."})
		}
		delete(values, name)
	}
	if err := s.mayTell(ctx, l.Protocol, a.Personal, values); err != nil {
		return nil, err
	}
	change := TwinChange{DID: r.twin, Protocol: l.Protocol, Type: l.Type, Project: o.Project, Values: values, Reason: a.Reason}
	if change.Reason == "" {
		change.Reason = "interview " + r.responseID
	}
	if r.action == create {
		return s.cfg.Twins.Create(ctx, change)
	}
	change.Revision = a.at.now.Revision
	return func(tx *db.Tx) (int64, error) { return s.cfg.Twins.Change(ctx, tx, change) }, nil
}

// mayTell keeps what an interview says about a person out of properties that everybody
// may read. The fault is PROPERTY_NOT_PERSONAL.
func (s *Proposals) mayTell(ctx context.Context, protocol string, personal []string, values map[string]jsontext.Value) error {
	if len(personal) == 0 {
		return nil
	}
	marked, err := s.cfg.Twins.Personal(ctx, protocol)
	if err != nil {
		return err
	}
	for _, name := range personal {
		as := name
		if name == form.LabelName {
			as = "name"
		}
		if _, ok := values[name]; ok && !slices.Contains(marked, as) {
			return fault.New(fault.Unprocessable, "PROPERTY_NOT_PERSONAL", "The answer for "+name+" identifies a person, but the protocol does not mark the property as personal. Leave it out, or mark it in a new version of the protocol.").
				With(fault.Field{Pointer: "/leave", Code: "personal", Detail: "Name " + name + " here."})
		}
	}
	return nil
}

// overtaken says what has become of a proposal since it was read.
func overtaken(ctx context.Context, tx *db.Tx, r *proposal) error {
	now, err := findProposal(ctx, tx, r.survey, r.nid)
	if err != nil {
		return err
	}
	if now.status != open {
		return decided(now)
	}
	return changed()
}

// decideTx stores a decision and its effect, if the proposal is still the one that was
// read.
func (s *Proposals) decideTx(ctx context.Context, tx *db.Tx, o *survey.Open, r *proposal, do func(tx *db.Tx) (int64, error)) (err error) {
	if do != nil {
		if r.revision, err = do(tx); err != nil {
			return err
		}
	}
	if r.sealed, err = s.cfg.Vault.Seal(ctx, tx, r.ref(o.Project), r.bind(), r.sealed); err != nil {
		return err
	}
	if ok, err := r.decide(ctx, tx); err != nil {
		return err
	} else if !ok {
		return overtaken(ctx, tx, r)
	}
	return s.announce(ctx, tx, o, r, map[string]string{accepted: "proposal.accepted", rejected: "proposal.rejected"}[r.status])
}
