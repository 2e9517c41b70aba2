package quality

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The kinds of jobs.
const (
	RunKind   = "survey.quality"
	SweepKind = "survey.quality-sweep"
)

// Bounds of a run.
const (
	flagChunk  = 25     // responses flagged in one transaction
	maxFlagged = 50_000 // responses that one check flags in one run
)

// Handlers returns the jobs by kind.
func (s *Service) Handlers() map[string]job.Handler {
	return map[string]job.Handler{RunKind: s.run, SweepKind: s.sweep}
}

// Every schedules the checks of active surveys.
func (s *Service) Every() []job.Every {
	return []job.Every{{Kind: SweepKind, Interval: 6 * time.Hour}}
}

// runJob is what a run is asked for.
type runJob struct {
	Survey string `json:"surveyId"`
	Round  int    `json:"round"`
}

// Run asks for the checks over all responses of a round; 0 is the open one.
// While one is waiting or running it returns that one, whoever asked for it.
// Faults: SURVEY_NOT_FOUND, ROUND_NOT_FOUND.
func (s *Service) Run(ctx context.Context, surveyID string, round int) (web.Reply[job.Job], error) {
	var none web.Reply[job.Job]
	p, err := s.scope(ctx, surveyID, round)
	if err != nil {
		return none, err
	}
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[job.Job], error) {
		old, err := lockRound(ctx, tx, p.o.NID, p.round)
		if err != nil {
			return none, err
		}
		if old.job != "" {
			again, err := s.cfg.Jobs.Accepted(ctx, tx, old.job)
			if err == nil && !again.Value.Status.Final() {
				return again, nil
			}
			if err != nil && fault.KindOf(err) != fault.NotFound {
				return none, err
			}
		}
		return s.enqueue(ctx, tx, p, "")
	})
}

// mayRead reports whether the caller may read a run as a job: every caller who
// may ask for one may get another's.
func (s *Service) mayRead(ctx context.Context, payload []byte) bool {
	var in runJob
	return json.Unmarshal(payload, &in) == nil && s.cfg.Surveys.Readable(ctx, in.Survey, "responses:verify", "responses:check")
}

// enqueue makes the job of a run.
func (s *Service) enqueue(ctx context.Context, tx *db.Tx, p scope, key string) (web.Reply[job.Job], error) {
	id, err := s.cfg.Jobs.Enqueue(ctx, tx, job.Draft{Kind: RunKind, Payload: runJob{p.o.SurveyID, p.round}, Key: key, About: "/v1/surveys/" + p.o.SurveyID + "/quality"})
	if err != nil {
		return web.Reply[job.Job]{}, err
	}
	if _, err := tx.Exec(ctx, insertRound, p.o.NID, p.round, id); err != nil {
		return web.Reply[job.Job]{}, fmt.Errorf("note run: %w", err)
	}
	return s.cfg.Jobs.Accepted(ctx, tx, id)
}

// scope is a round of a survey the caller sees.
func (s *Service) scope(ctx context.Context, surveyID string, round int) (scope, error) {
	o, err := s.cfg.Surveys.Open(ctx, surveyID)
	if err != nil {
		return scope{}, err
	}
	p := scope{o: o, round: cmp.Or(round, o.Round)}
	if err := hasRound(o, p.round); err != nil {
		return p, err
	}
	p.until, err = newestOf(ctx, s.db, o.NID)
	return p, err
}

// hasRound requires that a survey has a round. The fault is ROUND_NOT_FOUND.
func hasRound(o *survey.Open, round int) error {
	if round < 1 || round > o.Round {
		return fault.New(fault.NotFound, "ROUND_NOT_FOUND", fmt.Sprintf("The survey has %d rounds.", o.Round))
	}
	return nil
}

// errReplaced ends a run that a newer one has taken the place of.
var errReplaced = errors.New("a newer run of the round has begun")

// runner is one run at work.
type runner struct {
	scope
	s       *Service
	job     *job.Run
	nid     int64
	source  string // of its flags
	rules   Rules
	cols    *Set
	nums    *series
	twins   *twins
	copies  *copies
	effects *effects
	pace    *pace
	found   EffectsFound
	batch   []response.Finding
	flagged map[string]int // responses by check
	started time.Time
	done    int64
	total   int64
}

// sourceOf begins the names of all runs of a round.
func sourceOf(round int) string { return fmt.Sprintf("run:%d:", round) }

// run is the job.
func (s *Service) run(ctx context.Context, j *job.Run) error {
	var in runJob
	if err := j.Decode(&in); err != nil {
		return err
	}
	p, err := s.scope(ctx, in.Survey, in.Round)
	if fault.KindOf(err) == fault.NotFound {
		return job.Permanent(err)
	} else if err != nil {
		return err
	}
	r := &runner{scope: p, s: s, job: j, nid: s.db.NewNID(), flagged: map[string]int{}, started: s.now(), cols: Of(p.o.Form)}
	r.source = fmt.Sprintf("%s%d", sourceOf(p.round), r.nid)
	rules, err := s.cfg.Rules.of(ctx, p.o)
	if err != nil {
		return err
	}
	r.rules = rules.rules.WithDefaults()
	if err := r.claim(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{r.first, r.second, r.third, r.clean} {
		if err := step(ctx); errors.Is(err, errReplaced) {
			return job.Permanent(fault.New(fault.Conflict, "QUALITY_RUN_REPLACED", "A newer quality run of the round has begun. Read that one.").Wrap(err))
		} else if err != nil {
			return err
		}
	}
	return r.finish(ctx)
}

// claim makes this the run that may store flags, and counts the work to do.
func (r *runner) claim(ctx context.Context) error {
	progress, err := r.s.cfg.Surveys.Progress(ctx, r.o.SurveyID, r.round)
	if err != nil {
		return err
	}
	r.total = progress.Completed + progress.Partial
	return r.s.db.InTx(ctx, func(tx *db.Tx) error {
		if err := r.job.Hold(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, claimRound, r.o.NID, r.round, r.nid, r.job.ID); err != nil {
			return fmt.Errorf("claim round: %w", err)
		}
		return nil
	})
}

// hold fails once another run has the round.
func (r *runner) hold(ctx context.Context, tx *db.Tx) error {
	if err := r.job.Hold(ctx, tx); err != nil {
		return err
	}
	n, err := tx.Exec(ctx, holdRound, r.o.NID, r.round, r.nid)
	if err != nil {
		return fmt.Errorf("hold round: %w", err)
	}
	if n == 0 {
		return errReplaced
	}
	return nil
}

func (r *runner) step(note string) {
	r.done++
	r.job.Progress(r.done, max(r.done, 2*r.total), note)
}

// interview reads what checks look at in a response.
func (r *runner) interview(ctx context.Context, row *response.Row) (*interview, error) {
	in := &interview{nid: row.NID, household: row.Household, collector: row.Collector, at: row.SubmittedAt, public: Read(row.Answers)}
	in.whole = in.public
	if len(row.Sealed) > 0 && r.twins != nil {
		w, err := r.s.cfg.Responses.Read(ctx, r.s.db, r.o.Project, row)
		if err != nil {
			return nil, err
		}
		in.whole = Read(w.Answers)
		if w.Location != nil {
			in.place = &Point{Lat: w.Location.Lat, Lon: w.Location.Lon}
		}
	}
	if in.place == nil {
		in.place = r.cols.Place(in.whole)
	}
	return in, nil
}

// first sees every response once: samples, and what may have come twice.
func (r *runner) first(ctx context.Context) error {
	r.nums, r.copies, r.pace = newSeries(r.cols.Numbers), newCopies(r.cols), newPace()
	if r.rules.on(Duplicate) {
		r.twins = newTwins(r.cols, r.rules.DuplicateMetres, r.total)
	}
	return r.s.each(ctx, r.scope, func(row *response.Row) error {
		in, err := r.interview(ctx, row)
		if err != nil {
			return err
		}
		r.nums.add(in)
		r.copies.learn(in)
		r.pace.add(row)
		if r.twins != nil {
			r.twins.add(in)
		}
		r.step("sampling")
		return nil
	})
}

// second holds every response against what the first look has found.
func (r *runner) second(ctx context.Context) error {
	r.nums.settle()
	r.pace.settle()
	r.effects = newEffects(r.nums, r.cols.Choices)
	err := r.s.each(ctx, r.scope, func(row *response.Row) error {
		in, err := r.interview(ctx, row)
		if err != nil {
			return err
		}
		r.effects.add(in)
		if r.rules.on(Outlier) {
			if err := r.flag(ctx, in.nid, r.nums.outliers(in, &r.rules)...); err != nil {
				return err
			}
		}
		if r.rules.on(flag.DurationShort) {
			if err := r.flag(ctx, in.nid, r.pace.short(row)...); err != nil {
				return err
			}
		}
		if err := r.pairs(ctx, row, in); err != nil {
			return err
		}
		r.step("checking")
		return nil
	})
	if err != nil {
		return err
	}
	return r.flush(ctx)
}

// pairs flags responses that belong together, both of them.
func (r *runner) pairs(ctx context.Context, row *response.Row, in *interview) error {
	if r.twins != nil {
		for _, m := range r.twins.find(in) {
			for i, other := range m.others {
				if i > 0 && other.told {
					continue // the nearest is enough
				}
				words := m.flag(other.metres, r.rules.DuplicateMetres)
				if err := r.pair(ctx, row, pairing{other.nid, &other.told, words, i > 0}); err != nil {
					return err
				}
			}
		}
	}
	if !r.rules.on(Copied) {
		return nil
	}
	other, share := r.copies.find(in, &r.rules)
	if other == nil {
		return nil
	}
	return r.pair(ctx, row, pairing{nid: other.nid, told: &other.told, flag: func(id string) flag.Flag {
		return flag.Flag{
			Rule: Copied, Value: Round(share), Limit: r.rules.CopiedShare,
			Detail: fmt.Sprintf("%.0f %% of the answers are those of response %s of the same collector.", share*100, id),
		}
	}})
}

// flag is the words for one of two that look like one household.
func (m match) flag(metres, limit float64) func(id string) flag.Flag {
	return func(id string) flag.Flag {
		f := flag.Flag{Rule: Duplicate, Question: m.question}
		switch m.question {
		case "/location":
			f.Value, f.Limit = Round(metres), limit
			f.Detail = fmt.Sprintf("The interview was %.1f m from that of response %s of another household.", metres, id)
		case "":
			f.Detail = fmt.Sprintf("All identifying answers agree with response %s of another household.", id)
		default:
			f.Detail = fmt.Sprintf("The answer is the same as in response %s of another household.", id)
		}
		return f
	}
}

// pairing is an earlier response that one belongs to.
type pairing struct {
	nid  int64
	told *bool
	flag func(id string) flag.Flag // about a response that belongs to this one
	half bool                      // the later one was flagged for another
}

func (r *runner) pair(ctx context.Context, row *response.Row, p pairing) error {
	if !p.half {
		id, err := nameOf(ctx, r.s.db, p.nid)
		if err != nil {
			return err
		}
		if err := r.flag(ctx, row.NID, p.flag(id)); err != nil {
			return err
		}
	}
	if *p.told {
		return nil
	}
	*p.told = true
	return r.flag(ctx, p.nid, p.flag(row.ResponseID))
}
