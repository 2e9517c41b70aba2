package app

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

// Identity is the identity of this server's oracle. Without a key it still
// checks callers but cannot sign.
type Identity struct {
	DID did.DID
	Key ed25519.PrivateKey // nil when only the DID is known
}

// oracleText is an identity in its stored form, sealed in the store; earlier
// servers kept it in oracle.json of the data folder.
type oracleText struct {
	DID  did.DID `json:"did"`
	Seed string  `json:"ed25519Seed,omitempty"` // base64url, 32 bytes
}

// sharedOracle is the name of the identity among what servers share.
const sharedOracle = "oracle"

func (i Identity) text() ([]byte, error) {
	t := oracleText{DID: i.DID}
	if i.Key != nil {
		t.Seed = base64.RawURLEncoding.EncodeToString(i.Key.Seed())
	}
	return json.Marshal(t)
}

func parseIdentity(raw []byte) (Identity, error) {
	var t oracleText
	if err := json.Unmarshal(raw, &t); err != nil {
		return Identity{}, err
	}
	if _, err := did.Parse(t.DID.String()); err != nil {
		return Identity{}, err
	}
	if t.Seed == "" {
		return Identity{DID: t.DID}, nil
	}
	seed, err := base64.RawURLEncoding.DecodeString(t.Seed)
	if err != nil || len(seed) != ed25519.SeedSize {
		return Identity{}, errors.New("ed25519Seed is not 32 bytes")
	}
	return Identity{DID: t.DID, Key: ed25519.NewKeyFromSeed(seed)}, nil
}

// loadIdentity gives the oracle of the store. The first server on it brings its
// own: that of its settings, or of oracle.json in its data folder, or a new one.
func (c *Core) loadIdentity(ctx context.Context, dir string, o config.Oracle) (Identity, error) {
	set, err := identityOf(o)
	if err != nil {
		return Identity{}, err
	}
	file, errFile := readIdentity(filepath.Join(dir, oracleName+".json"))
	mine := set
	if mine.DID == "" {
		mine = file
	}
	fresh := mine.DID == ""
	if fresh {
		if mine, err = newIdentity(); err != nil {
			return Identity{}, err
		}
	}
	draft, err := mine.text()
	if err != nil {
		return Identity{}, err
	}
	raw, err := auth.Share(ctx, c.DB, c.Key, auth.Common{Name: sharedOracle, Draft: draft, Agree: func(kept []byte) ([]byte, error) {
		if fresh && errFile != nil && bytes.Equal(kept, draft) {
			return nil, errFile // ours would be kept for good, and the file is what they meant
		}
		return agree(set, kept)
	}})
	if err != nil {
		return Identity{}, err
	}
	id, err := parseIdentity(raw)
	if err != nil {
		return Identity{}, fmt.Errorf("read the oracle of the store: %w", err)
	}
	tellDifference(c.log, file, id)
	return id, nil
}

// tellDifference logs that the file of a data folder belongs to another oracle
// than the store's. It is ignored.
func tellDifference(log *slog.Logger, file, kept Identity) {
	if file.DID != "" && (file.DID != kept.DID || !bytes.Equal(file.Key, kept.Key)) {
		log.Warn("oracle.json is not used: the store has another oracle", "oracle_did", kept.DID.String(), "file", file.DID.String())
	}
}

// agree holds the settings against the oracle of the store. A key that the store
// did not have yet is added.
func agree(set Identity, raw []byte) ([]byte, error) {
	kept, err := parseIdentity(raw)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the oracle of the store: %w", err)
	case set.DID == "":
		return raw, nil
	case set.DID != kept.DID:
		return nil, fmt.Errorf("ORACLE_DID is %s, but the oracle of this store is %s: remove the setting, or stop all servers and run 'hearth oracle adopt'", set.DID, kept.DID)
	case set.Key == nil || set.Key.Equal(kept.Key):
		return raw, nil
	case kept.Key != nil:
		return nil, fmt.Errorf("ORACLE_MNEMONIC is of another key than the oracle of this store (%s) has: remove the setting, or stop all servers and run 'hearth oracle adopt'", kept.DID)
	}
	return set.text()
}

// identityOf is the oracle of the settings, empty without any.
func identityOf(o config.Oracle) (Identity, error) {
	if o.DID == "" {
		return Identity{}, nil
	}
	id, err := did.Parse(o.DID)
	set := Identity{DID: id}
	if text := o.Mnemonic.Reveal(); text != "" {
		set.Key = ucan.KeyFromMnemonic(text)
	}
	return set, err
}

// readIdentity reads oracle.json, which servers kept in the data folder before the
// store had it. It is empty without one.
func readIdentity(path string) (Identity, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Identity{}, nil
	}
	var id Identity
	if err == nil {
		id, err = parseIdentity(raw)
	}
	if err == nil && id.Key == nil {
		err = errors.New("ed25519Seed is missing")
	}
	if err != nil {
		return Identity{}, fmt.Errorf("read oracle identity %s: %w", path, err)
	}
	return id, nil
}

func newIdentity() (Identity, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Identity{}, fmt.Errorf("make oracle key: %w", err)
	}
	return Identity{DID: did.NewEntity(), Key: key}, nil
}

// ErrKeyLost means that adopting an oracle would drop the only copy of a key.
var ErrKeyLost = errors.New("the store has the only copy of a key")

// AdoptOracle makes the oracle of the settings that of the store, and returns the
// DID of the previous one. No server may be running. Unless sure, it refuses to
// drop a key: ErrKeyLost.
func (c *Core) AdoptOracle(ctx context.Context, cfg *config.Config, sure bool) (before did.DID, err error) {
	set, err := identityOf(cfg.Oracle)
	if err != nil || set.DID == "" {
		return "", errors.Join(err, errors.New("set ORACLE_DID to the oracle that the store is to have"))
	}
	if live, err := c.DB.Live(ctx); err != nil || len(live) > 0 || !cfg.Postgres() && Serves(cfg) {
		return "", errors.Join(err, errors.New("a server works on this store: stop it first"))
	}
	draft, err := set.text()
	if err != nil {
		return "", err
	}
	_, err = auth.Share(ctx, c.DB, c.Key, auth.Common{Name: sharedOracle, Draft: draft, Agree: func(kept []byte) ([]byte, error) {
		id, err := parseIdentity(kept)
		before = id.DID
		if err == nil && !sure && id.Key != nil && !bytes.Equal(id.Key, set.Key) {
			return nil, fmt.Errorf("%w: that of %s", ErrKeyLost, id.DID)
		}
		return draft, err
	}})
	return before, err
}

// OracleDID is the DID of the oracle of a configuration: the one that is set, or
// that of the store. It makes none.
func OracleDID(ctx context.Context, cfg *config.Config) (did.DID, error) {
	if cfg.Oracle.DID != "" {
		return did.Parse(cfg.Oracle.DID)
	}
	// Reading must not make a store, nor a key.
	need := []string{}
	if !cfg.Postgres() {
		need = append(need, StoreConfig(cfg, nil).Path)
	}
	if cfg.Auth.ServerKey == "" {
		need = append(need, filepath.Join(cfg.Data.Dir, "server.key"))
	}
	for _, path := range need {
		if _, err := os.Stat(path); err != nil {
			return "", err
		}
	}
	key, err := serverKey(cfg)
	if err != nil {
		return "", err
	}
	d, err := db.Open(ctx, StoreConfig(cfg, nil))
	if err != nil {
		return "", err
	}
	raw, err := auth.Shared(ctx, d, key, sharedOracle)
	if err := errors.Join(err, d.Close()); errors.Is(err, sql.ErrNoRows) {
		return "", errors.New("no server has been started on this store")
	} else if err != nil {
		return "", err
	}
	id, err := parseIdentity(raw)
	return id.DID, err
}
