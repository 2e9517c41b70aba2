package credential

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/vc"
)

const (
	selectKeys = `SELECT nid, ws, issuer, controller, method, public, sealed, created_at, ended_at, stolen_at FROM issuer_keys WHERE issuer = $1 ORDER BY nid DESC LIMIT $2`
	selectKey  = `SELECT nid, ws, issuer, controller, method, public, sealed, created_at, ended_at, stolen_at FROM issuer_keys WHERE issuer = $1 AND ended_at = 0`
	keyByName  = `SELECT nid, ws, issuer, controller, method, public, sealed, created_at, ended_at, stolen_at FROM issuer_keys WHERE method = $1`
	insertKey  = `INSERT INTO issuer_keys (nid, ws, issuer, controller, method, public, sealed, created_at, ended_at, stolen_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0)
		ON CONFLICT (issuer) WHERE ended_at = 0 DO NOTHING`
	// An issuer had other names for earlier keys, and before the server had its
	// name.
	speaksFor = `SELECT 1 FROM issuer_keys WHERE issuer = $1 AND controller = $2 LIMIT 1`
	endKey    = `UPDATE issuer_keys SET ended_at = $2 WHERE nid = $1 AND ended_at = 0`
	stealKey  = `UPDATE issuer_keys SET stolen_at = $2 WHERE nid = $1`
)

// maxKeys limits how many keys an issuer's DID document shows, the newest.
const maxKeys = 50

// sealing is the purpose of the box that seals keys.
const sealing = "issuer key"

// key is a key of an issuer. It signs credentials and their status lists, and has no
// other authority.
type key struct {
	nid, issuer            int64
	ws, controller, method string
	public                 string // multibase
	sealed                 []byte
	created, ended, stolen int64 // ms; 0: not
}

func (k *key) scan(from db.Row) error {
	return from.Scan(&k.nid, &k.ws, &k.issuer, &k.controller, &k.method, &k.public, &k.sealed, &k.created, &k.ended, &k.stolen)
}

// keyOf reads a key; nil when there is none.
func keyOf(from db.Row) (*key, error) {
	k := new(key)
	return db.Found(k, k.scan(from), "find issuer key")
}

// view renders a key for the API.
func (k *key) view() api.IssuerKey {
	out := api.IssuerKey{ID: k.method, Issuer: k.controller, PublicKeyMultibase: k.public, Status: "current", Created: time.UnixMilli(k.created).UTC()}
	if k.ended != 0 {
		out.Status, out.Ended = "ended", time.UnixMilli(k.ended).UTC()
	}
	if k.stolen != 0 {
		out.Status, out.CompromisedSince = "compromised", time.UnixMilli(k.stolen).UTC()
	}
	return out
}

// webName is the did:web of an issuer; "" when this server has no name, or did not
// generate the DID of the twin.
func (is *Issuer) webName(id string) string {
	hex, minted := did.DID(id).EntityID()
	if is.base == nil || !minted {
		return ""
	}
	name, err := did.FromWeb(is.base, "entities", hex)
	if err != nil {
		return ""
	}
	return name.String()
}

// current returns the key that an issuer signs with. The first is made when it is
// needed, and a new one when the server's name has changed.
func (is *Issuer) current(ctx context.Context, tx *db.Tx, issuer *entity.Row) (*key, error) {
	name := is.webName(issuer.DID)
	for {
		k, err := keyOf(tx.QueryRow(ctx, selectKey, issuer.NID))
		if err != nil || k != nil && (k.controller == name || name == "" && strings.HasPrefix(k.controller, "did:key:")) {
			return k, err
		}
		if k != nil {
			if _, err := tx.Exec(ctx, endKey, k.nid, is.now().UnixMilli()); err != nil {
				return nil, db.Wrap("end issuer key", err)
			}
		}
		if err := is.makeKey(ctx, tx, issuer, name); err != nil {
			return nil, err
		}
	}
}

// makeKey stores a new key of an issuer, unless another transaction stored one at
// the same moment.
func (is *Issuer) makeKey(ctx context.Context, tx *db.Tx, issuer *entity.Row, name string) error {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fmt.Errorf("make issuer key: %w", err)
	}
	text := did.Multibase(public)
	controller := name
	if controller == "" {
		controller = did.FromEd25519(public).String()
	}
	method := controller + "#" + text
	_, err = tx.Exec(ctx, insertKey, is.cfg.NewNID(), issuer.Workspace, issuer.NID, controller, method, text, is.box.Seal(method, private), is.now().UnixMilli())
	return db.Wrap("insert issuer key", err)
}

// signer unseals a key.
func (is *Issuer) signer(k *key) (vc.Signer, error) {
	private, err := is.box.Open(k.method, k.sealed)
	if err != nil || len(private) != ed25519.PrivateKeySize {
		return vc.Signer{}, fmt.Errorf("open issuer key %s: %w", k.method, err)
	}
	return vc.Signer{Key: private, Method: k.method}, nil
}

// Published returns the keys that a twin's DID document shows for assertions, the
// newest first, without stolen ones.
func Published(ctx context.Context, q db.Querier, issuer int64, id string) ([]string, error) {
	rows, err := q.Query(ctx, selectKeys, issuer, maxKeys)
	all, err := db.Collect(rows, err, "list issuer keys", (*key).scan)
	var out []string
	for _, k := range all {
		if k.stolen == 0 && k.controller == id {
			out = append(out, k.public)
		}
	}
	return out, err
}

// publicKey reads a key that this package wrote.
func publicKey(multibase string) ed25519.PublicKey {
	key, _ := did.DID("did:key:" + multibase).Ed25519()
	return key
}
