package response

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
)

// Standing is what estimates need to know of a household's response.
type Standing struct {
	Unit
	NID       int64
	Round     int
	Household string
	Stratum   string
	Group     string
}

const selectStandings = `SELECT nid, round, household, stratum, grp, status, vstatus, unfit, typed FROM responses WHERE survey = $1 ORDER BY nid LIMIT $2`

// Standings returns the responses of all rounds in the order they arrived, at
// most limit.
func (s *Service) Standings(ctx context.Context, q db.Querier, o *survey.Open, limit int) ([]Standing, error) {
	var out []Standing
	err := EachStanding(ctx, q, o, limit, func(r *Standing) error {
		out = append(out, *r)
		return nil
	})
	return out, err
}

// EachStanding passes the responses of Standings to a function one by one.
func EachStanding(ctx context.Context, q db.Querier, o *survey.Open, limit int, visit func(*Standing) error) error {
	r := Standing{Unit: Unit{Responded: true}}
	var status string
	var unfit int64
	rows, err := q.Query(ctx, selectStandings, o.NID, limit)
	return db.Each(rows, err, "read standings", func(row db.Row) error {
		if err := row.Scan(&r.NID, &r.Round, &r.Household, &r.Stratum, &r.Group, &status, &r.VStatus, &unfit, &r.Typed); err != nil {
			return err
		}
		r.Status, r.Unfit = Status(status), unfit != 0
		return visit(&r)
	})
}

const selectModes = `SELECT nid, mode FROM responses WHERE survey = $1 ORDER BY nid LIMIT $2`

// EachMode passes the mode of each response to a function, of all rounds in the
// order they arrived, at most limit.
func EachMode(ctx context.Context, q db.Querier, o *survey.Open, limit int, visit func(nid int64, mode string) error) error {
	rows, err := q.Query(ctx, selectModes, o.NID, limit)
	return db.Each(rows, err, "read modes", func(row db.Row) error {
		var nid int64
		var mode string
		if err := row.Scan(&nid, &mode); err != nil {
			return err
		}
		return visit(nid, mode)
	})
}

const (
	selectStandingsAt = `SELECT nid, round, household, stratum, grp, status, vstatus, unfit, typed, updated_at FROM responses WHERE survey = $1 AND nid > $2 ORDER BY nid LIMIT $3`
	selectStandingOf  = `SELECT status, vstatus, body FROM response_history WHERE response = $1 AND at <= $2 ORDER BY revision DESC LIMIT 1`
)

// standingPage is how many standings are held at once.
const standingPage = 5000

// EachStandingAt passes the responses of a given time, as they were then, to a
// function one by one. What was redacted or erased since is so at any time.
func EachStandingAt(ctx context.Context, q db.Querier, o *survey.Open, at time.Time, visit func(*Standing) error) error {
	type dated struct {
		Standing
		updated int64
	}
	for last, more := int64(0), true; more; {
		rows, err := q.Query(ctx, selectStandingsAt, o.NID, last, standingPage)
		page, err := db.Collect(rows, err, "read standings", func(r *dated, row db.Row) error {
			var unfit int64
			if err := row.Scan(&r.NID, &r.Round, &r.Household, &r.Stratum, &r.Group, &r.Status, &r.VStatus, &unfit, &r.Typed, &r.updated); err != nil {
				return err
			}
			r.Responded, r.Unfit = true, unfit != 0
			return nil
		})
		if err != nil {
			return err
		}
		more = len(page) == standingPage
		for i := range page {
			r := &page[i]
			there := true
			if last = r.NID; r.updated > at.UnixMilli() && r.Status != Redacted {
				if there, err = r.back(ctx, q, at.UnixMilli()); err != nil {
					return err
				}
			}
			if !there {
				continue
			}
			if err := visit(&r.Standing); err != nil {
				return err
			}
		}
	}
	return nil
}

// back restores a standing to an earlier time; false when the response was not
// there yet.
func (r *Standing) back(ctx context.Context, q db.Querier, at int64) (bool, error) {
	var body []byte
	replaced := r.VStatus == Superseded
	err := q.QueryRow(ctx, selectStandingOf, r.NID, at).Scan(&r.Status, &r.VStatus, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("read earlier standing: %w", err)
	}
	var head struct {
		Eligible *bool `json:"eligible"`
		Erased   bool  `json:"erased"`
	}
	if err := json.Unmarshal(body, &head); err != nil {
		return false, fmt.Errorf("read earlier standing: %w", err)
	}
	r.Unfit = head.Eligible != nil && !*head.Eligible
	if replaced && !head.Erased {
		r.Typed = Typed // it has no rows because another one stands in its place today
	}
	return true, nil
}

// Answered reports whether a household has answered a survey in the open round,
// where it may only once; else whether there is a response with the id.
func (fd *finder) Answered(ctx context.Context, o *survey.Open, household, id string) (bool, error) {
	var err error
	if o.OnePerHousehold {
		_, err = findInSlot(ctx, fd.db, &Row{Workspace: o.Workspace, Household: household, Survey: o.NID, Round: o.Round})
	} else {
		_, err = find(ctx, fd.db, o.Workspace, id)
	}
	if fault.CodeOf(err) == "RESPONSE_NOT_FOUND" {
		return false, nil
	}
	return err == nil, err
}
