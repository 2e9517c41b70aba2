package file

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Condemned is the kind of a file that can no longer be found, and whose pieces
// are removed when no download needs them.
const Condemned = "condemned"

// Flights knows which files this process is sending. The zero value knows none;
// nil never does. It is safe for many goroutines.
type Flights struct {
	// Grace is how long condemned files stay for downloads from other
	// processes; 0 where there are none.
	Grace time.Duration

	mu sync.Mutex
	n  map[string]int
}

// Begin records that a file is being sent. Call it before looking the file up,
// and the returned function at the end.
func (f *Flights) Begin(id string) (end func()) {
	if f == nil {
		return func() {}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n == nil {
		f.n = map[string]int{}
	}
	f.n[id]++
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.n[id]--; f.n[id] == 0 {
			delete(f.n, id)
		}
	}
}

// Hold is Begin for a file that was found before. there is false when it was
// condemned since.
func (f *Flights) Hold(ctx context.Context, q db.Querier, found *File) (end func(), there bool, err error) {
	end = f.Begin(found.ID)
	again, err := Find(ctx, q, found.ID)
	return end, again != nil, err
}

// Busy reports whether this process is sending a file.
func (f *Flights) Busy(id string) bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n[id] > 0
}

const listCondemnedText = `SELECT id, at FROM transfer_files WHERE ws = $1 AND kind = 'condemned'`

// Bury removes the condemned files of a workspace that are not being sent. It
// reports whether some are left.
func Bury(ctx context.Context, d *db.DB, f *Flights, ws string, now time.Time) (left bool, err error) {
	rows, err := d.Query(ctx, listCondemnedText, ws)
	var ids []string
	err = db.Each(rows, err, "list condemned files", func(row db.Row) error {
		var id string
		var at int64
		if err := row.Scan(&id, &at); err != nil {
			return err
		}
		if f.Busy(id) || f != nil && now.Sub(time.UnixMilli(at)) < f.Grace {
			left = true
		} else {
			ids = append(ids, id)
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		if err := Drop(ctx, d, id); err != nil {
			return false, fmt.Errorf("bury file: %w", err)
		}
	}
	return left, nil
}
