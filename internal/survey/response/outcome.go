package response

import (
	"bytes"
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey"
)

// standing is what a response alone says about its household.
func (r *Row) standing() survey.Standing {
	switch {
	case r.VStatus == Superseded, r.VStatus == Invalidated, r.Status == Redacted:
		return survey.Withdrawn
	case r.VStatus == Rejected:
		return survey.Disproved
	case r.Status == Refused:
		return survey.Declined
	case r.unfit():
		return survey.Unfit
	case r.Status == Partial:
		return survey.Partly
	}
	return survey.Answered
}

// unfit reports whether the eligibility rule of the survey does not hold.
func (r *Row) unfit() bool {
	if !bytes.Contains(r.Body, []byte(`"eligible":false`)) {
		return false
	}
	h, err := r.Head() // it may be the sender's own word
	return err == nil && h.Eligible != nil && !*h.Eligible
}

// decides reports whether a response with this standing is the one that says how
// the household stands.
func decides(s survey.Standing) bool { return s != survey.Withdrawn && s != survey.Disproved }

// timed reports whether how long the interview took is what others are compared
// with: it is complete, and not rejected or withdrawn.
func (r *Row) timed() bool { return r.Status == Complete && decides(r.standing()) }

// length is how long a stored interview took, if it is timed.
func (r *Row) length(n int) []survey.Length {
	if !r.timed() || !bytes.Contains(r.Body, []byte(`"durationSec"`)) {
		return nil
	}
	h, err := r.Head()
	if err != nil {
		return nil
	}
	return []survey.Length{{Collector: r.Collector, Seconds: h.DurationSec, N: n}}
}

// maxOthers is how many responses of a household in one round are looked through
// for one that counts.
const maxOthers = 100

const selectNewestOf = selectRow + ` FROM responses WHERE ws = $1 AND household = $2 AND survey = $3 AND round = $4 ORDER BY slot DESC LIMIT $5`

// standingOf is how the household of a response stands by all its responses in
// the round: by the one it has there, or the newest that counts.
func standingOf(ctx context.Context, tx *db.Tx, r *Row) (survey.Standing, error) {
	one, err := findInSlot(ctx, tx, r)
	if err != nil && fault.CodeOf(err) != "RESPONSE_NOT_FOUND" {
		return survey.Unchanged, err
	}
	if one != nil && decides(one.standing()) {
		return one.standing(), nil
	}
	rows, err := rowsOf(tx.Query(ctx, selectNewestOf, r.Workspace, r.Household, r.Survey, r.Round, maxOthers))
	if err != nil {
		return survey.Unchanged, err
	}
	if one != nil {
		rows = append(rows, one)
	}
	left := survey.Withdrawn
	for _, other := range rows {
		switch is := other.standing(); {
		case decides(is):
			return is, nil
		case is == survey.Disproved:
			left = is
		}
	}
	return left, nil
}

// arrived is what a new response counts, with the outcome of its household where
// that is listed.
func (p *Prepared) arrived(ctx context.Context, tx *db.Tx, r *Row) (d survey.Delta, err error) {
	if d = r.Delta(1); r.timed() && p.head.DurationSec > 0 {
		d.Lengths = []survey.Length{{Collector: r.Collector, Seconds: p.head.DurationSec, N: 1}}
	}
	if p.home == nil {
		return d, nil
	}
	if d.Household, d.Standing = p.home, r.standing(); !decides(d.Standing) {
		d.Standing, err = standingOf(ctx, tx, r)
	}
	return d, err
}

// counted is what a stored change of a response counts, with the outcome of its
// household where that follows.
func (s *Service) counted(ctx context.Context, tx *db.Tx, o *survey.Open, old, next *Row) ([]survey.Delta, error) {
	before, after := old.Delta(-1), next.Delta(1)
	if old.Status != next.Status || old.standing() != next.standing() || !bytes.Equal(old.Body, next.Body) {
		before.Lengths, after.Lengths = old.length(-1), next.length(1)
	}
	if old.standing() == next.standing() || next.Round != o.Round {
		return []survey.Delta{before, after}, nil
	}
	home, err := s.cfg.Surveys.Household(ctx, tx, o, next.Household)
	if err != nil {
		return nil, err
	}
	if home != nil {
		after.Household = home
		if after.Standing, err = standingOf(ctx, tx, next); err != nil {
			return nil, err
		}
	}
	return []survey.Delta{before, after}, nil
}
