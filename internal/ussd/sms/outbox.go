package sms

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/outbound"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Kind is the kind of the jobs that send.
const Kind = "ussd.sms"

// attempts is how often a message is tried. With the pauses of jobs that is
// about an hour; a code or a receipt is of no use later.
const attempts = 8

// The purposes of keys derived from the server's key.
const (
	purposeSeal   = "sms message"
	purposeNumber = "sms number"
)

// Config configures an Outbox. DB, Jobs and Key are needed. Without a Sender
// the outbox is off: it accepts no message.
type Config struct {
	DB     *db.DB
	Jobs   *job.Service
	Key    secret.Key
	Sender Sender
	Log    *slog.Logger     // discards by default
	Now    func() time.Time // the clock of the store by default
}

// Outbox stores messages and sends them. It is safe for many goroutines.
type Outbox struct {
	cfg    Config
	box    secret.Box
	number []byte // keys the hashes of numbers
}

// New makes an Outbox over a migrated store.
func New(cfg Config) *Outbox {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	return &Outbox{cfg: cfg, box: cfg.Key.Box(purposeSeal), number: cfg.Key.Derive(purposeNumber)}
}

// On reports whether messages can be sent at all.
func (o *Outbox) On() bool { return o.cfg.Sender != nil }

// Enqueue stores a message in tx; it is sent once tx is committed. It returns
// false when the outbox is off: then nothing is stored. An error is a
// programming mistake or a failure of the store.
func (o *Outbox) Enqueue(ctx context.Context, tx *db.Tx, m Message) (bool, error) {
	if err := m.Validate(); err != nil {
		return false, err
	}
	if !o.On() {
		return false, nil
	}
	m.ID = db.NewID()
	now := o.cfg.Now().UnixMilli()
	r := row{id: m.ID, about: m.About, number: o.hash(m.To), to: o.box.Seal(m.ID+" to", []byte(m.To)), text: o.box.Seal(m.ID+" text", []byte(m.Text)), at: now}
	if err := insert(ctx, tx, r); err != nil {
		return false, err
	}
	// Of no workspace: one event and one listed job for each message would
	// drown everything else.
	_, err := o.cfg.Jobs.Enqueue(web.WithCaller(ctx, web.Caller{}), tx, job.Draft{Kind: Kind, Payload: payload{ID: m.ID}, MaxAttempts: attempts})
	return err == nil, err
}

// Recent counts the messages to a number since a time, at most limit.
func (o *Outbox) Recent(ctx context.Context, q db.Querier, to string, since time.Time, limit int) (int, error) {
	return countRecent(ctx, q, o.hash(to), since.UnixMilli(), limit)
}

// payload is what the job knows: never whom it is for.
type payload struct {
	ID string `json:"id"`
}

// Handlers returns the jobs of the outbox, by kind.
func (o *Outbox) Handlers() map[string]job.Handler { return map[string]job.Handler{Kind: o.send} }

// send hands one message to the provider.
func (o *Outbox) send(ctx context.Context, r *job.Run) error {
	var p payload
	if err := r.Decode(&p); err != nil {
		return err
	}
	stored, err := find(ctx, o.cfg.DB, p.ID)
	if err != nil || stored == nil || stored.status != Queued {
		return err // erased, or sent by an attempt that could not say so
	}
	m, err := o.open(stored)
	if err != nil {
		return job.Permanent(err)
	}
	if o.cfg.Sender == nil {
		return o.failed(ctx, r, p.ID, refused("Messages are switched off."))
	}
	id, err := o.cfg.Sender.Send(ctx, m)
	if err != nil {
		return o.failed(ctx, r, p.ID, err)
	}
	return o.cfg.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := r.Hold(ctx, tx); err != nil {
			return err
		}
		return conclude(ctx, tx, p.ID, ending{status: Sent, provider: outbound.Printable(id, maxKept), attempts: r.Attempt, at: o.cfg.Now().UnixMilli()})
	})
}

// failed records an attempt that did not send, and ends the message when there
// is no further one. It returns the cause, for the job.
func (o *Outbox) failed(ctx context.Context, r *job.Run, id string, cause error) error {
	e := ending{status: Queued, reason: reason(cause), attempts: r.Attempt, at: o.cfg.Now().UnixMilli()}
	if r.Attempt >= attempts || fault.KindOf(cause) == fault.Invalid {
		e.status = Failed
	}
	err := o.cfg.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := r.Hold(ctx, tx); err != nil {
			return err
		}
		if e.status == Failed {
			return conclude(ctx, tx, id, e)
		}
		return note(ctx, tx, id, e)
	})
	return errors.Join(cause, err)
}

// reason is the stored form of an error: the message of a fault, or nothing.
func reason(err error) string {
	if f := fault.As(err); f != nil {
		return outbound.Printable(f.Message, maxKept)
	}
	return "The message could not be sent."
}

func (o *Outbox) open(r *row) (Message, error) {
	to, err := o.box.Open(r.id+" to", r.to)
	if err != nil {
		return Message{}, err
	}
	text, err := o.box.Open(r.id+" text", r.text)
	return Message{ID: r.id, To: string(to), Text: string(text), About: r.about}, err
}

// hash is a number as the store knows it: only the server's key can connect it
// with the number.
func (o *Outbox) hash(number string) string {
	mac := hmac.New(sha256.New, o.number)
	mac.Write([]byte(number))
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// Erase removes all messages about a DID and, unless it is "", to a number. It
// returns how many there were.
func (o *Outbox) Erase(ctx context.Context, tx *db.Tx, about, number string) (int64, error) {
	var sum int64
	if about != "" {
		n, err := removeAbout(ctx, tx, about)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	if number == "" {
		return sum, nil
	}
	n, err := removeNumber(ctx, tx, o.hash(number))
	return sum + n, err
}

// Expire removes at most limit messages stored before a time, the oldest first,
// and returns how many.
func (o *Outbox) Expire(ctx context.Context, before time.Time, limit int) (int, error) {
	return expire(ctx, o.cfg.DB, before.UnixMilli(), limit)
}

// Record is a message as operators see it: without number and text.
type Record struct {
	ID         string
	Status     Status
	Attempts   int
	ProviderID string
	Error      string
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// List returns at most limit messages after an id, oldest first.
func (o *Outbox) List(ctx context.Context, after string, limit int) ([]Record, error) {
	return list(ctx, o.cfg.DB, after, limit)
}
