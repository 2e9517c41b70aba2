package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

const (
	selectList = `SELECT revision, at, action, actor, request, reason, hash, CASE WHEN body = '' THEN 1 ELSE 0 END FROM entity_history
		WHERE nid = $1 AND revision < $2 ORDER BY revision DESC LIMIT $3`
	selectUp = `SELECT revision, at, action, actor, request, reason, hash, CASE WHEN body = '' THEN 1 ELSE 0 END FROM entity_history
		WHERE nid = $1 AND revision >= $2 AND revision <= $3 ORDER BY revision LIMIT $4`
	selectOne = `SELECT revision, at, action, actor, request, reason, hash, body FROM entity_history
		WHERE nid = $1 AND revision = $2`
	selectAt = `SELECT revision, at, action, actor, request, reason, hash, body FROM entity_history
		WHERE nid = $1 AND at <= $2 ORDER BY at DESC, revision DESC LIMIT 1`
	selectChain = `SELECT revision, at, action, actor, request, reason, hash, body FROM entity_history
		WHERE nid = $1 AND revision >= $2 AND revision <= $3 ORDER BY revision LIMIT $4`
)

// list reads revisions below a number, newest first, without their bodies.
func list(ctx context.Context, q db.Querier, nid, below int64, limit int) ([]revision, error) {
	return scanAll(q.Query(ctx, selectList, nid, below, limit))
}

// stretch is a part of a history.
type stretch struct {
	nid         int64
	first, last int64 // both included
	limit       int
}

// listUp reads revisions, oldest first, without their bodies.
func listUp(ctx context.Context, q db.Querier, s stretch) ([]revision, error) {
	return scanAll(q.Query(ctx, selectUp, s.nid, s.first, s.last, s.limit))
}

func scanAll(rows db.Rows, err error) ([]revision, error) {
	return db.Collect(rows, err, "list revisions", func(v *revision, row db.Row) error {
		var erased int64
		err := row.Scan(&v.number, &v.at, &v.action, &v.actor, &v.req, &v.reason, &v.hash, &erased)
		v.erased = erased != 0
		return err
	})
}

// find reads an earlier revision. Faults: REVISION_NOT_FOUND, REVISION_ERASED.
func find(ctx context.Context, q db.Querier, nid, number int64) (revision, error) {
	v, err := scanOne(q.QueryRow(ctx, selectOne, nid, number))
	return readable(v, err, noRevision())
}

// findAt reads the earlier revision that was the newest at a time. Faults:
// ENTITY_NOT_FOUND when there was none yet, REVISION_ERASED.
func findAt(ctx context.Context, q db.Querier, nid, at int64) (revision, error) {
	v, err := scanOne(q.QueryRow(ctx, selectAt, nid, at))
	return readable(v, err, noEntity())
}

// readable refuses a revision that never existed or was removed.
func readable(v revision, err, none error) (revision, error) {
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return revision{}, none
	case err != nil:
		return revision{}, fmt.Errorf("find revision: %w", err)
	case v.erased:
		return revision{}, fault.New(fault.NotFound, "REVISION_ERASED", "The content of this revision was erased.")
	}
	return v, nil
}

func scanOne(row db.Row) (revision, error) {
	var v revision
	var body string
	err := row.Scan(&v.number, &v.at, &v.action, &v.actor, &v.req, &v.reason, &v.hash, &body)
	v.body, v.erased = twin.Body(body), body == ""
	return v, err
}

// chain passes revisions to fn, oldest first. fn returns false to stop.
func chain(ctx context.Context, q db.Querier, s stretch, fn func(revision) bool) error {
	rows, err := q.Query(ctx, selectChain, s.nid, s.first, s.last, s.limit)
	return db.Each(rows, err, "read revisions", func(row db.Row) error {
		v, err := scanOne(row)
		if err == nil && !fn(v) {
			return db.ErrStop
		}
		return err
	})
}
