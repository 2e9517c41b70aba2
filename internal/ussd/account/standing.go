package account

import (
	"context"
	"crypto/sha256"
	"encoding/base64"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
)

// proofSize is how many bytes of the hash are kept.
const proofSize = 12

// proof identifies the present PIN of an account, and changes with it. It is
// derived from the sealed form, so it reveals nothing about the PIN, and it
// also changes when the PIN is re-sealed with another key.
func (r *row) proof() string { return proofOf(r.pin) }

func proofOf(sealed []byte) string {
	sum := sha256.Sum256(sealed)
	return base64.RawURLEncoding.EncodeToString(sum[:proofSize])
}

// ticket is good for choosing a new PIN in the place of a temporary one.
func (r *row) ticket() string { return r.id + " " + r.proof() }

// stands reports whether a login still counts: the account is open and not
// locked, its PIN is the one that was typed, and the number it comes from is
// not held.
func stands(ctx context.Context, tx *db.Tx, l machine.Login) (bool, error) {
	st, err := findStanding(ctx, tx, l.Account, l.Phone)
	if err != nil || st == nil {
		return false, err
	}
	return l.Proof == proofOf(st.pin) && !st.account.closed(l.Now) && !st.hold.closed(l.Now), nil
}
