package flag

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	insertFlag = `INSERT INTO response_flags (response, rule, question, survey, source, at, data) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (response, rule, question) DO NOTHING`
	upsertFlag = `INSERT INTO response_flags (response, rule, question, survey, source, at, data) VALUES ($1, $2, $3, $4, $5, $6, $7)
		ON CONFLICT (response, rule, question) DO UPDATE SET source = excluded.source, at = excluded.at, data = excluded.data
		WHERE response_flags.source <> '` + Submit + `'`
	deleteFlags     = `DELETE FROM response_flags WHERE response = $1 AND source = $2`
	selectFlags     = `SELECT f.data, ` + SettledColumns + ` FROM response_flags f` + SettledJoin + ` WHERE f.response = $1 ORDER BY f.rule, f.question LIMIT 200`
	selectFlagNames = `SELECT rule, question, source FROM response_flags WHERE response = $1`
)

// Add stores what the checks of one response have found.
func Add(ctx context.Context, tx *db.Tx, on On, flags []Flag) error {
	for _, f := range flags {
		data, err := encode(f)
		if err != nil {
			return err
		}
		if err := tx.Send(ctx, insertFlag, on.Response, f.Rule, f.Question, on.Survey, Submit, on.At, data); err != nil {
			return fmt.Errorf("insert flag: %w", err)
		}
	}
	return nil
}

// Replace stores a flag in the place of the one there is, unless that is one the
// response got by itself.
func Replace(ctx context.Context, tx *db.Tx, on On, source string, f Flag) error {
	data, err := encode(f)
	if err != nil {
		return err
	}
	err = tx.Send(ctx, upsertFlag, on.Response, f.Rule, f.Question, on.Survey, source, on.At, data)
	return db.Wrap("replace flag", err)
}

func encode(f Flag) (string, error) {
	data, err := json.Marshal(f)
	if err != nil {
		return "", fmt.Errorf("encode flag: %w", err)
	}
	return string(data), nil
}

// Read reads a stored flag as the caller of ctx sees it.
func Read(ctx context.Context, data string) (Flag, error) {
	var f Flag
	if err := json.Unmarshal([]byte(data), &f); err != nil {
		return f, fmt.Errorf("read flag: %w", err)
	}
	return Seen(ctx, f), nil
}

// Remove removes the flags of one source.
func Remove(ctx context.Context, tx *db.Tx, response int64, source string) error {
	_, err := tx.Exec(ctx, deleteFlags, response, source)
	return db.Wrap("remove flags", err)
}

// List lists the flags of a response as the caller of ctx sees them, at most 200.
func List(ctx context.Context, q db.Querier, response int64) ([]Flag, error) {
	rows, err := q.Query(ctx, selectFlags, response)
	return db.Collect(rows, err, "list flags", func(f *Flag, row db.Row) error {
		var data string
		var s Settled
		err := row.Scan(append([]any{&data}, s.To()...)...)
		if err == nil {
			*f, err = Read(ctx, data)
			f.Settled = s.Settlement()
		}
		return err
	})
}

// OfResponse lists the flags of a response with their sources.
func OfResponse(ctx context.Context, q db.Querier, response int64) (map[Name]string, error) {
	rows, err := q.Query(ctx, selectFlagNames, response)
	return db.Map(rows, err, "list flags", func(n *Name, source *string, row db.Row) error {
		return row.Scan(&n.Rule, &n.Question, source)
	})
}
