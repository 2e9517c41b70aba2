// Package run does the work on a message so that neither a client that leaves nor
// a crash loses it. A run belongs to the server: its frames have numbers from 1,
// are stored, and can be joined by any client of its user, from any frame on, on
// any instance.
//
// It promises that the user's message is stored before the first frame is sent;
// that a join sees every frame once and in order; that frames with a meaning
// elsewhere (tools, actions, errors, the end) are stored before they are sent,
// and text within 250 ms; that the answer and the end are stored together, once;
// that another instance ends a run whose server died, with the part of its answer
// that was stored; and that nobody learns of the runs of others without the right
// to. Ledger lists runs over HTTP; the code that starts, joins and aborts them
// knows neither HTTP nor the model.
package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
)

// Status is the state of a run.
type Status string

// The states of a run. The last four are final.
const (
	Running     Status = "running"
	Recovering  Status = "recovering" // its server died; another one ends it
	Finished    Status = "finished"
	Aborted     Status = "aborted" // by the user: abort, a newer message, a deleted session
	Failed      Status = "failed"
	Interrupted Status = "interrupted" // the server stopped in the middle
)

// deleted is the state of a run whose session is gone and whose rows follow.
const deleted Status = "deleted"

// Why a run was stopped: the cause of the context its work was given.
var (
	ErrAborted  = errors.New("the run was aborted")
	ErrReplaced = errors.New("a newer message took the place of the run")
	ErrDeleted  = errors.New("the session of the run was deleted")
	ErrTimeout  = errors.New("the run took too long")
	ErrClosing  = errors.New("the server is stopping")
	ErrLost     = errors.New("another instance has ended the run")
)

// ErrEnded is returned by methods of a Run that has ended.
var ErrEnded = errors.New("the run has ended")

// Config configures a Manager. The zero value of every option is the sensible
// default.
type Config struct {
	DB   *db.DB
	Chat *chat.Store
	Log  *slog.Logger     // nil: silent
	Now  func() time.Time // the clock of the store by default

	Instance  string        // id of this process; random
	Alone     bool          // no other process uses the store
	PerCaller int           // runs of one user at a time; 3
	Total     int           // runs in this process at a time; 2,000
	Lifetime  time.Duration // of a run; 10 minutes
	Grace     time.Duration // for work to return once it was stopped; 2 s
	Heartbeat time.Duration // a comment to a joined client when there is nothing to send; 15 s
	Flush     time.Duration // how long text waits to be stored, at most; 240 ms, which leaves 10 for the commit
	Segment   int           // bytes of text that wait for Flush, and of a row of several frames, at most; 4 KiB
	MaxBytes  int           // of the frames of a run; 16 MiB
	Beat      time.Duration // of an instance; 5 s
	Lease     time.Duration // without a beat until an instance counts as dead; 20 s
	Poll      time.Duration // for frames of a run in another process; 250 ms

	// Release is called for a recovered run, because the Purse of its user has died
	// with its instance. It may be nil.
	Release func(ctx context.Context, user, id string) error
	// Publish sends a message to the other instances, which call Receive. It
	// may be nil.
	Publish func(ctx context.Context, payload string)
	// AfterFunc is time.AfterFunc, for tests with their own clock. The returned
	// function stops it.
	AfterFunc func(d time.Duration, f func()) (stop func() bool)
}

func (c Config) withDefaults() Config {
	orTime := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	orInt := func(n *int, v int) {
		if *n <= 0 {
			*n = v
		}
	}
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	c.Now = db.Clock(c.DB, c.Now)
	if c.Instance == "" {
		c.Instance = randomHex(8)
	}
	orInt(&c.PerCaller, 3)
	orInt(&c.Total, 2000)
	orInt(&c.Segment, 4<<10)
	orInt(&c.MaxBytes, 16<<20)
	orTime(&c.Lifetime, 10*time.Minute)
	orTime(&c.Grace, 2*time.Second)
	orTime(&c.Heartbeat, 15*time.Second)
	orTime(&c.Flush, 240*time.Millisecond)
	orTime(&c.Beat, 5*time.Second)
	orTime(&c.Lease, 20*time.Second)
	orTime(&c.Poll, 250*time.Millisecond)
	if c.Publish == nil {
		c.Publish = func(context.Context, string) {}
	}
	if c.AfterFunc == nil {
		c.AfterFunc = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	return c
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// Manager starts runs and lets clients join them. It is safe for use by many
// goroutines.
type Manager struct {
	*roster
	*recovery
	cfg    *Config
	wakers *wakers
}

// New makes a manager and records that this instance is running. Its runs are
// removed with their sessions in the chat store. Call Serve once, and Close at
// the end.
func New(ctx context.Context, c Config) (*Manager, error) {
	c = c.withDefaults()
	ro := &roster{total: c.Total, closing: make(chan struct{}), runs: map[string]*Run{}, sessions: map[place]*Run{}}
	w := &wakers{chans: map[string]map[chan struct{}]struct{}{}}
	m := &Manager{roster: ro, recovery: &recovery{cfg: &c, here: ro, wakers: w}, cfg: &c, wakers: w}
	if err := errors.Join(m.beat(ctx), m.forgetDead(ctx)); err != nil {
		return nil, err
	}
	c.Chat.Attach(chat.Part{Deleted: m.sessionDeleted, Shrink: shrink, Blank: blank})
	return m, nil
}

// Start is a message to answer.
type Start struct {
	ID        string // that the run gets, from NewID; "" makes one
	User      string // DID
	Session   string
	RequestID string
	Message   llm.Message
	Declared  []byte // JSON of the tools and actions the page declares; nil keeps those of before

	// Key identifies the message: a second Start with it in the session joins
	// the first run. Hash identifies everything that was asked.
	Key  string
	Hash []byte

	Purse Purse // nil: nobody pays
}

// Purse takes part in the transactions in which a run begins and ends, which may be
// repeated. It is called first in both.
type Purse interface {
	// Hold admits a run, or returns the error for Start to return.
	Hold(ctx context.Context, tx *db.Tx) error
	// Charge receives what a run has used, nil when that is unknown, and returns
	// what its user pays.
	Charge(ctx context.Context, tx *db.Tx, used *Account) (credits int64, err error)
}

// NewID makes the id of a run.
func NewID() string { return "run_" + uuid.Must(uuid.NewV7()).String() }

// Started identifies a run.
type Started struct {
	RunID     string
	RequestID string // of the first request when Joined
	Joined    bool   // the run was there already
}

// Work answers the message of a run. It ends soon after ctx does, whose cause
// is one of the errors above. Its result is stored even then.
type Work func(ctx context.Context, r *Run) Result

// Result is the result of the work on a message.
type Result struct {
	Messages []llm.Message // of the oracle and its tools, to be stored
	Failed   bool
	Error    any      // payload of the error frame; nil sends none, unless the run ran out of time
	Account  *Account // stored with the run; nil: nothing
}

// Account is the record of a run for those who look at runs later. It contains
// nothing that was said.
type Account struct {
	llm.Usage `json:",inline"`
	Model     string `json:"model,omitzero"`
	Credits   int64  `json:"credits,omitzero"` // what the user paid
	Steps     []Step `json:"steps,omitempty"`
	Error     string `json:"error,omitzero"` // as the user saw it
}

// Step is a call of a tool.
type Step struct {
	Tool   string `json:"tool"`
	MS     int64  `json:"ms"`
	Failed bool   `json:"failed,omitzero"`
}

// Info describes a run.
type Info struct {
	RunID     string `json:"runId"`
	Status    Status `json:"status"`
	RequestID string `json:"-"`
	Session   string `json:"-"`
	Turn      int64  `json:"-"`
}

// NotFound is the fault for a run that does not exist or belongs to somebody
// else.
func NotFound() *fault.Error { return fault.New(fault.NotFound, "RUN_NOT_FOUND", "Run not found") }

func tooMany(limit int) *fault.Error {
	return fault.New(fault.TooMany, "TOO_MANY_RUNS", fmt.Sprintf("You already have %d unfinished answers. Wait for one, or abort it.", limit)).
		After(5 * time.Second)
}

func busy() *fault.Error {
	return fault.New(fault.Unavailable, "ORACLE_BUSY", "The oracle cannot take another message at the moment. Try again shortly.").After(2 * time.Second)
}

func keyReused() *fault.Error {
	return fault.New(fault.Unprocessable, "IDEMPOTENCY_KEY_REUSED", "This Idempotency-Key was used for another request.")
}

// Current is the run of a session that is in progress, nil without one.
func (m *Manager) Current(ctx context.Context, user, session string) (*Info, error) {
	return findCurrent(ctx, m.cfg.DB, user, session)
}

// Find describes a run of a user. The fault for one that does not exist or
// belongs to somebody else is RUN_NOT_FOUND.
func (m *Manager) Find(ctx context.Context, user, id string) (Info, error) {
	r, err := findRun(ctx, m.cfg.DB, user, id)
	if err != nil {
		return Info{}, err
	}
	return Info{RunID: r.id, Status: r.status, RequestID: r.requestID, Session: r.sessionID, Turn: r.begun.Turn}, nil
}

// Expire removes frames of runs that ended before a time, at most limit rows in
// one transaction, except those of the end: a late join still learns how the
// run ended. It returns how many rows it removed; call it until it removes
// none.
func (m *Manager) Expire(ctx context.Context, before time.Time, limit int) (int, error) {
	var n int
	err := m.cfg.DB.InTx(ctx, func(tx *db.Tx) (err error) {
		n, err = expireFrames(ctx, tx, before.UnixMilli(), limit)
		return err
	})
	return n, err
}

// ExpireRuns removes at most limit runs that ended before a time, with what
// Expire has left of them. Until then a used key joins its run.
func (m *Manager) ExpireRuns(ctx context.Context, before time.Time, limit int) (int, error) {
	var n int64
	err := m.cfg.DB.InTx(ctx, func(tx *db.Tx) (err error) {
		n, err = expireRuns(ctx, tx, before.UnixMilli(), limit)
		return err
	})
	return int(n), err
}
