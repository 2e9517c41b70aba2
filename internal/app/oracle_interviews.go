package app

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/lookup"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/interview"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// chatInterviews lets the oracle ask surveys.
type chatInterviews struct{ lookups }

var _ lookup.Interviews = chatInterviews{}

// told is what the model is told about an interview.
type told struct {
	How      string               `json:"how"`
	Next     *interview.Step      `json:"next,omitzero"`
	Answered int                  `json:"answered"`
	Left     int                  `json:"left"`
	Answers  []interview.Answered `json:"answers,omitzero"`
	Response string               `json:"responseId,omitzero"`
}

// ref makes the user of the run act through the door of the chat. A user needs the
// rights of a collector to ask others, and none to answer for their own household.
func (i chatInterviews) ref(ctx context.Context, t lookup.Talk) (context.Context, interview.Ref, error) {
	ref := interview.Ref{Survey: t.Survey, Household: t.Household, Language: t.Language}
	if ref.Household == "" {
		run := tool.From(ctx)
		c := run.Caller
		var err error
		if c.Key == "" {
			if c, err = i.userOf(ctx, run); err != nil {
				return ctx, ref, err
			}
		} else if err := i.core.Auth.StillValid(web.WithCaller(ctx, c), false); err != nil {
			return ctx, ref, err
		}
		if ref.Household, err = i.household(ctx, c.Workspace, c.DID); err != nil {
			return ctx, ref, err
		}
		ref.Own = ref.Household != ""
		if !ref.Own {
			return ctx, ref, fault.New(fault.Invalid, "INVALID_PARAMETER", "household: say which household is asked, by its DID.")
		}
		c.Scopes, c.Door = []string{"responses:write", "surveys:read"}, survey.Chat
		return web.WithCaller(ctx, c), ref, nil
	}
	ctx, err := i.asUser(ctx, "responses:write")
	if err != nil {
		return ctx, ref, err
	}
	c := web.CallerFrom(ctx)
	c.Door = survey.Chat
	return web.WithCaller(ctx, c), ref, nil
}

// Begin begins an interview.
func (i chatInterviews) Begin(ctx context.Context, t lookup.Talk) (any, error) {
	ctx, ref, err := i.ref(ctx, t)
	if err != nil {
		return nil, err
	}
	return tellTurn(i.surveys.interviews.Begin(ctx, ref))
}

// Answer keeps an answer.
func (i chatInterviews) Answer(ctx context.Context, t lookup.Talk) (any, error) {
	ctx, ref, err := i.ref(ctx, t)
	if err != nil {
		return nil, err
	}
	if t.Answer == "" && t.Instead == "" {
		return nil, tool.BadArgument("answer", "Say what the user answered, or what is to stand instead.")
	}
	return tellTurn(i.surveys.interviews.Answer(ctx, ref, interview.Reply{At: t.Question, Text: t.Answer, Instead: t.Instead}))
}

// Review shows the answers.
func (i chatInterviews) Review(ctx context.Context, t lookup.Talk) (any, error) {
	ctx, ref, err := i.ref(ctx, t)
	if err != nil {
		return nil, err
	}
	turn, said, err := i.surveys.interviews.Review(ctx, ref)
	if err != nil {
		return nil, err
	}
	out, err := tellTurn(turn, nil)
	out.Answers = said
	return out, err
}

// Submit sends the interview if the answers are those the user was asked about.
func (i chatInterviews) Submit(ctx context.Context, t lookup.Talk) (any, error) {
	ctx, ref, err := i.ref(ctx, t)
	if err != nil {
		return nil, err
	}
	_, said, err := i.surveys.interviews.Review(ctx, ref)
	if err != nil {
		return nil, err
	}
	if !sameAnswers(said, t.Answers) {
		return nil, tool.BadArgument("answers", "These are not the answers of the interview. Call interview_review, show them to the user, and send exactly those.")
	}
	turn, err := i.surveys.interviews.Submit(ctx, ref)
	if err != nil {
		return nil, err
	}
	return told{How: "Sent. Thank the user and tell them the code " + turn.Code() + ".", Answered: turn.Answered, Response: turn.ResponseID}, nil
}

func sameAnswers(said []interview.Answered, sent []lookup.Said) bool {
	if len(said) != len(sent) {
		return false
	}
	for i := range said {
		if said[i].At != sent[i].Question || said[i].Text != sent[i].Text || said[i].Said != sent[i].Answer {
			return false
		}
	}
	return true
}

// tellTurn is where an interview stands, for a model.
func tellTurn(t *interview.Turn, err error) (told, error) {
	if err != nil {
		return told{}, err
	}
	out := told{Answered: t.Answered, Left: t.Left, Next: t.Step}
	switch {
	case t.Step == nil && t.Refused:
		out.How = "The user does not agree to the interview. Ask nothing more; call interview_review, then interview_submit with its answers to record that."
	case t.Step == nil:
		out.How = "Nothing is left to ask. Call interview_review, read the answers to the user, and call interview_submit with them when the user agrees."
	case t.Step.Problem != "":
		out.How = "The answer was not taken: " + t.Step.Problem + " Ask the user again."
	default:
		out.How = fmt.Sprintf("Ask the user this question, in the words of text, with the options there are. Then call interview_answer with question %s and what the user said. Do not guess.", t.Step.At)
	}
	return out, nil
}

// householdOf finds the household of a customer of the line; "" without one.
func householdOf(a *App) func(ctx context.Context, ws, did string) (string, error) {
	return func(ctx context.Context, ws, did string) (string, error) {
		if a.line == nil || ws != auth.OperatorWorkspace {
			return "", nil
		}
		h, err := a.line.accounts.HouseholdOf(ctx, ws, did)
		return h.DID, err
	}
}
