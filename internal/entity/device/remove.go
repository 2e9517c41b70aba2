package device

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const (
	dropReadings = `DELETE FROM device_readings WHERE device = $1 AND at IN
		(SELECT at FROM device_readings WHERE device = $1 ORDER BY at LIMIT $2)`
	dropChanges = `DELETE FROM device_reading_changes WHERE device = $1`
	dropDays    = `DELETE FROM device_days WHERE device = $1`
	dropStatus  = `DELETE FROM device_status WHERE device = $1`
)

// readingsDropped is how many readings one transaction removes.
const readingsDropped = 1000

// Remove removes a device's readings, with no event, a chunk and a transaction
// at a time. The device's record is removed next; see entity.Remove.
func Remove(ctx context.Context, d *db.DB, device int64) error {
	for {
		var n int64
		err := d.InTx(ctx, func(tx *db.Tx) (err error) {
			n, err = tx.Exec(ctx, dropReadings, device, readingsDropped)
			return err
		})
		if err != nil {
			return db.Wrap("remove readings", err)
		}
		if n < readingsDropped {
			break
		}
	}
	return db.Wrap("remove readings", d.InTx(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, dropChanges, device)
		if err == nil {
			_, err = tx.Exec(ctx, dropDays, device)
		}
		if err == nil {
			_, err = tx.Exec(ctx, dropStatus, device)
		}
		return err
	}))
}
