package quality

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const backCheckInvalid = "BACK_CHECK_INVALID"

// The states of a back-check.
const (
	Drawn       = "drawn"
	Done        = "done"
	Refused     = "refused"
	Unreachable = "unreachable"
)

// BackCheck is a response that another person asks again.
type BackCheck struct {
	BackCheckID string     `json:"backCheckId" example:"bck_7310428377145344"`
	DrawID      string     `json:"drawId" example:"drw_7310428377145344"`
	SurveyID    string     `json:"surveyId"`
	Round       int        `json:"round"`
	ResponseID  string     `json:"responseId"`
	RecordID    string     `json:"recordId" doc:"The recordId of the response; the same in every read and export."`
	HouseholdID string     `json:"householdId,omitzero" doc:"The household to ask: a DID, or a name for keys without the scope responses:pii. Not in lists."`
	Collector   string     `json:"collector" doc:"The collector who asked first: a DID, or a name for keys without the scope responses:pii."`
	State       string     `json:"state" enum:"drawn,done,refused,unreachable"`
	DrawnAt     time.Time  `json:"drawnAt"`
	DoneAt      time.Time  `json:"doneAt,omitzero"`
	By          string     `json:"by,omitzero" doc:"DID of the person who asked again."`
	Compared    int        `json:"compared" doc:"Questions with an answer then or now."`
	Errors      int        `json:"errors" doc:"Those that differ."`
	Questions   []Compared `json:"questions,omitzero" doc:"The result of each question, in one that is done."`
	Ask         []Asked    `json:"ask,omitzero" doc:"What to ask, in one that is still open."`
	Links       BackLinks  `json:"links"`

	nid      int64
	response int64
}

// Compared is one question of a back-check. The answers themselves are not
// kept.
type Compared struct {
	Question string `json:"question" example:"/responses/home/size"`
	Class    int    `json:"class" doc:"1 never changes, 2 should not, 3 may."`
	Match    bool   `json:"match"`
}

// Asked is a question to ask again.
type Asked struct {
	Question string        `json:"question"`
	Class    int           `json:"class"`
	Type     form.Type     `json:"type"`
	Label    form.Text     `json:"label,omitzero"`
	Options  []form.Option `json:"options,omitzero" doc:"Options of a question with choices, as in the template."`
	Rows     []form.Option `json:"rows,omitzero" doc:"Of a matrix."`

	path []string
}

// Outcome is the result of asking again.
type Outcome struct {
	Responses form.Object `json:"responses,omitzero" doc:"Section to question to answer, of questions with a backCheckClass. They are compared and not kept; those that your key may not read are not compared."`
	Outcome   string      `json:"outcome,omitzero" enum:"done,refused,unreachable" doc:"done by default."`
	By        string      `json:"by,omitzero" doc:"DID of the person who asked; you by default. Naming somebody else needs the scope imports:write." example:"did:ixo:agent/456"`
}

func newBackCheckReport() *BackCheckReport {
	return &BackCheckReport{Classes: []ClassReport{{Class: 1}, {Class: 2}, {Class: 3}}}
}

func addCount(b *BackCheckReport, c backCheckCount) {
	if c.class < 1 || c.class > 3 {
		b.Drawn, b.Done = b.Drawn+c.drawn, b.Done+c.done
		return
	}
	r := &b.Classes[c.class-1]
	if r.Compared, r.Errors = r.Compared+c.compared, r.Errors+c.errors; r.Compared > 0 {
		r.Rate = Round(float64(r.Errors) / float64(r.Compared))
	}
}

// askedAgain lists the questions of a form with a class. Those in repeats are
// not asked again, because elements cannot be matched.
func askedAgain(f *form.Form) []Asked {
	var out []Asked
	var walk func(path []string, questions []form.Question)
	walk = func(path []string, questions []form.Question) {
		for _, q := range questions {
			at := append(path[:len(path):len(path)], q.ID)
			k := form.KindOf(q.Type)
			if k.Nested && !k.Repeated {
				walk(at, q.Questions)
			}
			if q.BackCheckClass > 0 && !k.Nested && !k.Shown {
				out = append(out, Asked{Question: Pointer(at), Class: q.BackCheckClass, Type: q.Type, Label: q.Label, Options: q.Options, Rows: q.Rows, path: at})
			}
		}
	}
	for _, s := range f.Template().Sections {
		if slices.Contains(f.Sections(), s.ID) {
			walk([]string{s.ID}, s.Questions)
		}
	}
	return out
}

func backCheckPath(o *survey.Open, id string) string {
	return "/v1/surveys/" + o.SurveyID + "/back-checks/" + id
}

// GetBackCheck reads a back-check. Faults: SURVEY_NOT_FOUND,
// BACK_CHECK_NOT_FOUND.
func (s *Service) GetBackCheck(ctx context.Context, surveyID, id string) (*BackCheck, error) {
	o, err := s.cfg.Surveys.Open(ctx, surveyID)
	if err != nil {
		return nil, err
	}
	b, err := findBackCheck(ctx, s.db, o, id)
	if err != nil {
		return nil, err
	}
	if b.State == Drawn {
		b.Ask = askedAgain(o.Form)
	}
	r, _, err := s.cfg.Responses.Find(ctx, s.db, b.RecordID)
	if err != nil {
		return nil, err
	}
	h, err := s.cfg.Surveys.Household(ctx, s.db, o, r.Household)
	if err != nil {
		return nil, err
	}
	c := web.CallerFrom(ctx)
	mine := h != nil && h.AssignedTo != "" && h.AssignedTo == c.DID && (c.May("responses:check") || c.May("responses:write"))
	if b.HouseholdID = r.Household; !mine && !r.Knows(ctx) {
		b.HouseholdID = s.cfg.Responses.Sight(ctx, o).Household(r.Household)
	}
	b.veil(sightOf(ctx, s, o))
	return b, nil
}

// veil names who asked first as the caller may know them.
func (b *BackCheck) veil(x privacy.Sight) { b.Collector = x.Person(b.Collector) }

func backCheckNID(id string) int64 {
	digits, ok := strings.CutPrefix(id, "bck_")
	nid, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil {
		return 0
	}
	return nid
}

func backCheckNotFound() error {
	return fault.New(fault.NotFound, "BACK_CHECK_NOT_FOUND", "The survey has no back-check with this id.")
}

func (d *Outcome) check(ctx context.Context) error {
	var c fault.Checks
	d.Outcome, d.By = cmp.Or(d.Outcome, Done), cmp.Or(d.By, web.CallerFrom(ctx).DID)
	check.OneOf(&c, "/outcome", d.Outcome, Done, Refused, Unreachable)
	if !did.Valid(d.By) {
		c.Add("/by", "not_a_did", "The value must be a DID.")
	}
	switch {
	case d.Outcome == Done && d.Responses.IsZero():
		c.Require(false, "/responses")
	case d.Outcome != Done && !d.Responses.IsZero():
		c.Add("/responses", "not_allowed", "Answers may be sent only with the outcome done.")
	}
	return c.Err(backCheckInvalid, "The back-check is not valid.")
}

// Answer stores the result of a back-check. Faults: SURVEY_NOT_FOUND,
// BACK_CHECK_NOT_FOUND, BACK_CHECK_INVALID, BACK_CHECK_DONE,
// VERIFIER_IS_COLLECTOR, SCOPE_MISSING, RESPONSE_NOT_VERIFIABLE.
func (s *Service) Answer(ctx context.Context, surveyID, id string, d Outcome) (web.Reply[*BackCheck], error) {
	var none web.Reply[*BackCheck]
	if err := d.check(ctx); err != nil {
		return none, err
	}
	o, err := s.cfg.Surveys.Open(ctx, surveyID)
	if err != nil {
		return none, err
	}
	b, err := findBackCheck(ctx, s.db, o, id)
	if err != nil {
		return none, err
	}
	compared, err := s.compare(ctx, o, b, &d)
	if err != nil {
		return none, err
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*BackCheck], error) {
		next := *b
		next.State, next.By, next.DoneAt, next.Questions = d.Outcome, d.By, s.now(), compared
		next.sum()
		err := s.answerTx(ctx, tx, o, &next)
		next.veil(sightOf(ctx, s, o))
		return web.Reply[*BackCheck]{Value: &next}, err
	})
}

// compare holds the answers against those of the response. An error of it may
// be the effect of the same request sent before.
func (s *Service) compare(ctx context.Context, o *survey.Open, b *BackCheck, d *Outcome) ([]Compared, error) {
	r, _, err := s.cfg.Responses.Find(ctx, s.db, b.ResponseID)
	if err != nil {
		return nil, err
	}
	if err := s.mayAsk(ctx, d.By, r); err != nil {
		return nil, err
	}
	switch {
	case d.Outcome != Done:
		return []Compared{}, nil
	case r.Status == response.Redacted:
		return nil, fault.New(fault.Conflict, "RESPONSE_NOT_VERIFIABLE", "The answers of the response were taken out.")
	}
	whole, err := s.cfg.Responses.Read(ctx, s.db, o.Project, r)
	if err != nil {
		return nil, err
	}
	ask := askedAgain(o.Form)
	if err := checkAgain(o.Form, ask, whole.Answers, d.Responses.Value, s.now()); err != nil {
		return nil, err
	}
	hidden := r.Masked
	if !whole.Erased && s.cfg.Responses.Sight(ctx, o).All() {
		hidden = nil
	}
	return compareAll(ask, Read(whole.Answers), Read(d.Responses.Value), hidden), nil
}

// mayAsk requires that both the interviewer and the caller who reports are
// other people than the collector and the sender of the response. Callers who
// may not name others get no details, because they would learn who the
// collector is.
func (s *Service) mayAsk(ctx context.Context, by string, r *response.Row) error {
	caller := web.CallerFrom(ctx)
	own, err := s.cfg.ActsFor.Made(ctx, r.Collector, r.Sender)
	if err != nil {
		return err
	}
	switch {
	case own:
	case by != caller.DID && !caller.May("imports:write"):
		return fault.New(fault.Forbidden, "SCOPE_MISSING", "Naming somebody else as the person who asked needs the scope imports:write.").
			With(fault.Field{Pointer: "/by", Code: "scope_missing", Detail: "Leave it out, or use a key with the scope imports:write."})
	case by != r.Collector && by != r.Sender:
		return nil
	}
	return fault.New(fault.Forbidden, "VERIFIER_IS_COLLECTOR", "A person who collected or sent a response, or who belongs to the group that did, cannot do its back-check.").
		With(fault.Field{Pointer: "/by", Code: "collector", Detail: "Somebody else must ask."})
}

// checkAgain refuses answers to questions that are not asked again, and those
// that cannot be answers. What else was answered comes from the response.
func checkAgain(f *form.Form, ask []Asked, stored, given jsontext.Value, now time.Time) error {
	var c fault.Checks
	var old, sent map[string]map[string]jsontext.Value
	if json.Unmarshal(given, &sent) != nil {
		c.Add("/responses", "wrong_type", "The value must be an object of sections, each an object of questions.")
		return c.Err(backCheckInvalid, "The back-check is not valid.")
	}
	if json.Unmarshal(stored, &old) != nil || old == nil {
		old = map[string]map[string]jsontext.Value{}
	}
	for section, questions := range sent {
		for question, v := range questions {
			if !slices.ContainsFunc(ask, func(a Asked) bool { return a.path[0] == section && a.path[1] == question }) {
				c.Add(Pointer([]string{section, question}), "not_asked_again", "The template gives this question no backCheckClass.")
				continue
			}
			if old[section] == nil {
				old[section] = map[string]jsontext.Value{}
			}
			old[section][question] = v
		}
	}
	if c.OK() {
		merged, err := json.Marshal(old, json.Deterministic(true))
		if err != nil {
			return fmt.Errorf("encode answers: %w", err)
		}
		for _, w := range f.Check(form.Input{Answers: merged, Now: now}).Wrong {
			part := strings.SplitN(w.Pointer, "/", 5) // "", responses, section, question, …
			if len(part) > 3 && sent[part[2]][part[3]] != nil {
				c.Add(w.Pointer, w.Code, w.Detail)
			}
		}
	}
	return c.Err(backCheckInvalid, "The back-check is not valid.")
}

// compareAll compares the second answers with the first. Questions that were
// not asked are left out, and so are hidden answers: they were erased, or the
// caller may not read them and could guess until an answer matches. hidden
// lists pointers.
func compareAll(ask []Asked, then, now Answers, hidden []byte) []Compared {
	out := []Compared{}
	for _, q := range ask {
		a, b := then.At(q.path), now.At(q.path)
		if b == nil || strings.Contains(string(hidden), `"`+q.Question) {
			continue
		}
		out = append(out, Compared{Question: q.Question, Class: q.Class, Match: same(q, a, b)})
	}
	return out
}

const sameMetres = 100 // two measurements of one place

// same reports whether two answers are one, as people give them.
func same(q Asked, a, b any) bool {
	switch k := form.KindOf(q.Type); {
	case k.Quality.Loose:
		return plainAnswer(a) == plainAnswer(b)
	case k.Several && !k.Ordered:
		x, isList := a.([]any)
		y, also := b.([]any)
		if isList && also {
			return len(x) == len(y) && !slices.ContainsFunc(x, func(v any) bool { return !slices.ContainsFunc(y, func(w any) bool { return reflect.DeepEqual(v, w) }) })
		}
	case k.Place:
		c := Set{Geo: []Column{{Path: []string{"at"}}}}
		p, r := c.Place(Answers{"at": a}), c.Place(Answers{"at": b})
		if p != nil && r != nil {
			return Metres(*p, *r) <= sameMetres
		}
	}
	return reflect.DeepEqual(a, b)
}

// backCheckedData is what the event says.
type backCheckedData struct {
	Survey    string `json:"surveyId"`
	BackCheck string `json:"backCheckId"`
	Outcome   string `json:"outcome"`
	Compared  int    `json:"compared"`
	Errors    int    `json:"errors"`
}

// answerTx stores an outcome, once.
func (s *Service) answerTx(ctx context.Context, tx *db.Tx, o *survey.Open, b *BackCheck) error {
	if ok, err := finishBackCheck(ctx, tx, b); err != nil {
		return err
	} else if !ok {
		return fault.New(fault.Conflict, "BACK_CHECK_DONE", "This back-check has an outcome already.")
	}
	err := s.cfg.Events.Append(ctx, tx, event.Event{
		Workspace: o.Workspace, Type: "response.back_checked", Subject: b.ResponseID,
		Data: backCheckedData{o.SurveyID, b.BackCheckID, b.State, b.Compared, b.Errors},
	})
	if err != nil {
		return err
	}
	counts := make([]backCheckCount, 4) // by class
	counts[0].done = 1
	for _, q := range b.Questions {
		if counts[q.Class].compared++; !q.Match {
			counts[q.Class].errors++
		}
	}
	for class, c := range counts {
		if c == (backCheckCount{}) {
			continue
		}
		c.collector, c.class = b.Collector, class
		if err := countBackChecks(ctx, tx, o.NID, b.Round, c); err != nil {
			return err
		}
	}
	return nil
}

func (b *BackCheck) sum() {
	b.Compared, b.Errors = len(b.Questions), 0
	for _, q := range b.Questions {
		if !q.Match {
			b.Errors++
		}
	}
}
