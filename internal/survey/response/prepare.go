package response

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// invalidCode is the code for an invalid response.
const invalidCode = "RESPONSE_INVALID"

// Prepared is a checked draft, ready to be stored. It does not change.
type Prepared struct {
	open     *survey.Open
	draft    *Draft
	old      *Row           // of a correction
	before   jsontext.Value // its earlier content, if the form keeps part of it
	held     Held           // of a content that was held
	hold     bool           // it is to be held
	filed    bool           // a file says it
	self     bool           // the household answers for itself, or a collector does for it
	claimed  bool           // nothing but its sender says how the household was asked
	row      Row
	head     Head
	whole    Whole  // its whole content
	private  []byte // the part to seal
	flags    []flag.Flag
	uses     []media.Use
	home     *survey.Household
	decision *Verification // made elsewhere, or by the server
	imported bool
	event    *event.Prepared
	asks     *form.Asked // of a twin; nil for nothing
}

// Prepare does everything that needs no transaction: it checks the draft and
// its answers and renders the record. offline allows gaps. Faults:
// RESPONSE_INVALID, SURVEY_NOT_ACTIVE, HOUSEHOLD_ERASED, SCOPE_MISSING,
// COLLECTOR_UNKNOWN.
func (pr *preparer) Prepare(ctx context.Context, o *survey.Open, d *Draft, offline bool) (*Prepared, error) {
	if err := mayTake(ctx, o, d); err != nil {
		return nil, err
	}
	return pr.check(ctx, &Prepared{open: o, draft: d}, offline)
}

// PrepareImport is Prepare for a response of a file. The history says from where
// it came.
func (pr *preparer) PrepareImport(ctx context.Context, o *survey.Open, d *Draft, from string) (*Prepared, error) {
	if err := mayTake(ctx, o, d); err != nil {
		return nil, err
	}
	p, err := pr.check(ctx, &Prepared{open: o, draft: d, filed: true}, false)
	if err != nil {
		return nil, err
	}
	p.row.Reason = from
	return p, nil
}

// PrepareToHold prepares a content that is to be held, whatever the survey takes
// now. Faults are those of Prepare.
func (pr *preparer) PrepareToHold(ctx context.Context, o *survey.Open, d *Draft) (*Prepared, error) {
	if err := mayPost(web.CallerFrom(ctx), o, d); err != nil {
		return nil, err
	}
	return pr.check(ctx, &Prepared{open: o, draft: d, hold: true}, true)
}

// Held says how a held content arrived.
type Held struct {
	Sender string
	At     time.Time
	Hash   []byte // of the content as it was sent, so that sending it again is recognised
	Reason string // why it is taken
}

// PrepareHeld prepares a content that was sent and held earlier, whatever the
// survey accepts now. The faults are those of Prepare.
func (pr *preparer) PrepareHeld(ctx context.Context, o *survey.Open, d *Draft, l Held) (*Prepared, error) {
	p, err := pr.check(ctx, &Prepared{open: o, draft: d, held: l}, true)
	if err != nil {
		return nil, err
	}
	p.row.FirstHash, p.row.Reason = l.Hash, l.Reason
	return p, nil
}

// Open returns the survey of the response.
func (p *Prepared) Open() *survey.Open { return p.open }

// Draft returns what was sent.
func (p *Prepared) Draft() *Draft { return p.draft }

// ID returns the id of the response.
func (p *Prepared) ID() string { return p.row.ResponseID }

// Asked returns what the answers propose for a twin, nil for nothing.
func (p *Prepared) Asked() *form.Asked { return p.asks }

// Hash returns the hash of the content.
func (p *Prepared) Hash() []byte { return p.row.Hash }

// NoConsent reports whether the response is flagged because the question for
// consent has no answer.
func (p *Prepared) NoConsent() bool {
	return slices.ContainsFunc(p.flags, func(f flag.Flag) bool { return f.Rule == flag.ConsentMissing })
}

// HasFiles reports whether the response has attachments.
func (p *Prepared) HasFiles() bool { return len(p.uses) > 0 }

// check is Prepare without the question whether the survey takes responses.
func (pr *preparer) check(ctx context.Context, p *Prepared, offline bool) (*Prepared, error) {
	var c fault.Checks
	o, d, now := p.open, p.draft, pr.now()
	d.check(&c)
	if d.Round > o.Round {
		c.Add("/round", "out_of_range", fmt.Sprintf("The open round is %d.", o.Round))
	}
	var err error
	if p.home, err = pr.cfg.Surveys.Household(ctx, pr.db, o, d.HouseholdID); err != nil {
		return nil, err
	}
	if err := p.fill(ctx, pr.db.NewNID(), now); err != nil {
		return nil, err
	}
	r := o.Form.Check(form.Input{Answers: d.Responses.Value, Household: p.householdNames(), Response: p.responseNames(), Now: p.head.Timestamp, Before: p.before, Partial: d.Partial || offline, Reach: survey.ReachOf(p.head.Mode)})
	for _, f := range r.Wrong {
		c.Add(f.Pointer, f.Code, f.Detail)
	}
	if !d.Partial && !offline && statusOf(r) != Refused {
		for _, f := range r.Missing {
			// What is wrong was not forgotten.
			if !slices.ContainsFunc(r.Wrong, func(w fault.Field) bool { return w.Pointer == f.Pointer || strings.HasPrefix(w.Pointer, f.Pointer+"/") }) {
				c.Add(f.Pointer, f.Code, f.Detail)
			}
		}
	}
	p.checkClaim(&c)
	if err := c.Err(invalidCode, "The response is not valid."); err != nil {
		return nil, err
	}
	if statusOf(r) != Refused {
		p.asks = r.Proposed()
	}
	p.attach(r)
	if err := pr.judge(ctx, p, r); err != nil {
		return nil, err
	}
	if err := pr.render(p, r); err != nil {
		return nil, err
	}
	if err := pr.typeRows(p); err != nil {
		return nil, err
	}
	if err := pr.notErased(ctx, p); err != nil {
		return nil, err
	}
	return p, pr.announce(ctx, p)
}

// notErased refuses a household that was erased. What is only inserted need not
// ask: the insert does. What is sealed would make the household a new key first.
func (pr *preparer) notErased(ctx context.Context, p *Prepared) error {
	if p.private == nil && p.old == nil && p.held.At.IsZero() && !p.hold && p.draft.Supersedes == "" {
		return nil
	}
	return vault.CheckErased(ctx, pr.db, p.open.Workspace, p.draft.HouseholdID, "/householdId")
}

// attach finds the files of a response. Those in personal answers are sealed
// with these: callers who may not read the answer must not learn its hash.
func (p *Prepared) attach(r *form.Result) {
	if len(r.Attachments) == 0 && len(p.draft.Attachments) == 0 {
		return
	}
	private := map[string]bool{}
	for _, name := range r.Attachments {
		hash := strings.TrimPrefix(name, "sha256:")
		private[hash] = bytes.Contains(r.Private, []byte(hash))
	}
	p.head.Attachments = slices.Clone(p.draft.Attachments)
	p.head.Attachments = slices.DeleteFunc(p.head.Attachments, func(a Attachment) bool { return private[a.SHA256] })
	if len(p.head.Attachments) == 0 {
		p.head.Attachments = nil
	}
	for _, a := range p.head.Attachments {
		private[a.SHA256] = false
	}
	for _, hash := range slices.Sorted(maps.Keys(private)) {
		p.uses = append(p.uses, media.Use{Workspace: p.row.Workspace, Survey: p.row.Survey, Response: p.row.NID, SHA256: hash, Private: private[hash]})
	}
	p.row.Files = int64(len(p.uses))
}

// announce prepares the event of a new response.
func (pr *preparer) announce(ctx context.Context, p *Prepared) (err error) {
	if p.old != nil {
		return nil
	}
	r := &p.row
	p.event, err = pr.cfg.Events.Prepare(ctx, event.Event{
		Workspace: r.Workspace, Type: "response.submitted", Subject: r.ResponseID, Revision: r.Revision,
		Data: submittedData{p.open.SurveyID, r.Status, r.Round, r.Flags},
	})
	return err
}

// mayTake reports whether a survey takes a draft from the caller now.
func mayTake(ctx context.Context, o *survey.Open, d *Draft) error {
	caller := web.CallerFrom(ctx)
	if !o.Active() {
		return survey.NotActive(o.SurveyID, o.Status)
	}
	return mayPost(caller, o, d)
}

// mayPost reports whether a draft is the caller's to send.
func mayPost(caller web.Caller, o *survey.Open, d *Draft) error {
	if err := mayDecide(caller, d.Verification); err != nil {
		return err
	}
	if d.Collector != "" && d.Collector != caller.DID && !caller.May("surveys:write") {
		return fault.New(fault.Forbidden, "SCOPE_MISSING", "Sending what somebody else collected needs the scope surveys:write.").
			With(fault.Field{Pointer: "/collector", Code: "scope_missing", Detail: "Leave it out, or use a key with the scope surveys:write."})
	}
	collector := d.Collector
	if collector == "" {
		collector = caller.DID
	}
	if o.StrictCollectors && !o.Collectors[collector] && !survey.AnswersItself(caller) {
		return fault.New(fault.Forbidden, "COLLECTOR_UNKNOWN", "Only the collectors of the survey may send responses.").
			With(fault.Field{Pointer: "/collector", Code: "unknown", Detail: "The survey does not name this collector."})
	}
	return nil
}

// mayDecide reports whether the caller may send a decision: it must be another
// person's, because senders cannot judge their own response.
func mayDecide(caller web.Caller, v *Verification) error {
	missing := func(pointer, scope, why string) error {
		return fault.New(fault.Forbidden, "SCOPE_MISSING", why+" needs the scope "+scope+".").
			With(fault.Field{Pointer: pointer, Code: "scope_missing", Detail: "Leave the verification out, or use a key with the scope " + scope + "."})
	}
	switch {
	case v == nil:
		return nil
	case !caller.May("responses:verify"):
		return missing("/verification", "responses:verify", "A response with a verification")
	case v.Verifier != "" && v.Verifier != caller.DID && !caller.May("imports:write"):
		return missing("/verification/verifier", "imports:write", "A decision that somebody else has made is imported. That")
	}
	return nil
}

// fill gives the draft's members their places and defaults.
func (p *Prepared) fill(ctx context.Context, nid int64, now time.Time) error {
	d, o, caller := p.draft, p.open, web.CallerFrom(ctx)
	sender, arrived := cmp.Or(p.held.Sender, caller.DID), now
	if !p.held.At.IsZero() {
		arrived = p.held.At
	}
	id := d.ResponseID
	if id == "" {
		id = "rsp_" + strconv.FormatInt(nid, 10)
	}
	h := Head{
		ResponseID: id, SurveyID: o.SurveyID, TemplateID: o.TemplateID, TemplateVersion: o.TemplateVersion, ProjectID: o.Project,
		HouseholdID: d.HouseholdID, Round: d.Round, Timestamp: ms(d.Timestamp), StartedAt: ms(d.StartedAt), ReceivedAt: ms(arrived),
		DurationSec: d.DurationSec, Collector: cmp.Or(d.Collector, sender), SubmittedBy: sender, Mode: d.Mode, DeviceID: d.DeviceID, Language: d.Language,
		Supersedes: d.Supersedes, Metadata: d.Metadata,
		Links: Links{Self: Path(id), Survey: "/v1/surveys/" + o.SurveyID, Verification: Path(id) + "/verification", History: Path(id) + "/history"},
	}
	if h.Round == 0 {
		h.Round = o.Round
	}
	h.RoundID = o.SurveyID + "/rounds/" + strconv.Itoa(h.Round)
	if h.DurationSec == 0 && !h.StartedAt.IsZero() {
		h.DurationSec = h.Timestamp.Sub(h.StartedAt).Seconds()
	}
	if p.home != nil {
		h.Stratum, h.Group = p.home.Stratum, p.home.Group
	}
	p.asked(caller, &h)
	if p.old != nil {
		if err := p.keep(&h, &nid); err != nil {
			return err
		}
	}
	p.head = h
	p.row = Row{
		NID: nid, Workspace: o.Workspace, ResponseID: id, Survey: o.NID, Round: h.Round, Household: h.HouseholdID, Stratum: h.Stratum, Group: h.Group,
		Collector: h.Collector, Sender: h.SubmittedBy, SubmittedAt: h.Timestamp.UnixMilli(), ReceivedAt: h.ReceivedAt.UnixMilli(),
		UpdatedAt: now.UnixMilli(), Revision: 1, Action: "submitted", Actor: caller.DID, RequestID: web.RequestID(ctx), VStatus: Pending,
	}
	if !o.OnePerHousehold {
		p.row.Slot = nid
	}
	return nil
}

// keep takes over what a correction leaves as it was.
func (p *Prepared) keep(h *Head, nid *int64) error {
	was, err := p.old.Head()
	if err != nil {
		return err
	}
	h.ReceivedAt, h.SubmittedBy, h.SupersededBy = was.ReceivedAt, was.SubmittedBy, was.SupersededBy
	h.Stratum, h.Group = p.old.Stratum, p.old.Group
	if p.draft.Mode == "" {
		h.Mode = was.Mode
	}
	p.claimed = p.claimed && h.Mode != was.Mode
	*nid = p.old.NID
	return nil
}

// ms rounds a time to what is stored; the zero time stays.
func ms(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Millisecond)
}

// statusOf says how much there is. Nothing is missing of who does not want to
// answer.
func statusOf(r *form.Result) Status {
	switch {
	case r.Consent != nil && !*r.Consent:
		return Refused
	case r.Complete:
		return Complete
	}
	return Partial
}

// missing lists the pointers of what a response lacks to be complete.
func missing(r *form.Result) (out []string) {
	for _, f := range r.Missing {
		out = append(out, f.Pointer)
	}
	for _, at := range r.NoConsent {
		if !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out
}

// judge says what the survey and its checks think of the response.
func (pr *preparer) judge(ctx context.Context, p *Prepared, r *form.Result) error {
	o, h := p.open, &p.head
	p.row.Status = statusOf(r)
	h.Status, h.Completeness, h.Consent, h.Dropped = p.row.Status, r.Completeness, r.Consent, r.Dropped
	if h.Status == Partial {
		h.Missing = missing(r)
	}
	if o.Eligibility != nil {
		if ok, err := r.Holds(o.Eligibility); err == nil {
			h.Eligible = &ok
		}
	}
	settings, err := pr.cfg.Settings(ctx, o)
	if err != nil {
		return err
	}
	if err := pr.look(ctx, p, r, settings); err != nil {
		return err
	}
	switch {
	case p.draft.Verification != nil:
		if err := p.mayImport(pr.now()); err != nil {
			return err
		}
		p.decision, p.imported = p.draft.Verification, true
	case p.old == nil && o.Policy.Mode == "auto" && p.row.Status == Complete && !p.stopped():
		p.decision = &Verification{Status: Verified, Verifier: pr.cfg.Self, Timestamp: h.ReceivedAt}
	}
	if p.decision == nil {
		return nil
	}
	early := p.row.Status == Partial && p.decision.Status == Verified && !p.draft.Partial
	if p.row.Status != Complete && p.decision.Status == Verified && !early {
		return NotVerifiable("/verification/status", p.row.Status)
	}
	if p.imported {
		p.row.ImportedBy = h.SubmittedBy
	}
	p.row.VStatus, p.row.Verifier, p.row.VerifiedAt = p.decision.Status, p.decision.Verifier, ms(p.decision.Timestamp).UnixMilli()
	switch {
	case early: // the decision is kept, and the response waits for what is missing
		p.row.VStatus = InReview
	case p.decision.Status == Verified:
		p.row.Reviews = 1
		if p.imported && o.Policy.MinReviewers > 1 {
			p.row.VStatus = InReview // the first of two
		}
	}
	return nil
}

// look has the checks look at the response.
func (pr *preparer) look(ctx context.Context, p *Prepared, r *form.Result, limits flag.Settings) error {
	in := p.interview(r)
	if in.Complete && in.Seconds > 0 {
		pace, err := pr.cfg.Surveys.Pace(ctx, pr.db, p.open, p.head.Collector)
		if err != nil {
			return err
		}
		in.Median, in.CollectorMedian = pace.Median, pace.Collector
	}
	p.flags = pr.plans.of(p.open.Form).checks.Check(limits, in, r.Asked)
	p.row.Flags = int64(len(p.flags))
	return nil
}

// mayImport refuses decisions that would be impossible here: by the collector or
// sender of the response, before it was given, or in the future.
func (p *Prepared) mayImport(now time.Time) error {
	v := p.draft.Verification
	if f := fault.As(MayJudge(v.Verifier, p.head.Collector, p.head.SubmittedBy)); f != nil {
		return f.With(fault.Field{Pointer: "/verification/verifier", Code: "collector", Detail: "Somebody else must decide."})
	}
	if at := ms(v.Timestamp); at.Before(p.head.Timestamp) || at.After(now.Add(10*time.Minute)) {
		return fault.New(fault.Invalid, invalidCode, "The response is not valid.").
			With(fault.Field{Pointer: "/verification/timestamp", Code: "out_of_range", Detail: "A decision comes after the response and before now."})
	}
	return nil
}

// stopped reports whether a flag keeps the server from verifying automatically.
func (p *Prepared) stopped() bool {
	rules := p.open.Policy.AutoRules
	return slices.ContainsFunc(p.flags, func(f flag.Flag) bool { return len(rules) == 0 || slices.Contains(rules, f.Rule) })
}

// early is how long before a survey is made people may have begun to interview, on
// paper or with another tool.
const early = 31 * 24 * time.Hour

// interview is the response as the checks see it.
func (p *Prepared) interview(r *form.Result) flag.Interview {
	o, h := p.open, &p.head
	in := flag.Interview{
		Answers: r.Answers, Answered: r.Answered, Completeness: r.Completeness, Complete: p.row.Status == Complete, Consent: r.Consent, Dropped: r.Dropped, StartedAt: h.StartedAt, SubmittedAt: h.Timestamp, ReceivedAt: h.ReceivedAt, Seconds: h.DurationSec,
		Visit: h.Mode == "visit" || h.Mode == survey.Collect, Eligible: h.Eligible, From: o.Window.Start, Until: o.Window.End,
		Unplanned: len(o.Modes) > 0 && !slices.Contains(o.Modes, h.Mode) || p.claimed && !slices.Contains(o.Channels, h.Mode),
		Stranger:  len(o.Collectors) > 0 && !o.Collectors[h.Collector] && !p.self,
		Unlisted:  o.Listed && !o.OpenEnrolment && p.home == nil,
		Others:    p.home != nil && p.home.Collector != "" && p.home.Collector != h.Collector,
	}
	if h.Mode != "import" {
		in.Since = o.Created.Add(-early)
	}
	if l := p.draft.Location; l != nil {
		in.At = &flag.Point{Lat: l.Lat, Lon: l.Lon}
	}
	if p.home != nil && p.home.Location != nil {
		in.Home = &flag.Point{Lat: p.home.Location.Lat, Lon: p.home.Location.Lon}
	}
	return in
}
