package response

import (
	"bytes"
	"context"
	"net/http"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Submit stores a response once. The same content again is answered with the
// existing record and status 200. Faults: those of Prepare and Pick,
// RESPONSE_CONFLICT, DUPLICATE_HOUSEHOLD_RESPONSE, SUPERSEDES_INVALID.
func (s *Service) Submit(ctx context.Context, surveyID string, d *Draft) (web.Reply[*Record], error) {
	o, err := s.Pick(ctx, surveyID, d)
	if err != nil {
		return once.Refuse[*Record](ctx, s.cfg.Idem, err)
	}
	p, err := prepareAgain(ctx, s, o, d)
	if err != nil {
		// A response that was stored before is recognised even when the survey
		// has ended.
		if again, ok := s.stored(ctx, o, d); ok {
			return again, nil
		}
		return once.Refuse[*Record](ctx, s.cfg.Idem, err)
	}
	var body []byte
	if len(p.uses) == 0 {
		if body, err = p.shown(ctx, nil); err != nil {
			return web.Reply[*Record]{}, err
		}
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Record], error) {
		return s.submitTx(ctx, tx, p, body)
	})
}

// prepareAgain is Prepare, and repeats it when the survey was changed since it was
// read, so that nobody is refused because of an outdated survey.
func prepareAgain(ctx context.Context, s *Service, o *survey.Open, d *Draft) (*Prepared, error) {
	p, err := s.Prepare(ctx, o, d, false)
	if err == nil || fault.As(err) == nil {
		return p, err
	}
	now, again := s.cfg.Surveys.Again(ctx, o)
	if again != nil || now == o {
		return p, err
	}
	return s.Prepare(ctx, now, d, false)
}

// submitTx stores one response and answers. body is the answer if that is known.
func (s *Service) submitTx(ctx context.Context, tx *db.Tx, p *Prepared, body []byte) (web.Reply[*Record], error) {
	var none web.Reply[*Record]
	done, err := s.TakeTx(ctx, tx, p)
	if err != nil {
		return none, err
	}
	if !done.Fresh {
		return s.answerAgain(ctx, tx, p.open, done.Row, p.draft)
	}
	if err := s.cfg.Surveys.Count(ctx, tx, p.open, done.Deltas...); err != nil {
		return none, err
	}
	if body == nil {
		waiting, err := media.Missing(ctx, tx, p.row.NID, true)
		if err != nil {
			return none, err
		}
		if body, err = p.shown(ctx, waiting); err != nil {
			return none, err
		}
	}
	return web.Reply[*Record]{Raw: body, Status: http.StatusCreated, ETag: web.ETag(p.row.Revision), Location: p.head.Links.Self}, nil
}

// TakeTx is StoreTx, and settles waiting contents that are the same.
func (s *Service) TakeTx(ctx context.Context, tx *db.Tx, p *Prepared) (Stored, error) {
	done, err := s.StoreTx(ctx, tx, p)
	if err == nil {
		err = s.cfg.Stored(ctx, tx, p, done.Held || !done.Fresh)
	}
	return done, err
}

// Pick finds the survey of a draft: the one of the path, or the one the draft
// names directly or by its template. A draft that was stored by its template
// before belongs to that survey. Faults: SURVEY_NOT_FOUND, AMBIGUOUS_SURVEY,
// RESPONSE_INVALID.
func (fd *finder) Pick(ctx context.Context, surveyID string, d *Draft) (*survey.Open, error) {
	name := surveyID
	if name == "" {
		name = d.SurveyID
	}
	if name == "" {
		var c fault.Checks
		c.Require(false, "/surveyId")
		return nil, c.Err(invalidCode, "The response is not valid.")
	}
	o, err := fd.surveys.Open(ctx, name)
	if err == nil {
		if surveyID != "" && d.SurveyID != "" && d.SurveyID != o.SurveyID && d.SurveyID != o.TemplateID {
			return nil, fault.New(fault.Invalid, invalidCode, "The response is not valid.").
				With(fault.Field{Pointer: "/surveyId", Code: "mismatch", Detail: "The response names another survey than the address."})
		}
		if surveyID != "" {
			return o, nil
		}
		return fd.orTemplate(ctx, o, d)
	}
	if surveyID != "" || fault.CodeOf(err) != "SURVEY_NOT_FOUND" {
		return nil, err
	}
	return fd.pickByTemplate(ctx, name, d, err)
}

// orTemplate refuses a survey whose id is also that of a template other active
// surveys use: a sender who means the template must not end up in that survey.
func (fd *finder) orTemplate(ctx context.Context, o *survey.Open, d *Draft) (*survey.Open, error) {
	others, err := fd.surveys.ByTemplate(ctx, o.SurveyID, d.HouseholdID)
	if err != nil {
		return nil, err
	}
	others = slices.DeleteFunc(others, func(other *survey.Open) bool { return other.NID == o.NID })
	if len(others) == 0 && o.SurveyID != o.TemplateID {
		return o, nil
	}
	if stored, err := fd.pickStored(ctx, o.SurveyID, d); stored != nil || err != nil {
		return stored, err
	}
	if len(others) == 0 {
		return o, nil
	}
	return nil, Ambiguous(append(others, o))
}

// pickStored finds the survey in which the response of a draft is stored, if
// that uses the template or has its name: a repeated response belongs to the
// same survey as before, whatever other surveys of the template do since. nil
// for none, and for one the caller may not know, which would reveal it.
func (fd *finder) pickStored(ctx context.Context, template string, d *Draft) (*survey.Open, error) {
	if d.ResponseID == "" {
		return nil, nil
	}
	r, o, err := fd.Find(ctx, fd.db, d.ResponseID)
	switch {
	case fault.CodeOf(err) == "RESPONSE_NOT_FOUND":
		return nil, nil
	case err != nil:
		return nil, err
	case !r.Knows(ctx), o.TemplateID != template && o.SurveyID != template:
		return nil, nil
	}
	return o, nil
}

func (fd *finder) pickByTemplate(ctx context.Context, template string, d *Draft, missing error) (*survey.Open, error) {
	if stored, err := fd.pickStored(ctx, template, d); stored != nil || err != nil {
		return stored, err
	}
	all, err := fd.surveys.ByTemplate(ctx, template, d.HouseholdID)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 0:
		return nil, missing
	case len(all) == 1:
		return all[0], nil
	}
	return nil, Ambiguous(all)
}

// stored answers a draft that was stored before, if it is exactly the same.
func (s *Service) stored(ctx context.Context, o *survey.Open, d *Draft) (web.Reply[*Record], bool) {
	r := s.Known(ctx, o, d)
	if r == nil {
		return web.Reply[*Record]{}, false
	}
	out, err := s.answerAgain(ctx, s.db, o, r, d)
	return out, err == nil
}

// answerAgain is the answer to a draft that was stored before.
func (s *Service) answerAgain(ctx context.Context, q db.Querier, o *survey.Open, r *Row, d *Draft) (web.Reply[*Record], error) {
	out, err := s.answer(ctx, q, o, r)
	if err != nil {
		return out, err
	}
	out.Location = Path(r.ResponseID)
	warnings, err := s.Warn(ctx, q, r, d)
	if err != nil || len(warnings) == 0 {
		return out, err
	}
	text, err := web.Encode(warnings)
	if err != nil {
		return out, err
	}
	body := append(bytes.Clone(out.Raw[:len(out.Raw)-1]), `,"warnings":`...)
	out.Raw = append(append(body, text...), '}')
	return out, nil
}

// Warn names the parts of a draft that were ignored because the response was
// stored before: a decision that came with it, unless that was accepted then.
func (s *Service) Warn(ctx context.Context, q db.Querier, r *Row, d *Draft) ([]Warning, error) {
	v := d.Verification
	if v == nil {
		return nil, nil
	}
	known, err := decisionCame(ctx, q, r.NID, v.Verifier, ms(v.Timestamp).UnixMilli())
	if err != nil || known {
		return nil, err
	}
	return []Warning{{Pointer: "/verification", Code: "verification_ignored", Detail: "The response was already stored without this decision, which is not made now. Decide at " + Path(r.ResponseID) + "/verification."}}, nil
}

// Known finds the stored response of exactly this draft; nil when there is
// none.
func (s *Service) Known(ctx context.Context, o *survey.Open, d *Draft) *Row {
	if d.ResponseID == "" {
		return nil
	}
	r, err := find(ctx, s.db, o.Workspace, d.ResponseID)
	if err != nil {
		return nil
	}
	content, err := d.content()
	if err != nil || !r.isAgain(ctx, &Row{Survey: o.NID, Household: d.HouseholdID, Hash: s.hashOf(o.Workspace, content)}) {
		return nil
	}
	return r
}

// isAgain reports whether a sender who knows the response sends it again: in
// its present form, or as it was first sent, because repeating it after a
// correction by others is no mistake. Other callers are not told: they could
// send contents until one matches, and learn all of it. For an erased response
// there is nothing left to compare.
func (r *Row) isAgain(ctx context.Context, sent *Row) bool {
	if r.Survey != sent.Survey || r.Household != sent.Household || !r.Knows(ctx) {
		return false
	}
	return len(r.Hash) == 0 || bytes.Equal(r.Hash, sent.Hash) || bytes.Equal(r.FirstHash, sent.Hash)
}

// answer renders a stored response for sending.
func (rd *reader) answer(ctx context.Context, q db.Querier, o *survey.Open, r *Row) (web.Reply[*Record], error) {
	seen, err := r.veil(ctx, rd.Sight(ctx, o), o.Form)
	if err != nil {
		return web.Reply[*Record]{}, err
	}
	body, err := rd.show(ctx, q, o.Project, r, seen)
	if err != nil {
		return web.Reply[*Record]{}, err
	}
	return web.Reply[*Record]{Raw: body, Status: http.StatusOK, ETag: web.ETag(r.Revision)}, nil
}

// Stored is the outcome for a prepared response.
type Stored struct {
	Row    *Row // that is stored now: the new one, the same one, or the one it clashes with
	Fresh  bool // it is the new one
	Held   bool // a fresh one: something of the survey may be held
	Deltas []survey.Delta
}

// tries is how often a response is stored again when the response it clashed
// with was gone a moment later.
const tries = 3

// StoreTx stores a prepared response with its flags, decision and event, or
// says what it clashes with. The caller counts Deltas, once and last in tx.
// Without a supersedes a refusal has stored nothing.
func (s *Service) StoreTx(ctx context.Context, tx *db.Tx, p *Prepared) (Stored, error) {
	row := p.row // fn may run twice
	done := Stored{Row: &row, Fresh: true}
	if err := vault.HoldDoors(ctx, tx, s.db.Dialect(), vault.Door(row.Workspace, row.Household), survey.StateDoor(row.Survey)); err != nil {
		return done, err
	}
	if p.draft.Supersedes != "" {
		old, err := s.supersede(ctx, tx, p)
		if err != nil || old.Deltas == nil {
			return old, err
		}
		done.Deltas = old.Deltas
	}
	if p.private != nil {
		var err error
		if row.Sealed, err = s.cfg.Vault.Seal(ctx, tx, row.ref(p.open.Project), row.bind(), p.private); err != nil {
			return done, err
		}
	}
	for range tries {
		stored, held, err := insert(ctx, tx, &row, p.open.Status)
		if err != nil {
			return done, err
		}
		if stored {
			counted, err := p.arrived(ctx, tx, &row)
			if err != nil {
				return done, err
			}
			done.Deltas, done.Held = append(done.Deltas, counted), held
			return done, s.storeParts(ctx, tx, p, &row)
		}
		against, err := s.clash(ctx, tx, p)
		if against != nil || err != nil {
			return Stored{Row: against}, err
		}
	}
	return done, fault.New(fault.Unavailable, "STORE_BUSY", "The responses of this household are being changed by many at once. Try again shortly.")
}

// submittedData is what the event of a new response says about it.
type submittedData struct {
	Survey string `json:"surveyId"`
	Status Status `json:"status"`
	Round  int    `json:"round"`
	Flags  int64  `json:"flags,omitzero"`
}

// storeParts stores what comes with a new response.
func (s *Service) storeParts(ctx context.Context, tx *db.Tx, p *Prepared, row *Row) error {
	if err := flag.Add(ctx, tx, row.marked(), p.flags); err != nil {
		return err
	}
	for _, u := range p.uses {
		if err := media.Add(ctx, tx, u); err != nil {
			return err
		}
	}
	if p.decision != nil {
		d := decision{
			NID: s.db.NewNID(), Response: row.NID, From: Pending, To: row.VStatus, Verifier: row.Verifier, At: row.VerifiedAt,
			Imported: p.imported, Revision: row.Revision, RequestID: row.RequestID, Reviews: row.Reviews, Judged: row.Revision,
		}
		if d.Reason = p.decision.Reason; !p.imported {
			d.Reason = "verified by the server: no flag"
		}
		if err := insertDecision(ctx, tx, d); err != nil {
			return err
		}
	}
	if err := s.cfg.Asked(ctx, tx, p); err != nil {
		return err
	}
	return s.cfg.Events.AppendPrepared(ctx, tx, p.event)
}

// tell appends an event about a response.
func (s *Service) tell(ctx context.Context, tx *db.Tx, r *Row, kind string, data any) error {
	return s.cfg.Events.Append(ctx, tx, event.Event{Workspace: r.Workspace, Type: kind, Subject: r.ResponseID, Revision: r.Revision, Data: data})
}

// Delta is the response's contribution to its survey's counters, n times.
func (r *Row) Delta(n int) survey.Delta {
	d := survey.Delta{Round: r.Round, Stratum: r.Stratum, Group: r.Group}
	if r.standing() == survey.Withdrawn {
		return d
	}
	if r.Status != Refused && r.unfit() {
		d.Ineligible = n
	}
	switch r.Status {
	case Complete:
		d.Completed = n
	case Refused:
		d.Refused = n
	default:
		d.Partial = n
	}
	switch r.VStatus {
	case Verified:
		d.Verified = n
	case Rejected:
		d.Rejected = n
	}
	if r.Flags > 0 {
		d.Flagged = n
	}
	return d
}

// clash finds what keeps a response from being stored: that its household was
// erased, or another response. There is no fault when that is the same one, and
// no result when it has gone meanwhile.
func (s *Service) clash(ctx context.Context, tx *db.Tx, p *Prepared) (*Row, error) {
	r, err := find(ctx, tx, p.row.Workspace, p.row.ResponseID)
	switch {
	case err == nil && r.isAgain(ctx, &p.row):
		return r, nil
	case err != nil && fault.CodeOf(err) != "RESPONSE_NOT_FOUND":
		return nil, err
	}
	if err := vault.CheckErased(ctx, tx, p.row.Workspace, p.row.Household, "/householdId"); err != nil {
		return nil, err
	}
	if err := s.cfg.Surveys.CheckState(ctx, tx, p.open); err != nil {
		return nil, err
	}
	if r != nil {
		return r, s.conflict(ctx, tx, p, r)
	}
	r, err = findInSlot(ctx, tx, &p.row)
	if fault.CodeOf(err) == "RESPONSE_NOT_FOUND" {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	return r, r.duplicate(ctx)
}
