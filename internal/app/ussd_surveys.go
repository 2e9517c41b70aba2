package app

import (
	"context"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/interview"
	"github.com/hearth-dmrv/hearth/internal/ussd/account"
	"github.com/hearth-dmrv/hearth/internal/ussd/fetch"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const readSurveys = "surveys:read"

// menuSurveys lets menus ask surveys.
type menuSurveys struct {
	interviews *interview.Service
	accounts   *account.Service
	// who gives a customer the rights to answer; nil gives them those of the line.
	who func(ctx context.Context, did string) web.Caller
}

var _ fetch.Surveys = (*menuSurveys)(nil)

// as is a customer at a handset, who answers for their own household, and as a
// collector of a survey for others.
func (m *menuSurveys) as(ctx context.Context, did string) context.Context {
	if m.who != nil {
		return web.WithCaller(ctx, m.who(ctx, did))
	}
	return web.WithCaller(ctx, web.Caller{Workspace: auth.OperatorWorkspace, DID: did, Scopes: []string{"responses:write", readSurveys}, Door: survey.USSD})
}

// trySurveys lets the menu of a simulated line ask the surveys that the person at the
// keys may read. The answers are not stored.
func trySurveys(interviews *interview.Service) func(*account.Service) fetch.Surveys {
	return func(accounts *account.Service) fetch.Surveys {
		return &menuSurveys{interviews: interviews.Trial(), accounts: accounts, who: func(ctx context.Context, did string) web.Caller {
			c := web.CallerFrom(ctx)
			c.DID, c.Door = did, survey.USSD
			return c
		}}
	}
}

// Open lists the surveys that a caller may answer, and reports whether there are
// others that they have answered.
func (m *menuSurveys) Open(ctx context.Context, did, lang string, agent bool) (open []map[string]string, answered bool, err error) {
	ctx = m.as(ctx, did)
	if !web.CallerFrom(ctx).May(readSurveys) {
		return nil, false, nil
	}
	household := ""
	if !agent {
		h, err := m.accounts.HouseholdOf(ctx, auth.OperatorWorkspace, did)
		if err != nil || h.DID == "" {
			return nil, false, err
		}
		household = h.DID
	}
	all, err := m.interviews.Offered(ctx, household, lang)
	for _, o := range all {
		if answered = answered || o.Answered; !o.Answered {
			open = append(open, map[string]string{"surveyId": o.SurveyID, "name": o.Name})
		}
	}
	return open, answered, err
}

// ref identifies the interview. An unknown customer gets the same result as one
// whom the survey is not for, so that nobody learns who has an account.
func (m *menuSurveys) ref(ctx context.Context, in fetch.Interview) (context.Context, interview.Ref, error) {
	ref := interview.Ref{Survey: in.Survey, Language: in.Lang, Own: in.Customer == ""}
	did := in.DID
	if !ref.Own {
		var err error
		if did, err = m.accounts.DIDOfCustomer(ctx, strings.ToUpper(in.Customer)); err != nil {
			return ctx, ref, err
		}
	}
	h, err := m.accounts.HouseholdOf(ctx, auth.OperatorWorkspace, did)
	ref.Household = h.DID
	if ctx = m.as(ctx, in.DID); err == nil && !web.CallerFrom(ctx).May(readSurveys) {
		ref.Household = "" // no survey is for an empty household
	}
	return ctx, ref, err
}

// Begin begins an interview.
func (m *menuSurveys) Begin(ctx context.Context, in fetch.Interview) (fetch.Asked, error) {
	ctx, ref, err := m.ref(ctx, in)
	if err != nil {
		return fetch.Asked{}, err
	}
	return screenOf(m.interviews.Begin(ctx, ref))
}

// Answer takes what was typed.
func (m *menuSurveys) Answer(ctx context.Context, in fetch.Interview) (fetch.Asked, error) {
	ctx, ref, err := m.ref(ctx, in)
	if err != nil {
		return fetch.Asked{}, err
	}
	r := interview.Reply{At: in.At, Text: in.Reply, Instead: map[string]string{"00": interview.Skip, "000": interview.DontKnow, "0000": interview.Refuse}[in.Reply]}
	return screenOf(m.interviews.Answer(ctx, ref, r))
}

// Back goes back.
func (m *menuSurveys) Back(ctx context.Context, in fetch.Interview) (fetch.Asked, error) {
	ctx, ref, err := m.ref(ctx, in)
	if err != nil {
		return fetch.Asked{}, err
	}
	return screenOf(m.interviews.Back(ctx, ref, in.At))
}

// Send stores the response.
func (m *menuSurveys) Send(ctx context.Context, in fetch.Interview) (fetch.Asked, error) {
	ctx, ref, err := m.ref(ctx, in)
	if err != nil {
		return fetch.Asked{}, err
	}
	t, err := m.interviews.Submit(ctx, ref)
	if fault.CodeOf(err) == "INTERVIEW_NOT_FINISHED" {
		return screenOf(t, nil)
	}
	out, err := screenOf(t, err)
	if err == nil && out.Result == "review" {
		out.Result, out.Code = "sent", t.Code()
	}
	return out, err
}

// screenOf is where an interview stands on a handset.
func screenOf(t *interview.Turn, err error) (fetch.Asked, error) {
	switch fault.CodeOf(err) {
	case "INTERVIEW_NOT_OFFERED", "NOT_COLLECTOR", "SURVEY_NOT_ACTIVE", "HOUSEHOLD_ERASED", "TOO_MANY_DRAFTS", "DRAFT_SENT":
		return fetch.Asked{Result: "closed"}, nil
	case "DUPLICATE_HOUSEHOLD_RESPONSE":
		return fetch.Asked{Result: "already"}, nil
	}
	if err != nil {
		return fetch.Asked{}, err
	}
	s := t.Step
	if s == nil {
		return fetch.Asked{Result: "review", Answered: t.Answered}, nil
	}
	out := fetch.Asked{Result: "choose", At: s.At, Text: s.Show(), Choices: s.Keys(), Problem: s.Problem, Answered: t.Answered}
	if s.Zero() {
		out.Result = "type"
	}
	return out, nil
}
