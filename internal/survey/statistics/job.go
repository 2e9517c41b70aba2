package statistics

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Kind is the job that makes the figures of a large survey.
const Kind = "survey.statistics"

// made is what a job is asked for.
type made struct {
	Survey string `json:"surveyId"`
	Query  Query  `json:"query"`
}

// Result is the result of a job: where its figures are.
type Result struct {
	Statistics string `json:"statistics" doc:"Path of the figures."`
}

// Handlers returns the jobs of figures, by kind.
func (s *Service) Handlers() map[string]job.Handler {
	return map[string]job.Handler{Kind: s.run}
}

// later starts a job that makes the figures of a query. While one is waiting or
// running for the same query it returns that one, whoever asked for it.
func (s *Service) later(ctx context.Context, a *ask) (out web.Reply[job.Job], err error) {
	key, err := a.key()
	if err != nil {
		return out, err
	}
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		at, err := momentOf(ctx, tx, a.o.NID)
		if err != nil {
			return err
		}
		// A job that has ended without stored figures was cancelled or failed:
		// another one is made, at most every minute.
		name := fmt.Sprintf("%d/%d/%d/%s", a.o.NID, at.revision, at.changes, key)
		for _, attempt := range []string{"", s.now().UTC().Format("200601021504")} {
			sum := sha256.Sum256([]byte(name + attempt))
			id, err := s.jobs.Enqueue(ctx, tx, job.Draft{
				Kind: Kind, Payload: made{a.o.SurveyID, a.in}, Key: hex.EncodeToString(sum[:]), About: path(a.o.SurveyID, "{id}"),
			})
			if err != nil {
				return err
			}
			if out, err = s.jobs.Accepted(ctx, tx, id); err != nil || !out.Value.Status.Final() {
				return err
			}
		}
		return nil
	})
	return out, err
}

// Later starts a job that makes figures, and returns its id. The faults are those
// of Statistics.
func (s *Service) Later(ctx context.Context, surveyID string, in Query) (string, error) {
	a, err := s.ask(ctx, surveyID, in)
	if err != nil {
		return "", err
	}
	out, err := s.later(ctx, a)
	return out.Value.ID, err
}

// path is where the figures of a job are.
func path(survey, job string) string { return "/v1/surveys/" + survey + "/statistics?job=" + job }

// mayRead reports whether the caller may read a job: every caller who may ask
// for figures of the survey may get another's job.
func (s *Service) mayRead(ctx context.Context, payload []byte) bool {
	var in made
	return json.Unmarshal(payload, &in) == nil && s.surveys.Readable(ctx, in.Survey, "analytics:read")
}

// run is the job.
func (s *Service) run(ctx context.Context, j *job.Run) error {
	var in made
	if err := j.Decode(&in); err != nil {
		return err
	}
	a, err := s.ask(ctx, in.Survey, in.Query)
	if err != nil {
		return ended(err)
	}
	n, err := s.size(ctx, a)
	if err != nil {
		return ended(err)
	}
	// The list, the responses and their answers.
	total := n * int64(2+len(a.asked()))
	if a.in.round() > 0 {
		total *= 2
	}
	_, err = s.make(ctx, a, j.ID, &reading{most: inJob, step: func(rows int64) {
		j.Progress(rows, max(rows, total), "reading")
	}})
	if err != nil {
		return ended(err)
	}
	j.Progress(total, total, "")
	j.SetResult(Result{path(in.Survey, j.ID)})
	return nil
}

// ended marks what another attempt does not mend.
func ended(err error) error {
	if kind := fault.KindOf(err); fault.As(err) != nil && kind != fault.Unavailable && kind != fault.Internal {
		return job.Permanent(err)
	}
	return err
}

// Made returns the figures of a job, as they were then. The fault is
// STATISTICS_NOT_FOUND: another job has its figures, or they were removed.
func (s *Service) Made(ctx context.Context, surveyID, job string) (*Statistics, error) {
	o, err := s.surveys.Open(ctx, surveyID)
	if err != nil {
		return nil, err
	}
	whole := 0
	if web.CallerFrom(ctx).May("responses:pii") {
		whole = 1
	}
	out, err := body(s.db.QueryRow(ctx, selectMade, o.NID, job, whole))
	if err == nil && out == nil {
		err = notMade()
	}
	return out, err
}

// Make makes figures under the id of a running job, however large the survey
// is. The faults are those of Statistics.
func (s *Service) Make(ctx context.Context, surveyID string, in Query, job string) error {
	a, err := s.ask(ctx, surveyID, in)
	if err != nil {
		return err
	}
	_, err = s.make(ctx, a, job, &reading{most: inJob, step: func(int64) {}})
	return ended(err)
}

// MadeOf returns the figures of one query of a job that has made several, as they
// were then. The fault is STATISTICS_NOT_FOUND.
func (s *Service) MadeOf(ctx context.Context, surveyID string, in Query, job string) (*Statistics, error) {
	a, err := s.ask(ctx, surveyID, in)
	if err != nil {
		return nil, err
	}
	key, err := a.key()
	if err != nil {
		return nil, err
	}
	out, err := body(s.db.QueryRow(ctx, selectMadeOf, a.o.NID, key, job))
	if err == nil && out == nil {
		err = notMade()
	}
	return out, err
}

func notMade() error {
	return fault.New(fault.NotFound, "STATISTICS_NOT_FOUND", "This job has no figures: it failed, a response in them was taken out, or many others were asked for since. Ask for the figures again.")
}
