package fetch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/sms"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// KindAnswer is the kind of the jobs that send answers by SMS.
const KindAnswer = "ussd.answer"

const (
	resQueued = "queued"
	resOff    = "off"

	textsADay = 10 // messages to a number that menus send
	attempts  = 8  // of a job that waits for an answer, longer than any answer takes
	// waiting is how long it waits before it tries again later.
	waiting = 25 * time.Second

	// cutOff is when a call for an unknown caller has ended, whether or not
	// there is an answer.
	cutOff = 2 * time.Minute
	// glance is how often an answer is looked for that another instance may store.
	glance = 200 * time.Millisecond
)

// ask is a question asked over a handset.
type ask struct {
	id, phone, account string // account "": of somebody who is not known
	user, run          string // where its answer is; "" until it has begun
	lang               string
	at                 int64  // ms
	answer             string // of a call for somebody who is not known; "" until it is there
}

// ended is how such an answer is kept.
type ended struct {
	Text    string `json:"text,omitzero"`
	Refused bool   `json:"refused,omitzero"`
	Failed  bool   `json:"failed,omitzero"`
}

var errCutOff = errors.New("the call was cut off")

const (
	insertAsk = `INSERT INTO ussd_asks (id, phone, account, user_did, run, lang, asked_at) VALUES ($1, $2, $3, $4, '', $5, $6) ON CONFLICT (id) DO NOTHING`
	selectAsk = `SELECT id, phone, account, user_did, run, lang, asked_at, answer FROM ussd_asks WHERE id = $1`
	updateAsk = `UPDATE ussd_asks SET user_did = $2, run = $3 WHERE id = $1`
	answerAsk = `UPDATE ussd_asks SET answer = $2 WHERE id = $1`
	countAsks = `SELECT count(*) FROM (SELECT 1 FROM ussd_asks WHERE phone = $1 AND asked_at > $2 AND id <> $3 LIMIT $4) AS asked`
	dropPhone = `DELETE FROM ussd_asks WHERE phone = $1`
	dropUser  = `DELETE FROM ussd_asks WHERE user_did = $1`
	dropOld   = `DELETE FROM ussd_asks WHERE id IN (SELECT id FROM ussd_asks WHERE asked_at <= $1 ORDER BY asked_at LIMIT $2)`
)

// asks are the questions of handsets: how many there were, and where their answers
// are.
type asks struct {
	db      *db.DB
	sms     *sms.Outbox
	jobs    *job.Service
	perHour int
	oracle  Oracle
}

// admit records a question, unless the number has asked too many in an hour.
// Repeating the same question does not count.
func (a *asks) admit(ctx context.Context, c machine.ActionCall, user string) (ok bool, err error) {
	err = a.db.InTx(ctx, func(tx *db.Tx) error {
		n := 0
		if err := tx.QueryRow(ctx, countAsks, c.Phone, c.Now.Add(-time.Hour).UnixMilli(), c.Key, a.perHour).Scan(&n); err != nil {
			return db.Wrap("count questions", err)
		}
		if ok = n < a.perHour; !ok {
			return nil
		}
		_, err := tx.Exec(ctx, insertAsk, c.Key, c.Phone, c.Account, user, c.Lang, c.Now.UnixMilli())
		return db.Wrap("note question", err)
	})
	return ok && err == nil, err
}

// found notes where the answer is.
func (a *asks) found(ctx context.Context, id, user, run string) error {
	return a.db.InTx(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, updateAsk, id, user, run)
		return db.Wrap("note answer", err)
	})
}

// answered stores the result of a call for an unknown caller, after the line has
// stopped waiting for it.
func (a *asks) answered(ctx context.Context, id string, r Reply, failed error) error {
	e := ended{Text: r.Text, Refused: r.Refused}
	if failed != nil || len(r.Text) > MaxBytes {
		e = ended{Failed: true}
	}
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("keep answer: %w", err)
	}
	return a.db.InTx(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, answerAsk, id, string(text))
		return db.Wrap("keep answer", err)
	})
}

// await gives the answer of a question, or the error of ctx when it is not there yet.
func (a *asks) await(ctx context.Context, q *ask, now time.Time) (Reply, error) {
	if q.account != "" {
		return a.oracle.Await(ctx, q.user, q.run)
	}
	look := time.NewTicker(glance)
	defer look.Stop()
	for {
		switch {
		case q == nil: // erased since
			return Reply{Refused: true}, nil
		case q.answer != "":
			var e ended
			if err := json.Unmarshal([]byte(q.answer), &e); err != nil {
				return Reply{}, fmt.Errorf("read answer: %w", err)
			}
			if e.Failed {
				return Reply{}, errors.New("the tool failed")
			}
			return Reply{Text: e.Text, Refused: e.Refused}, nil
		case now.Sub(time.UnixMilli(q.at)) > cutOff:
			return Reply{}, errCutOff
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return Reply{}, ctx.Err()
		}
		var err error
		if q, err = read(ctx, a.db, q.id); err != nil {
			return Reply{}, err
		}
	}
}

// find reads the question that a call waits for; nil when it has none. A caller
// who is not logged in to the account that asked, or calls from another number,
// has none.
func (a *asks) find(ctx context.Context, c machine.ActionCall) (*ask, error) {
	return own(ctx, a.db, c)
}

func own(ctx context.Context, q db.Querier, c machine.ActionCall) (*ask, error) {
	found, err := read(ctx, q, c.Vars[varAsk])
	if err != nil || found == nil || found.phone != c.Phone || !found.begun() || found.account != "" && found.account != c.Account {
		return nil, err
	}
	return found, nil
}

// begun reports whether a question has an answer, or will have.
func (q *ask) begun() bool { return q.account == "" || q.run != "" }

func read(ctx context.Context, q db.Querier, id string) (*ask, error) {
	f := &ask{}
	err := q.QueryRow(ctx, selectAsk, id).Scan(&f.id, &f.phone, &f.account, &f.user, &f.run, &f.lang, &f.at, &f.answer)
	return db.Found(f, err, "find question")
}

// promise arranges that the answer is sent when it is there.
func (f *fetcher) promise(ctx context.Context, tx *db.Tx, c machine.ActionCall) (machine.Result, error) {
	off := machine.Result{Name: resOff}
	if f.asks == nil || f.asks.sms == nil || !f.asks.sms.On() {
		return off, nil
	}
	n, err := f.asks.sms.Recent(ctx, tx, c.Phone, c.Now.Add(-24*time.Hour), textsADay)
	if err != nil || n >= textsADay {
		return off, err
	}
	a, err := own(ctx, tx, c)
	if err != nil || a == nil {
		return off, err
	}
	// Of no workspace: one event for each question would drown everything else.
	_, err = f.asks.jobs.Enqueue(web.WithCaller(ctx, web.Caller{}), tx, job.Draft{Kind: KindAnswer, Key: a.id, Payload: promised{Ask: a.id, Answer: c.Answer}, MaxAttempts: attempts})
	return machine.Result{Name: resQueued, Set: map[string]string{varAsk: ""}}, err
}

// promised is what the job knows: neither who asked nor what.
type promised struct {
	Ask    string      `json:"ask"`
	Answer []menu.Pick `json:"answer,omitzero"` // what the menu takes out of the answer
}

// Answers returns the jobs that send answers by SMS.
func Answers(c Config) map[string]job.Handler {
	a := newAsks(c)
	if a == nil {
		return nil
	}
	return map[string]job.Handler{KindAnswer: a.send}
}

func newAsks(c Config) *asks {
	if c.DB == nil {
		return nil
	}
	a := &asks{db: c.DB, sms: c.SMS, jobs: c.Jobs, perHour: c.PerHour, oracle: c.Oracle}
	if a.perHour <= 0 {
		a.perHour = PerHour
	}
	return a
}

var sorryWords = map[string]string{
	"en": "We could not answer your question. Please try again later.",
	"sw": "Hatukuweza kujibu swali lako. Tafadhali jaribu tena baadaye.",
}

// send waits for an answer and sends it. If there is none it says so, because the
// customer waits for it.
func (a *asks) send(ctx context.Context, r *job.Run) error {
	var p promised
	if err := r.Decode(&p); err != nil {
		return err
	}
	asked, err := read(ctx, a.db, p.Ask)
	if err != nil || asked == nil || !asked.begun() {
		return err // erased since
	}
	if a.oracle == nil {
		return errors.New("the oracle is switched off")
	}
	wait, cancel := context.WithTimeout(ctx, waiting)
	reply, err := a.await(wait, asked, a.db.Now())
	late := wait.Err() != nil
	cancel()
	if err != nil && late && r.Attempt < attempts {
		return fmt.Errorf("the answer is not there yet: %w", err)
	}
	text := line(chosen(reply.Text, p.Answer), sms.MaxText)
	if err != nil || reply.Refused || text == "" {
		if text = sorryWords[asked.lang]; text == "" {
			text = sorryWords["en"]
		}
	}
	return a.db.InTx(ctx, func(tx *db.Tx) error {
		if err := r.Hold(ctx, tx); err != nil {
			return err
		}
		if left, err := read(ctx, tx, p.Ask); err != nil || left == nil {
			return err // nothing is sent to a customer who was erased meanwhile
		}
		_, err := a.sms.Enqueue(ctx, tx, sms.Message{To: asked.phone, Text: text, About: asked.user})
		return err
	})
}

// Forget removes the questions of a number, in the transaction of an erasure.
func Forget(ctx context.Context, tx *db.Tx, phone string) (int64, error) {
	n, err := tx.Exec(ctx, dropPhone, phone)
	return n, db.Wrap("forget questions", err)
}

// Erase removes the questions of a customer, from whatever number.
func Erase(ctx context.Context, tx *db.Tx, did string) (int64, error) {
	n, err := tx.Exec(ctx, dropUser, did)
	return n, db.Wrap("erase questions", err)
}

// Expire removes at most limit questions from before a time.
func Expire(ctx context.Context, q *db.DB, before time.Time, limit int) (int, error) {
	n, err := q.Exec(ctx, dropOld, before.UnixMilli(), limit)
	return int(n), db.Wrap("expire questions", err)
}
