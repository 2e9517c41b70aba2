package crossref

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Kind is the kind of the jobs.
const Kind = "survey.cross-reference"

// storedTogether is how many pairs one transaction stores.
const storedTogether = 25

// Handlers returns the jobs by kind.
func (s *Service) Handlers() map[string]job.Handler { return map[string]job.Handler{Kind: s.run} }

// order is what a job is asked for.
type order struct {
	SurveyID string `json:"surveyId"`
	Draft    Draft  `json:"draft"`
}

// Begin asks for a cross-reference. While one of the same round and question is
// waiting or running it returns that one, whoever asked for it. Faults:
// SURVEY_NOT_FOUND, ROUND_NOT_FOUND, CROSS_REFERENCE_INVALID.
func (s *Service) Begin(ctx context.Context, surveyID string, d Draft) (web.Reply[job.Job], error) {
	var none web.Reply[job.Job]
	o, err := s.cfg.Surveys.Open(ctx, surveyID)
	if err != nil {
		return none, err
	}
	a, err := complete(o, d)
	if err != nil {
		return none, err
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[job.Job], error) {
		var held string
		if err := tx.QueryRow(ctx, keepRound, o.NID, a.Round, a.Question).Scan(&held); err != nil {
			return none, fmt.Errorf("lock round: %w", err)
		}
		if held != "" {
			again, err := s.cfg.Jobs.Accepted(ctx, tx, held)
			if err == nil && !again.Value.Status.Final() {
				return again, nil
			}
			if err != nil && fault.KindOf(err) != fault.NotFound {
				return none, err
			}
		}
		id, err := s.cfg.Jobs.Enqueue(ctx, tx, job.Draft{Kind: Kind, Payload: order{o.SurveyID, d}, About: path(o.SurveyID)})
		if err != nil {
			return none, err
		}
		if _, err := tx.Exec(ctx, noteJob, o.NID, a.Round, a.Question, id); err != nil {
			return none, fmt.Errorf("note job: %w", err)
		}
		return s.cfg.Jobs.Accepted(ctx, tx, id)
	})
}

func path(surveyID string) string { return "/v1/surveys/" + surveyID + "/cross-reference" }

// mayRead reports whether the caller may read a run as a job: every caller who
// may ask for one may get another's.
func (s *Service) mayRead(ctx context.Context, payload []byte) bool {
	var in order
	return json.Unmarshal(payload, &in) == nil && s.cfg.Surveys.Readable(ctx, in.SurveyID, "responses:verify", "responses:check")
}

// errReplaced ends a run that a newer one has taken the place of.
var errReplaced = errors.New("a newer cross-reference has begun")

// state is what remains of an interrupted run: its number. Everything else is
// computed again.
type state struct {
	Run int64 `json:"run"`
}

// runner is one run at work.
type runner struct {
	*asked
	s      *Service
	job    *job.Run
	nid    int64
	by     string
	source string // of its flags
	quiet  bool   // the check is off

	homes  []*home
	byHome map[string]*home
	result Result
}

// run is the job.
func (s *Service) run(ctx context.Context, j *job.Run) error {
	r, err := s.runner(ctx, j)
	if err != nil {
		if k := fault.KindOf(err); k == fault.NotFound || k == fault.Invalid {
			return job.Permanent(err)
		}
		return err
	}
	for _, step := range []func(context.Context) error{r.claim, r.gather, r.measure, r.conclude, r.store, r.clean, r.finish} {
		if err := step(ctx); errors.Is(err, errReplaced) {
			return job.Permanent(fault.New(fault.Conflict, "CROSS_REFERENCE_REPLACED", "A newer cross-reference of this question has begun. Read the newer one.").Wrap(err))
		} else if fault.KindOf(err) == fault.Unprocessable {
			return job.Permanent(err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// runner takes an order up, also one that was begun.
func (s *Service) runner(ctx context.Context, j *job.Run) (*runner, error) {
	var in order
	if err := j.Decode(&in); err != nil {
		return nil, err
	}
	o, err := s.cfg.Surveys.Open(ctx, in.SurveyID)
	if err != nil {
		return nil, err
	}
	a, err := complete(o, in.Draft)
	if err != nil {
		return nil, err
	}
	r := &runner{asked: a, s: s, job: j, by: web.CallerFrom(ctx).DID, byHome: map[string]*home{}}
	var st state
	if _, err := j.State(&st); err != nil {
		return nil, err
	}
	if r.nid = st.Run; r.nid == 0 {
		r.nid = s.db.NewNID()
	}
	r.source = fmt.Sprintf("%s%d", r.sources(), r.nid)
	if s.cfg.Settings != nil {
		set, err := s.cfg.Settings(ctx, o)
		if err != nil {
			return nil, err
		}
		r.quiet = slices.Contains(set.Off, flag.SensorMismatch)
	}
	return r, nil
}

// sources begins the names of all runs of the round and question.
func (a *asked) sources() string { return fmt.Sprintf("cross:%d:%s:", a.Round, a.Question) }

// claim makes this the run that may store, and keeps its number.
func (r *runner) claim(ctx context.Context) error {
	err := r.s.db.InTx(ctx, func(tx *db.Tx) error {
		if err := r.job.Save(ctx, tx, state{r.nid}); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, claimRound, r.o.NID, r.Round, r.Question, r.nid)
		return db.Wrap("claim round", err)
	})
	if err != nil {
		return err
	}
	return removePairs(ctx, r.s.db, r.nid) // of an attempt that was cut off
}

// hold fails once another run has the round.
func (r *runner) hold(ctx context.Context, tx *db.Tx) error {
	if err := r.job.Hold(ctx, tx); err != nil {
		return err
	}
	n, err := tx.Exec(ctx, holdRound, r.o.NID, r.Round, r.Question, r.nid)
	if err == nil && n == 0 {
		err = errReplaced
	}
	return db.Wrap("hold round", err)
}

// store flags responses and keeps the pairs, in the order of the responses.
func (r *runner) store(ctx context.Context) error {
	done := 0
	for part := range slices.Chunk(r.pairs(), storedTogether) {
		err := r.s.db.InTx(ctx, func(tx *db.Tx) error {
			if err := r.hold(ctx, tx); err != nil {
				return err
			}
			var found []response.Finding
			for _, h := range part {
				f := response.Finding{Response: h.nid, Source: r.source, Drop: []string{r.source}}
				if h.mismatch && !r.quiet {
					f.Flags, f.Drop = []flag.Flag{r.flag(h)}, nil
				}
				found = append(found, f)
			}
			// This locks the responses, so no answer can be removed before its pair is
			// stored.
			deltas, err := r.s.cfg.Responses.FlagTx(ctx, tx, r.o, found...)
			if err != nil {
				return err
			}
			for _, h := range part {
				if _, err := tx.Exec(ctx, insertPair, r.nid, h.nid, h.said, h.measured, h.days, db.Bit(h.mismatch)); err != nil {
					return fmt.Errorf("store pair: %w", err)
				}
			}
			return r.s.cfg.Surveys.Count(ctx, tx, r.o, deltas...)
		})
		if err != nil {
			return err
		}
		done += len(part)
		r.job.Progress(int64(done), int64(r.result.Households.Paired), "storing pairs")
	}
	return nil
}

// flag is the one of a pair that does not agree.
func (r *runner) flag(h *home) flag.Flag {
	f := flag.Flag{Rule: flag.SensorMismatch, Question: "/responses/" + r.Question, Value: rounded(h.measured), Limit: rounded(h.said)}
	switch {
	case r.Measure == fuel:
		f.Detail = fmt.Sprintf("The household says %.4g a day; its kitchen tests weighed %.4g %s.", h.said, h.measured, h.testUnit)
	case r.Measure != use:
		f.Detail = fmt.Sprintf("The household says %.4g %s a day; its sensors measured %.4g on %d days.", h.said, r.Measure, h.measured, h.days)
	case h.said > 0:
		f.Detail = fmt.Sprintf("The household says that it uses it; its sensors measured no use on %d days.", h.days)
	default:
		f.Detail = fmt.Sprintf("The household says that it does not use it; its sensors measured use on %d days.", h.days)
	}
	return f
}

// clean takes away the flags of earlier runs that this one has not found again.
func (r *runner) clean(ctx context.Context) error {
	return response.Unflag(ctx, r.s.cfg.Responses, r.o, response.Stale{Sources: r.sources(), Run: r.source, Hold: r.hold})
}

// Made is the result of the job.
type Made struct {
	ID         string `json:"crossReferenceId"`
	Paired     int    `json:"paired"`
	Mismatches int    `json:"mismatches"`
}

// finish keeps the result, and no pairs but those of the newest run.
func (r *runner) finish(ctx context.Context) error {
	err := r.s.db.InTx(ctx, func(tx *db.Tx) error {
		if err := r.hold(ctx, tx); err != nil {
			return err
		}
		return r.keep(ctx, tx, &r.result)
	})
	if err != nil {
		return err
	}
	rows, err := r.s.db.Query(ctx, selectEarlier, r.o.NID, r.Round, r.Question, r.nid)
	earlier, err := db.Collect(rows, err, "list earlier cross-references", db.Column[int64])
	if err != nil {
		return err
	}
	for _, nid := range earlier {
		if err := removePairs(ctx, r.s.db, nid); err != nil {
			return err
		}
	}
	r.job.SetResult(Made{nameOf(r.nid), r.result.Households.Paired, r.result.Mismatches})
	return nil
}
