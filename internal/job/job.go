// Package job runs background work. A job is a row that is enqueued in the
// transaction that asks for the work, so it exists exactly when that
// transaction commits. Any instance may claim it, by a lease that it must keep
// extending; when an instance dies, another takes the job over.
//
// A handler may therefore run more than once: it stores its work in chunks with
// Run.Hold or Run.Save in the same transaction, which fail once the lease is
// lost, and it resumes from Run.State. Clients see a job at /v1/jobs/{id} and
// may cancel it.
//
// Workspaces take turns, and so do the kinds of jobs within one: the workspace
// with the fewest running jobs is next, and none gets all workers, so nobody
// waits for the queue of another. Jobs of one workspace and kind begin in order
// of time.
//
// Payload, state and result are small JSON documents and hold no secrets.
package job

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Status is the state of a job.
type Status string

// The statuses. The last four are final.
const (
	Queued              Status = "queued"
	Running             Status = "running"
	Succeeded           Status = "succeeded"
	CompletedWithErrors Status = "completedWithErrors" // parts of the work were refused
	Failed              Status = "failed"
	Cancelled           Status = "cancelled"
)

// statuses are all of them.
var statuses = []Status{Queued, Running, Succeeded, CompletedWithErrors, Failed, Cancelled}

// Statuses returns all statuses, in the order in which jobs pass through them.
func Statuses() []Status { return slices.Clone(statuses) }

// Final reports whether a job in this status is over.
func (s Status) Final() bool {
	return s == Succeeded || s == CompletedWithErrors || s == Failed || s == Cancelled
}

const (
	maxJSON         = 64 << 10 // bytes of a payload, a state or a result
	maxNote         = 200      // characters of a progress note
	defaultAttempts = 5
)

// kindForm is how a kind is written.
var kindForm = regexp.MustCompile(`^[a-z0-9]+([.-][a-z0-9]+)*$`)

// Draft is a job to enqueue. Workspace and creator are those of the caller in
// the context.
type Draft struct {
	Kind        string    // names the handler: "survey.export"
	Payload     any       // what the handler needs, as JSON, at most 64 KiB
	RunAt       time.Time // not before; now by default
	MaxAttempts int       // 5 by default
	Key         string    // when set, a second job of the kind with it is not made
	About       string    // path of its subject, at most 500 bytes; {id} is replaced by the id of the job
}

// Validate finds programming mistakes.
func (d Draft) Validate() error {
	switch {
	case !kindForm.MatchString(d.Kind):
		return fmt.Errorf("job kind %q: want lower-case words joined by dots or dashes", d.Kind)
	case d.MaxAttempts < 0:
		return fmt.Errorf("job %s: %d attempts", d.Kind, d.MaxAttempts)
	case len(d.Key) > 255:
		return fmt.Errorf("job %s: the key is longer than 255 bytes", d.Kind)
	case len(d.About) > 500:
		return fmt.Errorf("job %s: the path of what it is about is longer than 500 bytes", d.Kind)
	}
	return nil
}

// encode makes the stored form of a payload, state or result.
func encode(what string, v any) (string, error) {
	text, err := web.Encode(v)
	if err != nil {
		return "", fmt.Errorf("encode %s: %w", what, err)
	}
	if len(text) > maxJSON {
		return "", fmt.Errorf("%s has %d bytes, at most %d", what, len(text), maxJSON)
	}
	return string(text), nil
}

// Job is a job as its readers see it.
type Job struct {
	ID              string    `json:"id" doc:"Name of the job." example:"0198b3c6-3a5e-7c1f-9b64-2f3c5f0a7d11"`
	Kind            string    `json:"kind" doc:"Kind of work." example:"survey.export"`
	Status          Status    `json:"status" enum:"queued,running,succeeded,completedWithErrors,failed,cancelled" doc:"Its status; the last four are final. completedWithErrors: some rows were refused, and the report says why; failed: all rows were refused, or the work was given up."`
	Progress        Progress  `json:"progress" doc:"How far it has come."`
	Result          any       `json:"result,omitzero" doc:"Its result, once it has ended by itself; also when all rows were refused. Lists leave it out."`
	Errors          []Failure `json:"errors,omitempty" doc:"Why the last attempt failed, or that every row was refused."`
	Attempts        int       `json:"attempts" doc:"How often it was started."`
	MaxAttempts     int       `json:"maxAttempts" doc:"How often it is started, at most."`
	CancelRequested bool      `json:"cancelRequested,omitzero" doc:"Somebody asked to stop it."`
	CreatedBy       string    `json:"createdBy" doc:"DID of whoever asked for it."`
	CreatedAt       time.Time `json:"createdAt"`
	RunAt           time.Time `json:"runAt,omitzero" doc:"Not before this time, while it is queued."`
	StartedAt       time.Time `json:"startedAt,omitzero" doc:"When it was first started."`
	FinishedAt      time.Time `json:"finishedAt,omitzero"`
	Revision        int64     `json:"revision" doc:"Counts the changes of this job; the ETag."`
	Links           Links     `json:"links"`
}

// Nouns of package api, by their names here.
type (
	Progress = api.Progress
	Failure  = api.JobError
)

// Links are the addresses of a job.
type Links struct {
	Self   string `json:"self" example:"/v1/jobs/0198b3c6-3a5e-7c1f-9b64-2f3c5f0a7d11"`
	Cancel string `json:"cancel,omitzero" doc:"POST here to stop it; only while it can be stopped."`
	About  string `json:"about,omitzero" doc:"Its subject: the import, export or migration, or the flags of the survey it checks." example:"/v1/imports/0198b3c6-3a5e-7c1f-9b64-2f3c5f0a7d11"`
}

// codeInternal is everything that is revealed about a mistake of ours.
const codeInternal = "INTERNAL"

// failure is what readers may know about err: a fault's words, or nothing.
func failure(err error) Failure {
	f := fault.As(err)
	if f == nil || f.Kind == fault.Internal {
		return Failure{Code: codeInternal, Message: "Internal error."}
	}
	out := Failure{Code: f.Code, Message: f.Message}
	for _, d := range f.Fields {
		out.Fields = append(out.Fields, api.Field(d))
	}
	return out
}

// Path is the address of a job.
func Path(id string) string { return "/v1/jobs/" + id }

// permanent marks an error that another attempt cannot mend.
type permanent struct{ error }

func (p permanent) Unwrap() error { return p.error }

// Permanent marks err: the job fails at once instead of being tried again.
// Faults of kind Invalid need no mark.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanent{err}
}

func isPermanent(err error) bool {
	var p permanent
	return errors.As(err, &p) || fault.KindOf(err) == fault.Invalid
}

// cut makes note storable and short.
func cut(note string) string {
	clean := make([]rune, 0, len(note))
	for _, r := range note {
		if r != 0 && r != utf8.RuneError && len(clean) < maxNote {
			clean = append(clean, r)
		}
	}
	return string(clean)
}
