package account

import (
	"context"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/ussd/sms"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// temporaryLife is how long a temporary PIN is good for.
const temporaryLife = 24 * time.Hour

// maxPage is how many accounts one page has at most.
const maxPage = 500

// Filter selects accounts; the zero value selects all. Only the first member
// that is set counts.
type Filter struct {
	CustomerID string
	Locked     bool // for a time or until an operator unlocks, or its number is held
	Phone      string
	Status     Status
	Twins      Twins
}

// List returns at most limit accounts after a place, "" for the first page.
// next is the place of the next page, "" when there is none. A page may be
// short although next is set.
func (s *Service) List(ctx context.Context, f Filter, after string, limit int) (accounts []Account, next string, err error) {
	limit = min(max(limit, 1), maxPage)
	err = s.db.View(ctx, func(q db.Querier) error {
		accounts, next = []Account{}, ""
		switch {
		case f.CustomerID != "":
			a, err := findByCustomer(ctx, q, customerID(f.CustomerID))
			if err != nil || a == nil {
				return err
			}
			accounts, err = s.views(ctx, q, []*row{a})
			return err
		case f.Locked:
			accounts, next, err = s.listLocked(ctx, q, after, limit)
			return err
		}
		rows, err := list(ctx, q, f, after, limit+1)
		if err != nil {
			return err
		}
		if len(rows) > limit {
			rows = rows[:limit]
			next = rows[limit-1].id
		}
		accounts, err = s.views(ctx, q, rows)
		return err
	})
	return accounts, next, err
}

// views adds their locks, and the holds of their numbers, to accounts.
func (s *Service) views(ctx context.Context, q db.Querier, rows []*row) ([]Account, error) {
	out := make([]Account, len(rows))
	for i, r := range rows {
		l, err := findLock(ctx, q, lockCustomer, r.customer)
		if err != nil {
			return nil, err
		}
		hold, err := findLock(ctx, q, lockHold, r.phone)
		if err != nil {
			return nil, err
		}
		out[i] = r.view(l, hold, s.cfg.Now())
	}
	return out, nil
}

// errMissing is the fault for an account that is not there.
func errMissing() error {
	return fault.New(fault.NotFound, "ACCOUNT_NOT_FOUND", "No account has this customer id.")
}

// Unlock unlocks a customer id and the number of its account or, for a text
// that begins with +, that number alone, after wrong PINs. A held number stays
// held until it is released. The fault is ACCOUNT_NOT_FOUND.
func (s *Service) Unlock(ctx context.Context, ref string) error {
	ctx = operator(ctx)
	return s.db.InTx(ctx, func(tx *db.Tx) error {
		if phoneForm.MatchString(ref) {
			if err := openNumber(ctx, tx, ref, ""); err != nil {
				return err
			}
			return s.recordNumber(ctx, tx, "ussd.number_unlocked", ref, nil)
		}
		a, err := s.find(ctx, tx, ref)
		if err != nil {
			return err
		}
		if err := unlock(ctx, tx, a); err != nil {
			return err
		}
		return s.record(ctx, tx, "ussd.account_unlocked", a, nil)
	})
}

// unlock opens the locks of an account and its number.
func unlock(ctx context.Context, tx *db.Tx, a *row) error {
	if err := openNumber(ctx, tx, a.phone, a.customer); err != nil {
		return err
	}
	return setLock(ctx, tx, lockCustomer, a.customer, lock{})
}

// openNumber unlocks a number and forgets what it has tried, and who has tried
// a customer id.
func openNumber(ctx context.Context, tx *db.Tx, phone, customer string) error {
	if err := setLock(ctx, tx, lockNumber, phone, lock{}); err != nil {
		return err
	}
	return removeSlips(ctx, tx, customer, phone)
}

// find reads an open account for an operator.
func (s *Service) find(ctx context.Context, q db.Querier, customer string) (*row, error) {
	a, err := findByCustomer(ctx, q, customerID(customer))
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, errMissing()
	}
	return a, nil
}

// Reset gives an account a temporary PIN, which is valid for a day and must be
// changed at the next login, and unlocks it. With message the PIN goes to the
// number of the account and is not returned; it is returned when messages are
// off or the number is held. Faults: ACCOUNT_NOT_FOUND, ACCOUNT_CLOSED.
func (s *Service) Reset(ctx context.Context, customer string, message bool) (pin string, sent bool, err error) {
	ctx = operator(ctx)
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		pin, sent = "", false
		a, err := s.find(ctx, tx, customer)
		if err != nil {
			return err
		}
		if a.status != Active {
			return fault.New(fault.Conflict, "ACCOUNT_CLOSED", "The account is closed.")
		}
		now := s.cfg.Now()
		pin = newPIN(a.phone)
		if err := setPIN(ctx, tx, a.id, s.seal(a.id, pin, now.Add(temporaryLife)), now); err != nil {
			return err
		}
		if err := removeReset(ctx, tx, a.id); err != nil {
			return err
		}
		if err := unlock(ctx, tx, a); err != nil {
			return err
		}
		hold, err := findLock(ctx, tx, lockHold, a.phone)
		if err != nil {
			return err
		}
		if message && phoneForm.MatchString(a.phone) && !hold.closed(now) {
			if sent, err = s.cfg.SMS.Enqueue(ctx, tx, sms.Message{To: a.phone, Text: say(temporaryWords, a.lang, pin), About: a.did}); err != nil {
				return err
			}
		}
		a.revision++
		return s.record(ctx, tx, "ussd.pin_reset", a, nil)
	})
	if err != nil || sent {
		pin = ""
	}
	return pin, sent, err
}

// Close ends an account for good: nobody can log in to it. Its data stays until
// it is erased. Closing it again does nothing. The fault is ACCOUNT_NOT_FOUND.
func (s *Service) Close(ctx context.Context, customer string) error {
	ctx = operator(ctx)
	return s.db.InTx(ctx, func(tx *db.Tx) error {
		a, err := s.find(ctx, tx, customer)
		if err != nil {
			return err
		}
		closed, err := setClosed(ctx, tx, a.id, s.cfg.Now())
		if err != nil || !closed {
			return err
		}
		if err := removeReset(ctx, tx, a.id); err != nil {
			return err
		}
		a.revision++
		return s.record(ctx, tx, "ussd.account_closed", a, nil)
	})
}

// Retry asks once more for the twins of an account. The fault is
// ACCOUNT_NOT_FOUND.
func (s *Service) Retry(ctx context.Context, customer string) error {
	return s.db.InTx(ctx, func(tx *db.Tx) error {
		a, err := s.find(ctx, tx, customer)
		if err != nil || a.status != Active {
			return err
		}
		return s.askForTwins(ctx, tx, a, whyChanged)
	})
}

// operator keeps who calls and puts them into the workspace of accounts.
func operator(ctx context.Context) context.Context {
	c := web.CallerFrom(ctx)
	c.Workspace = workspace
	return web.WithCaller(ctx, c)
}

// staff are the scopes of customer support. A principal who speaks for a
// customer reads and changes what the customer has told the line.
var staff = []string{"entities:pii", "entities:write", "ussd:write"}

// Voice reports whether a DID belongs to a customer whose account is open, and
// which scopes are needed to decide who speaks for the customer. The customer's
// own proof is the PIN, which only the line accepts.
func Voice(ctx context.Context, q db.Querier, ws, did string) (scopes []string, customer bool, err error) {
	if ws != workspace {
		return nil, false, nil
	}
	a, err := findByDID(ctx, q, did)
	return slices.Clone(staff), a != nil && a.status == Active, err
}

// DIDOf is the DID of an account, "" when it is not open.
func (s *Service) DIDOf(ctx context.Context, account string) (string, error) {
	a, err := findByID(ctx, s.db, account)
	if err != nil || a == nil || a.status != Active {
		return "", err
	}
	return a.did, nil
}

// DIDOfCustomer is the DID of an open account by its Customer ID, "" when there is
// none.
func (s *Service) DIDOfCustomer(ctx context.Context, customer string) (string, error) {
	a, err := findByCustomer(ctx, s.db, customer)
	if err != nil || a == nil || a.status != Active {
		return "", err
	}
	return a.did, nil
}

// Household is what was made for a customer: the DID of the household, whether
// it has other members, and which of its data is the customer's. The zero value
// is for a DID that is no customer's, or a customer without a household.
type Household struct {
	DID, Phone, CustomerID string
	Shared                 bool
}

// HouseholdOf finds the household of the customer a DID names.
func (s *Service) HouseholdOf(ctx context.Context, ws, did string) (Household, error) {
	if ws != workspace {
		return Household{}, nil
	}
	a, err := findByDID(ctx, s.db, did)
	if err != nil || a == nil || a.household == "" {
		return Household{}, err
	}
	n, err := living(ctx, s.db, a.household)
	return Household{DID: a.household, Phone: a.phone, CustomerID: a.customer, Shared: n > 1}, err
}

// Erase forgets the customer, or the household, that a DID names: the account
// with its locks and codes, its messages, and what others keep about its
// number. It is an erase.Eraser.
func (s *Service) Erase(ctx context.Context, tx *db.Tx, ws, did string) (int64, error) {
	if ws != workspace {
		return 0, nil
	}
	sum, err := forgetHousehold(ctx, tx, ws, did)
	if err != nil {
		return 0, err
	}
	a, err := findByDID(ctx, tx, did)
	if err != nil || a == nil {
		return sum, err
	}
	if err := remove(ctx, tx, a.id); err != nil {
		return 0, err
	}
	if err := removeReset(ctx, tx, a.id); err != nil {
		return 0, err
	}
	if err := unlock(ctx, tx, a); err != nil {
		return 0, err
	}
	if err := setLock(ctx, tx, lockHold, a.phone, lock{}); err != nil {
		return 0, err
	}
	n, err := s.cfg.SMS.Erase(ctx, tx, a.did, a.phone)
	if err != nil {
		return 0, err
	}
	sum += n + 1
	if s.cfg.Forget == nil || a.phone == "" {
		return sum, nil
	}
	n, err = s.cfg.Forget(ctx, tx, a.phone)
	return sum + n, err
}
