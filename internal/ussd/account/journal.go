package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// journal appends events about accounts and numbers.
type journal struct {
	events *event.Log
	phones []byte // keys the names of numbers
}

// record appends an event about an account, with the caller as its actor. No
// event holds a name or a number.
func (j *journal) record(ctx context.Context, tx *db.Tx, typ string, a *row, data any) error {
	return j.events.Append(ctx, tx, event.Event{Workspace: workspace, Type: typ, Subject: a.did, Revision: a.revision, Data: data})
}

// recordNumber appends an event about a number.
func (j *journal) recordNumber(ctx context.Context, tx *db.Tx, typ, phone string, data any) error {
	return j.events.Append(ctx, tx, event.Event{Workspace: workspace, Type: typ, Subject: j.alias(phone), Data: data})
}

// alias is the name of a number in events: the same each time, and only the
// server's key can connect it with the number.
func (j *journal) alias(phone string) string {
	mac := hmac.New(sha256.New, j.phones)
	mac.Write([]byte(phone))
	return "number:" + hex.EncodeToString(mac.Sum(nil)[:12])
}

// asCustomer returns a context in which an account acts, so that events name
// it.
func asCustomer(ctx context.Context, a *row) context.Context {
	return web.WithCaller(ctx, web.Caller{Workspace: workspace, DID: a.did})
}
