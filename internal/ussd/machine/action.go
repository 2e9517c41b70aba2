package machine

import (
	"context"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// Action is something a pack can ask for by name.
type Action struct {
	About string  // what it does, and what its results mean
	Takes []Param // its arguments: constants of the node, else variables
	Texts bool    // its constants are a text by language instead
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

// Known is what packs may name where these actions are offered.
func Known(actions map[string]Action) menu.Known {
	k := menu.Known{Actions: map[string][]string{}, Takes: map[string][]string{}}
	for name, a := range actions {
		k.Actions[name], k.Takes[name] = a.Results, []string{}
		for _, t := range a.Takes {
			if !t.Secret {
				k.Takes[name] = append(k.Takes[name], t.Name)
			}
		}
		if a.Texts {
			k.Texts = append(k.Texts, name)
		}
		k.Vars = append(k.Vars, a.Sets...)
	}
	slices.Sort(k.Vars)
	k.Vars = slices.Compact(k.Vars)
	for _, c := range checks {
		k.Checks = append(k.Checks, c.Name)
		if c.Secret {
			k.Secrets = append(k.Secrets, c.Name)
		}
	}
	return k
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
