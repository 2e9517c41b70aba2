package app

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

// Identity is who the oracle of this server is. Without a key it still
// checks callers but cannot sign.
type Identity struct {
	DID did.DID
	Key ed25519.PrivateKey // nil when only the DID is known
}

// oracleFile is the oracle's identity in the data folder.
type oracleFile struct {
	DID  did.DID `json:"did"`
	Seed string  `json:"ed25519Seed"` // base64url, 32 bytes
}

// loadIdentity reads the oracle's identity from the data folder and makes one
// on the first start. A DID that was configured wins; the key in the folder
// belongs to another one then and is not used. Its own comes from a mnemonic.
func loadIdentity(dir string, o config.Oracle) (Identity, error) {
	if o.DID != "" {
		id, err := did.Parse(o.DID)
		known := Identity{DID: id}
		if text := o.Mnemonic.Reveal(); text != "" {
			known.Key = ucan.KeyFromMnemonic(text)
		}
		return known, err
	}
	path := filepath.Join(dir, oracleName+".json")
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeIdentity(path)
	} else if err != nil {
		return Identity{}, fmt.Errorf("read oracle identity: %w", err)
	}
	var f oracleFile
	if err := json.Unmarshal(raw, &f); err != nil {
		return Identity{}, fmt.Errorf("read oracle identity %s: %w", path, err)
	}
	seed, err := base64.RawURLEncoding.DecodeString(f.Seed)
	if err != nil || len(seed) != ed25519.SeedSize {
		return Identity{}, fmt.Errorf("read oracle identity %s: ed25519Seed is not 32 bytes", path)
	}
	if !did.Valid(f.DID.String()) {
		return Identity{}, fmt.Errorf("read oracle identity %s: %w", path, err)
	}
	return Identity{DID: f.DID, Key: ed25519.NewKeyFromSeed(seed)}, nil
}

func makeIdentity(path string) (Identity, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return Identity{}, fmt.Errorf("make oracle key: %w", err)
	}
	id := Identity{DID: did.NewEntity(), Key: key}
	raw, err := json.Marshal(oracleFile{DID: id.DID, Seed: base64.RawURLEncoding.EncodeToString(key.Seed())})
	if err != nil {
		return Identity{}, fmt.Errorf("make oracle identity: %w", err)
	}
	if err := secret.WriteFile(path, append(raw, '\n')); err != nil {
		return Identity{}, fmt.Errorf("write oracle identity: %w", err)
	}
	return id, nil
}

// OracleDID is the DID of the oracle of a configuration: the one that is set,
// or that of the data folder. It makes none.
func OracleDID(cfg *config.Config) (did.DID, error) {
	if cfg.Oracle.DID != "" {
		return did.Parse(cfg.Oracle.DID)
	}
	if _, err := os.Stat(filepath.Join(cfg.Data.Dir, oracleName+".json")); err != nil {
		return "", err
	}
	id, err := loadIdentity(cfg.Data.Dir, cfg.Oracle)
	return id.DID, err
}
