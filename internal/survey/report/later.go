package report

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Kind is the job that makes the figures of the report of a large survey. They
// are kept like other figures, and removed with the responses they are made
// from.
const Kind = "survey.report"

// made is what a job is asked for.
type made struct {
	Survey string `json:"surveyId"`
	Ask    Ask    `json:"ask"`
}

// Result is the result of a job: where its report is.
type Result struct {
	Report string `json:"report" doc:"Path of the report."`
}

// Handlers are the jobs of reports.
func (s *Service) Handlers() map[string]job.Handler {
	return map[string]job.Handler{Kind: s.run}
}

// path is where the report of a job is.
func path(survey string, in Ask, job string) string {
	q := url.Values{"round": {strconv.Itoa(in.Round)}}
	if len(in.Questions) > 0 {
		q.Set("questions", strings.Join(in.Questions, ","))
	}
	if in.Verified {
		q.Set("verified", "true")
	}
	if in.Language != "" {
		q.Set("language", in.Language)
	}
	return "/v1/surveys/" + survey + "/report?" + q.Encode() + "&job=" + job
}

// sameFor is how long the same caller who asks for the same report gets the same
// job.
const sameFor = 10 * time.Minute

// later has a job make the figures of a report.
func (s *Service) later(ctx context.Context, id string, in Ask) (out web.Reply[job.Job], err error) {
	o, err := s.cfg.Surveys.Open(ctx, id)
	if err != nil {
		return out, err
	}
	if in.Round == 0 {
		in.Round = o.Round
	}
	of := made{o.SurveyID, in}
	text, err := json.Marshal(of)
	if err != nil {
		return out, fmt.Errorf("encode report: %w", err)
	}
	err = s.cfg.DB.InTx(ctx, func(tx *db.Tx) error {
		for _, span := range []time.Duration{sameFor, time.Minute} { // one that did not end well is begun again, at most every minute
			sum := sha256.Sum256(fmt.Appendf(text, " %s %s %d", span, web.CallerFrom(ctx).DID, s.cfg.Now().Unix()/int64(span.Seconds())))
			made, err := s.cfg.Jobs.Enqueue(ctx, tx, job.Draft{Kind: Kind, Payload: of, Key: hex.EncodeToString(sum[:]), About: path(o.SurveyID, in, "{id}")})
			if err != nil {
				return err
			}
			if out, err = s.cfg.Jobs.Accepted(ctx, tx, made); err != nil || !out.Value.Status.Final() || out.Value.Status == job.Succeeded {
				return err
			}
		}
		return nil
	})
	return out, err
}

// run is the job: it makes the figures of one question after the other. A question
// that has none is left out.
func (s *Service) run(ctx context.Context, j *job.Run) error {
	var in made
	if err := j.Decode(&in); err != nil {
		return err
	}
	o, err := s.cfg.Surveys.Open(ctx, in.Survey)
	if err != nil {
		return job.Permanent(err)
	}
	questions, err := s.chosen(o, &in.Ask)
	if err != nil {
		return job.Permanent(err)
	}
	for i, q := range questions {
		j.Progress(int64(i), int64(len(questions)), q.Name)
		err := s.cfg.Make(ctx, o, q.Name, in.Ask, j.ID)
		if f := fault.As(err); err != nil && (f == nil || f.Kind != fault.Unprocessable || f.Code == "STATISTICS_TOO_LARGE") {
			return err
		}
	}
	j.Progress(int64(len(questions)), int64(len(questions)), "")
	j.SetResult(Result{path(in.Survey, in.Ask, j.ID)})
	return nil
}

// waiting is the job of a report that is not made yet; nil once it is. A job that
// has not ended well is a fault.
func (s *Service) waiting(ctx context.Context, id string) (*job.Job, error) {
	j, err := s.cfg.Jobs.Get(ctx, id)
	if err != nil || j.Kind != Kind || j.Status.Final() && j.Status != job.Succeeded {
		if err == nil || fault.KindOf(err) == fault.NotFound {
			err = noReport()
		}
		return nil, err
	}
	if j.Status == job.Succeeded {
		return nil, nil //nolint:nilnil // the request has ended
	}
	return &j, nil
}

func noReport() error {
	return fault.New(fault.NotFound, "STATISTICS_NOT_FOUND", "This job has no report for you: it failed, its figures are gone, or somebody with other rights asked for it. Ask for the report again.")
}

// accepted answers with a job; a browser reloads automatically.
func accepted(w http.ResponseWriter, j *job.Job, about string) error {
	body, err := web.Encode(j)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("Location", job.Path(j.ID))
	h.Set("Refresh", "2; url="+about)
	w.WriteHeader(http.StatusAccepted)
	_, _ = w.Write(body) // the client may be gone
	return nil
}
