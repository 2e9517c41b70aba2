package app

import (
	"context"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/task"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// taskSource is what scheduled tasks need of the oracle.
func (m *mind) taskSource() task.Source {
	return task.Source{DB: m.DB, Stands: m.taskStands, Send: m.sendTask, Await: m.awaitTask, Busy: m.taskBusy, Tell: m.tellTask}
}

// taskOwner is the owner of a task as a caller.
func taskOwner(o task.Owner) *oracle.Identity {
	return &oracle.Identity{DID: o.DID, Signer: o.Signer, Key: o.Key, Invoked: true, Until: o.Ends}
}

// errand is a message of a task.
func errand(msg task.Message) oracle.Errand {
	return oracle.Errand{
		Who: taskOwner(msg.Owner), Thread: msg.Thread, Key: msg.Key, Title: msg.Title, Text: msg.Text, Brief: msg.Brief, Timezone: msg.Zone,
	}
}

// taskStands reports whether what the owner of a task came with counts now. Unlike
// an answer that is in the making, a task does not outlive the planned end of a key.
func (m *mind) taskStands(ctx context.Context, o task.Owner) error {
	if !o.Ends.IsZero() && m.cfg.Oracle.UCANRequireInvocation {
		return fault.New(fault.Unauthenticated, "UCAN_MISSING", "A delegation alone is no longer a login on this server.")
	}
	if o.Key.Key == "" {
		return m.callers.Holds(ctx, o.DID, o.Signer)
	}
	return m.Auth.StillValid(web.WithCaller(ctx, o.Key), false)
}

func (m *mind) sendTask(ctx context.Context, msg task.Message) (task.Sent, error) {
	ctx = web.WithRequestID(ctx, db.NewID())
	user, id, err := m.errands.Send(ctx, errand(msg))
	if err != nil {
		return task.Sent{}, err
	}
	session, err := m.chats.OpenThread(ctx, user, msg.Thread)
	return task.Sent{Run: id, Session: session.ID}, err
}

func (m *mind) awaitTask(ctx context.Context, user, id string) (string, error) {
	_, err := m.errands.Await(ctx, user, id)
	switch f := fault.As(err); {
	case ctx.Err() != nil, fault.KindOf(err) == fault.NotFound:
		return "", nil // the server stops, or the conversation was deleted
	case f != nil && f.Kind != fault.Internal:
		return f.Message, nil
	case f != nil:
		return "The answer failed.", nil
	}
	return "", err
}

func (m *mind) taskBusy(ctx context.Context, user, thread string) (bool, error) {
	session, err := m.chats.OpenThread(ctx, user, thread)
	if err != nil {
		return false, err
	}
	now, err := m.runs.Current(ctx, user, session.ID)
	return now != nil, err
}

func (m *mind) tellTask(ctx context.Context, msg task.Message, answer string) error {
	return m.errands.Tell(web.WithRequestID(ctx, db.NewID()), errand(msg), answer)
}
