package interview

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Config configures a Service. Now has a default.
type Config struct {
	DB        *db.DB
	Surveys   *survey.Service
	Drafts    *Drafts
	Responses *response.Service
	Key       secret.Key // makes the ids of responses
	Now       func() time.Time
}

// Service holds interviews. Its callers come through a door (web.Caller.Door): ussd
// or chat.
type Service struct {
	cfg   Config
	ids   []byte
	trial *trial // nil: interviews are stored
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	return &Service{cfg: cfg, ids: cfg.Key.Derive("interviews")}
}

// maxLooked is how many active surveys of a workspace are looked at.
const maxLooked = 100

// maxAgain is how many interviews of one household a survey accepts if it is
// not limited to one.
const maxAgain = 50

// Offered is a survey that the caller may answer.
type Offered struct {
	SurveyID string `json:"surveyId"`
	Name     string `json:"name"`
	Begun    bool   `json:"begun,omitzero"`
	Answered bool   `json:"answered,omitzero"` // by this household, which is not asked again
}

// Offered lists the surveys that the caller may answer for a household of its own,
// or has answered, or with household "" those it collects for.
func (s *Service) Offered(ctx context.Context, household, lang string) ([]Offered, error) {
	all, err := s.cfg.Surveys.Asked(ctx, web.CallerFrom(ctx).Door, maxLooked)
	if err != nil {
		return nil, err
	}
	out := []Offered{}
	for _, o := range all {
		t := o.Form.Template()
		one := Offered{SurveyID: o.SurveyID, Name: cmp.Or(o.Name, t.Title.In(lang, t.Language()), o.SurveyID)}
		if household == "" {
			ok, err := s.cfg.Surveys.Visits(ctx, o)
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, one)
			}
			continue
		}
		iv, err := s.open(ctx, Ref{Survey: o.SurveyID, Household: household, Language: lang, Own: true})
		switch {
		case fault.CodeOf(err) == answeredCode:
			one.Answered = true
		case fault.As(err) != nil:
			continue
		case err != nil:
			return nil, err
		default:
			one.Begun = iv.revision > 0
		}
		out = append(out, one)
	}
	return out, nil
}

// talk is an interview under way.
type talk struct {
	ref      Ref
	o        *survey.Open
	home     *survey.Household
	id       string
	revision int64
	content  Content
	answers  map[string]any
	result   *form.Result
	steps    []Step
}

// open finds an interview, or the beginning of one. Faults: INTERVIEW_NOT_OFFERED,
// DUPLICATE_HOUSEHOLD_RESPONSE, NOT_COLLECTOR, HOUSEHOLD_ERASED.
func (s *Service) open(ctx context.Context, ref Ref) (*talk, error) {
	caller := web.CallerFrom(ctx)
	o, err := s.cfg.Surveys.Open(ctx, ref.Survey)
	if fault.KindOf(err) == fault.NotFound {
		return nil, notOffered()
	} else if err != nil {
		return nil, err
	}
	if !o.Active() || !slices.Contains(o.Modes, caller.Door) || !o.Within(s.cfg.Now()) || ref.Household == "" {
		return nil, notOffered()
	}
	t := &talk{ref: ref, o: o}
	if s.trial != nil {
		return t, s.begin(ctx, t)
	}
	if t.home, err = s.cfg.Surveys.Household(ctx, s.cfg.DB, o, ref.Household); err != nil {
		return nil, err
	}
	if !ref.Own {
		ok, err := s.cfg.Surveys.Visits(ctx, o)
		if err == nil && !ok {
			err = notOffered()
		}
		if err == nil {
			err = s.cfg.Surveys.MayVisit(ctx, o, ref.Household)
		}
		if err != nil {
			return nil, err
		}
	}
	if o.Listed && !o.OpenEnrolment && t.home == nil {
		return nil, notOffered()
	}
	return t, s.begin(ctx, t)
}

// begin continues an interview that the caller may hold, or begins it.
func (s *Service) begin(ctx context.Context, t *talk) error {
	if err := s.name(ctx, t); err != nil {
		return err
	}
	return s.resume(ctx, t)
}

// name finds the id of the response: it stays the same until it is sent.
func (s *Service) name(ctx context.Context, t *talk) error {
	for n := range maxAgain {
		mac := hmac.New(sha256.New, s.ids)
		fmt.Fprintf(mac, "%s\x00%d\x00%d\x00%s\x00%d", t.o.Workspace, t.o.NID, t.o.Round, t.ref.Household, n)
		t.id = "itv_" + hex.EncodeToString(mac.Sum(nil)[:12])
		there, err := s.answered(ctx, t)
		if err != nil || !there {
			return err
		}
		if t.o.OnePerHousehold {
			break
		}
	}
	return alreadyAnswered()
}

// answered reports whether the household has sent an interview of this id.
func (s *Service) answered(ctx context.Context, t *talk) (bool, error) {
	if s.trial != nil {
		return s.trial.answered(t.id), nil
	}
	return s.cfg.Responses.Answered(ctx, t.o, t.ref.Household, t.id)
}

// resume reads the earlier answers.
func (s *Service) resume(ctx context.Context, t *talk) error {
	if s.trial != nil {
		t.content, t.revision = s.trial.resume(t.id, t.ref.Household, s.cfg.Now())
		return s.goOn(ctx, t)
	}
	r, err := s.cfg.Drafts.Get(ctx, t.o.SurveyID, t.id)
	switch {
	case fault.CodeOf(err) == "DRAFT_NOT_FOUND":
		t.content = Content{HouseholdID: t.ref.Household, StartedAt: s.cfg.Now().UTC().Truncate(time.Millisecond)}
	case err != nil:
		return err
	default:
		t.content, t.revision = r.Value.Content, r.Value.Revision
	}
	return s.goOn(ctx, t)
}

// goOn takes up the answers that an interview has.
func (s *Service) goOn(ctx context.Context, t *talk) error {
	t.content.Language = t.ref.Language
	t.answers = map[string]any{}
	if !t.content.Responses.IsZero() {
		if err := json.Unmarshal(t.content.Responses.Value, &t.answers); err != nil {
			return fmt.Errorf("read answers: %w", err)
		}
	}
	return s.settle(ctx, t, "")
}

// settle checks the answers and lists the questions. Answers that the form no longer
// accepts, because others have changed or another version of the template is used,
// are removed and asked again; the one at keep stays, and is reported as wrong.
func (s *Service) settle(ctx context.Context, t *talk, keep string) error {
	for range maxSettled {
		if err := s.check(ctx, t, true); err != nil {
			return err
		}
		dropped := false
		for _, f := range t.result.Wrong {
			at := trim(f.Pointer)
			if keep != "" && under(at, keep) {
				continue
			}
			dropped = remove(t.answers, at) || dropped
		}
		if !dropped {
			break
		}
	}
	if err := s.forget(ctx, t); err != nil {
		return err
	}
	t.steps = stepsOf(t.o.Form, t.result, t.ref.Language, survey.ReachOf(web.CallerFrom(ctx).Door), t.content.Passed)
	return nil
}

// forget removes what was answered before consent was refused: everything
// except that answer, and what it depends on.
func (s *Service) forget(ctx context.Context, t *talk) error {
	if !t.refused() {
		return nil
	}
	all := t.answers
	t.answers, t.content.Passed = map[string]any{}, nil
	for _, st := range stepsOf(t.o.Form, t.result, t.ref.Language, form.Anything, nil) {
		if said := get(all, st.At); rank(&st) == 0 && said != nil {
			set(t.answers, st.At, said)
		}
	}
	if err := s.check(ctx, t, false); err != nil || t.refused() {
		return err
	}
	// The question for consent is asked because of another answer.
	t.answers = all
	for _, section := range slices.Sorted(maps.Keys(all)) {
		given, _ := all[section].(map[string]any)
		for _, id := range slices.Sorted(maps.Keys(given)) {
			said := given[id]
			delete(given, id)
			if err := s.check(ctx, t, false); err != nil {
				return err
			}
			if !t.refused() {
				given[id] = said
			}
		}
	}
	return s.check(ctx, t, false)
}

// maxSettled is how often answers are checked again after some were taken out.
const maxSettled = 20

// check has the form look at the answers.
func (s *Service) check(ctx context.Context, t *talk, partial bool) error {
	text, err := json.Marshal(t.answers, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode answers: %w", err)
	}
	c := web.CallerFrom(ctx)
	t.content.Responses.Value = text
	t.result = t.o.Form.Check(form.Input{
		Answers: text, Reach: survey.ReachOf(c.Door), Household: response.HouseholdNames(t.ref.Household, t.home), Now: s.cfg.Now(), Partial: partial,
		Response: map[string]any{"id": t.id, "mode": c.Door, "language": t.ref.Language, "collector": c.DID, "round": int64(t.o.Round), "startedAt": t.content.StartedAt},
	})
	return nil
}

// save keeps the interview.
func (s *Service) save(ctx context.Context, t *talk) error {
	if s.trial != nil {
		return s.trial.save(t.id, t.content)
	}
	_, err := s.cfg.Drafts.Save(ctx, t.o.SurveyID, t.id, "", t.content)
	return err
}

// refused reports whether the respondent does not agree to the interview.
func (t *talk) refused() bool { return t.result.Consent != nil && !*t.result.Consent }

// turn is where the interview stands.
func (t *talk) turn() *Turn {
	out := &Turn{ResponseID: t.id, Survey: t.o.SurveyID, Refused: t.refused(), Consent: t.result.Consent != nil && *t.result.Consent}
	for i := range t.steps {
		s := &t.steps[i]
		if s.done {
			out.Answered++
			continue
		}
		out.Left++
		if out.Step == nil {
			out.Step = s
		}
	}
	if out.Refused {
		out.Step, out.Left = nil, 0
	}
	return out
}
