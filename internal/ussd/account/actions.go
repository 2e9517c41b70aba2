package account

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"regexp"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/sms"
)

const (
	maxName   = 100 // characters
	maxEmail  = 254
	maxWord   = 100 // of a district
	maxSize   = 1000
	idDraws   = 8  // until a free customer id is found
	textsADay = 10 // messages a caller may ask for
)

var errNoID = errors.New("no free customer id was found")

// actions are what a customer does through a menu.
type actions struct {
	*pins
	*journal
	*twinning
	sms   *sms.Outbox
	codes []byte // keys the hashes of codes
}

// create makes an account for the caller.
func (ac *actions) create(ctx context.Context, tx *db.Tx, c machine.ActionCall) (machine.Result, error) {
	if r := judge(c, nil); r != nil {
		return *r, nil
	}
	// The row of the number is held first: two creations at once would both
	// count too few.
	if _, err := touch(ctx, tx, lockNumber, c.Phone); err != nil {
		return machine.Result{}, err
	}
	hold, err := findLock(ctx, tx, lockHold, c.Phone)
	if err != nil {
		return machine.Result{}, err
	}
	if hold.closed(c.Now) { // the card may be a stranger's now
		return machine.Result{Name: resHeld}, nil
	}
	n, err := held(ctx, tx, c.Phone, maxPerNumber)
	if err != nil {
		return machine.Result{}, err
	}
	if n >= maxPerNumber {
		return machine.Result{Name: resFull}, nil
	}
	a := newRow(c.Now)
	a.name, a.email, a.phone, a.lang = cut(c.Arg(varFullName), maxName), cut(c.Arg(varEmail), maxEmail), c.Phone, c.Lang
	p := ac.seal(a.id, c.Secrets[secretPIN], time.Time{})
	a.pin, a.pinKey = p.pin, p.key
	if err := insertNew(ctx, tx, a); err != nil {
		return machine.Result{}, err
	}
	if err := ac.record(asCustomer(ctx, a), tx, "ussd.account_created", a, nil); err != nil {
		return machine.Result{}, err
	}
	if err := ac.askForTwins(ctx, tx, a, whyNew); err != nil {
		return machine.Result{}, err
	}
	return machine.Result{Name: resOK, Set: map[string]string{varCustomer: a.customer, varName: a.name, varWeakReason: ""}}, nil
}

// newRow is an account without anybody in it.
func newRow(now time.Time) *row {
	return &row{
		id: db.NewID(), ws: workspace, customer: newCustomerID(), did: did.NewEntity().String(), household: did.NewEntity().String(),
		status: Active, twins: TwinsNone, revision: 1, created: now.UnixMilli(), updated: now.UnixMilli(),
	}
}

// insertNew stores an account under a free customer id.
func insertNew(ctx context.Context, tx *db.Tx, a *row) error {
	for range idDraws {
		made, err := insert(ctx, tx, a)
		if err != nil || made {
			return err
		}
		a.customer = newCustomerID()
	}
	return errNoID
}

// judge refuses a new PIN that is weak or was not repeated; nil takes it. old
// is the PIN it replaces, nil when that is not known.
func judge(c machine.ActionCall, old []byte) *machine.Result {
	pin := c.Secrets[secretPIN]
	why := weakness("")
	switch {
	case !isPIN(pin):
		why = weakForm
	case old != nil && subtle.ConstantTimeCompare(old, []byte(pin)) == 1:
		why = weakOld
	default:
		why = weak(pin, c.Phone)
	}
	if why != "" {
		return &machine.Result{Name: resWeak, Set: map[string]string{varWeakReason: say(weakWords[why], c.Lang)}}
	}
	if subtle.ConstantTimeCompare([]byte(pin), []byte(c.Secrets[secretConfirm])) != 1 {
		return &machine.Result{Name: resMismatch, Set: map[string]string{varWeakReason: ""}}
	}
	return nil
}

// weakPIN judges a new PIN before it is repeated.
func weakPIN(_ context.Context, _ *db.Tx, c machine.ActionCall) (machine.Result, error) {
	c.Secrets = map[string]string{secretPIN: c.Secrets[secretPIN], secretConfirm: c.Secrets[secretPIN]}
	if r := judge(c, nil); r != nil {
		return *r, nil
	}
	return machine.Result{Name: resOK, Set: map[string]string{varWeakReason: ""}}, nil
}

// login checks a PIN. Every try counts on the id and, unless the account is
// registered with it, on the number, whether or not there is such an account.
func (ac *actions) login(ctx context.Context, tx *db.Tx, c machine.ActionCall) (machine.Result, error) {
	customer := customerID(c.Arg(varCustomer))
	g, err := ac.enter(ctx, tx, c, customer)
	if err != nil {
		return machine.Result{}, err
	}
	if r := g.refuse(); r != nil {
		return *r, g.store(ctx, tx)
	}
	a, err := findByCustomer(ctx, tx, customer)
	if err != nil {
		return machine.Result{}, err
	}
	ok, err := ac.verify(a, c.Secrets[secretPIN], c.Now)
	if err != nil {
		return machine.Result{}, err
	}
	if !ok {
		return g.fail(ctx, tx, a)
	}
	if err := g.pass(ctx, tx); err != nil {
		return machine.Result{}, err
	}
	if a.pinLegacy != "" || a.pinKey != ac.keys.current.id {
		p := ac.seal(a.id, c.Secrets[secretPIN], time.Time{})
		p.until = a.pinUntil
		if err := setPIN(ctx, tx, a.id, p, c.Now); err != nil {
			return machine.Result{}, err
		}
		a.pin, a.pinKey = p.pin, p.key
	}
	if a.pinUntil > 0 {
		return machine.Result{Name: resTemporary, Set: map[string]string{varTicket: a.ticket(), varTries: "", varLockedFor: ""}}, nil
	}
	return welcome(a), nil
}

// welcome logs an account in.
func welcome(a *row) machine.Result {
	return machine.Result{
		Name: resOK, Account: &a.id, Proof: a.proof(), Lang: a.lang,
		Set: map[string]string{varName: a.name, varTries: "", varLockedFor: "", varTicket: ""},
	}
}

func logout(context.Context, *db.Tx, machine.ActionCall) (machine.Result, error) {
	return machine.Result{Name: resOK, Account: new(string), Set: map[string]string{varName: ""}}, nil
}

// gone is the answer to a caller whose account was closed during the call.
func gone(name string) machine.Result {
	return machine.Result{Name: name, Account: new(string)}
}

// mine reads the account that is logged in, nil when it was closed since.
func mine(ctx context.Context, tx *db.Tx, c machine.ActionCall) (*row, error) {
	if c.Account == "" {
		return nil, nil
	}
	a, err := findByID(ctx, tx, c.Account)
	if err != nil || a == nil || a.status != Active {
		return nil, err
	}
	return a, nil
}

// languageForm is a code as packs list them.
var languageForm = regexp.MustCompile(`^[a-z]{2,3}(-[A-Z]{2})?$`)

// language changes the language of the session, keeps it for the next one, and
// updates the twin.
func (ac *actions) language(ctx context.Context, tx *db.Tx, c machine.ActionCall) (machine.Result, error) {
	lang := c.Arg(varLanguage)
	if !languageForm.MatchString(lang) {
		lang = c.Lang
	}
	a, err := mine(ctx, tx, c)
	if err != nil {
		return machine.Result{}, err
	}
	if a != nil && a.lang != lang {
		if err := setLanguage(ctx, tx, a.id, lang, c.Now); err != nil {
			return machine.Result{}, err
		}
		if err := ac.askForTwins(ctx, tx, a, whyAside); err != nil {
			return machine.Result{}, err
		}
	}
	return machine.Result{Name: resOK, Lang: lang}, nil
}

// householdStatus returns the progress of the twins.
func householdStatus(ctx context.Context, tx *db.Tx, c machine.ActionCall) (machine.Result, error) {
	a, err := mine(ctx, tx, c)
	if err != nil {
		return machine.Result{}, err
	}
	if a == nil {
		return gone(string(TwinsNone)), nil
	}
	set := map[string]string{varIdentity: "", varHousehold: "", varDistrict: a.district, varSize: ""}
	if a.twins == TwinsReady {
		set[varIdentity], set[varHousehold] = a.did, a.household
	}
	if a.size == 0 {
		return machine.Result{Name: string(TwinsNone), Set: set}, nil
	}
	set[varSize] = strconv.FormatInt(a.size, 10)
	return machine.Result{Name: string(a.twins), Set: set}, nil
}

// register stores the household of the caller who is logged in and asks for its
// twin.
func (ac *actions) register(ctx context.Context, tx *db.Tx, c machine.ActionCall) (machine.Result, error) {
	a, err := mine(ctx, tx, c)
	if err != nil {
		return machine.Result{}, err
	}
	if a == nil {
		return gone(resMissing), nil
	}
	size, err := strconv.ParseInt(c.Arg(varSize), 10, 64)
	if err != nil || size < 1 || size > maxSize {
		size = 1
	}
	a.district, a.size = cut(c.Arg(varDistrict), maxWord), size
	if a.household == "" { // erased: this is another one
		a.household = did.NewEntity().String()
	}
	stored, err := setHousehold(ctx, tx, a, c.Now)
	if err != nil {
		return machine.Result{}, err
	}
	if !stored { // closed since it was read
		return gone(resMissing), nil
	}
	return machine.Result{Name: resOK}, ac.askForTwins(ctx, tx, a, whyChanged)
}

// text sends the caller a text of the pack.
func (ac *actions) text(ctx context.Context, tx *db.Tx, c machine.ActionCall) (machine.Result, error) {
	off := machine.Result{Name: resOff}
	text := cmp.Or(c.With[c.Lang], c.With[c.Default])
	if text == "" || !ac.sms.On() {
		return off, nil
	}
	n, err := ac.sms.Recent(ctx, tx, c.Phone, c.Now.Add(-24*time.Hour), textsADay)
	if err != nil || n >= textsADay {
		return off, err
	}
	about := ""
	if a, err := mine(ctx, tx, c); err != nil {
		return machine.Result{}, err
	} else if a != nil {
		about = a.did
	}
	if _, err := ac.sms.Enqueue(ctx, tx, sms.Message{To: c.Phone, Text: cut(text, sms.MaxText), About: about}); err != nil {
		return machine.Result{}, err
	}
	return machine.Result{Name: resQueued}, nil
}

// findCustomer reports whether a login with an id can be tried: not while the id is
// locked, or the number is locked for other ids. An id nobody has is found like any
// other, so the answer reveals nothing; the PIN typed next is wrong, and counts.
func (ac *actions) findCustomer(ctx context.Context, tx *db.Tx, c machine.ActionCall) (machine.Result, error) {
	customer := customerID(c.Arg(varCustomer))
	g, err := ac.enter(ctx, tx, c, customer)
	if err != nil {
		return machine.Result{}, err
	}
	if customer == "" || g.refuse() != nil {
		return machine.Result{Name: resMissing}, g.store(ctx, tx)
	}
	return machine.Result{Name: resOK}, g.store(ctx, tx)
}

// cut shortens a text to n characters.
func cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n])
}
