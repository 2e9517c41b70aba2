package response

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/survey"
	"github.com/hearth-dmrv/hearth/internal/survey/rule"
)

// submitSource is the source of flags that one response got by itself.
const submitSource = "submit"

const (
	selectFlagged = `SELECT ws, response_id, round, stratum, grp, status, vstatus, flags, revision, updated_at FROM responses WHERE nid = $1 AND survey = $2`

	selectFlaggedForUpdatePostgres = `SELECT ws, response_id, round, stratum, grp, status, vstatus, flags, revision, updated_at
		FROM responses WHERE nid = $1 AND survey = $2 FOR UPDATE`

	selectFlagNames = `SELECT rule, question, source FROM response_flags WHERE response = $1`
	upsertFlag      = `INSERT INTO response_flags (response, rule, question, survey, source, at, data) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (response, rule, question) DO UPDATE SET source = excluded.source, at = excluded.at, data = excluded.data
		WHERE response_flags.source <> 'submit'`
	updateFlags = `UPDATE responses SET flags = $2 WHERE nid = $1`
)

// Finding is what a run of checks over many responses says about one of them.
type Finding struct {
	Response int64       // nid
	Source   string      // names the run
	Flags    []rule.Flag // to be added, or taken over from an earlier run
	Drop     []string    // sources whose flags go
}

// flagName is the key of a flag among those of one response.
type flagName struct{ rule, question string }

// flaggedData is what the event of new flags says about them.
type flaggedData struct {
	Survey string   `json:"surveyId"`
	Flags  int64    `json:"flags"`
	Rules  []string `json:"rules"`
}

// FlagTx stores a finding. Flags are no part of the content: the response
// keeps its revision. It gives what the counters of the survey change by: hand
// that to Count of the survey, once in a transaction and last. Flag several
// responses of one transaction in the order of their nid.
func (s *Service) FlagTx(ctx context.Context, tx *db.Tx, o *survey.Open, f Finding) ([]survey.Delta, error) {
	old, err := s.lockFlagged(ctx, tx, o, f.Response)
	if err != nil || old == nil {
		return nil, err
	}
	held, err := flagNames(ctx, tx, f.Response)
	if err != nil {
		return nil, err
	}
	for _, source := range f.Drop {
		if err := removeFlags(ctx, tx, f.Response, source); err != nil {
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

// upsertFlags stores flags and notes them in held. It gives the rules of those
// that are new; on one that the response got by itself nothing changes.
func (s *Service) upsertFlags(ctx context.Context, tx *db.Tx, o *survey.Open, f Finding, held map[flagName]string) ([]string, error) {
	var fresh []string
	for _, one := range f.Flags {
		name := flagName{one.Rule, one.Question}
		source, there := held[name]
		if source == submitSource {
			continue
		}
		data, err := json.Marshal(one)
		if err != nil {
			return nil, fmt.Errorf("encode flag: %w", err)
		}
		if _, err := tx.Exec(ctx, upsertFlag, f.Response, one.Rule, one.Question, o.NID, f.Source, s.now().UnixMilli(), string(data)); err != nil {
			return nil, fmt.Errorf("insert flag: %w", err)
		}
		held[name] = f.Source
		if !there && !slices.Contains(fresh, one.Rule) {
			fresh = append(fresh, one.Rule)
		}
	}
	return fresh, nil
}

// lockFlagged reads what flags change of a response, and keeps others from
// changing it; nil when it is gone.
func (s *Service) lockFlagged(ctx context.Context, tx *db.Tx, o *survey.Open, nid int64) (*Row, error) {
	r := &Row{NID: nid, Survey: o.NID}
	var row db.Row
	if s.db.Dialect() == db.Postgres {
		row = tx.QueryRow(ctx, selectFlaggedForUpdatePostgres, nid, o.NID)
	} else {
		row = tx.QueryRow(ctx, selectFlagged, nid, o.NID)
	}
	err := row.Scan(&r.Workspace, &r.ResponseID, &r.Round, &r.Stratum, &r.Group, &r.Status, &r.VStatus, &r.Flags, &r.Revision, &r.UpdatedAt)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("find flagged response: %w", err)
	}
	return r, nil
}

func flagNames(ctx context.Context, q db.Querier, nid int64) (map[flagName]string, error) {
	rows, err := q.Query(ctx, selectFlagNames, nid)
	if err != nil {
		return nil, fmt.Errorf("list flags: %w", err)
	}
	defer rows.Close()
	out := map[flagName]string{}
	for rows.Next() {
		var n flagName
		var source string
		if err := rows.Scan(&n.rule, &n.question, &source); err != nil {
			return nil, fmt.Errorf("list flags: %w", err)
		}
		out[n] = source
	}
	return out, rows.Err()
}
