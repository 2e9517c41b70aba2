package chat

import (
	"context"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
)

// Talker is a person who has conversations. One who signs for a DID talks in
// the operator's workspace; one with a key in that of the key, and separately
// from conversations of the same principal with a key of other rights: a key
// shows nobody what it could not have asked for.
type Talker struct {
	Workspace string // "" for one who signs
	DID       string
	Rights    string // what the key was made with, as web.Caller has it
}

// User is the name of the talker in this package and in package run: the DID
// alone of one who signs. No DID, workspace or rights hold a space.
func (t Talker) User() string {
	if t.Workspace == "" {
		return t.DID
	}
	return t.Workspace + " " + t.DID + " " + t.Rights
}

// TalkerOf is the talker for a name that User returned.
func TalkerOf(user string) Talker {
	if parts := strings.Split(user, " "); len(parts) == 3 {
		return Talker{parts[0], parts[1], parts[2]}
	}
	return Talker{DID: user}
}

// In is the workspace the talker is in.
func (t Talker) In() string {
	if t.Workspace == "" {
		return auth.OperatorWorkspace
	}
	return t.Workspace
}

// Known returns the DIDs in texts that a talker wrote or was told, in the form
// in which they are noted: in two workspaces one DID may belong to two people.
func Known(user string, texts ...string) []string {
	dids := DIDs(texts...)
	for i, id := range dids {
		dids[i] = noted(TalkerOf(user).In(), id)
	}
	return dids
}

// noted is how a DID of a workspace is noted.
func noted(workspace, id string) string {
	if workspace == auth.OperatorWorkspace {
		return id
	}
	return workspace + " " + id
}

const (
	talksText     = `SELECT 1 FROM chat_users WHERE workspace = $1 AND did = $2 AND sessions > 0 LIMIT 1`
	listUsersText = `SELECT user_did FROM chat_users WHERE workspace = $1 AND did = $2 ORDER BY user_did`
)

// Talks reports whether a principal of a workspace has conversations.
func Talks(ctx context.Context, q db.Querier, workspace, id string) (bool, error) {
	return db.Exists(q.QueryRow(ctx, talksText, workspace, id), "look for conversations")
}

// listUsers are the names under which a principal of a workspace talks.
func listUsers(ctx context.Context, q db.Querier, workspace, id string) ([]string, error) {
	rows, err := q.Query(ctx, listUsersText, workspace, id)
	return db.Collect(rows, err, "list users", db.Column[string])
}
