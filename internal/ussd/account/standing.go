package account

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const selectStanding = `SELECT a.pin, COALESCE(l.closed_until, 0) FROM ussd_accounts a
	LEFT JOIN ussd_locks l ON l.kind = 'customer' AND l.name = a.customer_id WHERE a.id = $1 AND a.status = 'active'`

// proofSize is how many bytes of the hash are kept.
const proofSize = 12

// proof names the PIN that an account has now: it is another one after each
// change. It is made of the sealed form, so it tells nothing about the PIN, and
// it changes too when the PIN is sealed anew by another key.
func (r *row) proof() string { return proofOf(r.pin) }

func proofOf(sealed []byte) string {
	sum := sha256.Sum256(sealed)
	return base64.RawURLEncoding.EncodeToString(sum[:proofSize])
}

// ticket is good for choosing a new PIN in the place of a temporary one.
func (r *row) ticket() string { return r.id + " " + r.proof() }

// stands tells whether a login still counts: the account is open and not
// locked, and its PIN is the one that was typed.
func (s *Service) stands(ctx context.Context, tx *db.Tx, account, proof string, now time.Time) (bool, error) {
	var pin []byte
	var l lock
	err := tx.QueryRow(ctx, selectStanding, account).Scan(&pin, &l.until)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("find whether a login counts: %w", err)
	}
	return proof == proofOf(pin) && !l.closed(now), nil
}
