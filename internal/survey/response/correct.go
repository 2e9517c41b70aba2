package response

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Correction asks to change the content of a response.
type Correction struct {
	IfMatch   string
	Reason    string
	Draft     *Draft // the whole content
	Patch     []byte // or the changes, as a merge patch
	JSONPatch []byte // or as a JSON patch of the part that the caller may read
	Hash      []byte // of the content as it was sent; that of the draft by default
}

// Correct replaces the content of a response, which makes earlier decisions about
// it open again. Faults: RESPONSE_NOT_FOUND, RESPONSE_INVALID, INVALID_PARAMETER,
// HOUSEHOLD_ERASED, RESPONSE_LOCKED, SURVEY_ARCHIVED, NOT_COLLECTOR,
// ENTRIES_WITHHELD, and those of web.CheckMatch.
func (s *Service) Correct(ctx context.Context, id string, c Correction) (web.Reply[*Record], error) {
	var none web.Reply[*Record]
	old, o, err := s.Find(ctx, s.db, id)
	if err != nil {
		return none, err
	}
	if err := mayCorrect(ctx, o, old, c.IfMatch); err != nil {
		return none, err
	}
	// What was verified would have to be verified again.
	if err := checkReason(c.Reason, old.VStatus == Verified); err != nil {
		return none, err
	}
	d := c.Draft
	if d == nil {
		d, err = s.patched(ctx, o, old, c)
	} else {
		d, err = s.carried(ctx, o, old, d, c)
	}
	if err != nil {
		return none, err
	}
	p, err := s.PrepareCorrection(ctx, o, old, d)
	if err != nil {
		return none, err
	}
	if same, err := s.changesNothing(ctx, p, c); err != nil {
		return none, err
	} else if same {
		return s.answer(ctx, s.db, o, old)
	}
	var out web.Reply[*Record]
	err = s.db.InTx(ctx, func(tx *db.Tx) (err error) {
		out, err = s.CorrectTx(ctx, tx, p, c)
		return err
	})
	return out, err
}

// mayCorrect reports whether the caller may change a response in its present
// state.
func mayCorrect(ctx context.Context, o *survey.Open, r *Row, ifMatch string) error {
	caller := web.CallerFrom(ctx)
	if o.Status == survey.StatusArchived {
		return Archived()
	}
	if err := MayChange(ctx, r); err != nil {
		return err
	}
	if err := web.CheckMatch(ifMatch, r.Revision); err != nil {
		return err
	}
	if slices.Contains([]string{Superseded, Invalidated}, r.VStatus) || r.Status == Redacted {
		return locked(r)
	}
	if r.VStatus == Verified && !caller.May("surveys:write") {
		return locked(r)
	}
	return nil
}

// MayChange reports whether the caller may change a response. The fault is
// NOT_COLLECTOR.
func MayChange(ctx context.Context, r *Row) error {
	if caller := web.CallerFrom(ctx); caller.DID != r.Collector && caller.DID != r.Sender && !caller.May("surveys:write") {
		return fault.New(fault.Forbidden, "NOT_COLLECTOR", "Only the collector or the sender of a response, or a key with the scope surveys:write, may change it.")
	}
	return nil
}

// Archived is the fault of changing a response of an archived survey.
func Archived() error {
	return fault.New(fault.Conflict, "SURVEY_ARCHIVED", "The survey is archived: its responses can no longer change.")
}

func locked(r *Row) error {
	if r.Status == Redacted {
		return Locked(string(Redacted))
	}
	return Locked(r.VStatus)
}

// patched applies a patch to the content of a response. A JSON patch could test
// values, and copy them to where others read them, so it sees only what its
// sender may read.
func (rd *reader) patched(ctx context.Context, o *survey.Open, r *Row, c Correction) (*Draft, error) {
	at := r
	if c.JSONPatch != nil {
		var err error
		if at, err = rd.shownTo(ctx, o, r); err != nil {
			return nil, err
		}
	}
	_, doc, err := rd.apply(ctx, o, at, c)
	if err != nil {
		return nil, err
	}
	next := &Draft{patched: true}
	if err := web.DecodeStrict(doc, next, false); err != nil {
		return nil, err
	}
	return rd.carried(ctx, o, r, next, c)
}

// shownTo reduces a response to what its reader may read.
func (rd *reader) shownTo(ctx context.Context, o *survey.Open, r *Row) (*Row, error) {
	seen, err := r.veil(ctx, rd.Sight(ctx, o), o.Form)
	if err != nil || web.CallerFrom(ctx).May(privacy.PII) {
		return seen, err
	}
	open := *seen
	open.Sealed = nil
	return &open, nil
}

// apply gives the content of a response before and after a patch.
func (rd *reader) apply(ctx context.Context, o *survey.Open, r *Row, c Correction) (was, is jsontext.Value, err error) {
	d, err := rd.DraftOf(ctx, rd.db, o, r)
	if err != nil {
		return nil, nil, err
	}
	d.SurveyID = o.SurveyID
	doc, err := json.Marshal(d)
	if err != nil {
		return nil, nil, fmt.Errorf("encode draft: %w", err)
	}
	if c.JSONPatch != nil {
		is, err = web.JSONPatch(doc, c.JSONPatch)
	} else {
		is, err = web.MergePatch(doc, c.Patch)
	}
	return doc, is, err
}

// changesNothing reports whether a correction equals what is stored. It ignores
// what its sender may not read; otherwise the sender would learn that a guess
// was right.
func (rd *reader) changesNothing(ctx context.Context, p *Prepared, c Correction) (bool, error) {
	stored, err := rd.Version(ctx, rd.db, p.open.Project, p.old)
	if err != nil {
		return false, err
	}
	same := slices.EqualFunc(members(stored), members(Version{p.head, p.whole}), func(a, b member) bool { return bytes.Equal(a.text, b.text) })
	if !same || p.head.Status != p.old.Status || len(form.Compare(stored.Whole.Answers, p.whole.Answers)) > 0 {
		return false, nil
	}
	if c.Draft != nil || web.CallerFrom(ctx).May(privacy.PII) {
		return p.old.Knows(ctx) && (len(p.old.Sealed) == 0 || web.CallerFrom(ctx).May(privacy.PII)), nil
	}
	seen, err := rd.shownTo(ctx, p.open, p.old)
	if err != nil {
		return false, err
	}
	was, is, err := rd.apply(ctx, p.open, seen, c)
	return err == nil && was.Canonicalize() == nil && is.Canonicalize() == nil && bytes.Equal(was, is), err
}

// carried completes a draft with what the caller could not have read; otherwise a
// caller who reads a response, changes an answer and sends it back would delete
// the rest. A merge patch was applied to everything, so what the draft lacks was
// removed on purpose, except in the entries of a list, which came as a whole. The
// fault is ENTRIES_WITHHELD.
func (rd *reader) carried(ctx context.Context, o *survey.Open, r *Row, d *Draft, c Correction) (_ *Draft, err error) {
	merged := c.Patch != nil
	if !merged {
		d, err = rd.unveiled(ctx, o, r, d)
	}
	if err != nil || len(r.Sealed) == 0 || web.CallerFrom(ctx).May(privacy.PII) {
		return d, err
	}
	sealed := *r
	sealed.Answers = []byte("{}")
	w, err := rd.Read(ctx, rd.db, o.Project, &sealed)
	if err != nil || w.Erased {
		return d, err
	}
	next := *d
	if next.Location == nil && !merged {
		next.Location = w.Location
	}
	if w.Answers, err = form.Given(o.Form, w.Answers); err != nil {
		return nil, err
	}
	part := form.Partial{Shown: r.Answers, Hidden: w.Answers, Removed: merged}
	if c.JSONPatch != nil {
		if err := part.MayApply(c.JSONPatch); err != nil {
			return nil, err
		}
	}
	next.Responses.Value, err = part.Filled(d.Responses.Value)
	return &next, err
}

// DraftOf is a stored response as it could have been sent.
func (rd *reader) DraftOf(ctx context.Context, q db.Querier, o *survey.Open, r *Row) (*Draft, error) {
	h, err := r.Head()
	if err != nil {
		return nil, err
	}
	w, err := rd.Read(ctx, q, o.Project, r)
	if err != nil {
		return nil, err
	}
	answers, err := form.Given(o.Form, w.Answers)
	if err != nil {
		return nil, err
	}
	seconds := h.DurationSec
	if !h.StartedAt.IsZero() && seconds == h.Timestamp.Sub(h.StartedAt).Seconds() {
		seconds = 0 // it follows from the others
	}
	return &Draft{
		ResponseID: h.ResponseID, HouseholdID: h.HouseholdID, Timestamp: h.Timestamp, Responses: form.Object{Value: answers}, Round: h.Round,
		Collector: h.Collector, Mode: h.Mode, DeviceID: h.DeviceID, StartedAt: h.StartedAt, DurationSec: seconds, Language: h.Language,
		Location: w.Location, Attachments: h.Attachments, Supersedes: h.Supersedes, Metadata: h.Metadata, Partial: r.Status == Partial,
	}, nil
}

// Head decodes the stored part of the record.
func (r *Row) Head() (Head, error) {
	var h Head
	if err := json.Unmarshal(r.Body, &h); err != nil {
		return h, fmt.Errorf("read response: %w", err)
	}
	return h, nil
}

// PrepareCorrection checks a new content of a stored response. What makes the
// response this one cannot change. Faults: RESPONSE_INVALID, HOUSEHOLD_ERASED.
func (pr *preparer) PrepareCorrection(ctx context.Context, o *survey.Open, old *Row, d *Draft) (*Prepared, error) {
	h, err := old.Head()
	if err != nil {
		return nil, err
	}
	var c fault.Checks
	for _, m := range []struct {
		pointer   string
		same, set bool
	}{
		{"/responseId", d.ResponseID == old.ResponseID, d.ResponseID != ""},
		{"/surveyId", d.SurveyID == h.SurveyID || d.SurveyID == h.TemplateID, d.SurveyID != ""},
		{"/householdId", d.HouseholdID == old.Household, d.HouseholdID != ""},
		{"/round", d.Round == old.Round, d.Round != 0},
		{"/collector", d.Collector == old.Collector, d.Collector != ""},
		{"/supersedes", d.Supersedes == h.Supersedes, d.Supersedes != ""},
		{"/verification", d.Verification == nil, true},
	} {
		if (m.set || d.patched) && !m.same {
			c.Add(m.pointer, "read_only", "A correction cannot change this.")
		}
	}
	if err := c.Err(invalidCode, "The correction is not valid."); err != nil {
		return nil, err
	}
	draft := *d
	draft.ResponseID, draft.HouseholdID, draft.Round, draft.Collector = old.ResponseID, old.Household, old.Round, old.Collector
	draft.Supersedes = h.Supersedes
	p := &Prepared{open: o, draft: &draft, old: old}
	if o.Form.Keeps() {
		was, err := (&reader{pr.db, pr.cfg.Vault}).Read(ctx, pr.db, o.Project, old)
		if err != nil {
			return nil, err
		}
		p.before = was.Answers
	}
	return pr.check(ctx, p, old.Status == Partial)
}

// CorrectTx stores the next revision of a response.
func (s *Service) CorrectTx(ctx context.Context, tx *db.Tx, p *Prepared, c Correction) (web.Reply[*Record], error) {
	var none web.Reply[*Record]
	if err := vault.HoldErasures(ctx, tx, s.db.Dialect(), p.old.Workspace, p.old.Household); err != nil {
		return none, err
	}
	old, err := s.FindForUpdate(ctx, tx, p.open, p.draft.ResponseID)
	if err != nil {
		return none, err
	}
	if err := mayCorrect(ctx, p.open, old, c.IfMatch); err != nil {
		return none, err
	}
	if old.Revision == p.old.Revision && !bytes.Equal(old.Body, p.old.Body) {
		return none, web.Overtaken() // it was erased since it was read
	}
	next := *old
	next.Status, next.SubmittedAt = p.row.Status, p.row.SubmittedAt
	next.Hash, next.Body, next.Answers, next.Masked, next.Sealed = p.row.Hash, p.row.Body, p.row.Answers, p.row.Masked, nil
	next.rows = p.row.rows
	if p.private != nil {
		if next.Sealed, err = s.cfg.Vault.Seal(ctx, tx, next.ref(p.open.Project), next.bind(), p.private); err != nil {
			return none, err
		}
	}
	if c.Hash != nil {
		next.Hash = c.Hash
	}
	s.sign(ctx, &next, "corrected", c.Reason)
	if err := s.reopen(ctx, tx, old, &next); err != nil {
		return none, err
	}
	if next.Flags, err = s.flagAnew(ctx, tx, &next, p); err != nil {
		return none, err
	}
	if next.Files, err = useAnew(ctx, tx, &next, p); err != nil {
		return none, err
	}
	if err := s.replace(ctx, tx, p.open, old, &next); err != nil {
		return none, err
	}
	if err := s.cfg.Asked(ctx, tx, p); err != nil {
		return none, err
	}
	return s.answer(ctx, tx, p.open, &next)
}

// reopen withdraws what was decided about the earlier content.
func (s *Service) reopen(ctx context.Context, tx *db.Tx, old, next *Row) error {
	next.Reviews = 0
	if old.VStatus == Pending {
		return nil
	}
	next.VStatus, next.Verifier, next.VerifiedAt, next.ImportedBy = Pending, "", 0, ""
	return insertDecision(ctx, tx, decision{
		NID: s.db.NewNID(), Response: old.NID, From: old.VStatus, To: Pending, Verifier: next.Actor, At: next.UpdatedAt,
		Reason: "the response was corrected", Revision: next.Revision, RequestID: next.RequestID,
	})
}

// flagAnew replaces the flags of the checks of one response; those of checks
// over many stay until these run again.
func (s *Service) flagAnew(ctx context.Context, tx *db.Tx, r *Row, p *Prepared) (int64, error) {
	if err := flag.Remove(ctx, tx, r.NID, flag.Submit); err != nil {
		return 0, err
	}
	if err := flag.Add(ctx, tx, r.marked(), p.flags); err != nil {
		return 0, err
	}
	flags, err := flag.List(ctx, tx, r.NID)
	return int64(len(flags)), err
}

// useAnew records the files the response has now. Earlier files stay, because
// the history shows them.
func useAnew(ctx context.Context, tx *db.Tx, r *Row, p *Prepared) (int64, error) {
	if r.Files == 0 && len(p.uses) == 0 {
		return 0, nil
	}
	keep := map[string]bool{}
	for _, u := range p.uses {
		keep[u.SHA256] = true
		if err := media.Add(ctx, tx, u); err != nil {
			return 0, err
		}
	}
	return max(r.Files, int64(len(p.uses))), media.Waive(ctx, tx, r.Workspace, r.NID, keep)
}

// replace stores the next revision of a response, its counters and its event.
func (s *Service) replace(ctx context.Context, tx *db.Tx, o *survey.Open, old, next *Row) error {
	if ok, err := update(ctx, tx, old, next); err != nil {
		return err
	} else if !ok {
		return web.Overtaken()
	}
	if err := s.tell(ctx, tx, next, "response."+eventOf(next.Action), submittedData{o.SurveyID, next.Status, next.Round, next.Flags}); err != nil {
		return err
	}
	counted, err := s.counted(ctx, tx, o, old, next)
	if err != nil {
		return err
	}
	return s.cfg.Surveys.Count(ctx, tx, o, counted...)
}

func eventOf(action string) string {
	if action == "corrected" {
		return "updated"
	}
	return action
}
