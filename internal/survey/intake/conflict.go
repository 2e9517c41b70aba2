package intake

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Clash is a conflict as it is sent.
type Clash struct {
	ConflictID  string                `json:"conflictId" example:"cfl_7310428377145344"`
	SurveyID    string                `json:"surveyId"`
	Code        string                `json:"code" enum:"RESPONSE_CONFLICT,DUPLICATE_HOUSEHOLD_RESPONSE,SURVEY_CLOSED,SURVEY_PAUSED" doc:"Same id with other content; a second response of the household in the round; or held, because it came when the survey accepted none."`
	ResponseID  string                `json:"responseId,omitzero" doc:"The stored response. It is missing for one that is held, and for a second response of a household if you may not know the first."`
	SentID      string                `json:"sentResponseId" doc:"The id that was sent."`
	HouseholdID string                `json:"householdId" doc:"That was sent."`
	SentBy      string                `json:"sentBy" doc:"DID of the sender."`
	ReceivedAt  time.Time             `json:"receivedAt"`
	Revision    int64                 `json:"storedRevision,omitzero" doc:"Revision of the stored response when this came."`
	Differences []response.Difference `json:"differences" doc:"Differences between the content that was sent and that revision, at most 100. A resolution does not change them. Members named in withheld are left out."`
	Withheld    []string              `json:"withheld,omitzero" doc:"Pointers of members that this key may not compare, listed whether they differ or not, because a difference alone could reveal the value. None for keys with the scope responses:pii, and for the person who collected or sent the stored response."`
	Sent        form.Object           `json:"sent,omitzero" doc:"The content that was sent, for keys with the scope responses:pii; also in a resolved conflict."`
	Mergeable   bool                  `json:"mergeable" doc:"merged needs no further decision: no question has different answers in the two contents, compared with the stored response as it is now, or as it was when this content came if the conflict is resolved. A withheld question needs a decision whenever both answer it."`
	Erased      bool                  `json:"erased,omitzero" doc:"The content that was sent, or the stored one, can no longer be read: the household was erased."`
	ResolvedAt  time.Time             `json:"resolvedAt,omitzero"`
	ResolvedBy  string                `json:"resolvedBy,omitzero"`
	Resolution  string                `json:"resolution,omitzero" enum:"stored,sent,merged"`
	Reason      string                `json:"reason,omitzero"`
	Links       api.ConflictLinks     `json:"links"`
}

// SchemaName is the name that clients know it by.
func (Clash) SchemaName() string { return "OfflineRecord" }

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

// aside is a waiting content in the form that is sealed.
type aside struct {
	Hash     []byte             `json:"hash"`
	Against  int64              `json:"against,omitzero"` // revision of the stored response
	Draft    response.Draft     `json:"draft"`
	Head     response.Head      `json:"head"`
	Answers  jsontext.Value     `json:"answers"`
	Location *response.Location `json:"location,omitzero"`
}

func (a *aside) version() response.Version {
	return response.Version{Head: a.Head, Whole: response.Whole{Answers: a.Answers, Location: a.Location}}
}

// kept is a stored conflict.
type kept struct {
	nid        int64
	ws         string
	survey     int64
	response   int64 // the stored one; of a held one the survey, below zero
	responseID string
	sentID     string
	household  string
	code       string
	sender     string
	at         int64  // ms
	hash       []byte // of the sender and the content
	resolvedAt int64  // ms; 0: open
	resolvedBy string
	resolution string
	reason     string
	sealed     []byte
}

func (c *kept) ref(project string) vault.Ref {
	return vault.Ref{Workspace: c.ws, Project: project, Household: c.household}
}

func (c *kept) bind() string { return "conflict " + strconv.FormatInt(c.nid, 10) }

// obstacle is a response that was not stored, and what stands in its way.
type obstacle struct {
	p       *response.Prepared
	against *response.Row // nil when that is nothing stored
	cause   error
}

// setAside notes why an item was refused, and keeps it when that is a stored
// response of the survey.
func (s *Batches) setAside(ctx context.Context, tx *db.Tx, x obstacle, r *Result) error {
	p, against, f := x.p, x.against, refusal(x.cause)
	if f == nil {
		return x.cause
	}
	o, d := p.Open(), p.Draft()
	if against == nil || against.Survey != o.NID || f.Code != response.ConflictCode && f.Code != response.DuplicateCode {
		refuse(r, Invalid, f)
		return nil
	}
	refuse(r, Conflict, f)
	r.Revision = against.Revision
	known, err := findSame(ctx, tx, against.NID, name(ctx, p))
	if err != nil {
		return err
	}
	if known != nil {
		if r.ConflictID = nameOf(known.nid); known.resolvedAt > 0 {
			*r = Result{Index: r.Index, ResponseID: r.ResponseID, Status: Replayed, ConflictID: r.ConflictID, Revision: r.Revision}
		}
		return s.settle(ctx, tx, p, seeConflict+r.ConflictID+".")
	}
	why, err := isFull(ctx, tx, against.NID, web.CallerFrom(ctx).DID)
	if err != nil {
		return err
	}
	if why != "" {
		r.Warnings = []response.Warning{{Code: "not_kept", Detail: why}}
		return nil
	}
	if d.Verification != nil {
		r.Warnings = []response.Warning{{Pointer: "/verification", Code: "verification_ignored", Detail: "The decision that came with the content is not kept. Decide once the conflict is resolved."}}
	}
	c := &kept{response: against.NID, responseID: against.ResponseID, code: f.Code}
	if err := s.keep(ctx, tx, x, c, r); err != nil || r.ConflictID == "" {
		return err
	}
	return s.settle(ctx, tx, p, seeConflict+r.ConflictID+".")
}

// name distinguishes contents, by sender too: a caller who could get another's
// conflict by sending the same content would know what is in it.
func name(ctx context.Context, p *response.Prepared) []byte {
	sum := sha256.Sum256(append([]byte(web.CallerFrom(ctx).DID+"\x00"), p.Hash()...))
	return sum[:]
}

// keep stores a content that is to wait.
func (s *Batches) keep(ctx context.Context, tx *db.Tx, x obstacle, c *kept, r *Result) error {
	o, d, sent := x.p.Open(), x.p.Draft(), x.p.Sent()
	if err := vault.HoldErasures(ctx, tx, s.db.Dialect(), o.Workspace, d.HouseholdID); err != nil {
		return err
	}
	a := aside{Hash: x.p.Hash(), Draft: *d, Head: sent.Head, Answers: sent.Whole.Answers, Location: sent.Whole.Location}
	if x.against != nil {
		a.Against = x.against.Revision
	}
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encode conflict: %w", err)
	}
	c.nid, c.ws, c.survey, c.sentID, c.household = s.db.NewNID(), o.Workspace, o.NID, d.ResponseID, d.HouseholdID
	c.sender, c.at, c.hash = web.CallerFrom(ctx).DID, s.now().UnixMilli(), name(ctx, x.p)
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
func (s *Batches) notKept(ctx context.Context, tx *db.Tx, c *kept, r *Result) error {
	known, err := findSame(ctx, tx, c.response, c.hash)
	if err != nil {
		return err
	}
	if known != nil {
		r.ConflictID = nameOf(known.nid)
		return nil
	}
	err = vault.CheckErased(ctx, tx, c.ws, c.household, "/householdId")
	if f := refusal(err); f != nil {
		*r = Result{Index: r.Index, ResponseID: r.ResponseID}
		refuse(r, Invalid, f)
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

func (s *Batches) announce(ctx context.Context, tx *db.Tx, surveyID string, c *kept) error {
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
func (s *Batches) open(ctx context.Context, q db.Querier, o *survey.Open, c *kept) (*aside, error) {
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
func (s *Batches) show(ctx context.Context, q db.Querier, o *survey.Open, c *kept) (*Clash, error) {
	path := "/v1/surveys/" + o.SurveyID + "/conflicts/" + nameOf(c.nid)
	out := &Clash{
		ConflictID: nameOf(c.nid), SurveyID: o.SurveyID, Code: c.code, ResponseID: c.responseID, SentID: c.sentID, HouseholdID: c.household,
		ReceivedAt: time.UnixMilli(c.at).UTC(), Differences: []response.Difference{}, Resolution: c.resolution, Reason: c.reason,
		Links: api.ConflictLinks{Self: path, Resolve: path + "/resolve"},
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
	if !c.held() {
		return out, s.compare(ctx, q, o, contents{c, a, x}, out)
	}
	if out.Erased {
		return out, nil
	}
	return out, out.sent(x, a)
}

// contents is a conflict, the content that was sent, and how its reader sees
// it.
type contents struct {
	*kept
	sent *aside // nil when it was erased
	privacy.Sight
}

// compare fills in how the content differs from what was stored when it
// arrived.
func (s *Batches) compare(ctx context.Context, q db.Querier, o *survey.Open, c contents, out *Clash) error {
	r, err := s.stored(ctx, q, o, c.kept)
	if err != nil {
		return err
	}
	if c.code == response.DuplicateCode && c.sender == web.CallerFrom(ctx).DID && !r.Knows(ctx) {
		// Who sends one response after the other would learn which is of whom.
		out.ResponseID, out.Links.Response = "", ""
		return nil
	}
	if out.Erased {
		return nil
	}
	was, err := findRevision(ctx, q, r, c.sent.Against)
	if err != nil {
		return err
	}
	v, err := s.cfg.Responses.Version(ctx, q, o.Project, was)
	if err != nil {
		return err
	}
	if v.Head.Erased || v.Whole.Erased {
		out.Erased = true // the sent content is hidden too: it may be about the same people
		return nil
	}
	out.Revision = was.Revision
	if err := out.sent(c.Sight, c.sent); err != nil {
		return err
	}
	if err := out.differ(ctx, o, c, was, v); err != nil {
		return err
	}
	if r.Revision != was.Revision && c.resolvedAt == 0 {
		if v, err = s.cfg.Responses.Version(ctx, q, o.Project, r); err != nil {
			return err
		}
	}
	two, err := given(o.Form, v.Whole.Answers, c.sent.Answers)
	if err != nil {
		return err
	}
	_, undecided := two.merged(r.Knows(ctx), nil)
	out.Mergeable = len(undecided) == 0
	return nil
}

// differ names the differences from a version of the stored response, as far as
// the caller of ctx may know them, and what is withheld.
func (r *Clash) differ(ctx context.Context, o *survey.Open, c contents, was *response.Row, v response.Version) error {
	sent, knows := c.sent.version(), was.Knows(ctx)
	if !knows {
		if err := form.RenameAll(o.Form, c.Sight, &v.Whole.Answers, &sent.Whole.Answers); err != nil {
			return err
		}
		r.Withheld = notTold(o.Form, c.code)
	}
	for _, d := range response.Compare(ctx, o, was, v, sent) {
		// For callers who may not know them these two are always reported as
		// different.
		if knows || d.Pointer != "/householdId" && d.Pointer != "/responses" {
			r.Differences = append(r.Differences, d)
		}
	}
	return nil
}

// stored finds the response that a conflict is about.
func (s *Batches) stored(ctx context.Context, q db.Querier, o *survey.Open, c *kept) (*response.Row, error) {
	r, found, err := s.cfg.Responses.Find(ctx, q, c.responseID)
	if err == nil && found.NID != o.NID {
		return nil, notFound()
	}
	return r, err
}

// List reads a page of the conflicts of a survey: the open ones, oldest first,
// or those that were resolved, in that order. next is nil at the end. The fault
// is SURVEY_NOT_FOUND.
func (s *Batches) List(ctx context.Context, surveyID string, resolved bool, after ClashPlace, limit int) (items []*Clash, next *ClashPlace, err error) {
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
		next = &ClashPlace{c.resolvedAt, c.nid}
	}
	if len(rows) <= limit {
		next = nil
	}
	return items, next, nil
}

// ClashPlace is where a list of conflicts continues.
type ClashPlace struct {
	At  int64 `json:"t"`
	NID int64 `json:"n"`
}

// Get reads a conflict. Faults: SURVEY_NOT_FOUND, CONFLICT_NOT_FOUND.
func (s *Batches) Get(ctx context.Context, surveyID, id string) (*Clash, error) {
	o, c, err := s.find(ctx, s.db, surveyID, id)
	if err != nil {
		return nil, err
	}
	return s.show(ctx, s.db, o, c)
}

func (s *Batches) find(ctx context.Context, q db.Querier, surveyID, id string) (*survey.Open, *kept, error) {
	o, err := s.cfg.Surveys.Open(ctx, surveyID)
	if err != nil {
		return nil, nil, err
	}
	c, err := find(ctx, q, o.NID, parseID(id))
	return o, c, err
}
