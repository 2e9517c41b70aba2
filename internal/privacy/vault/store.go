package vault

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	selectKeys = `SELECT p.sealed, h.sealed FROM survey_project_keys p
		LEFT JOIN survey_household_keys h ON h.ws = p.ws AND h.household = $3 AND h.project = p.project
		WHERE p.ws = $1 AND p.project = $2`
	insertProjectKey = `INSERT INTO survey_project_keys (ws, project, sealed, made_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (ws, project) DO NOTHING`
	insertHouseholdKey = `INSERT INTO survey_household_keys (ws, household, project, sealed, made_at) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (ws, household, project) DO UPDATE SET made_at = survey_household_keys.made_at RETURNING sealed`
	deleteHouseholdKeys = `DELETE FROM survey_household_keys WHERE ws = $1 AND household = $2`
	deleteDeadKey       = `DELETE FROM survey_household_keys WHERE ws = $1 AND household = $2 AND project = $3 AND sealed = $4`
	deleteProjectKey    = `DELETE FROM survey_project_keys WHERE ws = $1 AND project = $2`
)

// findKeys reads the keys of a household; nil for one that is not there.
func findKeys(ctx context.Context, q db.Querier, r Ref) (project, household []byte, err error) {
	err = q.QueryRow(ctx, selectKeys, r.Workspace, r.Project, r.Household).Scan(&project, &household)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil, nil
	} else if err != nil {
		return nil, nil, fmt.Errorf("find survey keys: %w", err)
	}
	return project, household, nil
}

// insertProject stores a key, unless another transaction was faster.
func insertProject(ctx context.Context, tx *db.Tx, r Ref, sealed []byte, at int64) error {
	if _, err := tx.Exec(ctx, insertProjectKey, r.Workspace, r.Project, sealed, at); err != nil {
		return fmt.Errorf("insert project key: %w", err)
	}
	return nil
}

// insertHousehold stores a key and returns the one that exists then. It locks the
// row, so a concurrent erasure waits and then removes it.
func insertHousehold(ctx context.Context, tx *db.Tx, r Ref, sealed []byte, at int64) ([]byte, error) {
	var stored []byte
	err := tx.QueryRow(ctx, insertHouseholdKey, r.Workspace, r.Household, r.Project, sealed, at).Scan(&stored)
	if err != nil {
		return nil, fmt.Errorf("insert household key: %w", err)
	}
	return stored, nil
}

func removeHousehold(ctx context.Context, tx *db.Tx, ws, household string) (int64, error) {
	n, err := tx.Exec(ctx, deleteHouseholdKeys, ws, household)
	if err != nil {
		return 0, fmt.Errorf("destroy household keys: %w", err)
	}
	return n, nil
}

func removeProject(ctx context.Context, tx *db.Tx, ws, project string) (int64, error) {
	n, err := tx.Exec(ctx, deleteProjectKey, ws, project)
	if err != nil {
		return 0, fmt.Errorf("destroy project key: %w", err)
	}
	return n, nil
}

// removeDead removes a key that can no longer be opened.
func removeDead(ctx context.Context, tx *db.Tx, r Ref, dead []byte) error {
	if _, err := tx.Exec(ctx, deleteDeadKey, r.Workspace, r.Household, r.Project, dead); err != nil {
		return fmt.Errorf("remove dead household key: %w", err)
	}
	return nil
}
