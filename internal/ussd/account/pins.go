package account

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/secret"
)

// pins seals the PINs of accounts, checks them, and moves them to a new key.
type pins struct {
	db      *db.DB
	jobs    *job.Service
	log     *slog.Logger
	server  secret.Key // of this server
	keys    keyring
	derived bool    // the key is made from the server's own
	legacy  *legacy // nil without a key
	nobody  *row    // opened in the place of an account that is not there
}

// newPINs reads the keys of the settings.
func newPINs(cfg Config) (*pins, error) {
	p := &pins{db: cfg.DB, jobs: cfg.Jobs, log: cfg.Log, server: cfg.Key, derived: cfg.PINKey == ""}
	var err, errOld error
	own := newKey(cfg.Key.Derive("ussd-pin"))
	p.keys.current = own
	if cfg.PINKey != "" {
		// A server that was tried without the setting keeps working with it.
		p.keys.current, err = setting("PIN_ENCRYPTION_KEY", cfg.PINKey)
		p.keys.old = []Key{own}
	}
	if cfg.PINKeyOld != "" {
		var old Key
		old, errOld = setting("PIN_ENCRYPTION_KEY_OLD", cfg.PINKeyOld)
		p.keys.old = append(p.keys.old, old)
	}
	if err := errors.Join(err, errOld); err != nil {
		return nil, err
	}
	if text := cfg.LegacyKey; text != "" || cfg.PINKey != "" {
		if text == "" {
			text = cfg.PINKey
		}
		if p.legacy, err = newLegacy(text); err != nil {
			return nil, err
		}
	}
	p.nobody = &row{id: "nobody", pin: p.keys.current.seal("nobody", "none"), pinKey: p.keys.current.id}
	return p, nil
}

// setting reads the key of a setting.
func setting(name, text string) (Key, error) {
	k, err := ParseKey(text)
	if err != nil {
		return Key{}, fmt.Errorf("%s: %w", name, err)
	}
	return k, nil
}

// verify reports whether a PIN is that of an account. For no account it does the
// same work and returns false.
func (p *pins) verify(a *row, pin string, now time.Time) (bool, error) {
	usable := a != nil && a.status == Active && (a.pinKey != "" || a.pinLegacy != "") && !a.expired(now)
	if !usable {
		a = p.nobody
	}
	if a.pinLegacy != "" {
		if p.legacy == nil {
			return false, fmt.Errorf("an account has the PIN of an earlier server: set LEGACY_PIN_ENCRYPTION_KEY to the key it had there")
		}
		return p.legacy.verify(a.pinLegacy, pin), nil
	}
	text, err := p.unseal(a)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(text, []byte(pin)) == 1 && usable, nil
}

// expired reports whether the PIN was a temporary one that was not used in
// time.
func (r *row) expired(now time.Time) bool { return r.pinUntil > 0 && r.pinUntil <= now.UnixMilli() }

// unseal opens the PIN of an account.
func (p *pins) unseal(a *row) ([]byte, error) {
	key, ok := p.keys.find(a.pinKey)
	if !ok {
		return nil, fmt.Errorf("the PIN of an account is sealed by key %s, which this server does not have", a.pinKey)
	}
	text, err := key.open(a.id, a.pin)
	if err != nil {
		return nil, fmt.Errorf("account %s: %w", a.id, err)
	}
	return text, nil
}

// seal makes the stored form of a PIN. A temporary one ends at until.
func (p *pins) seal(id, pin string, until time.Time) sealed {
	out := sealed{pin: p.keys.current.seal(id, pin), key: p.keys.current.id}
	if !until.IsZero() {
		out.until = until.UnixMilli()
	}
	return out
}
