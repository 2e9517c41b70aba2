package interview

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// Begin begins an interview or continues it.
func (s *Service) Begin(ctx context.Context, ref Ref) (*Turn, error) {
	t, err := s.open(ctx, ref)
	if err != nil {
		return nil, err
	}
	if t.revision == 0 {
		if err := s.save(ctx, t); err != nil {
			return nil, err
		}
	}
	return t.turn(), nil
}

// What is said in place of an answer.
const (
	Skip     = "skip"
	DontKnow = "dont_know"
	Refuse   = "refused"
)

// Reply is the answer to the question at a pointer: a text, or one of the words
// above instead.
type Reply struct {
	At, Text string
	Instead  string
}

// Answer accepts an answer. If it is not valid the interview stays at its
// question, with the problem. Repeating an answer changes nothing.
func (s *Service) Answer(ctx context.Context, ref Ref, r Reply) (*Turn, error) {
	t, err := s.open(ctx, ref)
	if err != nil {
		return nil, err
	}
	at, inWords := strings.CutSuffix(r.At, inWordsAt)
	i := slices.IndexFunc(t.steps, func(st Step) bool { return st.At == at })
	if i < 0 {
		return t.turn(), nil // it is no longer asked
	}
	step := t.steps[i]
	if first := t.turn().Step; rank(&step) > 0 && first != nil && rank(first) == 0 {
		first.Problem = wConsent.in(ref.Language)
		return t.at(first), nil // nothing is stored before consent
	}
	if inWords && step.q.Other {
		words := step.inWords(ref.Language)
		words.At = step.At
		step = words
	}
	given, again := s.understand(t, &step, r)
	if again != nil && again.other && again.Problem == "" { // the option chosen with it is kept
		err := s.settle(ctx, t, step.At)
		if err == nil {
			err = s.save(ctx, t)
		}
		return t.at(again), err
	}
	if again != nil {
		return t.at(again), nil
	}
	if given != nil {
		if again, err := s.take(ctx, t, &step, given); again != nil || err != nil {
			return t.at(again), err
		}
	}
	if err := s.settle(ctx, t, ""); err != nil {
		return nil, err
	}
	if err := s.save(ctx, t); err != nil {
		return nil, err
	}
	return t.turn(), nil
}

// at is the interview at a question that is asked again.
func (t *talk) at(s *Step) *Turn {
	if s == nil {
		return nil
	}
	out := t.turn()
	if s.other && !strings.HasSuffix(s.At, inWordsAt) {
		s.At += inWordsAt
	}
	out.Step = s
	return out
}

// understand reads a reply. It gives what to store, or the question to ask again;
// neither where the question is passed over.
func (s *Service) understand(t *talk, step *Step, r Reply) (any, *Step) {
	again := func(why string) (any, *Step) {
		step.Problem = why
		return nil, step
	}
	pass := func() {
		t.unpass(step.At)
		t.content.Passed = append(t.content.Passed, step.At)
	}
	switch r.Instead {
	case Skip:
		if !step.Skips() {
			return again(wNeeded.in(t.ref.Language))
		}
		remove(t.answers, step.At)
		pass()
		return nil, nil
	case DontKnow, Refuse:
		if !slices.Contains(step.refuses, "!"+r.Instead) {
			return again(wNeeded.in(t.ref.Language))
		}
		return map[string]any{"noAnswer": r.Instead}, nil
	}
	said := step.read(r.Text, t.ref.Language)
	if said.wrong != "" {
		return again(said.wrong)
	}
	if step.how == byMore {
		repeat := strings.TrimSuffix(step.At, moreAt)
		list, _ := get(t.answers, repeat).([]any)
		if said.value == true {
			t.unpass(step.At)
			set(t.answers, repeat, append(list, map[string]any{}))
			return nil, nil
		}
		if list == nil {
			set(t.answers, repeat, []any{})
		}
		pass()
		return nil, nil
	}
	if said.inWords {
		if said.value != nil {
			set(t.answers, step.At, said.value)
		}
		next := step.inWords(t.ref.Language)
		return nil, &next
	}
	if step.other {
		words := map[string]any{"other": r.Text}
		if !step.Several {
			return words, nil
		}
		chosen, _ := get(t.answers, step.At).([]any)
		chosen = slices.DeleteFunc(slices.Clone(chosen), func(v any) bool { _, is := v.(map[string]any); return is })
		return append(chosen, words), nil
	}
	return said.value, nil
}

// inWordsAt is what the pointer of an answer in other words ends with.
const inWordsAt = "/!other"

// inWords asks for another option in words.
func (s *Step) inWords(lang string) Step {
	next := *s
	next.At, next.how, next.other, next.Options, next.Hint = s.At+inWordsAt, byText, true, nil, wOtherHow.in(lang)
	return next
}

func (t *talk) unpass(at string) {
	t.content.Passed = slices.DeleteFunc(t.content.Passed, func(p string) bool { return p == at })
}

// take stores an answer that the form takes, or gives the question again.
func (s *Service) take(ctx context.Context, t *talk, step *Step, value any) (*Step, error) {
	t.unpass(step.At)
	set(t.answers, step.At, value)
	if err := s.check(ctx, t, true); err != nil {
		return nil, err
	}
	for _, f := range t.result.Wrong {
		if under(trim(f.Pointer), step.At) {
			step.Problem = problem(f, step.q, t.ref.Language)
			return step, nil
		}
	}
	return nil, nil
}

// problem says in words why an answer is not taken.
func problem(f fault.Field, q *form.Question, lang string) string {
	if f.Code == "constraint" && q.ConstraintMessage.In(lang, "") != "" {
		return f.Detail
	}
	w, known := refusals[f.Code]
	if b := bounds(q, lang); f.Code == "out_of_range" && b != "" {
		return b
	}
	if !known {
		w = wWrong
	}
	return w.in(lang)
}

// Back goes back to the question before the one at a pointer, which may be answered
// again; "" means the end.
func (s *Service) Back(ctx context.Context, ref Ref, at string) (*Turn, error) {
	t, err := s.open(ctx, ref)
	if err != nil {
		return nil, err
	}
	at = strings.TrimSuffix(at, inWordsAt)
	i := slices.IndexFunc(t.steps, func(st Step) bool { return st.At == at })
	if i < 0 {
		i = len(t.steps)
	}
	for i--; i >= 0; i-- {
		if t.steps[i].done {
			return t.at(&t.steps[i]), nil
		}
	}
	return t.turn(), nil
}

// Review returns the interview with all answers.
func (s *Service) Review(ctx context.Context, ref Ref) (*Turn, []Answered, error) {
	t, err := s.open(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	var out []Answered
	for i := range t.steps {
		if step := &t.steps[i]; step.done && step.Now != "" {
			out = append(out, Answered{At: step.At, Text: step.Text, Said: step.label()})
		}
	}
	return t.turn(), out, nil
}

// label is an answer in words: options by what they are called.
func (s *Step) label() string {
	var value any
	if json.Unmarshal([]byte(s.Now), &value) != nil {
		return s.Now
	}
	return s.inLabels(value)
}

func (s *Step) inLabels(value any) string {
	switch v := value.(type) {
	case string:
		if i := slices.IndexFunc(s.Options, func(o Option) bool { return o.Value == v }); i >= 0 {
			return s.Options[i].Label
		}
		return v
	case bool:
		return s.inLabels(strconv.FormatBool(v))
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		all := make([]string, len(v))
		for i := range v {
			all[i] = s.inLabels(v[i])
		}
		return strings.Join(all, ", ")
	case map[string]any:
		if why, ok := v["noAnswer"].(string); ok {
			return noAnswer("!" + why).in(s.lang)
		}
		if words, ok := v["other"].(string); ok {
			return words
		}
		return s.inLabels(v["value"]) + " " + s.inLabels(v["unit"])
	}
	return s.Now
}

// Submit sends a complete interview. It is stored like every response. Faults:
// INTERVIEW_NOT_FINISHED, and those of a response.
func (s *Service) Submit(ctx context.Context, ref Ref) (*Turn, error) {
	t, err := s.open(ctx, ref)
	if err != nil {
		return nil, err
	}
	out := t.turn()
	if out.Step != nil {
		return out, fault.New(fault.Conflict, "INTERVIEW_NOT_FINISHED", "There are questions left to ask.")
	}
	if err := s.check(ctx, t, false); err != nil {
		return nil, err
	}
	for _, at := range t.result.Dropped {
		remove(t.answers, trim(at))
	}
	if err := s.check(ctx, t, false); err != nil {
		return nil, err
	}
	if s.trial != nil {
		s.trial.submit(t.id)
		return out, nil
	}
	d := &response.Draft{
		ResponseID: t.id, HouseholdID: ref.Household, Timestamp: s.cfg.Now(), StartedAt: t.content.StartedAt, Language: ref.Language, Round: t.o.Round,
		Responses: t.content.Responses,
	}
	if _, err := s.cfg.Responses.Submit(ctx, t.o.SurveyID, d); err != nil {
		return out, err
	}
	return out, nil
}
