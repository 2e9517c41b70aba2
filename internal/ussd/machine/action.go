package machine

import (
	"context"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
)

// Action is an action that packs call by name.
type Action struct {
	About string  // what it does, and what its results mean
	Takes []Param // its arguments: constants of the node, else variables
	Texts bool    // its constants are a text by language instead
	Any   bool    // it takes constants of any other name too
	// Answers says that the node may extract values from its result, see
	// menu.Pick.
	Answers bool
	// Valid says what is wrong with the constants of a node, nil for nothing.
	Valid func(with map[string]string) error
	// Effect says that running it twice would be noticed: its result is kept,
	// and a repeated or replayed step gets that result instead.
	Effect  bool
	Results []string // names of all results it can have; the first is success
	Sets    []string // variables it sets; it may also remove secrets, by setting them to ""
	// Run runs the action inside the transaction of the step. It may run twice,
	// as everything in a transaction may. Something that the caller should see
	// is a Result; an error undoes the whole step.
	Run func(ctx context.Context, tx *db.Tx, c ActionCall) (Result, error)
	// Outside replaces Run for actions that call other servers: it runs between
	// two transactions, never inside one, until ctx ends. Its result is kept
	// with the step; it is called again only when the step could not be stored,
	// with the same Key. Such an action has an Effect.
	Outside func(ctx context.Context, c ActionCall) (Result, error)
	// Stands reports whether a login still counts: whether the account is open
	// and the proof is still valid. It is called before every step of a
	// logged-in caller, so it must be quick. All actions that log in have the
	// same one.
	Stands func(ctx context.Context, tx *db.Tx, l Login) (bool, error)
}

// Known describes what packs may name where these actions are offered.
func Known(actions map[string]Action) menu.Known {
	k := menu.Known{Actions: map[string][]string{}, Takes: map[string][]string{}, Valid: map[string]func(map[string]string) error{}}
	for name, a := range actions {
		k.Actions[name] = a.Results
		if !a.Any {
			k.Takes[name] = []string{}
		}
		if a.Answers {
			k.Answers = append(k.Answers, name)
		}
		if a.Valid != nil {
			k.Valid[name] = a.Valid
		}
		for _, t := range a.Takes {
			if !t.Secret && !a.Any {
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

// Login is a completed login.
type Login struct {
	Account string
	Proof   string // what the login proved
	Phone   string // that the call comes from
	Now     time.Time
}

// ActionCall is a call of an action in one step of one session.
type ActionCall struct {
	Call
	Phone       string // of the handset, as the gateway says
	Gateway     string
	ServiceCode string
	Now         time.Time
	Key         string // of this effect: the same when the step is delivered again
}
