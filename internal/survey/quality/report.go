package quality

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// maxLive is up to how many responses of a survey a report is made when it is
// asked for.
const maxLive = 1_000

// Report says how good the data of a round are; round 0 is the open one.
// Faults: SURVEY_NOT_FOUND, ROUND_NOT_FOUND.
func (s *Service) Report(ctx context.Context, surveyID string, round int) (*Report, error) {
	p, err := s.scope(ctx, surveyID, round)
	if err != nil {
		return nil, err
	}
	progress, err := s.cfg.Surveys.Progress(ctx, surveyID, p.round)
	if err != nil {
		return nil, err
	}
	old, err := findRound(ctx, s.db, p.o.NID, p.round)
	if err != nil {
		return nil, err
	}
	out := &Report{
		SurveyID: p.o.SurveyID, Round: p.round, QualityFindings: Findings{QualityTally: Tally{Flags: map[string]int64{}, Collectors: []CollectorReport{}}},
		Households: api.QualityHouseholds{Listed: progress.Drawn, Refused: progress.Refused, Unreachable: progress.Unreachable}, Links: linksOf(p.o),
	}
	if err := s.fill(ctx, out, p, old, progress); err != nil {
		return nil, err
	}
	if out.Effects == nil {
		out.Effects = []api.CollectorEffect{}
	}
	if out.Differences == nil {
		out.Differences = []api.CollectorDifference{}
	}
	review, err := s.cfg.Templates.Review(ctx, s.db, p.o.Workspace, p.o.TemplateID, s.now())
	if err != nil {
		return nil, err
	}
	out.Template = api.QualityTemplate{TemplateID: p.o.TemplateID, Version: p.o.TemplateVersion, ReviewDue: review.Due, ReviewOverdue: review.Overdue}
	if err := s.addBackChecks(ctx, s.db, p, out); err != nil {
		return nil, err
	}
	if x := sightOf(ctx, s, p.o); !x.All() {
		veilReport(out, x)
	}
	for i := range out.Collectors {
		one := &out.Collectors[i]
		one.Links = api.CollectorLinks{Flags: fmt.Sprintf("%s?round=%d&collector=%s", out.Links.Flags, out.Round, url.QueryEscape(one.Collector))}
	}
	return out, nil
}

// sightOf is how the caller sees the people of a survey: callers who may assign
// collectors know who they are, for they are to talk to them.
func sightOf(ctx context.Context, s *Service, o *survey.Open) privacy.Sight {
	c := web.CallerFrom(ctx)
	return s.cfg.Responses.Sight(ctx, o).WithPeople(c.May("surveys:write") || c.May("surveys:assign"))
}

// veilReport names collectors as the caller may know them.
func veilReport(r *Report, x privacy.Sight) {
	for i := range r.Collectors {
		r.Collectors[i].Collector = x.Person(r.Collectors[i].Collector)
	}
	order.Sort(r.Collectors, func(a, b CollectorReport) int { return cmp.Compare(a.Collector, b.Collector) })
	for i := range r.Effects {
		r.Effects[i].Collector = x.Person(r.Effects[i].Collector)
	}
	for i := range r.Differences {
		d := &r.Differences[i]
		d.Lowest.Collector, d.Highest.Collector = x.Person(d.Lowest.Collector), x.Person(d.Highest.Collector)
	}
}

// fill adds the findings of runs, and recounts what is cheap to count.
func (s *Service) fill(ctx context.Context, out *Report, p scope, old roundRow, progress *survey.Report) error {
	if old.data != "" {
		if err := json.Unmarshal([]byte(old.data), &out.QualityFindings); err != nil {
			return fmt.Errorf("read findings: %w", err)
		}
	}
	if old.job != "" || old.data != "" {
		out.Run = &api.QualityRun{Job: job.Path(old.job), StartedAt: timeOf(old.startedAt), FinishedAt: timeOf(old.finishedAt), Responses: old.looked}
		out.Run.Fresh = old.data != "" && old.newest >= p.until
	}
	// Counting looks at every response of the survey, of earlier rounds too.
	few, err := hasAtMost(ctx, s.db, p.o.NID, maxLive)
	if err != nil {
		return err
	}
	total := progress.Completed + progress.Partial
	switch {
	case few:
		t, err := s.tally(ctx, p)
		if err != nil {
			return err
		}
		out.Live, out.QualityTally = true, *t
	case old.data == "": // only the counters exist
		out.Responses, out.Complete, out.Partial, out.Flagged = total, progress.Completed, progress.Partial, progress.Flagged
		out.FlaggedShare = Round(float64(out.Flagged) / float64(max(1, total)))
		out.Notes = append(out.Notes, "No run has ended yet: ask for one at links.runs.")
	}
	return nil
}

// addBackChecks adds the results of back-checks.
func (s *Service) addBackChecks(ctx context.Context, q db.Querier, p scope, out *Report) error {
	counts, err := backCheckCounts(ctx, q, p.o.NID, p.round)
	if err != nil {
		return err
	}
	all := newBackCheckReport()
	by := map[string]*BackCheckReport{}
	for _, c := range counts {
		addCount(all, c)
		if by[c.collector] == nil {
			by[c.collector] = newBackCheckReport()
		}
		addCount(by[c.collector], c)
	}
	out.BackChecks = *all
	for i := range out.Collectors {
		out.Collectors[i].BackChecks = by[out.Collectors[i].Collector]
	}
	return nil
}

func linksOf(o *survey.Open) api.QualityLinks {
	base := "/v1/surveys/" + o.SurveyID
	return api.QualityLinks{Survey: base, Responses: base + "/responses", Flags: base + "/flags", Rules: base + "/quality/rules", Runs: base + "/quality/runs", BackChecks: base + "/back-checks"}
}

// FlagQuery selects flags of a survey.
type FlagQuery struct {
	Rule      string
	Collector string
	Round     int
}

// maxLooked is how many flags one page looks at.
const maxLooked = 2_000

// Flags reads a page of the flags of a survey, by check and response. A page
// may be short; next is nil at the end. Faults: SURVEY_NOT_FOUND,
// ROUND_NOT_FOUND, INVALID_PARAMETER.
func (s *Service) Flags(ctx context.Context, surveyID string, f FlagQuery, at flagSpot, limit int) (items []FlagRecord, next *flagSpot, err error) {
	o, err := s.cfg.Surveys.Open(ctx, surveyID)
	if err != nil {
		return nil, nil, err
	}
	if f.Rule != "" && !slices.Contains(Names(), f.Rule) {
		return nil, nil, fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
			With(fault.Field{Pointer: "query/rule", Code: "unknown", Detail: "The value must be one of " + strings.Join(Names(), ", ") + "."})
	}
	if f.Round != 0 {
		if err := hasRound(o, f.Round); err != nil {
			return nil, nil, err
		}
	}
	x := sightOf(ctx, s, o)
	for looked := 0; looked < maxLooked; looked += flagPage {
		page, err := s.flagPage(ctx, o, f.Rule, at)
		if err != nil {
			return nil, nil, err
		}
		for i := range page {
			if len(items) == limit {
				return items, &at, nil
			}
			one := &page[i]
			at = one.spot()
			one.collector = x.Person(one.collector)
			if f.Collector != "" && f.Collector != one.collector || f.Round != 0 && f.Round != one.round {
				continue
			}
			record, err := one.record(ctx)
			if err != nil {
				return nil, nil, err
			}
			items = append(items, record)
		}
		if len(page) < flagPage {
			return items, nil, nil
		}
	}
	return items, &at, nil
}

func (s *Service) flagPage(ctx context.Context, o *survey.Open, name string, at flagSpot) ([]flagRow, error) {
	if name == "" {
		return listFlags(ctx, s.db, o.NID, at, flagPage)
	}
	at.Rule = name
	return listRuleFlags(ctx, s.db, o.NID, at, flagPage)
}
