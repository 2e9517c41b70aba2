package quality

import (
	"context"
	"net/http"

	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const tag = "quality"

// Routes adds the quality API to a.
func (s *Service) Routes(a *web.API) {
	const read, write, verify = "responses:read", "surveys:write", "responses:verify or responses:check"
	missing := []string{"SURVEY_NOT_FOUND", "ROUND_NOT_FOUND"}
	web.Get(a, "/v1/surveys/{surveyId}/quality", s.serveReport, web.Doc{
		Summary: "Read how good the data of a survey are", Scope: read, Tag: tag, Codes: missing, Description: reporting,
	})
	web.Post(a, "/v1/surveys/{surveyId}/quality/runs", s.serveRun, web.Doc{
		Summary: "Run the checks over all responses of a round", Status: http.StatusAccepted, Scope: verify, Tag: tag, Once: true, Codes: missing, Example: RunDraft{},
		Description: "Starts a job that flags answers that stand out (outlier), households that were counted twice (duplicate_household), interviews that are nearly the same (copied_answers) and collectors whose answers differ from those of all others " +
			"(enumerator_effect). Its flags replace those of the previous run. Active surveys with new responses are checked every six hours by themselves. A response keeps its revision when it is flagged.",
	})
	web.Get(a, "/v1/surveys/{surveyId}/quality/rules", s.serveRules, web.Doc{
		Summary: "Read the limits of the checks", Scope: "surveys:read", Tag: tag, Codes: missing[:1],
		Description: "Every limit with its effective value, including defaults. The description of the quality report says what they do.",
	})
	web.Put(a, "/v1/surveys/{surveyId}/quality/rules", s.servePutRules, web.Doc{
		Summary: "Set the limits of the checks", Scope: write, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND", "QUALITY_RULES_INVALID", "STALE_REVISION", "PRECONDITION_REQUIRED"},
		Description: "An absent member has its default, as has a member that is 0, except hours and offsets; off names checks that are not made. The limits apply to responses that arrive from now on, and to the next run. If-Match is needed once a survey has rules of its own; until then, the ETag of the defaults is \"0\".",
		Example:     Rules{Settings: flag.Settings{MinSeconds: 120, MaxMetres: 300, Off: []string{"night_interview"}}, OutlierZ: 4},
	})
	web.Get(a, "/v1/surveys/{surveyId}/flags", s.serveFlags, web.Doc{
		Summary: "List the flags of a survey by check and response", Scope: read, Tag: tag, Codes: append(missing, "INVALID_PARAMETER"),
		Description: "The description of the quality report says what each check looks at. A response may have several flags of one check, for different questions. " +
			"Flags of superseded and invalidated responses are in the list; the report does not count them. With collector or round a page looks at 2,000 flags: it may be short, follow hasMore.",
	})
	web.Post(a, "/v1/surveys/{surveyId}/flags:settle", settler{s}.serve, web.Doc{
		Summary: "Settle a flag of a response with a note, or reopen it", Scope: verify, Tag: tag, Once: true, Description: settling,
		Codes:   []string{"SURVEY_NOT_FOUND", flagInvalid, "FLAG_NOT_FOUND", "VERIFIER_IS_COLLECTOR", "STALE_REVISION"},
		Example: FlagOutcome{ResponseID: "res_7310428377145344", Rule: "duration_short", Outcome: "explained", Note: "The tablet's clock was wrong; the interview took 31 minutes."},
	})
	web.Post(a, "/v1/surveys/{surveyId}/back-checks:draw", s.serveDraw, web.Doc{
		Summary: "Draw responses to be asked again", Status: http.StatusCreated, Also: []int{http.StatusOK}, Scope: verify, Tag: tag,
		Codes:       []string{"SURVEY_NOT_FOUND", "ROUND_NOT_FOUND", backCheckInvalid, "BACK_CHECK_QUESTIONS_MISSING", "NOTHING_TO_DRAW", "DRAW_EXISTS"},
		Example:     DrawDraft{Seed: "lottery-2026-03-01", Share: 0.1, PerCollector: 1},
		Description: drawMethod + " Anybody can repeat the draw from the seed and the list of responses. Repeating the same draw is answered with 200.",
	})
	web.Get(a, "/v1/surveys/{surveyId}/back-checks", s.serveBackChecks, web.Doc{
		Summary: "List the back-checks of a survey in the order they were drawn", Scope: read, Tag: tag, Codes: missing[:1],
		Description: "Each one says what to ask. The quality report has error rates by class of question, for the survey and for each collector.",
	})
	web.Get(a, "/v1/surveys/{surveyId}/back-checks/{backCheckId}", s.serveBackCheck, web.Doc{
		Summary: "Read a back-check and what to ask", Scope: read, Tag: tag, Codes: []string{"SURVEY_NOT_FOUND", "BACK_CHECK_NOT_FOUND"},
		Description: "householdId names the household to ask, in the same form as reads of the response: a key without the scope responses:pii sees the name used in pseudonymised exports, unless the household is assigned to its principal.",
	})
	web.Post(a, "/v1/surveys/{surveyId}/back-checks/{backCheckId}", s.serveAnswer, web.Doc{
		Summary: "Send the answers to a back-check", Scope: verify, Tag: tag, Once: true,
		Codes: []string{"SURVEY_NOT_FOUND", "BACK_CHECK_NOT_FOUND", backCheckInvalid, "BACK_CHECK_DONE", "VERIFIER_IS_COLLECTOR", "RESPONSE_NOT_VERIFIABLE"},
		Description: "Answers are compared with those of the response, question by question. The server keeps whether they agree, not the answers. Case, spaces and punctuation do not matter in texts, nor order in several choices, nor 100 m in places; " +
			"everything else must be equal. Questions that are left out are not compared. A person who collected or sent the response, or who belongs to the group that did, cannot do the back-check.",
		Example: map[string]any{"responses": map[string]any{"socio_economic": map[string]any{"household_size": 5}}, "by": "did:ixo:agent/456"},
	})
}

type ofSurvey struct {
	Survey string `path:"surveyId" doc:"Id of the survey." example:"srv_7310428377145344"`
}

func (s *Service) serveReport(ctx context.Context, in *struct {
	ofSurvey
	Round int `query:"round" doc:"The open round by default."`
},
) (*Report, error) {
	return s.Report(ctx, in.Survey, in.Round)
}

// RunDraft asks for a run.
type RunDraft struct {
	Round int `json:"round,omitzero" doc:"The open round by default."`
}

func (s *Service) serveRun(ctx context.Context, in *struct {
	ofSurvey
	Body RunDraft
},
) (web.Reply[job.Job], error) {
	return s.Run(ctx, in.Survey, in.Body.Round)
}

func (s *Service) serveRules(ctx context.Context, in *ofSurvey) (web.Reply[*RuleRecord], error) {
	var none web.Reply[*RuleRecord]
	o, err := s.cfg.Surveys.Open(ctx, in.Survey)
	if err != nil {
		return none, err
	}
	r, err := findRules(ctx, s.db, o)
	if err != nil {
		return none, err
	}
	return replyRules(r, r.record(o)), nil
}

func replyRules(r ruling, v *RuleRecord) web.Reply[*RuleRecord] {
	return web.Reply[*RuleRecord]{Value: v, ETag: web.ETag(r.revision)}
}

func (s *Service) servePutRules(ctx context.Context, in *struct {
	ofSurvey
	IfMatch string `header:"If-Match" doc:"ETag of the current rules."`
	Body    Rules
},
) (web.Reply[*RuleRecord], error) {
	o, err := s.cfg.Surveys.Open(ctx, in.Survey)
	if err != nil {
		return web.Reply[*RuleRecord]{}, err
	}
	r, err := s.cfg.Rules.put(ctx, o, in.IfMatch, in.Body)
	if err != nil {
		return web.Reply[*RuleRecord]{}, err
	}
	return replyRules(r, r.record(o)), nil
}

func (s *Service) serveFlags(ctx context.Context, in *struct {
	ofSurvey
	Rule      string `query:"rule" doc:"Only those of one check." example:"duration_short"`
	Collector string `query:"collector" minLength:"1" doc:"Only those of one collector, named as it is shown to you."`
	Round     int    `query:"round" doc:"Only those of one round."`
	web.Paging
},
) (web.Reply[web.Page[FlagRecord]], error) {
	var at flagSpot
	return web.List(ctx, s.cfg.Cursors, in.Paging, &at, func(limit int) ([]FlagRecord, *flagSpot, error) {
		return s.Flags(ctx, in.Survey, FlagQuery{in.Rule, in.Collector, in.Round}, at, limit)
	})
}

func (s *Service) serveDraw(ctx context.Context, in *struct {
	ofSurvey
	Body DrawDraft
},
) (web.Reply[*Draw], error) {
	return s.Draw(ctx, in.Survey, in.Body)
}

// place is where a list of back-checks continues.
type place struct {
	After int64 `json:"a"`
}

func (s *Service) serveBackChecks(ctx context.Context, in *struct {
	ofSurvey
	State string `query:"state" enum:"drawn,done,refused,unreachable" doc:"Only those in one state."`
	web.Paging
},
) (web.Reply[web.Page[*BackCheck]], error) {
	o, err := s.cfg.Surveys.Open(ctx, in.Survey)
	if err != nil {
		return web.Reply[web.Page[*BackCheck]]{}, err
	}
	var at place
	return web.List(ctx, s.cfg.Cursors, in.Paging, &at, func(limit int) ([]*BackCheck, place, error) {
		items, err := listBackChecks(ctx, s.db, o, backCheckPlace{in.State, at.After, limit + 1})
		for _, b := range items {
			b.veil(sightOf(ctx, s, o))
		}
		if len(items) <= limit {
			return items, place{}, err
		}
		return items[:limit], place{items[limit-1].nid}, err
	})
}

type ofBackCheck struct {
	ofSurvey
	ID string `path:"backCheckId" doc:"Id of the back-check." example:"bck_7310428377145344"`
}

func (s *Service) serveBackCheck(ctx context.Context, in *ofBackCheck) (*BackCheck, error) {
	return s.GetBackCheck(ctx, in.Survey, in.ID)
}

func (s *Service) serveAnswer(ctx context.Context, in *struct {
	ofBackCheck
	Body Outcome
},
) (web.Reply[*BackCheck], error) {
	return s.Answer(ctx, in.Survey, in.ID, in.Body)
}
