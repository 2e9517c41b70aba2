package offline

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/answer"
	"github.com/hearth-dmrv/hearth/internal/survey/erasure"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/survey/vault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Record is a conflict as it is sent.
type Record struct {
	ConflictID  string                `json:"conflictId" example:"cfl_7310428377145344"`
	SurveyID    string                `json:"surveyId"`
	Code        string                `json:"code" enum:"RESPONSE_CONFLICT,DUPLICATE_HOUSEHOLD_RESPONSE,SURVEY_CLOSED,SURVEY_PAUSED" doc:"Same id and other content; a second response of the household in the round; or held: it came when the survey took none."`
	ResponseID  string                `json:"responseId,omitzero" doc:"The stored response; none of one that is held, or of a second response of a household to who may not know the first."`
	SentID      string                `json:"sentResponseId" doc:"The id that was sent."`
	HouseholdID string                `json:"householdId" doc:"That was sent."`
	SentBy      string                `json:"sentBy" doc:"DID of who sent it."`
	ReceivedAt  time.Time             `json:"receivedAt"`
	Differences []response.Difference `json:"differences" doc:"What differs between the stored and the sent content now, at most 100."`
	Sent        form.Object           `json:"sent,omitzero" doc:"The content of one that is held, for keys with the scope responses:pii."`
	Mergeable   bool                  `json:"mergeable" doc:"No question that you may read is answered in both and differently: merged needs no further decision."`
	Erased      bool                  `json:"erased,omitzero" doc:"What was sent cannot be read any more: the household was erased."`
	ResolvedAt  time.Time             `json:"resolvedAt,omitzero"`
	ResolvedBy  string                `json:"resolvedBy,omitzero"`
	Resolution  string                `json:"resolution,omitzero" enum:"stored,sent,merged"`
	Reason      string                `json:"reason,omitzero"`
	Links       Links                 `json:"links"`
}

// Links are the addresses around a conflict.
type Links struct {
	Self     string `json:"self"`
	Response string `json:"response,omitzero"`
	Resolve  string `json:"resolve"`
}

const idPrefix = "cfl_"

func nameOf(nid int64) string { return idPrefix + strconv.FormatInt(nid, 10) }

func parseID(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimPrefix(text, idPrefix), 10, 64)
	if err != nil || nameOf(n) != text {
		return 0
	}
	return n
}

func notFound() error {
	return fault.New(fault.NotFound, "CONFLICT_NOT_FOUND", "The survey has no conflict with this id.")
}

// aside is a content that waits, as it is sealed.
type aside struct {
	Draft    response.Draft     `json:"draft"`
	Head     response.Head      `json:"head"`
	Answers  jsontext.Value     `json:"answers"`
	Location *response.Location `json:"location,omitzero"`
}

func (a *aside) version() response.Version {
	return response.Version{Head: a.Head, Whole: response.Whole{Answers: a.Answers, Location: a.Location}}
}

// row is a stored conflict.
type row struct {
	nid        int64
	ws         string
	survey     int64
	response   int64 // the stored one; of a held one the survey, below zero
	responseID string
	sentID     string
	household  string
	code       string
	sender     string
	at         int64 // ms
	hash       []byte
	resolvedAt int64 // ms; 0: open
	resolvedBy string
	resolution string
	reason     string
	sealed     []byte
}

func (c *row) ref(project string) vault.Ref {
	return vault.Ref{Workspace: c.ws, Project: project, Household: c.household}
}

func (c *row) bind() string { return "conflict " + strconv.FormatInt(c.nid, 10) }

// clash is a response that was refused, and what stands in its way.
type clash struct {
	p       *response.Prepared
	against *response.Row // nil when that is nothing stored
	cause   error
}

// setAside notes why an item was refused, and keeps it when that is a stored
// response of the survey.
func (s *Service) setAside(ctx context.Context, tx *db.Tx, x clash, r *Result) error {
	p, against, f := x.p, x.against, refusal(x.cause)
	if f == nil {
		return x.cause
	}
	o, d := p.Open(), p.Draft()
	if against == nil || against.Survey != o.NID || f.Code != response.ConflictCode && f.Code != response.DuplicateCode {
		r.refuse(Invalid, f)
		return nil
	}
	r.refuse(Conflict, f)
	r.Revision = against.Revision
	known, err := findSame(ctx, tx, against.NID, p.Hash())
	if err != nil {
		return err
	}
	if known != nil {
		if r.ConflictID = nameOf(known.nid); known.resolvedAt > 0 {
			*r = Result{Index: r.Index, ResponseID: r.ResponseID, Status: Replayed, ConflictID: r.ConflictID, Revision: r.Revision}
		}
		return nil
	}
	full, err := isFull(ctx, tx, against.NID)
	if err != nil || full {
		return err
	}
	if d.Verification != nil {
		r.Warnings = []response.Warning{{Pointer: "/verification", Code: "verification_ignored", Detail: "The decision does not wait with the content. Decide once the conflict is resolved."}}
	}
	return s.keep(ctx, tx, p, &row{response: against.NID, responseID: against.ResponseID, code: f.Code}, r)
}

// keep stores a content that is to wait.
func (s *Service) keep(ctx context.Context, tx *db.Tx, p *response.Prepared, c *row, r *Result) error {
	o, d, sent := p.Open(), p.Draft(), p.Sent()
	text, err := json.Marshal(aside{Draft: *d, Head: sent.Head, Answers: sent.Whole.Answers, Location: sent.Whole.Location})
	if err != nil {
		return fmt.Errorf("encode conflict: %w", err)
	}
	c.nid, c.ws, c.survey, c.sentID, c.household = s.db.NewNID(), o.Workspace, o.NID, d.ResponseID, d.HouseholdID
	c.sender, c.at, c.hash = web.CallerFrom(ctx).DID, s.now().UnixMilli(), p.Hash()
	if c.sealed, err = s.cfg.Vault.Seal(ctx, tx, c.ref(o.Project), c.bind(), text); err != nil {
		return err
	}
	if fresh, err := insert(ctx, tx, c); err != nil {
		return err
	} else if !fresh {
		return s.notKept(ctx, tx, c, r)
	}
	r.ConflictID = nameOf(c.nid)
	return s.announce(ctx, tx, o.SurveyID, c)
}

// notKept says why a content was not kept: the same batch was sent twice at once,
// or the household was erased since the content was checked.
func (s *Service) notKept(ctx context.Context, tx *db.Tx, c *row, r *Result) error {
	known, err := findSame(ctx, tx, c.response, c.hash)
	if err != nil {
		return err
	}
	if known != nil {
		r.ConflictID = nameOf(known.nid)
		return nil
	}
	err = erasure.Check(ctx, tx, c.ws, c.household, "/householdId")
	if f := refusal(err); f != nil {
		*r = Result{Index: r.Index, ResponseID: r.ResponseID}
		r.refuse(Invalid, f)
		return nil
	}
	return err
}

type conflictData struct {
	Survey     string `json:"surveyId"`
	Conflict   string `json:"conflictId"`
	Code       string `json:"code"`
	Resolution string `json:"resolution,omitzero"`
}

func (s *Service) announce(ctx context.Context, tx *db.Tx, surveyID string, c *row) error {
	kind, subject := "response.conflicted", c.responseID
	if c.held() {
		kind, subject = "response.held", c.sentID
	}
	if c.resolution != "" {
		kind = "response.conflict_resolved"
	}
	return s.cfg.Events.Append(ctx, tx, event.Event{
		Workspace: c.ws, Type: kind, Subject: subject, Data: conflictData{surveyID, nameOf(c.nid), c.code, c.resolution},
	})
}

// open reads a content that was set aside; nil when it was erased.
func (s *Service) open(ctx context.Context, q db.Querier, o *survey.Open, c *row) (*aside, error) {
	text, err := s.cfg.Vault.Open(ctx, q, c.ref(o.Project), c.bind(), c.sealed)
	if isDestroyed(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	a := &aside{}
	if err := json.Unmarshal(text, a); err != nil {
		return nil, fmt.Errorf("read conflict: %w", err)
	}
	return a, nil
}

// show renders a conflict for the caller of ctx.
func (s *Service) show(ctx context.Context, q db.Querier, o *survey.Open, c *row) (*Record, error) {
	path := "/v1/surveys/" + o.SurveyID + "/conflicts/" + nameOf(c.nid)
	out := &Record{
		ConflictID: nameOf(c.nid), SurveyID: o.SurveyID, Code: c.code, ResponseID: c.responseID, SentID: c.sentID, HouseholdID: c.household,
		ReceivedAt: time.UnixMilli(c.at).UTC(), Differences: []response.Difference{}, Resolution: c.resolution, Reason: c.reason,
		Links: Links{Self: path, Resolve: path + "/resolve"},
	}
	if !c.held() {
		out.Links.Response = response.Path(c.responseID)
	}
	if c.resolvedAt > 0 {
		out.ResolvedAt = time.UnixMilli(c.resolvedAt).UTC()
	}
	x := s.cfg.Responses.Sight(ctx, o)
	if out.SentBy, out.ResolvedBy = x.Person(c.sender), x.Person(c.resolvedBy); c.sender != web.CallerFrom(ctx).DID {
		out.HouseholdID = x.Household(c.household)
	}
	a, err := s.open(ctx, q, o, c)
	if err != nil {
		return nil, err
	}
	out.Erased = a == nil
	if c.held() {
		if out.Erased {
			return out, nil
		}
		return out, out.hold(x, a)
	}
	r, err := s.stored(ctx, q, o, c)
	if err != nil {
		return nil, err
	}
	if c.code == response.DuplicateCode && c.sender == web.CallerFrom(ctx).DID && !r.Knows(ctx) {
		// Who sends one response after the other would learn which is of whom.
		out.ResponseID, out.Links.Response = "", ""
		return out, nil
	}
	if out.Erased {
		return out, nil
	}
	v, err := s.cfg.Responses.Version(ctx, q, o.Project, r)
	if err != nil {
		return nil, err
	}
	if all := response.Compare(ctx, o, r, v, a.version()); all != nil {
		out.Differences = all
	}
	ours, err := answer.Given(o.Form, v.Whole.Answers)
	if err != nil {
		return nil, err
	}
	theirs, err := answer.Given(o.Form, a.Answers)
	if err != nil {
		return nil, err
	}
	_, undecided := merged(ours, theirs, nil)
	if !x.All() {
		// Whoever may not read an answer could send guesses until they agree.
		undecided = slices.DeleteFunc(undecided, func(pointer string) bool { return strings.Contains(string(r.Masked), `"`+pointer) })
	}
	out.Mergeable = len(undecided) == 0
	return out, nil
}

// stored finds the response that a conflict is about.
func (s *Service) stored(ctx context.Context, q db.Querier, o *survey.Open, c *row) (*response.Row, error) {
	r, found, err := s.cfg.Responses.Find(ctx, q, c.responseID)
	if err == nil && found.NID != o.NID {
		return nil, notFound()
	}
	return r, err
}

// List reads a page of the conflicts of a survey: the open ones, oldest first,
// or those that were resolved, in that order. next is nil at the end. The fault
// is SURVEY_NOT_FOUND.
func (s *Service) List(ctx context.Context, surveyID string, resolved bool, after Place, limit int) (items []*Record, next *Place, err error) {
	o, err := s.cfg.Surveys.Open(ctx, surveyID)
	if err != nil {
		return nil, nil, err
	}
	list := listOpen
	if resolved {
		list = listResolved
	}
	rows, err := list(ctx, s.db, o.NID, after, limit+1)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range rows[:min(limit, len(rows))] {
		one, err := s.show(ctx, s.db, o, c)
		if err != nil {
			return nil, nil, err
		}
		items = append(items, one)
		next = &Place{c.resolvedAt, c.nid}
	}
	if len(rows) <= limit {
		next = nil
	}
	return items, next, nil
}

// Place is where a list of conflicts goes on.
type Place struct {
	At  int64 `json:"t"`
	NID int64 `json:"n"`
}

// Get reads a conflict. Faults: SURVEY_NOT_FOUND, CONFLICT_NOT_FOUND.
func (s *Service) Get(ctx context.Context, surveyID, id string) (*Record, error) {
	o, c, err := s.find(ctx, s.db, surveyID, id)
	if err != nil {
		return nil, err
	}
	return s.show(ctx, s.db, o, c)
}

func (s *Service) find(ctx context.Context, q db.Querier, surveyID, id string) (*survey.Open, *row, error) {
	o, err := s.cfg.Surveys.Open(ctx, surveyID)
	if err != nil {
		return nil, nil, err
	}
	c, err := find(ctx, q, o.NID, parseID(id))
	return o, c, err
}

// merged are the answers of two contents together. take says which holds where
// both answer differently, by the pointer of the question; where it says
// nothing the question is undecided. What only one answers is taken.
func merged(stored, sent jsontext.Value, take map[string]string) (jsontext.Value, []string) {
	changes := form.Compare(stored, sent)
	if len(changes) == 0 {
		return stored, nil
	}
	var undecided []string
	var answers map[string]map[string]jsontext.Value
	if json.Unmarshal(stored, &answers) != nil || answers == nil {
		answers = map[string]map[string]jsontext.Value{}
	}
	for _, ch := range changes {
		side := take[ch.Pointer]
		if side == "" {
			switch {
			case ch.Old.IsZero():
				side = "sent"
			case ch.New.IsZero():
				side = "stored"
			default:
				undecided = append(undecided, ch.Pointer)
			}
		}
		if side != "sent" {
			continue
		}
		// Ids of sections and questions need no escapes in a pointer.
		section, question, _ := strings.Cut(strings.TrimPrefix(ch.Pointer, "/responses/"), "/")
		if answers[section] == nil {
			answers[section] = map[string]jsontext.Value{}
		}
		if ch.New.IsZero() {
			delete(answers[section], question)
		} else {
			answers[section][question] = ch.New.Value
		}
	}
	out, err := json.Marshal(answers, json.Deterministic(true))
	if err != nil {
		return stored, undecided // both were read from JSON
	}
	return out, undecided
}
