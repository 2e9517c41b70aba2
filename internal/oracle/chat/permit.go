package chat

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

const (
	// questionWait is how long a question waits for its answer.
	questionWait = 5 * time.Minute
	// questionLook is how often a waiting call looks for an answer that was given at
	// another instance.
	questionLook = time.Second
	// toolTime is how long a tool that names no time may run once permitted.
	toolTime = 30 * time.Second
	// keptQuestion is how long an ended question can still be read.
	keptQuestion = 24 * time.Hour
	// maxGrants is how many grants a user may have.
	maxGrants = 1000
	// sweptQuestions is how many old questions a new one removes.
	sweptQuestions = 20
)

// PermitsConfig configures Permits. Zero values are the defaults.
type PermitsConfig struct {
	DB   *db.DB
	Chat *Store
	// Claims returns nil if a token that a user sent is for a call of a tool. Without
	// it no token permits anything.
	Claims func(ctx context.Context, did, token, name string) error
	Wait   time.Duration    // for an answer; 5 minutes
	Look   time.Duration    // between looks for one given elsewhere; 1 s
	Now    func() time.Time // the clock of the store by default
}

// Permits decides whether a tool that changes something may run: because the user
// has granted it before, sent an invocation for it, or confirms this very call. It
// is safe for concurrent use.
type Permits struct {
	cfg PermitsConfig

	mu      sync.Mutex
	waiting map[place]chan struct{} // closed when decided here
}

// NewPermits makes a Permits whose rows are removed with their conversations.
func NewPermits(c PermitsConfig) *Permits {
	if c.Wait <= 0 {
		c.Wait = questionWait
	}
	if c.Look <= 0 {
		c.Look = questionLook
	}
	if c.Now == nil {
		c.Now = c.DB.Now
	}
	return &Permits{cfg: c, waiting: map[place]chan struct{}{}}
}

// Part is what is removed with conversations, for a store of conversations
// without a Permits.
func permits() Part { return Part{Shrink: shrinkQuestions, Blank: blankQuestions, Left: dropGrants} }

// Find reads a question of a user. One that does not exist and one of somebody
// else look alike: CONFIRMATION_NOT_FOUND.
func (s *Permits) Find(ctx context.Context, user, run, call string) (tool.Question, error) {
	r, err := findQuestion(ctx, s.cfg.DB, user, place{run, call})
	if err != nil {
		return tool.Question{}, err
	}
	return r.show(s.now()), nil
}

// Waiting lists the open questions of a run of a user.
func (s *Permits) Waiting(ctx context.Context, user, run string) ([]tool.Question, error) {
	now := s.now()
	rows, err := waitingQuestions(ctx, s.cfg.DB, user, run, now)
	if err != nil {
		return nil, err
	}
	out := make([]tool.Question, len(rows))
	for i := range rows {
		out[i] = rows[i].show(now)
	}
	return out, nil
}

// Decide answers a question of a user. Faults: CONFIRMATION_NOT_FOUND,
// CONFIRMATION_DECIDED when it was answered differently before, and
// CONFIRMATION_EXPIRED.
func (s *Permits) Decide(ctx context.Context, user, run, call string, yes bool) (tool.Question, error) {
	state := tool.QuestionRefused
	if yes {
		state = tool.QuestionConfirmed
	}
	if _, err := s.Find(ctx, user, run, call); err != nil {
		return tool.Question{}, err
	}
	done, err := decideQuestion(ctx, s.cfg.DB, place{run, call}, state, s.now())
	if err != nil {
		return tool.Question{}, err
	}
	q, err := s.Find(ctx, user, run, call)
	switch {
	case err != nil:
		return tool.Question{}, err
	case done:
		s.wake(place{run, call})
	case q.Status == tool.QuestionExpired:
		return tool.Question{}, fault.New(fault.Conflict, "CONFIRMATION_EXPIRED", "Nobody answered in time, which counts as a refusal. Send the message again.")
	case q.Status != state && (!yes || q.Status != tool.QuestionUsed):
		return tool.Question{}, fault.New(fault.Conflict, "CONFIRMATION_DECIDED", "The question is closed: "+closed(q.Status)+".")
	}
	return q, nil
}

// Close refuses the open questions of a user's conversation, and unused confirmations in
// it, because the user has stopped it. It changes nothing of other users.
func (s *Permits) Close(ctx context.Context, user, sessionID string) error {
	session, err := s.cfg.Chat.Number(ctx, user, sessionID)
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	return closeQuestions(ctx, s.cfg.DB, user, session)
}

// Keep lets the tool of a question that a user has confirmed run without further
// questions in its conversation. Faults: CONFIRMATION_NOT_FOUND, TOO_MANY_GRANTS.
func (s *Permits) Keep(ctx context.Context, user, run, call string) error {
	r, err := findQuestion(ctx, s.cfg.DB, user, place{run, call})
	if err != nil || r.state != tool.QuestionConfirmed && r.state != tool.QuestionUsed {
		return err
	}
	return s.put(ctx, user, r.session, tool.Grant{Tool: r.tool, Hash: r.seal, CreatedAt: time.UnixMilli(s.now()).UTC()})
}

// Grants lists the grants of a user, by tool.
func (s *Permits) Grants(ctx context.Context, user string) ([]tool.Grant, error) {
	return grants(ctx, s.cfg.DB, user, s.now())
}

// Grant lets a tool run without questions, in one conversation of the user or,
// without its id, in all of them. Faults: SESSION_NOT_FOUND, TOO_MANY_GRANTS.
func (s *Permits) Grant(ctx context.Context, user string, g tool.Grant) (tool.Grant, error) {
	session, err := s.session(ctx, user, g.SessionID)
	if err != nil {
		return tool.Grant{}, err
	}
	g.CreatedAt = time.UnixMilli(s.now()).UTC()
	return g, s.put(ctx, user, session, g)
}

func (s *Permits) put(ctx context.Context, user string, session int64, g tool.Grant) error {
	full, err := putGrant(ctx, s.cfg.DB, user, session, g)
	if err == nil && full {
		err = fault.New(fault.Conflict, "TOO_MANY_GRANTS", "You have 1,000 grants. Take one back first.")
	}
	return err
}

// Seals returns the seals of foreign tools at the time a user granted them for
// a conversation, by tool.
func (s *Permits) Seals(ctx context.Context, user, sessionID string) (map[string]string, error) {
	session, err := s.session(ctx, user, sessionID)
	if err != nil || session == 0 {
		return nil, err
	}
	return seals(ctx, s.cfg.DB, user, session, s.now())
}

// Withdraw removes a grant. The fault is GRANT_NOT_FOUND.
func (s *Permits) Withdraw(ctx context.Context, user, sessionID, name string) error {
	session, err := s.session(ctx, user, sessionID)
	if err != nil {
		return err
	}
	found, err := dropGrant(ctx, s.cfg.DB, user, session, name)
	if err == nil && !found {
		err = fault.New(fault.NotFound, "GRANT_NOT_FOUND", "You have no such grant.")
	}
	return err
}

// session gives the number of a conversation, 0 without its id.
func (s *Permits) session(ctx context.Context, user, id string) (int64, error) {
	if id == "" {
		return 0, nil
	}
	return s.cfg.Chat.Number(ctx, user, id)
}

// closed says why a question no longer accepts an answer.
func closed(status string) string {
	if status == tool.QuestionRefused {
		return "it was refused, or the run that asked it was stopped"
	}
	return "it was " + status + " before"
}

func (s *Permits) now() int64 { return s.cfg.Now().UnixMilli() }

func noQuestion() error {
	return fault.New(fault.NotFound, "CONFIRMATION_NOT_FOUND", "No question of this run has this id.")
}

// bound is what a confirmation is bound to: a tool, its seal, and its arguments
// in canonical form.
func bound(c tool.Call, seal string) string {
	args := c.Args.Clone()
	if args.Canonicalize() != nil {
		args = c.Args
	}
	sum := sha256.Sum256([]byte(c.Name + "\x00" + string(args) + seal))
	return hex.EncodeToString(sum[:])
}

// listen gives a channel that is closed when a question is decided here.
func (s *Permits) listen(at place) (decided <-chan struct{}, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := make(chan struct{})
	s.waiting[at] = ch
	return ch, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.waiting[at] == ch {
			delete(s.waiting, at)
		}
	}
}

// wake has the call that waits for a question look for its answer.
func (s *Permits) wake(at place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ch, ok := s.waiting[at]; ok {
		close(ch)
		delete(s.waiting, at)
	}
}
