package auth

import (
	"context"
	"errors"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/secret"
)

// ErrOtherKey says that the store was made with another server key. What it
// has sealed, such as the secrets of webhooks, would not open.
var ErrOtherKey = errors.New("the server key is not the one this store was made with: give HEARTH_SERVER_KEY, or put server.key back into the data folder")

const proof = "hearth server key"

// ProveKey shows that key fits the store. The first key a store sees is the
// one it belongs to. It returns ErrOtherKey for any other.
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
