package surveytest

import (
	"context"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
)

const waitingPostgres = `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
	AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// Erasing is Erase for Overlap: it pauses before its certificate.
func Erasing(ctx context.Context, d *db.DB, ws, household string, parts ...Eraser) func(pause func()) error {
	return func(pause func()) error {
		_, err := erase(ctx, d, ws, household, append(parts, func(context.Context, *db.Tx, string, string) (int64, error) {
			pause()
			return 0, nil
		}))
		return err
	}
}

// Overlap runs second on PostgreSQL while first is in the middle of its
// transaction, where it calls pause, and fails t unless second waits for first.
// It returns the error of second.
func Overlap(t *testing.T, d *db.DB, first func(pause func()) error, second func() error) error {
	t.Helper()
	paused, release := make(chan struct{}), make(chan struct{})
	one, two := make(chan error, 1), make(chan error, 1)
	go func() {
		one <- first(func() {
			close(paused)
			<-release
		})
	}()
	select {
	case <-paused:
	case err := <-one:
		t.Fatalf("the first ended before its pause: %v", err)
	}
	go func() { two <- second() }()
	var err error
	for waits, ended := 0, false; waits == 0 && !ended; {
		select {
		case err = <-two:
			t.Error("the second has not waited for the first")
			two <- err
			ended = true
		default:
			if wrong := d.QueryRow(t.Context(), waitingPostgres).Scan(&waits); wrong != nil {
				t.Error(wrong)
				ended = true
			}
		}
	}
	close(release)
	if wrong := <-one; wrong != nil {
		t.Errorf("the first: %v", wrong)
	}
	return <-two
}
