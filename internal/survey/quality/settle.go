package quality

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/order"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
)

// third flags the responses of collectors that stand out, by their strongest
// difference, and the complete ones of collectors who are too fast.
func (r *runner) third(ctx context.Context) error {
	odd := map[string][]flag.Flag{}
	if r.rules.on(Effect) {
		r.found = r.effects.find(&r.rules)
	}
	for _, e := range r.found.Effects {
		if len(odd[e.Collector]) == 0 {
			odd[e.Collector] = []flag.Flag{flagOf(e)}
		}
	}
	if r.rules.on(flag.CollectorFast) {
		for collector, median := range r.pace.fast {
			odd[collector] = append(odd[collector], flag.Fast(median, r.pace.median))
		}
	}
	if len(odd) == 0 {
		return nil
	}
	for after := int64(0); ; {
		page, err := list(ctx, r.s.db, r.o.NID, after)
		if err != nil {
			return err
		}
		for _, one := range page {
			after = one.nid
			found := slices.Clone(odd[one.collector])
			if one.round != r.round || one.nid > r.until || !one.counts() {
				continue
			}
			if one.status != response.Complete {
				found = slices.DeleteFunc(found, func(f flag.Flag) bool { return f.Rule == flag.CollectorFast })
			}
			if err := r.flag(ctx, one.nid, found...); err != nil {
				return err
			}
		}
		if len(page) < listPage {
			return r.flush(ctx)
		}
	}
}

// flagOf is the flag of the responses of a collector that stands out.
func flagOf(e api.CollectorEffect) flag.Flag {
	f := flag.Flag{Rule: Effect, Question: e.Question, Value: e.Score, Limit: e.Limit}
	f.Detail = fmt.Sprintf("The mean of this collector is %g; the median of the other collectors' means is %g.", e.Value, e.Others)
	if e.Option != "" {
		f.Detail = fmt.Sprintf("%.0f %% of the answers of this collector are %s; the median of the other collectors is %.0f %%.", e.Value*100, e.Option, e.Others*100)
	}
	return f
}

// flag collects flags of a response, and stores them when there are enough.
func (r *runner) flag(ctx context.Context, nid int64, flags ...flag.Flag) error {
	flags = slices.DeleteFunc(flags, func(f flag.Flag) bool {
		r.flagged[f.Rule]++
		return r.flagged[f.Rule] > maxFlagged
	})
	if len(flags) == 0 {
		return nil
	}
	r.batch = append(r.batch, response.Finding{Response: nid, Source: r.source, Flags: flags})
	if len(r.batch) < flagChunk {
		return nil
	}
	return r.flush(ctx)
}

// flush stores the collected flags.
func (r *runner) flush(ctx context.Context) error {
	batch := r.batch
	if r.batch = nil; len(batch) == 0 {
		return nil
	}
	order.Stable(batch, func(a, b response.Finding) int { return cmp.Compare(a.Response, b.Response) })
	return r.s.db.InTx(ctx, func(tx *db.Tx) error {
		if err := r.hold(ctx, tx); err != nil {
			return err
		}
		deltas, err := r.s.cfg.Responses.FlagTx(ctx, tx, r.o, batch...)
		if err != nil {
			return err
		}
		return r.s.cfg.Surveys.Count(ctx, tx, r.o, deltas...)
	})
}

// clean takes away the flags of earlier runs of the round that this one has
// not found again.
func (r *runner) clean(ctx context.Context) error {
	return response.Unflag(ctx, r.s.cfg.Responses, r.o, response.Stale{Sources: sourceOf(r.round), Run: r.source, Hold: r.hold})
}

// RunResult is the result of the job.
type RunResult struct {
	SurveyID  string           `json:"surveyId"`
	Round     int              `json:"round"`
	Run       string           `json:"run" doc:"Source of its flags."`
	Responses int64            `json:"responses"`
	Flagged   int64            `json:"flagged"`
	Flags     map[string]int64 `json:"flags"`
	Effects   int              `json:"effects"`
}

// finish stores the findings.
func (r *runner) finish(ctx context.Context) error {
	t, err := r.s.tally(ctx, r.scope)
	if err != nil {
		return err
	}
	f := Findings{QualityTally: *t, Effects: r.found.Effects, Differences: r.found.Differences, Comparisons: r.found.Comparisons, Notes: r.notes()}
	data, err := json.Marshal(f, json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("encode findings: %w", err)
	}
	err = r.s.db.InTx(ctx, func(tx *db.Tx) error {
		if err := r.hold(ctx, tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, finishRound, r.o.NID, r.round, r.nid, r.until, t.Responses, r.started.UnixMilli(), r.s.now().UnixMilli(), string(data))
		if err != nil {
			return fmt.Errorf("keep findings: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.job.SetResult(RunResult{r.o.SurveyID, r.round, r.source, t.Responses, t.Flagged, t.Flags, len(f.Effects)})
	return nil
}

// notes say what the bounds of a run have left out.
func (r *runner) notes() []string {
	var out []string
	for _, n := range []struct {
		is   bool
		text string
	}{
		{r.nums.full, fmt.Sprintf("The run looked for outliers only in the first %d questions for numbers.", maxNumbers)},
		{r.twins != nil && r.twins.missed, fmt.Sprintf("The run looked for duplicate households among only %d candidates; there are more.", maxSpots)},
		{r.effects.full, fmt.Sprintf("The run compared only the first %d collectors with each other; there are more.", maxCollectors)},
	} {
		if n.is {
			out = append(out, n.text)
		}
	}
	for _, name := range []string{Outlier, Duplicate, Copied, Effect, flag.DurationShort, flag.CollectorFast} {
		if r.flagged[name] > maxFlagged {
			out = append(out, fmt.Sprintf("The check %s flags %d responses at most.", name, maxFlagged))
		}
	}
	return out
}
