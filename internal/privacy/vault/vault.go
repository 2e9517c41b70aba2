// Package vault seals what people told about themselves. Every household has a
// key of its own in each project; it is sealed by the key of the project, and
// that by the server's own key, which is not in the store. Destroying a key
// erases everything it sealed, wherever copies of it lie.
//
// Keys of households are read from the store each time they are used and never
// kept in memory: a destroyed key is gone at once, in every instance.
//
// It also knows which households a workspace has erased, and refuses to store
// anything new about them. An erasure calls NoteErasure in the same
// transaction, also for households that no survey knows.
package vault

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/privacy"
	"github.com/hearth-dmrv/hearth/internal/secret"
)

// ErrDestroyed means that the key was destroyed: nobody can read the value any
// more.
var ErrDestroyed = errors.New("the key of this value was destroyed")

// Ref names a household in a project of a workspace.
type Ref struct{ Workspace, Project, Household string }

// Config configures a Vault.
type Config struct {
	Key secret.Key
	Now func() time.Time // time.Now by default
}

// Vault seals and opens values.
type Vault struct {
	key secret.Key
	now func() time.Time
}

// New makes a Vault.
func New(cfg Config) *Vault {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Vault{key: cfg.Key, now: cfg.Now}
}

const keySize = 32

// Purposes and bindings of sealed keys and values.
const (
	purpose   = "survey project key"
	pseudonym = "survey pseudonyms"
	cover     = "survey cursors"
)

// Seal encrypts text for a household, and makes the keys it needs. bind is
// authenticated but not stored: Open needs the same, so that a sealed value
// cannot be moved to another response.
func (v *Vault) Seal(ctx context.Context, tx *db.Tx, r Ref, bind string, text []byte) ([]byte, error) {
	project, household, err := findKeys(ctx, tx, r)
	if err != nil {
		return nil, err
	}
	if project == nil {
		// A destroyed project gets a new key for later data.
		if err := insertProject(ctx, tx, r, v.key.Seal(purpose, r.bind(), random()), v.now().UnixMilli()); err != nil {
			return nil, err
		}
		if project, household, err = findKeys(ctx, tx, r); err != nil {
			return nil, err
		}
	}
	root, err := v.openProject(r, project)
	if err != nil {
		return nil, err
	}
	key, err := v.household(ctx, tx, r, gcm(root), household)
	if err != nil {
		return nil, err
	}
	return gcm(key).seal(bind, text), nil
}

// household opens the key of a household, or makes one. One that does not open
// was sealed by a key of the project that is gone.
func (v *Vault) household(ctx context.Context, tx *db.Tx, r Ref, project box, sealed []byte) ([]byte, error) {
	if sealed != nil {
		if key, err := project.open(r.Household, sealed); err == nil {
			return key, nil
		}
		if err := removeDead(ctx, tx, r, sealed); err != nil {
			return nil, err
		}
	}
	stored, err := insertHousehold(ctx, tx, r, project.seal(r.Household, random()), v.now().UnixMilli())
	if err != nil {
		return nil, err
	}
	key, err := project.open(r.Household, stored)
	if err != nil {
		return nil, fmt.Errorf("open household key: %w", err)
	}
	return key, nil
}

func (v *Vault) openProject(r Ref, sealed []byte) ([]byte, error) {
	root, err := v.key.Open(purpose, r.bind(), sealed)
	if err != nil {
		return nil, fmt.Errorf("open project key: %w", err)
	}
	return root, nil
}

// Open decrypts what Seal made. It returns ErrDestroyed when the household or
// the project was erased since.
func (v *Vault) Open(ctx context.Context, q db.Querier, r Ref, bind string, sealed []byte) ([]byte, error) {
	project, household, err := findKeys(ctx, q, r)
	if err != nil {
		return nil, err
	}
	if project == nil || household == nil {
		return nil, ErrDestroyed
	}
	root, err := v.openProject(r, project)
	if err != nil {
		return nil, err
	}
	key, err := gcm(root).open(r.Household, household)
	if err != nil {
		return nil, ErrDestroyed // of a project that was destroyed and started over
	}
	text, err := gcm(key).open(bind, sealed)
	if err != nil {
		return nil, ErrDestroyed // sealed with a key before this one
	}
	return text, nil
}

// Forget destroys the keys of a household in every project of a workspace, and
// returns how many there were.
func (v *Vault) Forget(ctx context.Context, tx *db.Tx, ws, household string) (int64, error) {
	return removeHousehold(ctx, tx, ws, household)
}

// DestroyProject destroys the key of a project, and with it everything it
// sealed.
func (v *Vault) DestroyProject(ctx context.Context, tx *db.Tx, ws, project string) (int64, error) {
	return removeProject(ctx, tx, ws, project)
}

// Pseudonyms names the households of a project so that only the server's key
// connects the names with them. A household has the same name in every read and
// export of the project and another one in other projects.
func (v *Vault) Pseudonyms(ws, project string) privacy.Names {
	root := v.key.Derive(pseudonym + "\x00" + ws + "\x00" + project)
	return func(household string) string {
		mac := hmac.New(sha256.New, root)
		mac.Write([]byte(household))
		sum := mac.Sum(nil)
		return "hh_" + strings.ToLower(spelling.EncodeToString(sum[:15]))
	}
}

// Cover hides a text from a client that keeps it and returns it, for example in
// a cursor.
func (v *Vault) Cover(ws, text string) string {
	return base64.RawURLEncoding.EncodeToString(v.key.Seal(cover, ws, []byte(text)))
}

// Uncover reads what Cover made; "" for anything else.
func (v *Vault) Uncover(ws, covered string) string {
	sealed, err := base64.RawURLEncoding.DecodeString(covered)
	if err != nil {
		return ""
	}
	text, err := v.key.Open(cover, ws, sealed)
	if err != nil {
		return ""
	}
	return string(text)
}

var spelling = base32.StdEncoding.WithPadding(base32.NoPadding)

func (r Ref) bind() string { return r.Workspace + "\x00" + r.Project }

// box is a key that is ready for use.
type box struct{ aead cipher.AEAD }

func gcm(key []byte) box {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // keys always have 32 bytes
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES always has the right block size
	}
	return box{aead}
}

func (b box) seal(bind string, text []byte) []byte {
	nonce := make([]byte, b.aead.NonceSize(), b.aead.NonceSize()+len(text)+b.aead.Overhead())
	_, _ = rand.Read(nonce) // never fails: the program ends instead
	return b.aead.Seal(nonce, nonce, text, []byte(bind))
}

func (b box) open(bind string, sealed []byte) ([]byte, error) {
	n := b.aead.NonceSize()
	if len(sealed) < n {
		return nil, secret.ErrOpen
	}
	return b.aead.Open(nil, sealed[:n], sealed[n:], []byte(bind))
}

func random() []byte {
	b := make([]byte, keySize)
	_, _ = rand.Read(b) // never fails: the program ends instead
	return b
}
