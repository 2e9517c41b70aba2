package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

const keyColumns = `id, workspace, principal, name, prefix, hash, scopes, projects, networks, created_by, created_at,
	expires_at, revoked_at, last_used_at, grace_until, replaces, replaced_by, revision, bound_to`

const (
	insertKeySQL = `INSERT INTO api_keys(` + keyColumns + `)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)`
	findKeySQL  = `SELECT ` + keyColumns + ` FROM api_keys WHERE workspace = $1 AND id = $2`
	findHashSQL = `SELECT ` + keyColumns + ` FROM api_keys WHERE hash = $1`
	listKeysSQL = `SELECT ` + keyColumns + ` FROM api_keys WHERE workspace = $1 AND id > $2 ORDER BY id LIMIT $3`
	lockKeySQL  = `UPDATE api_keys SET revision = revision WHERE workspace = $1 AND id = $2 RETURNING ` + keyColumns
	// hasLastingSQL asks what Key.lasting does, of all keys but one and but those
	// of a principal.
	hasLastingSQL = `SELECT count(*) FROM (SELECT 1 FROM api_keys WHERE ` + lastingSQL + ` AND id <> $2 AND principal <> $3 LIMIT 1) AS lasting`
	lastingSQL    = `workspace = $1 AND scopes LIKE '%"*"%' AND projects = '[]' AND networks = '[]'
		AND expires_at IS NULL AND grace_until IS NULL AND revoked_at IS NULL AND replaced_by IS NULL AND bound_to = '[]'`
	listOwnedSQL = `SELECT id FROM api_keys
		WHERE workspace = $1 AND principal = $2 AND (revoked_at IS NULL OR name <> 'erased') ORDER BY id`
	namePersonSQL = `UPDATE principals SET kind = 'person' WHERE workspace = $1 AND did = $2 AND kind = 'service'`
	updateKeySQL  = `UPDATE api_keys SET revoked_at = $3, grace_until = $4, replaced_by = $5, revision = $6 WHERE workspace = $1 AND id = $2`
)

func insertKey(ctx context.Context, q db.Querier, k *Key) error {
	lists, err := encodeLists(k.Scopes, k.Projects, k.Networks, k.BoundTo)
	if err != nil {
		return err
	}
	_, err = q.Exec(ctx, insertKeySQL, k.ID, k.Workspace, k.Principal, k.Name, k.Prefix, k.hash[:], lists[0], lists[1], lists[2],
		k.CreatedBy, k.CreatedAt.UnixMilli(), millis(k.ExpiresAt), millis(k.RevokedAt), millis(k.LastUsedAt), millis(k.GraceUntil),
		optional(k.Replaces), optional(k.ReplacedBy), k.Revision, lists[3])
	return db.Wrap("insert key", err)
}

// findKey finds a key of a workspace. A key of another one is as missing as
// one that never was.
func findKey(ctx context.Context, q db.Querier, workspace, id string) (*Key, error) {
	return oneKey(q.QueryRow(ctx, findKeySQL, workspace, id))
}

// lockKey is findKey that keeps others from changing the key until the
// transaction ends. The update changes nothing; it is the one lock both
// databases know.
func lockKey(ctx context.Context, tx *db.Tx, workspace, id string) (*Key, error) {
	return oneKey(tx.QueryRow(ctx, lockKeySQL, workspace, id))
}

// lockKeys serialises the transactions that end keys of a workspace, so that each
// sees the result of the one before. It is taken before any lock of a key.
func lockKeys(ctx context.Context, tx *db.Tx, workspace string) error {
	_, err := tx.Exec(ctx, `UPDATE workspaces SET revision = revision WHERE id = $1`, workspace)
	return db.Wrap("lock keys of workspace", err)
}

// hasLasting reports whether a workspace has a lasting key other than a given
// one and those of a principal.
func hasLasting(ctx context.Context, q db.Querier, workspace, id, principal string) (bool, error) {
	var n int
	if err := q.QueryRow(ctx, hasLastingSQL, workspace, id, principal).Scan(&n); err != nil {
		return false, fmt.Errorf("look for an owner key: %w", err)
	}
	return n > 0, nil
}

// findHash finds a key by the digest of its text, nil when there is none.
func findHash(ctx context.Context, q db.Querier, hash Digest) (*Key, error) {
	k, err := scanKey(q.QueryRow(ctx, findHashSQL, hash[:]))
	return db.Found(k, err, "find key")
}

func oneKey(row db.Row) (*Key, error) {
	k, err := scanKey(row)
	return db.Need(k, err, "find key", keyNotFound())
}

func keyNotFound() error {
	return fault.New(fault.NotFound, "KEY_NOT_FOUND", "There is no such key.")
}

func listKeys(ctx context.Context, q db.Querier, workspace, after string, limit int) ([]Key, error) {
	rows, err := q.Query(ctx, listKeysSQL, workspace, after, limit)
	return db.Collect(rows, err, "list keys", func(to *Key, row db.Row) error {
		k, err := scanKey(row)
		if err == nil {
			*to = *k
		}
		return err
	})
}

// updateKey stores what can change about a key. Invites.changeKey also ends what
// hangs on it.
func updateKey(ctx context.Context, tx *db.Tx, k *Key) error {
	_, err := tx.Exec(ctx, updateKeySQL, k.Workspace, k.ID, millis(k.RevokedAt), millis(k.GraceUntil), optional(k.ReplacedBy), k.Revision)
	return db.Wrap("update key", err)
}

// touchKey notes when a key was last used, never an earlier time than stored.
func touchKey(ctx context.Context, tx *db.Tx, id string, at int64) error {
	_, err := tx.Exec(ctx,
		`UPDATE api_keys SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)`, id, at)
	return db.Wrap("note use of key", err)
}

// listOwned lists the ids of the keys of a principal that still work or have a
// name.
func listOwned(ctx context.Context, q db.Querier, workspace, principal string) ([]string, error) {
	rows, err := q.Query(ctx, listOwnedSQL, workspace, principal)
	return db.Collect(rows, err, "list keys of principal", db.Column[string])
}

// unname takes the names out of a principal and its keys.
func unname(ctx context.Context, tx *db.Tx, workspace, principal string) error {
	_, err := tx.Exec(ctx, `UPDATE api_keys SET name = 'erased' WHERE workspace = $1 AND principal = $2`, workspace, principal)
	if err == nil {
		_, err = tx.Exec(ctx, `UPDATE principals SET name = 'erased' WHERE workspace = $1 AND did = $2`, workspace, principal)
	}
	return db.Wrap("take names out of keys", err)
}

// insertWorkspace returns false when the id is taken.
func insertWorkspace(ctx context.Context, tx *db.Tx, w *Workspace) (bool, error) {
	n, err := tx.Exec(ctx,
		`INSERT INTO workspaces(id, name, created_by, created_at, revision) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
		w.ID, w.Name, w.CreatedBy, w.CreatedAt.UnixMilli(), w.Revision)
	return n > 0, db.Wrap("insert workspace", err)
}

func findWorkspace(ctx context.Context, q db.Querier, id string) (*Workspace, error) {
	w, err := scanWorkspace(q.QueryRow(ctx, `SELECT id, name, created_by, created_at, revision FROM workspaces WHERE id = $1`, id))
	return db.Need(w, err, "find workspace", fault.New(fault.NotFound, "WORKSPACE_NOT_FOUND", "There is no such workspace."))
}

func listWorkspaces(ctx context.Context, q db.Querier, after string, limit int) ([]Workspace, error) {
	rows, err := q.Query(ctx,
		`SELECT id, name, created_by, created_at, revision FROM workspaces WHERE id > $1 ORDER BY id LIMIT $2`, after, limit)
	return db.Collect(rows, err, "list workspaces", func(to *Workspace, row db.Row) error {
		w, err := scanWorkspace(row)
		if err == nil {
			*to = *w
		}
		return err
	})
}

// insertPrincipal stores a principal; a known one does not change.
func insertPrincipal(ctx context.Context, tx *db.Tx, p Principal) error {
	_, err := tx.Exec(ctx,
		`INSERT INTO principals(workspace, did, kind, name, created_at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`,
		p.Workspace, p.DID, p.Kind, p.Name, p.CreatedAt.UnixMilli())
	return db.Wrap("insert principal", err)
}

// namePerson turns a principal that was made for a key into a person.
func namePerson(ctx context.Context, tx *db.Tx, workspace, principal string) error {
	_, err := tx.Exec(ctx, namePersonSQL, workspace, principal)
	return db.Wrap("name principal a person", err)
}

// findKind returns how a principal became known to a workspace.
func findKind(ctx context.Context, q db.Querier, workspace, principal string) (PrincipalKind, error) {
	var kind PrincipalKind
	err := q.QueryRow(ctx, `SELECT kind FROM principals WHERE workspace = $1 AND did = $2`, workspace, principal).Scan(&kind)
	return kind, db.Wrap("find principal", err)
}

const (
	selectMadeBy   = `SELECT DISTINCT principal FROM api_keys WHERE workspace = $1 AND created_by = $2 AND principal <> $2 ORDER BY principal LIMIT $3`
	selectMakersOf = `SELECT DISTINCT created_by FROM api_keys WHERE workspace = $1 AND principal = $2 ORDER BY created_by`
)

// isMinted reports whether a DID was made for a principal of some workspace.
func isMinted(ctx context.Context, q db.Querier, id string) (bool, error) {
	var n int
	if err := q.QueryRow(ctx, `SELECT count(*) FROM principals WHERE did = $1 AND kind IN ('owner', 'service', 'person')`, id).Scan(&n); err != nil {
		return false, fmt.Errorf("find principal: %w", err)
	}
	return n > 0, nil
}

// findOwner finds the principal a workspace was made with.
func findOwner(ctx context.Context, q db.Querier, workspace string) (did.DID, error) {
	var d did.DID
	err := q.QueryRow(ctx,
		`SELECT did FROM principals WHERE workspace = $1 AND kind = 'owner' ORDER BY created_at LIMIT 1`, workspace).Scan(&d)
	if err != nil {
		return "", fmt.Errorf("find owner of workspace %s: %w", workspace, err)
	}
	return d, nil
}

func scanWorkspace(row db.Row) (*Workspace, error) {
	var w Workspace
	var created int64
	if err := row.Scan(&w.ID, &w.Name, &w.CreatedBy, &created, &w.Revision); err != nil {
		return nil, err
	}
	w.CreatedAt = time.UnixMilli(created).UTC()
	w.Operator = w.ID == OperatorWorkspace
	return &w, nil
}

func scanKey(row db.Row) (*Key, error) {
	var k Key
	var hash []byte
	var scopes, projects, networks, bound string
	var created int64
	var expires, revoked, used, grace *int64
	var replaces, replacedBy *string
	err := row.Scan(&k.ID, &k.Workspace, &k.Principal, &k.Name, &k.Prefix, &hash, &scopes, &projects, &networks, &k.CreatedBy, &created,
		&expires, &revoked, &used, &grace, &replaces, &replacedBy, &k.Revision, &bound)
	if err != nil {
		return nil, err
	}
	copy(k.hash[:], hash)
	k.CreatedAt = time.UnixMilli(created).UTC()
	k.ExpiresAt, k.RevokedAt, k.LastUsedAt, k.GraceUntil = moment(expires), moment(revoked), moment(used), moment(grace)
	if replaces != nil {
		k.Replaces = *replaces
	}
	if replacedBy != nil {
		k.ReplacedBy = *replacedBy
	}
	for _, l := range []struct {
		text string
		list *[]string
	}{{scopes, &k.Scopes}, {projects, &k.Projects}, {networks, &k.Networks}, {bound, &k.BoundTo}} {
		if err := json.Unmarshal([]byte(l.text), l.list); err != nil {
			return nil, fmt.Errorf("decode list of key %s: %w", k.ID, err)
		}
	}
	return &k, nil
}

func encodeLists(lists ...[]string) ([]string, error) {
	out := make([]string, len(lists))
	for i, l := range lists {
		b, err := json.Marshal(l)
		if err != nil {
			return nil, fmt.Errorf("encode list: %w", err)
		}
		out[i] = string(b)
	}
	return out, nil
}

// millis is the stored form of a moment; zero is NULL.
func millis(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	ms := t.UnixMilli()
	return &ms
}

func moment(ms *int64) time.Time {
	if ms == nil {
		return time.Time{}
	}
	return time.UnixMilli(*ms).UTC()
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
