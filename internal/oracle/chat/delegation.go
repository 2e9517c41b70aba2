package chat

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hearth-dmrv/hearth/internal/secret"
)

// Delegation is what a user lets the oracle do: a token as it was sent, and
// when it ends.
type Delegation struct {
	Raw     string
	Expires time.Time // never zero: one that does not end is refused
}

// PutDelegation stores the delegation of a user and replaces any earlier one.
// The caller has checked it.
func (s *Store) PutDelegation(ctx context.Context, user string, d Delegation) error {
	if d.Expires.IsZero() {
		return errors.New("keep delegation: it has no end")
	}
	return putDelegation(ctx, s.cfg.DB, delegationRow{
		user: user, sealed: s.box.Seal(user, []byte(d.Raw)), expires: d.Expires.Unix(), updated: s.now(),
	})
}

// Delegation reads what a user has delegated to us; false when there is
// nothing, or it has expired.
func (s *Store) Delegation(ctx context.Context, user string) (Delegation, bool, error) {
	r, err := findDelegation(ctx, s.cfg.DB, user)
	if err != nil || r == nil || r.expires <= s.cfg.Now().Unix() {
		return Delegation{}, false, err
	}
	raw, err := s.box.Open(user, r.sealed)
	if errors.Is(err, secret.ErrOpen) {
		// Sealed by a key this server no longer has: the user must send it
		// again, and nothing else is wrong.
		return Delegation{}, false, nil
	} else if err != nil {
		return Delegation{}, false, fmt.Errorf("open delegation: %w", err)
	}
	return Delegation{Raw: string(raw), Expires: time.Unix(r.expires, 0).UTC()}, true, nil
}

// DeleteDelegation forgets what a user has delegated to us.
func (s *Store) DeleteDelegation(ctx context.Context, user string) error {
	return removeDelegation(ctx, s.cfg.DB, user)
}
