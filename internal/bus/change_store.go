package bus

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// All of this is for PostgreSQL. The topics are raised in one order, so that
// two changes never wait for each other.
const (
	raisePostgres = `INSERT INTO cache_versions (topic, version) SELECT value, 1 FROM jsonb_array_elements_text($1::jsonb) AS value ORDER BY value
		ON CONFLICT (topic) DO UPDATE SET version = cache_versions.version + 1 RETURNING topic, version`
	notifyPostgres  = `SELECT pg_notify($1, $2)`
	selectVersions  = `SELECT topic, version FROM cache_versions`
	confirmPostgres = `INSERT INTO cache_confirmed (instance, topic, version) SELECT $1, key, value::bigint FROM jsonb_each_text($2::jsonb)
		ON CONFLICT (instance, topic) DO UPDATE SET version = excluded.version`
	selectConfirmed = `SELECT instance, topic, version FROM cache_confirmed`
)

func raiseVersions(ctx context.Context, tx *db.Tx, topics []string) ([]version, error) {
	list, err := json.Marshal(topics)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, raisePostgres, string(list))
	return collectVersions(rows, err, "raise versions")
}

func readVersions(ctx context.Context, q db.Querier) ([]version, error) {
	rows, err := q.Query(ctx, selectVersions)
	return collectVersions(rows, err, "read versions")
}

func collectVersions(rows db.Rows, err error, what string) ([]version, error) {
	return db.Collect(rows, err, what, func(v *version, row db.Row) error { return row.Scan(&v.topic, &v.n) })
}

// notifyRaised sends a version with the commit of tx.
func notifyRaised(ctx context.Context, tx *db.Tx, to *Postgres, v version) error {
	channel, text := to.wire(topicRaised+v.topic, v.String())
	_, err := tx.Exec(ctx, notifyPostgres, channel, text)
	return db.Wrap("send version", err)
}

// storeConfirmed stores which versions a process has reached.
func storeConfirmed(ctx context.Context, d *db.DB, process string, versions map[string]int64) error {
	text, err := json.Marshal(versions)
	if err != nil {
		return err
	}
	_, err = d.Exec(ctx, confirmPostgres, process, string(text))
	return db.Wrap("confirm versions", err)
}

// readConfirmed gives the versions that processes have reached.
func readConfirmed(ctx context.Context, q db.Querier) (map[string]map[string]int64, error) {
	out := map[string]map[string]int64{}
	rows, err := q.Query(ctx, selectConfirmed)
	if err != nil {
		return nil, fmt.Errorf("read confirmed versions: %w", err)
	}
	_, err = db.Collect(rows, nil, "read confirmed versions", func(v *version, row db.Row) error {
		var process string
		if err := row.Scan(&process, &v.topic, &v.n); err != nil {
			return err
		}
		if out[process] == nil {
			out[process] = map[string]int64{}
		}
		out[process][v.topic] = v.n
		return nil
	})
	return out, err
}
