package account

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// listLocked lists the accounts that are locked now, by customer id, and then
// those whose number is held, by number. Locks on ids nobody has are skipped.
func (s *Service) listLocked(ctx context.Context, q db.Querier, after string, limit int) ([]Account, string, error) {
	if strings.HasPrefix(after, "+") {
		return s.listHeld(ctx, q, after, limit)
	}
	locks, err := s.closedLocks(ctx, q, lockCustomer, after, limit+1)
	if err != nil {
		return nil, "", err
	}
	next := "+" // comes before every number
	if len(locks) > limit {
		locks = locks[:limit]
		next = locks[limit-1].name
	}
	var rows []*row
	for _, l := range locks {
		a, err := findByCustomer(ctx, q, l.name)
		if err != nil {
			return nil, "", err
		}
		if a != nil {
			rows = append(rows, a)
		}
	}
	out, err := s.views(ctx, q, rows)
	return out, next, err
}

// listHeld lists the open accounts of held numbers, except those that are
// locked too, which come before. The place is a number and, after a blank, the
// last account of it that was looked at. It looks at no more than limit
// accounts and numbers, whether or not they are shown.
func (s *Service) listHeld(ctx context.Context, q db.Querier, after string, limit int) ([]Account, string, error) {
	phone, id, within := strings.Cut(after, " ")
	var rows []*row
	for left := limit; left > 0; left-- {
		if !within {
			holds, err := s.closedLocks(ctx, q, lockHold, phone, 1)
			if err != nil {
				return nil, "", err
			}
			if len(holds) == 0 {
				after = ""
				break
			}
			phone, id = holds[0].name, ""
		}
		found, err := list(ctx, q, Filter{Phone: phone}, id, left)
		if err != nil {
			return nil, "", err
		}
		if within = len(found) == left; len(found) > 0 {
			id = found[len(found)-1].id
		}
		rows, left = append(rows, found...), left-len(found)
		if after = phone; within {
			after += " " + id
		}
	}
	all, err := s.views(ctx, q, rows)
	return slices.DeleteFunc(all, func(a Account) bool { return a.Status != Active || a.Blocked || !a.LockedTo.IsZero() }), after, err
}

// Number is a phone number that is locked or held.
type Number struct {
	Phone    string
	Wrong    int64
	LockedTo time.Time // zero when blocked
	Blocked  bool      // only an operator opens it
	Held     bool      // because its card was changed
}

// LockedNumbers returns at most limit numbers that are locked or held, after a
// given one, in order.
func (s *Service) LockedNumbers(ctx context.Context, after string, limit int) ([]Number, error) {
	limit = min(max(limit, 1), maxPage)
	found := map[string]Number{}
	for _, kind := range []string{lockNumber, lockHold} {
		locks, err := s.closedLocks(ctx, s.db, kind, after, limit)
		if err != nil {
			return nil, err
		}
		for _, l := range locks {
			n := found[l.name]
			n.Phone, n.Wrong, n.Held, n.Blocked = l.name, n.Wrong+l.wrong, kind == lockHold, n.Blocked || l.blocked()
			if until := time.UnixMilli(l.until).UTC(); n.Blocked {
				n.LockedTo = time.Time{}
			} else if until.After(n.LockedTo) {
				n.LockedTo = until
			}
			found[l.name] = n
		}
	}
	out := make([]Number, 0, len(found))
	for _, phone := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[phone])
	}
	return out[:min(len(out), limit)], nil
}

// Hold keeps a number from logging in and from getting codes until a time, or
// with the zero time until it is released, and logs out its calls. It is for a
// network's warning that the number has a new SIM card, whose holder may be
// somebody else. The number is given directly, or by the customer id of its
// account. Faults: ACCOUNT_NOT_FOUND, PHONE_INVALID.
func (s *Service) Hold(ctx context.Context, ref string, until time.Time) error {
	ctx = operator(ctx)
	l := lock{until: forever, last: s.cfg.Now().UnixMilli()}
	if !until.IsZero() {
		l.until = until.UnixMilli()
	}
	return s.db.InTx(ctx, func(tx *db.Tx) error {
		phone, err := s.number(ctx, tx, ref)
		if err != nil {
			return err
		}
		if err := setLock(ctx, tx, lockHold, phone, l); err != nil {
			return err
		}
		return s.recordNumber(ctx, tx, "ussd.number_held", phone, l.data())
	})
}

// Release ends the hold of a number, given as for Hold. It reports whether there
// was one; locks after wrong PINs stay.
func (s *Service) Release(ctx context.Context, ref string) (released bool, err error) {
	ctx = operator(ctx)
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		released = false
		phone, err := s.number(ctx, tx, ref)
		if err != nil {
			return err
		}
		l, err := findLock(ctx, tx, lockHold, phone)
		if err != nil || !l.closed(s.cfg.Now()) {
			return err
		}
		if err := setLock(ctx, tx, lockHold, phone, lock{}); err != nil {
			return err
		}
		released = true
		return s.recordNumber(ctx, tx, "ussd.number_released", phone, nil)
	})
	return released, err
}

// number is the phone number that an operator means: itself, or that of an
// account.
func (s *Service) number(ctx context.Context, q db.Querier, ref string) (string, error) {
	phone := ref
	if customerID(ref) != "" {
		a, err := s.find(ctx, q, ref)
		if err != nil {
			return "", err
		}
		phone = a.phone
	}
	if !phoneForm.MatchString(phone) {
		return "", fault.New(fault.Invalid, "PHONE_INVALID", "The number must be in international form, as +254700000000.")
	}
	return phone, nil
}

// Held reports whether a number is on hold, given as for Hold.
func (s *Service) Held(ctx context.Context, ref string) (Number, error) {
	n := Number{Phone: ref}
	if customerID(ref) != "" {
		a, err := s.find(ctx, s.db, ref)
		if err != nil {
			return Number{}, err
		}
		n.Phone = a.phone
	}
	l, err := findLock(ctx, s.db, lockHold, n.Phone)
	if n.Held = l.closed(s.cfg.Now()); n.Held && l.blocked() {
		n.Blocked = true
	} else if n.Held {
		n.LockedTo = time.UnixMilli(l.until).UTC()
	}
	return n, err
}

// Expire removes locks that no longer count, at most limit of each kind, and
// returns how many. before is not used: the locks have times of their own.
func (s *Service) Expire(ctx context.Context, _ time.Time, limit int) (int, error) {
	now := s.cfg.Now()
	var sum int64
	err := s.db.InTx(ctx, func(tx *db.Tx) error {
		sum = 0
		for _, kind := range []string{lockNumber, lockHold, lockSlip} {
			n, err := sweepKind(ctx, tx, kind, now, limit)
			if err != nil {
				return err
			}
			sum += n
		}
		n, err := sweepNobody(ctx, tx, now, limit)
		sum += n
		return err
	})
	return int(sum), err
}
