// Package account keeps the people who use the USSD line: their accounts and
// PINs, the locks that wrong PINs lead to, and the actions menu packs call by
// name.
//
// A PIN is sealed with AES-256-GCM by a key that is not in the store, under a
// random nonce and bound to its account; it appears nowhere else, neither in
// logs nor in events, jobs or error texts. Five digits gain nothing from a slow
// hash: the key outside the store is the control. The tries that lock an
// account or a number are counted in the store, in the transaction of the
// answer, so neither another call nor a restart gives tries back. An id that
// nobody has is treated and answered exactly like one that somebody has.
//
// Names, email addresses and numbers are plain columns, since operators need
// them. Erase removes them.
package account

import (
	"crypto/rand"
	"regexp"
	"strings"
	"time"
)

// Status says whether an account can be used.
type Status string

// The statuses. Closed is final.
const (
	Active Status = "active"
	Closed Status = "closed"
)

// Twins is the progress of making the twins of a customer and the household.
type Twins string

// The states of twins.
const (
	TwinsNone    Twins = "none"
	TwinsPending Twins = "pending"
	TwinsReady   Twins = "ready"
	TwinsFailed  Twins = "failed"
)

// maxPerNumber is how many accounts one number can have at once.
const maxPerNumber = 5

// Account is one customer as operators see it. It never contains the PIN.
type Account struct {
	ID         string
	CustomerID string
	Name       string
	Email      string
	Phone      string
	Language   string
	DID        string
	Household  string // DID
	District   string
	Size       int64 // of the household; 0 when it is not registered
	Status     Status
	Twins      Twins
	Temporary  bool // the PIN must be changed at the next login
	Wrong      int64
	LockedTo   time.Time // zero when not locked for a time
	Blocked    bool      // only an operator unlocks
	Held       bool      // its number is on hold
	HeldTo     time.Time // zero when an operator has to release it
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// row is an account as it is stored. Times are in milliseconds.
type row struct {
	id, ws, customer, name, email, phone, lang string
	did, household, district                   string
	size                                       int64
	pin                                        []byte
	pinKey, pinLegacy                          string
	pinUntil                                   int64
	status                                     Status
	twins                                      Twins
	asked                                      int64 // how often the twins were asked for
	revision, created, updated                 int64
}

// view is what operators see of r, its lock and the hold of its number.
func (r *row) view(l, hold lock, now time.Time) Account {
	a := Account{
		ID: r.id, CustomerID: r.customer, Name: r.name, Email: r.email, Phone: r.phone, Language: r.lang, DID: r.did, Household: r.household,
		District: r.district, Size: r.size, Status: r.status, Twins: r.twins, Temporary: r.pinUntil > 0, Wrong: l.wrong, Blocked: l.blocked(), Held: hold.closed(now),
		CreatedAt: time.UnixMilli(r.created).UTC(), UpdatedAt: time.UnixMilli(r.updated).UTC(),
	}
	if l.closed(now) && !l.blocked() {
		a.LockedTo = time.UnixMilli(l.until).UTC()
	}
	if a.Held && !hold.blocked() {
		a.HeldTo = time.UnixMilli(hold.until).UTC()
	}
	return a
}

// idLetters are those of new customer ids: no 0 and O, 1, I and L, nor U.
const idLetters = "23456789ABCDEFGHJKMNPQRSTVWXYZ"

// customerForm is what may be a customer id, in upper case. Earlier servers
// made longer ones.
var customerForm = regexp.MustCompile(`^C[A-Z0-9]{8,19}$`)

// newCustomerID draws C and 8 letters or digits. The alphabet has 30 of them,
// so bytes from 240 on are drawn again.
func newCustomerID() string {
	id := []byte("C")
	for b := make([]byte, 16); len(id) < 9; {
		_, _ = rand.Read(b) // never fails: the program ends instead
		for _, c := range b {
			if int(c) < 240 && len(id) < 9 {
				id = append(id, idLetters[int(c)%len(idLetters)])
			}
		}
	}
	return string(id)
}

// customerID normalises a customer id, since handsets type small letters too;
// "" for a text that cannot be one.
func customerID(text string) string {
	id := strings.ToUpper(strings.TrimSpace(text))
	if !customerForm.MatchString(id) {
		return ""
	}
	return id
}

// phoneForm is E.164.
var phoneForm = regexp.MustCompile(`^\+[1-9][0-9]{7,14}$`)
