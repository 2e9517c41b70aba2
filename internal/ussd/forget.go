package ussd

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// What is kept about a number beyond a session.
const (
	forgetDraft = `DELETE FROM ussd_drafts WHERE phone = $1`
	forgetCalls = `DELETE FROM ussd_calls WHERE phone = $1`
)

// Forget removes what is kept about a number beyond a session, in the
// transaction of an erasure: its draft, and what gateways said about its
// sessions. A session that is alive expires by itself, within minutes. It
// tells how many rows there were.
func (s *Service) Forget(ctx context.Context, tx *db.Tx, phone string) (int64, error) {
	var sum int64
	for _, forget := range []string{forgetDraft, forgetCalls} {
		n, err := tx.Exec(ctx, forget, phone)
		if err != nil {
			return 0, fmt.Errorf("forget a number: %w", err)
		}
		sum += n
	}
	return sum, nil
}
