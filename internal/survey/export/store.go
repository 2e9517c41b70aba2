package export

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// The responses of a survey in the order they arrived. What is sealed is read
// for exports that open it only.
const (
	selectExtent = `SELECT count(*), COALESCE(max(nid), 0) FROM responses WHERE survey = $1`
	selectPage   = `SELECT nid, response_id, round, household, stratum, grp, status, vstatus, verifier, verified_at, flags, collector, submitted_at, received_at,
			updated_at, revision, body, answers
		FROM responses WHERE survey = $1 AND nid > $2 AND nid <= $3 ORDER BY nid LIMIT $4`
	selectSealedPage = `SELECT nid, response_id, round, household, stratum, grp, status, vstatus, verifier, verified_at, flags, collector, submitted_at, received_at,
			updated_at, revision, body, answers, sealed
		FROM responses WHERE survey = $1 AND nid > $2 AND nid <= $3 ORDER BY nid LIMIT $4`
	selectFlags = `SELECT f.response, f.rule FROM responses r JOIN response_flags f ON f.response = r.nid
		WHERE r.survey = $1 AND r.nid > $2 AND r.nid <= $3 ORDER BY f.response, f.rule, f.question`
	selectPast = `SELECT revision, at, status, vstatus, verifier, verified_at, body, answers, sealed FROM response_history
		WHERE response = $1 AND at <= $2 ORDER BY revision DESC LIMIT 1`
)

// extent returns how many responses a survey has, and the last.
func extent(ctx context.Context, q db.Querier, survey int64) (count, last int64, err error) {
	err = q.QueryRow(ctx, selectExtent, survey).Scan(&count, &last)
	return count, last, db.Wrap("count responses", err)
}

// found is a response with its sealed part.
type found struct {
	Response
	sealed []byte
}

// span is a part of the responses of a survey.
type span struct {
	survey      int64
	after, last int64
	limit       int
	bytes       int  // stop reading after so many
	sealed      bool // read the sealed part
}

// page reads the responses of a span. It may be short: more reports whether it
// ended before the limit because of the bytes.
func page(ctx context.Context, q db.Querier, s span, into []found) (out []found, more bool, err error) {
	var rows db.Rows
	if s.sealed {
		rows, err = q.Query(ctx, selectSealedPage, s.survey, s.after, s.last, s.limit)
	} else {
		rows, err = q.Query(ctx, selectPage, s.survey, s.after, s.last, s.limit)
	}
	if err != nil {
		return nil, false, fmt.Errorf("list responses: %w", err)
	}
	defer rows.Close()
	out = into[:0]
	var one found
	r := &one.Response
	to := []any{
		&r.NID, &r.ID, &r.Round, &r.Household, &r.Stratum, &r.Group, &r.Status, &r.VStatus, &r.Verifier, &r.VerifiedAt, &r.Flags, &r.Collector, &r.SubmittedAt,
		&r.ReceivedAt, &r.UpdatedAt, &r.Revision, &r.Head, &r.Answers,
	}
	if s.sealed {
		to = append(to, &one.sealed)
	}
	size := 0
	for rows.Next() {
		one.sealed, one.FlagRules = nil, ""
		if err := rows.Scan(to...); err != nil {
			return nil, false, fmt.Errorf("list responses: %w", err)
		}
		out = append(out, one)
		if size += len(r.Head) + len(r.Answers) + len(one.sealed); size >= s.bytes {
			return out, true, nil
		}
	}
	return out, len(out) == s.limit, db.Wrap("list responses", rows.Err())
}

// nameFlags says which checks have flagged the responses of a span, which are in
// their order.
func nameFlags(ctx context.Context, q db.Querier, s span, of []found) error {
	if !slices.ContainsFunc(of, func(f found) bool { return f.Flags > 0 }) {
		return nil
	}
	rows, err := q.Query(ctx, selectFlags, s.survey, s.after, of[len(of)-1].NID)
	i, last := 0, ""
	return db.Each(rows, err, "list flags", func(row db.Row) error {
		var nid int64
		var rule string
		if err := row.Scan(&nid, &rule); err != nil {
			return err
		}
		for i < len(of) && of[i].NID < nid {
			i, last = i+1, ""
		}
		if i == len(of) || of[i].NID != nid || rule == last {
			return nil // it came meanwhile, or is about another answer
		}
		if last = rule; of[i].FlagRules != "" {
			rule = of[i].FlagRules + Separator + rule
		}
		of[i].FlagRules = rule
		return nil
	})
}

// past puts a response back to how it was at a time; false when it was not
// there yet.
func past(ctx context.Context, q db.Querier, f *found, at int64) (bool, error) {
	err := q.QueryRow(ctx, selectPast, f.NID, at).
		Scan(&f.Revision, &f.UpdatedAt, &f.Status, &f.VStatus, &f.Verifier, &f.VerifiedAt, &f.Head, &f.Answers, &f.sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, db.Wrap("find earlier response", err)
}
