package fetch

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// The actions of surveys.
const (
	actSurveys = "surveys"
	actBegin   = "surveyBegin"
	actAnswer  = "surveyAnswer"
	actBack    = "surveyBack"
	actSubmit  = "surveySend"
)

// Arguments of the actions and the variables they set.
const (
	argSurvey   = "surveyId"
	argFor      = "surveyFor"
	argReply    = "surveyReply"
	varQuestion = "surveyQuestion"
	varChoices  = "surveyChoices"
	varProblem  = "surveyProblem"
	varPlace    = "surveyAt"
	varCode     = "surveyCode"
)

// Results of an interview: how to answer the question on the screen, or why there
// is none.
const (
	resChoose = "choose"
	resType   = "type"
	resReview = "review"
	resSent   = "sent"
	resClosed = "closed"
)

// Interview is the caller who is logged in, and the wanted part of an
// interview.
type Interview struct {
	DID      string // of the caller who is logged in
	Lang     string
	Survey   string
	Customer string // id of the customer an agent asks; "" for one's own household
	At       string // the question on the screen
	Reply    string
}

// Asked is a screen of an interview.
type Asked struct {
	Result   string // one of the results of an interview
	At       string
	Text     string
	Choices  []string
	Problem  string
	Code     string // of a response that was sent
	Answered int
}

// Surveys are the surveys that this server asks.
type Surveys interface {
	// Open lists the surveys that a caller may answer, or with agent asks others, and
	// reports whether they have answered others.
	Open(ctx context.Context, did, lang string, agent bool) (open []map[string]string, answered bool, err error)
	Begin(ctx context.Context, in Interview) (Asked, error)
	Answer(ctx context.Context, in Interview) (Asked, error)
	Back(ctx context.Context, in Interview) (Asked, error)
	Send(ctx context.Context, in Interview) (Asked, error)
}

func (f *fetcher) surveyActions() map[string]machine.Action {
	asks := []string{resChoose, resType, resReview, resClosed, menu.Already, menu.Failed, resNobody}
	sets := []string{varQuestion, varChoices, varProblem, varPlace, varCode}
	which := machine.Param{Name: argSurvey, About: "id of the survey, as `surveys` gives it"}
	customer := machine.Param{Name: argFor, About: "Customer ID of the household that an agent asks; without it, callers answer for their own household"}
	step := func(about string, takes []machine.Param, results []string, do func(Surveys, context.Context, Interview) (Asked, error)) machine.Action {
		return machine.Action{
			About: about, Takes: append([]machine.Param{which, customer}, takes...), Effect: true, Results: results, Sets: sets,
			Outside: func(ctx context.Context, c machine.ActionCall) (machine.Result, error) {
				return f.interview(ctx, c, do)
			},
		}
	}
	return map[string]machine.Action{
		actSurveys: {
			About: "gives the surveys that the customer who is logged in may answer for their household, or with `surveyFor` the word `agent` those they collect for, at most " + fmt.Sprint(menu.MaxRows) +
				", as `/surveys` of its answer, each with `/surveyId` and `/name`. `missing`: nobody is logged in; `already`: there are none but those they have answered; it may be left out, then it goes where `empty` goes, and without that both go where `ok` goes",
			Takes: []machine.Param{{Name: argFor, About: "`agent`, or nothing"}}, Answers: true, Effect: true, Outside: f.surveys, Results: []string{resOK, menu.Empty, menu.Already, menu.Failed, resNobody},
		},
		actBegin: step("begins an interview, or continues where it was left. `choose`: the question in `surveyQuestion` has options, in `surveyChoices`; `type`: it is answered with a text or number, of which 0 may be one, so that `#` goes back (`keys`); "+
			"`review`: nothing is left to ask. `closed`: the survey accepts no answers from this household now; `already`: it has answered", nil, asks, Surveys.Begin),
		actAnswer: step("takes the text of the input `surveyReply` as the answer to the question on the screen and gives the next question, or the same one again with the reason in `surveyProblem`. "+
			"`00` skips a question that is not required; where the survey allows it, `000` means \"I do not know\" and `0000` \"I would rather not say\"", []machine.Param{{Name: argReply, About: "what was typed"}}, asks, Surveys.Answer),
		actBack:   step("goes back to the previous question", nil, asks, Surveys.Back),
		actSubmit: step("sends what was answered, once. `sent`: it is stored, and `surveyCode` is a short name for it", nil, append([]string{resSent}, asks...), Surveys.Send),
	}
}

// somebody is the DID of the caller who is logged in; "" for none.
func (f *fetcher) somebody(ctx context.Context, c machine.ActionCall) (string, error) {
	if c.Account == "" || f.Customer == nil {
		return "", nil
	}
	return f.Customer(ctx, c.Account)
}

// surveys lists what can be answered.
func (f *fetcher) surveys(ctx context.Context, c machine.ActionCall) (machine.Result, error) {
	did, err := f.somebody(ctx, c)
	if err == nil && did == "" {
		return machine.Result{Name: resNobody}, nil
	}
	var open []map[string]string
	var answered bool
	if err == nil && f.Surveys != nil {
		open, answered, err = f.Surveys.Open(ctx, did, c.Lang, c.Arg(argFor) == "agent")
	}
	if err != nil {
		return f.sorry(ctx, err), nil
	}
	doc, err := json.Marshal(map[string]any{"surveys": open[:min(len(open), menu.MaxRows)]})
	if err != nil {
		return machine.Result{}, fmt.Errorf("render surveys: %w", err)
	}
	set, err := values(doc, c.Answer)
	if err != nil {
		return machine.Result{}, fmt.Errorf("read surveys: %w", err)
	}
	name := outcome(set, c.Answer)
	switch {
	case len(open) == 0 && answered:
		name = menu.Already
	case len(open) == 0:
		name = menu.Empty
	}
	return machine.Result{Name: name, Set: set}, nil
}

func (f *fetcher) sorry(ctx context.Context, err error) machine.Result {
	f.Log.WarnContext(ctx, "a survey could not be asked over a menu", "err", err.Error())
	return machine.Result{Name: menu.Failed}
}

// interview takes a step of an interview. The same step again is the same: an
// answer belongs to the question that was on the screen.
func (f *fetcher) interview(ctx context.Context, c machine.ActionCall, do func(Surveys, context.Context, Interview) (Asked, error)) (machine.Result, error) {
	did, err := f.somebody(ctx, c)
	if err == nil && did == "" {
		return machine.Result{Name: resNobody}, nil
	}
	var asked Asked
	switch {
	case err != nil:
	case f.Surveys == nil:
		asked.Result = resClosed
	default:
		asked, err = do(f.Surveys, ctx, Interview{
			DID: did, Lang: c.Lang, Survey: c.Arg(argSurvey), Customer: c.Arg(argFor), At: c.Vars[varPlace], Reply: c.Arg(argReply),
		})
	}
	if err != nil {
		return f.sorry(ctx, err), nil
	}
	return machine.Result{Name: asked.Result, Set: map[string]string{
		varQuestion: lines(asked.Text, maxQuestion), varChoices: lines(strings.Join(asked.Choices, "\n"), maxChoices), varProblem: flat(asked.Problem),
		varPlace: asked.At, varCode: asked.Code, argReply: "",
	}}, nil
}

// Limits on the characters of a question and of its options: more than any
// template has in a text, and than forty options need.
const (
	maxQuestion = 4000
	maxChoices  = 16_000
)

// lines is a text of several lines, each of them as a screen can show it.
func lines(s string, most int) string {
	all := strings.Split(s, "\n")
	for i := range all {
		all[i] = flat(all[i])
	}
	return cut(strings.Join(all, "\n"), most)
}

// flat is a text on one line.
func flat(s string) string { return strings.Join(strings.Fields(strings.Map(printable, s)), " ") }
