package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"maps"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/sms"
)

const (
	codeSize  = 6 // digits
	codeLife  = 10 * time.Minute
	codeTries = 3 // wrong ones until it is worth nothing
	codesADay = 5 // for one account
)

// spent has the session forget a secret that has served its purpose. While only
// the new PIN is to be typed again it is still needed.
func spent(r machine.Result, c machine.ActionCall, secret string) machine.Result {
	if _, given := c.Secrets[secret]; !given || r.Name == resWeak || r.Name == resMismatch {
		return r
	}
	set := map[string]string{secret: ""}
	maps.Copy(set, r.Set)
	r.Set = set
	return r
}

// change gives who is logged in, or has logged in with a temporary PIN, a new
// PIN.
func (ac *actions) change(ctx context.Context, tx *db.Tx, c machine.ActionCall) (machine.Result, error) {
	r, err := ac.changePIN(ctx, tx, c)
	return spent(r, c, secretOld), err
}

func (ac *actions) changePIN(ctx context.Context, tx *db.Tx, c machine.ActionCall) (machine.Result, error) {
	ticket := c.Account == ""
	if ticket {
		c.Account, _, _ = strings.Cut(c.Vars[varTicket], " ")
	}
	a, err := mine(ctx, tx, c)
	if err != nil {
		return machine.Result{}, err
	}
	// A ticket is good for the temporary PIN it was given for: it may lie in the
	// session from before the PIN was changed.
	if a == nil || ticket && (a.pinUntil == 0 || a.expired(c.Now) || c.Vars[varTicket] != a.ticket()) {
		return gone(resWrong), nil
	}
	g, err := ac.enter(ctx, tx, c, a.customer)
	if err != nil {
		return machine.Result{}, err
	}
	if r := g.refuse(); r != nil {
		return *r, g.store(ctx, tx)
	}
	var old []byte
	if !ticket {
		ok, err := ac.verify(a, c.Secrets[secretOld], c.Now)
		if err != nil {
			return machine.Result{}, err
		}
		if !ok {
			return g.fail(ctx, tx, a)
		}
		old = []byte(c.Secrets[secretOld])
	} else if old, err = ac.unseal(a); err != nil {
		return machine.Result{}, err
	}
	if err := g.pass(ctx, tx); err != nil {
		return machine.Result{}, err
	}
	if r := judge(c, old); r != nil {
		return *r, nil
	}
	if err := ac.replace(ctx, tx, a, c, "ussd.pin_changed"); err != nil {
		return machine.Result{}, err
	}
	r := welcome(a)
	r.Set[varWeakReason] = ""
	if !ticket {
		r.Lang = "" // the session keeps its own
	}
	return r, nil
}

// replace stores the PIN that the owner of an account has chosen.
func (ac *actions) replace(ctx context.Context, tx *db.Tx, a *row, c machine.ActionCall, typ string) error {
	p := ac.seal(a.id, c.Secrets[secretPIN], time.Time{})
	if err := setPIN(ctx, tx, a.id, p, c.Now); err != nil {
		return err
	}
	a.pin, a.pinKey, a.pinUntil = p.pin, p.key, p.until
	if err := removeReset(ctx, tx, a.id); err != nil {
		return err
	}
	a.revision++
	return ac.record(asCustomer(ctx, a), tx, typ, a, nil)
}

// resetStart sends a code to the number of an account, if that is the number of
// the caller. The answer is the same when there is no such account.
func (ac *actions) resetStart(ctx context.Context, tx *db.Tx, c machine.ActionCall) (machine.Result, error) {
	if !ac.sms.On() {
		return machine.Result{Name: resOff}, nil
	}
	sent := machine.Result{Name: resOK}
	a, err := findByCustomer(ctx, tx, customerID(c.Arg(varCustomer)))
	if err != nil {
		return machine.Result{}, err
	}
	if a == nil || a.status != Active || a.phone != c.Phone {
		return sent, nil
	}
	g, err := ac.enterForgot(ctx, tx, c, a.customer)
	if err != nil {
		return machine.Result{}, err
	}
	if err := g.store(ctx, tx); err != nil {
		return machine.Result{}, err
	}
	r, err := findReset(ctx, tx, a.id)
	if err != nil {
		return machine.Result{}, err
	}
	if now := c.Now.UnixMilli(); now-r.dayAt >= (24 * time.Hour).Milliseconds() {
		r = reset{dayAt: now}
	}
	if r.sent >= codesADay {
		return sent, nil
	}
	text := say(blockedWords, a.lang)
	if refused := g.refuse(); refused == nil {
		code := randomDigits(codeSize)
		r.code, r.expires, r.tries = ac.hash(a.id, code), c.Now.Add(codeLife).UnixMilli(), 0
		text = say(codeWords, a.lang, code)
	} else if refused.Name != resBlocked {
		return sent, nil // on hold, nothing goes to a card that may be a stranger's
	}
	r.sent++
	if r.code == nil {
		r.code = []byte{}
	}
	if err := setReset(ctx, tx, a.id, r); err != nil {
		return machine.Result{}, err
	}
	_, err = ac.sms.Enqueue(ctx, tx, sms.Message{To: a.phone, Text: text, About: a.did})
	return sent, err
}

// hash is the stored form of a code.
func (ac *actions) hash(account, code string) []byte {
	mac := hmac.New(sha256.New, ac.codes)
	mac.Write([]byte(account + " " + code))
	return mac.Sum(nil)
}

// resetFinish gives an account a new PIN for the code that was sent. A wrong
// code, an expired one and an id nobody has get the same answer.
func (ac *actions) resetFinish(ctx context.Context, tx *db.Tx, c machine.ActionCall) (machine.Result, error) {
	r, err := ac.finishReset(ctx, tx, c)
	return spent(r, c, secretCode), err
}

func (ac *actions) finishReset(ctx context.Context, tx *db.Tx, c machine.ActionCall) (machine.Result, error) {
	if r := judge(c, nil); r != nil {
		return *r, nil
	}
	customer := customerID(c.Arg(varCustomer))
	g, err := ac.enterForgot(ctx, tx, c, customer)
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
	ok, err := ac.redeem(ctx, tx, a, c)
	if err != nil {
		return machine.Result{}, err
	}
	if !ok {
		return g.fail(ctx, tx, a)
	}
	if err := g.pass(ctx, tx); err != nil {
		return machine.Result{}, err
	}
	if err := ac.replace(ctx, tx, a, c, "ussd.pin_reset"); err != nil {
		return machine.Result{}, err
	}
	return machine.Result{Name: resOK, Set: map[string]string{varTries: "", varLockedFor: "", varWeakReason: ""}}, nil
}

// redeem reports whether the code is right, and counts when it is not.
func (ac *actions) redeem(ctx context.Context, tx *db.Tx, a *row, c machine.ActionCall) (bool, error) {
	if a == nil || a.status != Active || a.phone != c.Phone {
		return false, nil
	}
	r, err := findReset(ctx, tx, a.id)
	if err != nil {
		return false, err
	}
	if r.expires <= c.Now.UnixMilli() || r.tries >= codeTries {
		return false, nil
	}
	if hmac.Equal(r.code, ac.hash(a.id, c.Secrets[secretCode])) {
		return true, nil
	}
	r.tries++
	return false, setReset(ctx, tx, a.id, r)
}
