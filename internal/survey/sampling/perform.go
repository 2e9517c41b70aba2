package sampling

import (
	"context"
	"fmt"
	"strings"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/survey"
)

// perform draws, stores the result, writes the list of the survey, and marks
// everything as done. Each step can be repeated: a draw gives the same result
// every time. It reports whether this call was the one that finished it.
func (s *drawer) perform(ctx context.Context, d *drawRow, j *job.Run) (first bool, _ error) {
	v, err := versionBy(ctx, s.db, d)
	if err != nil {
		return false, err
	}
	if d.SurveyID != "" {
		if err := s.cfg.Surveys.Undrawn(ctx, d.SurveyID, d.DrawID); err != nil {
			return false, err
		}
	}
	got, err := Redraw(&d.Plan, d.Seed, progress(unitsOf(ctx, s.db, d.frame), d.Population, j))
	if err != nil {
		return false, undrawable(err)
	}
	homes, err := s.homesOf(ctx, d.frame, got)
	if err != nil {
		return false, err
	}
	if err := s.storeDrawn(ctx, d, result{got, homes}, j); err != nil {
		return false, err
	}
	d.Stages, d.sample = got.Stages, sumOf(got)
	d.State, d.DrawnAt = drawn, s.now()
	if d.SurveyID != "" {
		if err := s.cfg.Surveys.SetSampling(ctx, d.SurveyID, func(old survey.Sampling) *survey.Sampling { return samplingOf(old, v, d, got) }); err != nil {
			return false, err
		}
	}
	e, err := s.entry(ctx, drawnEvent, v, d)
	if err != nil {
		return false, err
	}
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		if first, err = storeDraw(ctx, tx, d, drawing); err != nil || !first {
			return err
		}
		return s.cfg.Events.Append(ctx, tx, e)
	})
	return first, err
}

// progress reports a frame's reading progress to a job.
func progress(f Frame, population int64, j *job.Run) Frame {
	if j == nil {
		return f
	}
	return func(visit func(Unit) error) error {
		n := int64(0)
		return f(func(u Unit) error {
			if n++; n%10_000 == 0 {
				j.Progress(n, population, "ranking")
			}
			return visit(u)
		})
	}
}

// homesOf returns the households of the drawn units, by their line in the
// frame.
func (s *drawer) homesOf(ctx context.Context, frame int64, got *Drawn) (map[int64]string, error) {
	by := map[int64][]int64{}
	for _, u := range got.Units {
		by[u.Index/pieceUnits] = append(by[u.Index/pieceUnits], u.Index)
	}
	out := make(map[int64]string, len(got.Units))
	for piece, wanted := range by {
		var at int64
		var text string
		if err := s.db.QueryRow(ctx, selectHomes, frame, piece).Scan(&at, &text); err != nil {
			return nil, fmt.Errorf("read households of a frame: %w", err)
		}
		lines := strings.Split(text, "\n")
		for _, i := range wanted {
			out[i] = lines[i-at*pieceUnits]
		}
	}
	return out, nil
}

// cellOf is where replacements of a unit come from: its cluster, or its stratum.
func cellOf(p *Plan, u Unit) string {
	if p.Clusters != nil {
		return u.Cluster
	}
	return u.Stratum
}

// result is what came of a draw, with the households behind it by their line in
// the frame.
type result struct {
	*Drawn
	homes map[int64]string
}

// storeDrawn stores the drawn units, and puts the sample on the list of the
// survey.
func (s *drawer) storeDrawn(ctx context.Context, d *drawRow, got result, j *job.Run) error {
	homes := got.homes
	d.Drawn, d.Reserve = 0, 0
	for at := 0; at < len(got.Units); at += drawRows {
		part := got.Units[at:min(len(got.Units), at+drawRows)]
		list := listOf(part, homes)
		err := s.db.InTx(ctx, func(tx *db.Tx) error {
			if j != nil {
				if err := j.Hold(ctx, tx); err != nil {
					return err
				}
			}
			for i, u := range part {
				state := drawn
				if u.Reserve {
					state = "reserve"
				}
				_, err := tx.Exec(ctx, insertDrawn, d.nid, at+i+1, cellOf(&d.Plan, u.Unit), u.Unit.Unit, homes[u.Index], u.Stratum, u.Cluster, u.Rank.String(), state)
				if err != nil {
					return fmt.Errorf("insert drawn household: %w", err)
				}
			}
			if d.SurveyID == "" || len(list) == 0 {
				return nil
			}
			return s.cfg.Surveys.AddDrawn(ctx, tx, d.SurveyID, list)
		})
		if err != nil {
			return err
		}
		d.Drawn, d.Reserve = d.Drawn+len(list), d.Reserve+len(part)-len(list)
	}
	return nil
}

// samplingOf is the sampling of a survey whose list was drawn.
func samplingOf(old survey.Sampling, v *Design, d *drawRow, got *Drawn) *survey.Sampling {
	p := v.Parameters
	size, population, confidence := float64(d.Drawn), float64(d.Population), p.Confidence
	old.Method, old.Size, old.Population, old.Confidence = v.Method, &size, &population, &confidence
	old.Precision, old.MarginOfError, old.ParameterType, old.Tail = p.Precision, p.MarginOfError, p.ParameterType, p.Tail
	old.PopulationHash, old.DesignID, old.Enrolment = d.FrameHash, &d.DesignID, ""
	old.Strata, old.Stages, old.Clusters, old.ClusterSelection = nil, got.Stages, got.Clusters, ""
	if d.Plan.Clusters != nil {
		old.ClusterSelection = d.Plan.Clusters.Selection
	}
	counts := map[string]int{}
	for _, u := range got.Units {
		if !u.Reserve {
			counts[u.Stratum]++
		}
	}
	for _, h := range d.Plan.Strata {
		if h.Name == "" {
			continue
		}
		n, all := float64(counts[h.Name]), float64(h.Population)
		old.Strata = append(old.Strata, api.SurveyStratum{Name: h.Name, Population: &all, Size: &n})
	}
	if len(v.Totals) > 0 {
		old.Totals = v.Totals
	}
	old.DrawnElsewhere = nil
	old.Draw = &api.SurveyDraw{DrawID: d.DrawID, Version: d.Version, FrameHash: d.FrameHash, SoleSeed: d.SoleSeed, At: d.DrawnAt}
	return &old
}
