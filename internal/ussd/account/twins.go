package account

import (
	"context"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/ussd/sms"
)

// KindTwins is the kind of the jobs that make twins.
const KindTwins = "ussd.twins"

// twinAttempts is how often the twins are tried, about two hours in all.
const twinAttempts = 10

// Customer is the customer to make twins for. The DIDs were minted with the
// account, so that making them twice makes one.
type Customer struct {
	Account    string
	CustomerID string
	DID        string
	Household  string // DID; "" when it was erased
	Name       string
	Email      string
	Phone      string
	Language   string
	District   string // "" until the household is registered
	Size       int64  // 0 until then
}

// wanted is the payload of a job: no name and no number.
type wanted struct {
	Account string `json:"account"`
	Asked   int64  `json:"asked"`
	Welcome bool   `json:"welcome,omitzero"` // send the customer id
}

// why twins are asked for.
type why int

const (
	whyNew     why = iota // the account is new: the customer id is sent when they exist
	whyChanged            // what the customer waits for has changed
	whyAside              // something has changed that nobody waits for
)

// twinning arranges the twins of accounts.
type twinning struct {
	db   *db.DB
	jobs *job.Service
	sms  *sms.Outbox
	now  func() time.Time
	make func(ctx context.Context, c Customer) (household string, err error) // nil makes none
}

// askForTwins arranges that the twins of an account are made or updated, after
// the transaction.
func (t *twinning) askForTwins(ctx context.Context, tx *db.Tx, a *row, y why) error {
	if t.make == nil {
		return nil
	}
	ask := setPending
	if y == whyAside {
		ask = setRefreshed
	}
	asked, err := ask(ctx, tx, a.id, t.now())
	if err != nil {
		return err
	}
	_, err = t.jobs.Enqueue(asCustomer(ctx, a), tx, job.Draft{
		Kind: KindTwins, Key: a.id + "/" + strconv.FormatInt(asked, 10), MaxAttempts: twinAttempts,
		Payload: wanted{Account: a.id, Asked: asked, Welcome: y == whyNew},
	})
	return err
}

// makeTwins makes the twins of one account.
func (t *twinning) makeTwins(ctx context.Context, r *job.Run) error {
	var w wanted
	if err := r.Decode(&w); err != nil {
		return err
	}
	a, err := findByID(ctx, t.db, w.Account)
	if err != nil || a == nil || a.status != Active {
		return err // closed or erased since
	}
	household, cause := t.make(ctx, Customer{
		Account: a.id, CustomerID: a.customer, DID: a.did, Household: a.household, Name: a.name, Email: a.email, Phone: a.phone,
		Language: a.lang, District: a.district, Size: a.size,
	})
	if cause != nil && r.Attempt < twinAttempts && fault.KindOf(cause) != fault.Invalid {
		return cause // the status stays pending
	}
	a.twins = TwinsFailed
	if cause == nil {
		a.twins, a.household = TwinsReady, household
	}
	err = t.db.InTx(ctx, func(tx *db.Tx) error {
		if err := r.Hold(ctx, tx); err != nil {
			return err
		}
		if err := setTwins(ctx, tx, a, w.Asked, t.now()); err != nil {
			return err
		}
		left, err := findByID(ctx, tx, a.id)
		if err != nil || left == nil || !w.Welcome || a.twins != TwinsReady || a.phone == "" {
			return err // nothing is sent to a customer who was erased meanwhile
		}
		_, err = t.sms.Enqueue(ctx, tx, sms.Message{To: a.phone, Text: say(welcomeWords, a.lang, a.customer), About: a.did})
		return err
	})
	if cause != nil {
		return job.Permanent(cause)
	}
	return err
}
