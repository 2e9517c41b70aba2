package machine

import (
	"context"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// Action is something a pack can ask for by name.
type Action struct {
	// Effect says that running it twice would show: its result is kept, and a
	// step that is delivered or replayed again gets that result instead.
	Effect  bool
	Results []string // names of all results it can have; the first is success
	Sets    []string // variables it sets; it may also remove secrets, by setting them to ""
	// Run does it, inside the transaction of the step. It may run twice, as
	// everything in a transaction may. A result that the caller should see is
	// a Result; an error is trouble, and undoes the whole step.
	Run func(ctx context.Context, tx *db.Tx, c ActionCall) (Result, error)
	// Stands reports whether a login still counts: whether the account is open
	// and what was proved is still true. It is asked before every step of
	// whoever is logged in, so it is quick. Actions that log in have it, all
	// of them the same.
	Stands func(ctx context.Context, tx *db.Tx, l Login) (bool, error)
}

// Login is somebody who has logged in.
type Login struct {
	Account string
	Proof   string // what the login proved
	Phone   string // that the call comes from
	Now     time.Time
}

// ActionCall is an action at work in one step of one session.
type ActionCall struct {
	Call
	Phone       string // of the handset, as the gateway says
	Gateway     string
	ServiceCode string
	Now         time.Time
	Key         string // of this effect: the same when the step is delivered again
}
