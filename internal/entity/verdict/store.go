package verdict

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
)

const (
	selectProducers = `SELECT src, added_at FROM relationships WHERE mirror = $1 AND role = 'produces' AND removed_at IS NULL LIMIT $2`
	selectEarlier   = `SELECT src, added_at FROM relationships WHERE dst = $1 AND role = 'produces' AND removed_at IS NOT NULL LIMIT $2`
	selectRecord    = `SELECT updated_at, body FROM entities WHERE nid = $1 AND ws = $2`
	selectRecordAt  = `SELECT body FROM entity_history WHERE nid = $1 AND at <= $2 ORDER BY at DESC, revision DESC LIMIT 1`
	// entity_history_actor says this too. Who judges a twin, hands it over, joins another to it or looks after many
	// needs no control of it, and mostly changes nothing it says.
	selectChanged = `SELECT 1 FROM entities
		WHERE nid = $1 AND rev_actor = $2 AND (stated = revision OR rev_action NOT IN ('verify', 'transfer', 'relate', 'unrelate', 'certify', 'migrate', 'erase'))
		UNION ALL
		SELECT 1 FROM entity_history
		WHERE nid = $1 AND actor = $2 AND (stated = revision OR action NOT IN ('verify', 'transfer', 'relate', 'unrelate', 'certify', 'migrate', 'erase'))
		LIMIT 1`
	// Those after a revision that somebody judged are few: a twin that says something else has to be judged anew.
	selectSaid       = `SELECT rev_reason, body FROM entities WHERE nid = $1 AND revision > $2 AND rev_actor = $3 AND rev_action = 'verify'`
	selectSaidBefore = `SELECT reason, body FROM entity_history WHERE nid = $1 AND revision > $2 AND actor = $3 AND action = 'verify'
		ORDER BY revision DESC LIMIT 1`
)

// producer is a twin that produces a claim.
type producer struct {
	nid   int64
	since int64 // ms; when it was said to
}

// listProducers reads what produces a claim, at most limit.
func listProducers(ctx context.Context, q db.Querier, claim int64, limit int) ([]producer, error) {
	rows, err := q.Query(ctx, selectProducers, claim, limit)
	return scanProducers(rows, err)
}

// listEarlier reads what was once said to produce a claim, at most limit.
func listEarlier(ctx context.Context, q db.Querier, claim int64, limit int) ([]producer, error) {
	rows, err := q.Query(ctx, selectEarlier, claim, limit)
	return scanProducers(rows, err)
}

func scanProducers(rows db.Rows, err error) ([]producer, error) {
	return db.Collect(rows, err, "list producers", func(p *producer, row db.Row) error {
		return row.Scan(&p.nid, &p.since)
	})
}

// hands holds a twin's owner and its controllers.
type hands struct {
	Controllers []string `json:"controllers"`
	Owner       string   `json:"owner"`
}

func handsOf(record string) (h hands, err error) {
	if record == "" { // erased
		return h, nil
	}
	if err := json.Unmarshal([]byte(record), &h); err != nil {
		return h, fmt.Errorf("read record: %w", err)
	}
	return h, nil
}

// findHands tells in whose hands a twin of a workspace is, and since when that
// revision has been the newest, in ms.
func findHands(ctx context.Context, q db.Querier, ws string, nid int64) (h hands, since int64, err error) {
	var record string
	if err := q.QueryRow(ctx, selectRecord, nid, ws).Scan(&since, &record); err != nil {
		return h, 0, fmt.Errorf("find record: %w", err)
	}
	h, err = handsOf(record)
	return h, since, err
}

// findHandsAt tells in whose hands a twin was at a moment, as far as earlier
// revisions tell. Nobody's when there was none.
func findHandsAt(ctx context.Context, q db.Querier, nid, at int64) (hands, error) {
	var record string
	err := q.QueryRow(ctx, selectRecordAt, nid, at).Scan(&record)
	if errors.Is(err, sql.ErrNoRows) {
		return hands{}, nil
	} else if err != nil {
		return hands{}, fmt.Errorf("find earlier record: %w", err)
	}
	return handsOf(record)
}

// hasChanged reports whether somebody has made a revision of a twin and needed
// control of it.
func hasChanged(ctx context.Context, q db.Querier, nid int64, who string) (bool, error) {
	return db.Exists(q.QueryRow(ctx, selectChanged, nid, who), "look through revisions")
}

// findSaid reads the last verdict of somebody about a twin that came after a
// revision, and why; nil when there is none, or it was erased.
func findSaid(ctx context.Context, q db.Querier, nid, after int64, who string) (*twin.Verification, string, error) {
	var reason, record string
	err := q.QueryRow(ctx, selectSaid, nid, after, who).Scan(&reason, &record)
	if errors.Is(err, sql.ErrNoRows) {
		err = q.QueryRow(ctx, selectSaidBefore, nid, after, who).Scan(&reason, &record)
	}
	if errors.Is(err, sql.ErrNoRows) || err == nil && record == "" {
		return nil, "", nil
	} else if err != nil {
		return nil, "", fmt.Errorf("find verdict: %w", err)
	}
	var said struct {
		Verification twin.Verification `json:"verification"`
	}
	if err := json.Unmarshal([]byte(record), &said); err != nil {
		return nil, "", fmt.Errorf("read record: %w", err)
	}
	return &said.Verification, reason, nil
}
