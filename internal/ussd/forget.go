package ussd

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Forget removes what is kept about a number beyond a session, in the
// transaction of an erasure: its draft, and what gateways said about its
// sessions. A session that is alive expires by itself, within minutes. It
// tells how many rows there were.
func (s *Service) Forget(ctx context.Context, tx *db.Tx, phone string) (int64, error) {
	drafts, err := tx.Exec(ctx, `DELETE FROM ussd_drafts WHERE phone = $1`, phone)
	if err != nil {
		return 0, fmt.Errorf("forget a draft: %w", err)
	}
	calls, err := tx.Exec(ctx, `DELETE FROM ussd_calls WHERE phone = $1`, phone)
	if err != nil {
		return 0, fmt.Errorf("forget the calls of a number: %w", err)
	}
	return drafts + calls, nil
}
