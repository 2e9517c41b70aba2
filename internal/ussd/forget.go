package ussd

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Forget removes what is kept about a number, in the transaction of an erasure: its
// draft, its calls and what gateways said about them, and its sessions. It returns
// how many rows there were. Sessions have no index by number, so it reads all of
// them: they are the calls of a few minutes.
func Forget(ctx context.Context, tx *db.Tx, phone string) (int64, error) {
	drafts, err := removeDraft(ctx, tx, phone)
	if err != nil {
		return 0, err
	}
	calls, err := removeCalls(ctx, tx, phone)
	if err != nil {
		return 0, err
	}
	walks, err := removeWalks(ctx, tx, phone)
	if err != nil {
		return 0, err
	}
	sum, from := drafts+calls+walks, ""
	for {
		rows, err := after(ctx, tx, from, listPage)
		if err != nil || len(rows) == 0 {
			return sum, err
		}
		from = rows[len(rows)-1].id
		for _, r := range rows {
			if readKey(r.id).phone != phone {
				continue
			}
			if _, err := remove(ctx, tx, r); err != nil {
				return 0, err
			}
			sum++
		}
	}
}
