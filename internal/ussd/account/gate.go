package account

import (
	"context"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
)

// gate is one try at a secret, with the locks of the number it comes from and
// of the customer id it is for. Both rows are locked until the transaction
// ends, the number's first, so that tries come one after the other and cannot
// deadlock.
//
// The lock of a number concerns other people's ids. An account registered with
// the number has only its own lock: tries on other ids neither count for it nor
// keep its owner out, and tries on it count for no other.
type gate struct {
	journal         *journal
	now             time.Time
	phone           string
	customer        string // "" for a text that is no id at all
	forgot          bool   // the PIN; then locks that expire do not count
	hold            lock   // of a number whose card was changed
	own             bool   // the id is that of an open account of the number; then number stays empty
	number, account lock
	held            bool // the lock of the account was read
}

// enter takes the locks for a try with a PIN.
func (ac *actions) enter(ctx context.Context, tx *db.Tx, c machine.ActionCall, customer string) (*gate, error) {
	g := &gate{journal: ac.journal, now: c.Now, phone: c.Phone, customer: customer}
	return g.take(ctx, tx)
}

// enterForgot is enter for a caller who has forgotten the PIN, and therefore
// may just have locked the account.
func (ac *actions) enterForgot(ctx context.Context, tx *db.Tx, c machine.ActionCall, customer string) (*gate, error) {
	g := &gate{journal: ac.journal, now: c.Now, phone: c.Phone, customer: customer, forgot: true}
	return g.take(ctx, tx)
}

// take reads the locks and holds their rows.
func (g *gate) take(ctx context.Context, tx *db.Tx) (_ *gate, err error) {
	if g.hold, err = findLock(ctx, tx, lockHold, g.phone); err != nil {
		return nil, err
	}
	if g.own, err = registered(ctx, tx, g.customer, g.phone); err != nil {
		return nil, err
	}
	if !g.own {
		if g.number, err = touch(ctx, tx, lockNumber, g.phone); err != nil {
			return nil, err
		}
		g.number = g.number.faded(g.now)
	}
	if g.customer == "" || g.refuse() != nil {
		return g, nil // a locked number leaves no trace of the ids it tries
	}
	g.account, err = touch(ctx, tx, lockCustomer, g.customer)
	g.held = true
	return g, err
}

// refuse is the answer while something is locked, nil when a try may be made. A
// caller from a held number is told about the hold whichever id it tries, and
// not that anybody has typed wrong PINs.
func (g *gate) refuse() *machine.Result {
	if g.hold.closed(g.now) {
		return &machine.Result{Name: resHeld, Set: map[string]string{varTries: "", varLockedFor: ""}}
	}
	var locks []lock
	for _, l := range []lock{g.number, g.account} {
		if !g.forgot || l.blocked() {
			locks = append(locks, l)
		}
	}
	return g.answer(locks...)
}

// answer reports the lock that lasts longest, nil when all are open.
func (g *gate) answer(locks ...lock) *machine.Result {
	var worst lock
	for _, l := range locks {
		if l.closed(g.now) && l.until > worst.until {
			worst = l
		}
	}
	switch {
	case worst.blocked():
		return &machine.Result{Name: resBlocked, Set: map[string]string{varTries: "", varLockedFor: ""}}
	case worst.until > 0:
		return &machine.Result{Name: resLocked, Set: map[string]string{varTries: "", varLockedFor: strconv.FormatInt(worst.minutes(g.now), 10)}}
	}
	return nil
}

// fail counts a wrong try and returns the answer to it. a is nil for an id
// nobody has; the answer does not show it.
func (g *gate) fail(ctx context.Context, tx *db.Tx, a *row) (machine.Result, error) {
	g.account = g.account.fail(g.now)
	if !g.own {
		g.number = g.number.fail(g.now)
		if err := g.slip(ctx, tx); err != nil {
			return machine.Result{}, err
		}
	}
	if err := g.store(ctx, tx); err != nil {
		return machine.Result{}, err
	}
	if err := g.report(ctx, tx, a); err != nil {
		return machine.Result{}, err
	}
	if r := g.answer(g.number, g.account); r != nil {
		return *r, nil
	}
	left := min(g.number.left(), g.account.left())
	return machine.Result{Name: resWrong, Set: map[string]string{varTries: strconv.FormatInt(left, 10), varLockedFor: ""}}, nil
}

// locked is the data of the event about a lock.
type locked struct {
	Wrong   int64      `json:"wrong"`
	Until   *time.Time `json:"until,omitempty"`
	Blocked bool       `json:"blocked,omitzero"`
}

func (l lock) data() locked {
	d := locked{Wrong: l.wrong, Blocked: l.blocked()}
	if !d.Blocked {
		until := time.UnixMilli(l.until).UTC()
		d.Until = &until
	}
	return d
}

// report notes the locks that the last try has closed.
func (g *gate) report(ctx context.Context, tx *db.Tx, a *row) error {
	if a != nil && g.account.closed(g.now) {
		if err := g.journal.record(ctx, tx, "ussd.account_locked", a, g.account.data()); err != nil {
			return err
		}
	}
	if !g.number.closed(g.now) {
		return nil
	}
	return g.journal.recordNumber(ctx, tx, "ussd.number_locked", g.phone, g.number.data())
}

// pair names the wrong tries from a number on the id of another.
func (g *gate) pair() string { return g.customer + " " + g.phone }

// slip counts a wrong try from the number on this id, which the right PIN takes
// back.
func (g *gate) slip(ctx context.Context, tx *db.Tx) error {
	if g.customer == "" {
		return nil
	}
	l, err := findLock(ctx, tx, lockSlip, g.pair())
	if err != nil {
		return err
	}
	l = l.faded(g.now)
	return setLock(ctx, tx, lockSlip, g.pair(), lock{wrong: l.wrong + 1, last: g.now.UnixMilli()})
}

// pass takes back the wrong tries on an account after the right PIN or code:
// all of them from the account, and from the number those it has made itself.
func (g *gate) pass(ctx context.Context, tx *db.Tx) error {
	if !g.own {
		slips, err := findLock(ctx, tx, lockSlip, g.pair())
		if err != nil {
			return err
		}
		g.number = g.number.without(slips.faded(g.now))
		if err := setLock(ctx, tx, lockSlip, g.pair(), lock{}); err != nil {
			return err
		}
	}
	g.account = lock{}
	return g.store(ctx, tx)
}

// store stores the current locks, and removes empty ones. Call it even when no
// try was made.
func (g *gate) store(ctx context.Context, tx *db.Tx) error {
	if !g.own {
		if err := setLock(ctx, tx, lockNumber, g.phone, g.number); err != nil {
			return err
		}
	}
	if !g.held {
		return nil
	}
	return setLock(ctx, tx, lockCustomer, g.customer, g.account)
}
