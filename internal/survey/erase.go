package survey

import (
	"context"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/privacy/vault"
)

// erasedMark stands in the place of the attributes of a listed household that was
// erased, also when the list said nothing about it. Attributes are an object or
// nothing, so no upload looks like it.
const erasedMark = "null"

const blankLists = `UPDATE survey_households SET lat = NULL, lon = NULL, attributes = '` + erasedMark + `', area = '', collector = '', replacement = '', rev = rev + 1, updated_at = $3
	WHERE household = $2 AND attributes <> '` + erasedMark + `' AND EXISTS (SELECT 1 FROM surveys s WHERE s.nid = survey_households.survey AND s.ws = $1)`

// Erase removes what lists keep about a household. It is an erase.Eraser.
func (l *lists) Erase(ctx context.Context, tx *db.Tx, ws, did string) (int64, error) {
	if err := vault.BeginErasure(ctx, tx, l.db.Dialect(), ws, did); err != nil {
		return 0, err
	}
	return eraseListed(ctx, tx, ws, did, l.now())
}

// eraseListed blanks a household on every list of a workspace: its place, its
// attributes and its visitor. That it was listed remains, with the mark. It
// returns how many lists were changed, including those that only named it; a
// second call finds none.
func eraseListed(ctx context.Context, tx *db.Tx, ws, household string, now time.Time) (int64, error) {
	n, err := tx.Exec(ctx, blankLists, ws, household, now.UnixMilli())
	return n, db.Wrap("blank household", err)
}
