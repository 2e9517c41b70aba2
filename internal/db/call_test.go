package db_test

import (
	"errors"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// passed is a stop that has come.
func passed() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}

func TestCall(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		schema(t, d)
		t.Run("stored", func(t *testing.T) {
			after := false
			c := d.Start(t.Context(), func(tx *db.Tx) error {
				tx.AfterCommit(func() { after = true })
				return insert(t.Context(), tx, 1)
			})
			if over, err := c.Wait(nil); !over || err != nil || !after {
				t.Errorf("Wait = %v, %v, hook ran: %v; want true, nil, true", over, err, after)
			}
		})
		t.Run("refused", func(t *testing.T) {
			want := errors.New("no")
			c := d.Start(t.Context(), func(*db.Tx) error { return want })
			if over, err := c.Wait(nil); !over || !errors.Is(err, want) {
				t.Errorf("Wait = %v, %v; want true and the function's error", over, err)
			}
		})
		t.Run("stopped", func(t *testing.T) {
			begun, let := make(chan struct{}), make(chan struct{})
			c := d.Start(t.Context(), func(tx *db.Tx) error {
				close(begun)
				<-let
				return insert(t.Context(), tx, 2)
			})
			<-begun
			if over, err := c.Wait(passed()); over || err != nil {
				t.Errorf("Wait of a running call = %v, %v; want false, nil", over, err)
			}
			if c.Quit() {
				t.Error("a running call was taken back")
			}
			close(let)
			if over, err := c.Wait(nil); !over || err != nil {
				t.Errorf("Wait = %v, %v; want true, nil", over, err)
			}
		})
		t.Run("panicked", func(t *testing.T) {
			c := d.Start(t.Context(), func(*db.Tx) error { panic("boo") })
			defer func() {
				if p, ok := recover().(*db.Panic); !ok || p.Value != "boo" {
					t.Errorf("recovered %v, want the panic of the function", p)
				}
			}()
			c.Wait(nil)
			t.Error("Wait returned")
		})
		wantStored(t, d, "1 2")
	})
}

// One that waits behind others can be taken back, and leaves no trace.
func TestCallTakenBack(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	release := hold(t, d)
	c := d.Start(t.Context(), put(t, 1))
	if !c.Quit() {
		t.Error("a call in the queue was not taken back")
	}
	release()
	wantNil(t, together(t, d, put(t, 2))...)
	wantStored(t, d, "2")
}

// Who cannot wait is refused when the queue is full.
func TestCallInACrowd(t *testing.T) {
	t.Parallel()
	d := batchStore(t, time.Minute)
	release := hold(t, d)
	var calls []*db.Call
	for range db.MaxQueued {
		calls = append(calls, d.Start(t.Context(), func(*db.Tx) error { return nil }))
	}
	over, err := d.Start(t.Context(), put(t, 1)).Wait(nil)
	if !over {
		t.Error("a call too many still waits")
	}
	wantTrouble(t, err)
	release()
	for _, c := range calls {
		if _, err := c.Wait(nil); err != nil {
			t.Fatalf("Wait: %v", err)
		}
	}
	wantStored(t, d, "")
}
