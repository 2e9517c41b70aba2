// Package task is the plugin tasks: what the oracle is asked at a set time, or
// again and again, while its user is away.
//
// It promises that each occurrence of a task is asked once, however many instances
// there are and wherever one dies: the message of an occurrence has a key, so an
// instance that takes a task over finds the answer that was begun. One run makes up
// for all occurrences missed while no instance ran. A run has the rights that its
// owner has at that moment; when the credential they rest on no longer counts, the
// task pauses and says so, here and in its conversation. Nobody can confirm
// anything in such a run, so tools that change something need a grant.
package task

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/oracle/chat"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/plugin"
)

// The states of a task.
const (
	active = "active"
	paused = "paused"
	done   = "done"
)

// Owner is the owner of a task, with the credential it was made with.
type Owner struct {
	User   string     `json:"-"` // the name they talk under
	DID    string     `json:"-"`
	Signer string     `json:"signer,omitzero"` // did:key that signed
	Key    web.Caller `json:"key,omitzero"`    // as their API key has it; zero for one who signed
	// Ends is the end of the delegation, if that was the only credential; zero
	// otherwise.
	Ends time.Time `json:"ends,omitzero"`
}

// Message is a message for an owner who is absent.
type Message struct {
	Owner
	Thread string // names the conversation
	Key    string // two with the same one are the same
	Title  string
	Text   string
	Brief  string // how the model is to answer
	Zone   string
}

// Sent says where the answer to a message is made.
type Sent struct{ Run, Session string }

// Source is the part of the oracle that tasks need.
type Source struct {
	DB *db.DB
	// Stands returns nil while an owner's credential counts. A fault of kind
	// Unauthenticated or Forbidden means that it does not.
	Stands func(ctx context.Context, o Owner) error
	// Send begins the answer to a message, or finds it.
	Send func(ctx context.Context, m Message) (Sent, error)
	// Await waits for the end of a run, and returns what the user is told if it failed.
	Await func(ctx context.Context, user, run string) (failure string, err error)
	// Busy reports whether a run is in progress in a conversation.
	Busy func(ctx context.Context, user, thread string) (bool, error)
	// Tell puts the server's own answer into a conversation.
	Tell func(ctx context.Context, m Message, answer string) error
	Now  func() time.Time // the clock of the store by default
}

// Plugin is the plugin tasks. Serve runs due tasks.
type Plugin struct {
	from  Source
	log   *slog.Logger
	limit int           // of a user
	least time.Duration // between two times of a schedule
	lock  time.Duration // how long a time waits for the answer to the one before
	wake  chan struct{}
	turns *turns // of answers in the making here
}

var (
	_ plugin.Starts   = (*Plugin)(nil)
	_ plugin.Settings = (*Plugin)(nil)
	_ plugin.Tools    = (*Plugin)(nil)
	_ plugin.Routes   = (*Plugin)(nil)
)

// New makes the plugin.
func New(from Source) *Plugin {
	from.Now = db.Clock(from.DB, from.Now)
	return &Plugin{from: from, log: slog.New(slog.DiscardHandler), wake: make(chan struct{}, 1), turns: &turns{held: map[string]int{}, last: map[string]int64{}}}
}

// Manifest describes the plugin.
func (p *Plugin) Manifest() plugin.Manifest {
	return plugin.Manifest{
		Name: "tasks", Version: "1.0.0", Title: "Scheduled tasks", Summary: "Asks the oracle something at a given time, or regularly, for a user who is not present.",
		WhenToUse: []string{
			"The user wants something to be done or looked up later, regularly or at a time.", "The user asks what is scheduled, or wants to change, pause or cancel it.",
		},
		WhenNotToUse: []string{"Something that can be done now."},
		Examples: []plugin.Example{
			{User: "Every Monday at 7, tell me which stoves fell silent", Tool: "create_task", Args: `{"title":"Silent stoves","prompt":"Which stoves have sent nothing for a week?","cron":"0 7 * * MON","timezone":"Africa/Nairobi"}`},
			{User: "What have I scheduled?", Tool: "list_tasks"},
		},
		Tags: []string{"automation", "schedule"},
	}
}

// Settings are the limits.
func (p *Plugin) Settings() []plugin.Setting {
	return []plugin.Setting{
		{Name: "maxPerUser", Kind: plugin.Integer, Default: "50", Min: 1, Max: 1000, Doc: "Largest number of tasks of a user, including paused and finished ones."},
		{Name: "minCronInterval", Kind: plugin.Duration, Default: "300s", Doc: "Shortest time between two runs of a schedule."},
		{Name: "runLock", Kind: plugin.Duration, Default: "600s", Doc: "How long a scheduled time waits for the previous answer before it is skipped."},
	}
}

// Start reads the settings.
func (p *Plugin) Start(_ context.Context, host plugin.Host) error {
	p.log = host.Log
	p.limit, p.least, p.lock = host.Settings.Int("maxPerUser"), host.Settings.Duration("minCronInterval"), host.Settings.Duration("runLock")
	return nil
}

// task is a task as stored.
type task struct {
	nid                int64
	id, title, prompt  string
	cron, zone         string
	status, reason     string
	owner              Owner
	planned, due, once *int64 // ms: when it runs, when an instance looks, when it was to run once
	waits, last        *int64 // since when it waits for the answer before, and when it last ran
	lastRun, lastError string
	session            string // "" until it has run
	created, updated   int64
}

// thread names the conversation of a task.
func (t *task) thread() string { return "task " + t.id }

// message is the message for the planned time.
func (t *task) message() Message {
	m := Message{Owner: t.owner, Thread: t.thread(), Title: t.title, Text: t.prompt, Zone: t.zone, Brief: brief}
	if t.planned != nil {
		m.Key = "task " + time.UnixMilli(*t.planned).UTC().Format(time.RFC3339)
	}
	return m
}

// brief is what the model is told about a run that nobody watches.
const brief = "This message is a task that the user has scheduled. They are not there and will read your answer later: ask nothing back, do what is asked, and give the result."

func (t *task) place() *time.Location {
	if place, err := zoneOf(t.zone); err == nil {
		return place
	}
	return time.UTC // the name was checked
}

// encodeOwner is the stored form of how an owner came.
func encodeOwner(o Owner) (string, error) {
	text, err := json.Marshal(o)
	return string(text), err
}

// decodeOwner reads the stored form; user is the name they talk under.
func decodeOwner(user, text string) (Owner, error) {
	t := chat.TalkerOf(user)
	o := Owner{User: user, DID: t.DID}
	err := json.Unmarshal([]byte(text), &o)
	if o.Key.Key != "" {
		o.Key.Rights = t.Rights
	}
	return o, err
}
