package auth

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/secret"
)

// ErrOtherKey means that the store was made with another server key. What that
// key has sealed, such as the secrets of webhooks, could not be opened.
var ErrOtherKey = errors.New("the server key is not the one this store was made with: give HEARTH_SERVER_KEY, or put server.key back into the data folder")

const proof = "hearth server key"

// ProveKey checks that key fits the store. A store belongs to the first key it
// sees. For any other key the error is ErrOtherKey.
func ProveKey(ctx context.Context, d *db.DB, key secret.Key) error {
	const bind = "server_proof/1"
	sealed := key.Seal("proof", bind, []byte(proof))
	err := d.InTx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO server_proof(id, sealed) VALUES (1, $1) ON CONFLICT DO NOTHING`, sealed); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT sealed FROM server_proof WHERE id = 1`).Scan(&sealed)
	})
	if err != nil {
		return fmt.Errorf("prove server key: %w", err)
	}
	if text, err := key.Open("proof", bind, sealed); err != nil || string(text) != proof {
		return ErrOtherKey
	}
	return nil
}

// Common is something that all servers on a store share.
type Common struct {
	Name  string
	Draft []byte // what the first server brings
	// Agree is a server's answer to the stored value: an error, a new value to
	// store, or the same one.
	Agree func(kept []byte) ([]byte, error)
}

// Share returns the shared value: the draft of the first server, sealed by the server
// key, to which all others agree.
func Share(ctx context.Context, d *db.DB, key secret.Key, c Common) ([]byte, error) {
	name, draft, agree := c.Name, c.Draft, c.Agree
	kept, err := Shared(ctx, d, key, name)
	if err == nil {
		if next, err := agree(kept); err != nil || bytes.Equal(next, kept) {
			return kept, err
		}
	} else if !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	err = d.InTx(ctx, func(tx *db.Tx) error {
		const first = `INSERT INTO server_shared (name, sealed) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`
		if _, err := tx.Exec(ctx, first, name, key.Seal(sharedUse, name, draft)); err != nil {
			return err
		}
		if kept, err = Shared(ctx, tx, key, name); err != nil {
			return err
		}
		next, err := agree(kept)
		if err != nil || bytes.Equal(next, kept) {
			return err
		}
		kept = next
		_, err = tx.Exec(ctx, `UPDATE server_shared SET sealed = $2 WHERE name = $1`, name, key.Seal(sharedUse, name, next))
		return err
	})
	return kept, err
}

// sharedUse is what the server key seals shared texts for.
const sharedUse = "shared by servers"

// Shared reads the shared value of a name, or returns sql.ErrNoRows when no
// server has started yet.
func Shared(ctx context.Context, q db.Querier, key secret.Key, name string) ([]byte, error) {
	var sealed []byte
	if err := q.QueryRow(ctx, `SELECT sealed FROM server_shared WHERE name = $1`, name).Scan(&sealed); err != nil {
		return nil, fmt.Errorf("read what servers share: %w", err)
	}
	text, err := key.Open(sharedUse, name, sealed)
	if err != nil {
		return nil, ErrOtherKey
	}
	return text, nil
}
