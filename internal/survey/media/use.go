package media

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Use records that a response has a file.
type Use struct {
	Workspace string
	Survey    int64
	Response  int64
	SHA256    string
	Private   bool // the answer is about a person
}

// Add records a use.
func Add(ctx context.Context, tx *db.Tx, u Use) error {
	private := 0
	if u.Private {
		private = 1
	}
	if _, err := tx.Exec(ctx, insertUse, u.Workspace, u.SHA256, u.Survey, u.Response, private); err != nil {
		return fmt.Errorf("insert use of attachment: %w", err)
	}
	return tie(ctx, tx, u.Workspace, u.SHA256)
}

// Missing lists the hashes of a response's files that have not arrived; those
// of personal answers only when private is true.
func Missing(ctx context.Context, q db.Querier, response int64, private bool) ([]string, error) {
	all := 0
	if private {
		all = 1
	}
	return hashes(q.Query(ctx, selectMissing, response, all))
}

// Release ends the uses of a response and drops the files that no other
// response has. It returns how many these were. Call Sweep after the commit.
func Release(ctx context.Context, tx *db.Tx, ws string, response int64) (int64, error) {
	all, err := Of(ctx, tx, response)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	if _, err := tx.Exec(ctx, deleteUses, response); err != nil {
		return 0, fmt.Errorf("remove uses of attachments: %w", err)
	}
	var gone int64
	for _, hash := range all {
		used, err := isUsed(ctx, tx, ws, hash)
		if err != nil {
			return 0, err
		}
		if used {
			continue
		}
		if err := dropFile(ctx, tx, ws, hash); err != nil {
			return 0, err
		}
		gone++
	}
	return gone, nil
}

// Waive ends the uses of files that never arrived and are not in keep: the
// response names others now.
func Waive(ctx context.Context, tx *db.Tx, ws string, response int64, keep map[string]bool) error {
	missing, err := Missing(ctx, tx, response, true)
	if err != nil {
		return err
	}
	for _, hash := range missing {
		if keep[hash] {
			continue
		}
		if _, err := tx.Exec(ctx, deleteUse, ws, hash, response); err != nil {
			return fmt.Errorf("remove use of attachment: %w", err)
		}
	}
	return nil
}

// maxSurveys is in how many surveys a file is looked for.
const maxSurveys = 200

// Uses walks over the surveys that have the file of u, with one response of
// each, until found returns true. With u.Private personal answers count too.
func Uses(ctx context.Context, q db.Querier, u Use, found func(response int64) (bool, error)) (bool, error) {
	after := int64(0)
	for range maxSurveys {
		var response int64
		err := q.QueryRow(ctx, selectNextUse, u.Workspace, u.SHA256, after).Scan(&after, &response)
		if err == nil && !u.Private {
			err = q.QueryRow(ctx, selectPublicUse, u.Workspace, u.SHA256, after).Scan(&response)
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
		}
		if errors.Is(err, sql.ErrNoRows) {
			return false, nil
		} else if err != nil {
			return false, fmt.Errorf("find use of attachment: %w", err)
		}
		if ok, err := found(response); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// Of lists the hashes of the files of a response, arrived or not.
func Of(ctx context.Context, q db.Querier, response int64) ([]string, error) {
	return hashes(q.Query(ctx, selectUses, response))
}
