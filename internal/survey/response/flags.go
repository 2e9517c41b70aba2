package response

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/flag"
)

// Finding is the result of a run of checks over many responses for one of them.
type Finding struct {
	Response int64       // nid
	Source   string      // names the run
	Flags    []flag.Flag // to be added, or taken over from an earlier run
	Drop     []string    // sources whose flags are removed
}

// flaggedData is what the event of new flags says about them.
type flaggedData struct {
	Survey string   `json:"surveyId"`
	Flags  int64    `json:"flags"`
	Rules  []string `json:"rules"`
}

// FlagTx stores a finding. Flags are not part of the content: the response
// keeps its revision. It returns the change of the survey's counters: pass that
// to Count of the survey, once in a transaction and last. Flag several
// responses of one transaction in the order of their nid.
func (s *Service) FlagTx(ctx context.Context, tx *db.Tx, o *survey.Open, found ...Finding) (deltas []survey.Delta, _ error) {
	for _, f := range found {
		more, err := flagOne(ctx, s, tx, o, f)
		if err != nil {
			return nil, err
		}
		deltas = append(deltas, more...)
	}
	return deltas, nil
}

func flagOne(ctx context.Context, s *Service, tx *db.Tx, o *survey.Open, f Finding) ([]survey.Delta, error) {
	old, err := s.lockFlagged(ctx, tx, o, f.Response)
	if err != nil || old == nil {
		return nil, err
	}
	held, err := flag.OfResponse(ctx, tx, f.Response)
	if err != nil {
		return nil, err
	}
	for _, source := range f.Drop {
		if err := flag.Remove(ctx, tx, f.Response, source); err != nil {
			return nil, err
		}
	}
	for name, source := range held {
		if slices.Contains(f.Drop, source) {
			delete(held, name)
		}
	}
	var fresh []string
	if old.Status != Redacted && old.VStatus != Superseded && old.VStatus != Invalidated {
		if fresh, err = s.upsertFlags(ctx, tx, o, f, held); err != nil {
			return nil, err
		}
	}
	next := *old
	if next.Flags = int64(len(held)); next.Flags != old.Flags {
		if _, err := tx.Exec(ctx, updateFlags, old.NID, next.Flags); err != nil {
			return nil, fmt.Errorf("count flags: %w", err)
		}
	}
	if len(fresh) > 0 {
		if err := s.tell(ctx, tx, &next, "response.flagged", flaggedData{o.SurveyID, next.Flags, fresh}); err != nil {
			return nil, err
		}
	}
	if (old.Flags > 0) == (next.Flags > 0) {
		return nil, nil
	}
	return []survey.Delta{old.Delta(-1), next.Delta(1)}, nil
}

const (
	selectSource    = `SELECT source FROM response_flags WHERE survey = $1 AND source > $2 AND source <> 'submit' ORDER BY source LIMIT 1`
	selectFlaggedBy = `SELECT response FROM response_flags WHERE survey = $1 AND source = $2 AND source <> 'submit' AND response > $3 ORDER BY response LIMIT $4`

	unflagChunk = 25 // responses whose flags one transaction removes
)

// Stale are the flags of earlier runs.
type Stale struct {
	Sources string                              // how the names of all such runs begin
	Run     string                              // the run whose flags stay
	Hold    func(context.Context, *db.Tx) error // comes first in each transaction; fails once the run may no longer store anything
}

// Unflag removes the flags of earlier runs.
func Unflag(ctx context.Context, s *Service, o *survey.Open, of Stale) error {
	for source := of.Sources; ; {
		err := s.db.QueryRow(ctx, selectSource, o.NID, source).Scan(&source)
		if errors.Is(err, sql.ErrNoRows) || err == nil && !strings.HasPrefix(source, of.Sources) {
			return nil
		} else if err != nil {
			return fmt.Errorf("find runs with flags: %w", err)
		}
		if source == of.Run {
			continue
		}
		if err := unflag(ctx, s, o, source, of.Hold); err != nil {
			return err
		}
	}
}

// unflag removes the flags of one run.
func unflag(ctx context.Context, s *Service, o *survey.Open, source string, hold func(context.Context, *db.Tx) error) error {
	for after := int64(0); ; {
		rows, err := s.db.Query(ctx, selectFlaggedBy, o.NID, source, after, unflagChunk)
		page, err := db.Collect(rows, err, "list flags of a run", db.Column[int64])
		if err != nil || len(page) == 0 {
			return err
		}
		after = page[len(page)-1]
		err = s.db.InTx(ctx, func(tx *db.Tx) error {
			if err := hold(ctx, tx); err != nil {
				return err
			}
			var found []Finding
			for _, nid := range slices.Compact(page) {
				found = append(found, Finding{Response: nid, Drop: []string{source}})
			}
			deltas, err := s.FlagTx(ctx, tx, o, found...)
			if err != nil {
				return err
			}
			return s.surveys.Count(ctx, tx, o, deltas...)
		})
		if err != nil {
			return err
		}
	}
}

// upsertFlags stores flags and adds them to held. It returns the rules of the
// new ones; a flag that the response's own checks have set does not change.
func (s *Service) upsertFlags(ctx context.Context, tx *db.Tx, o *survey.Open, f Finding, held map[flag.Name]string) ([]string, error) {
	var fresh []string
	for _, one := range f.Flags {
		name := flag.Name{Rule: one.Rule, Question: one.Question}
		source, there := held[name]
		if source == flag.Submit {
			continue
		}
		if err := flag.Replace(ctx, tx, flag.On{Response: f.Response, Survey: o.NID, At: s.now().UnixMilli()}, f.Source, one); err != nil {
			return nil, err
		}
		held[name] = f.Source
		if !there && !slices.Contains(fresh, one.Rule) {
			fresh = append(fresh, one.Rule)
		}
	}
	return fresh, nil
}

// marked is where the flags of a response belong.
func (r *Row) marked() flag.On { return flag.On{Response: r.NID, Survey: r.Survey, At: r.UpdatedAt} }
