package credential

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/twin"
	"github.com/hearth-dmrv/hearth/internal/entity/verdict"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/vc"
)

// IssuerConfig configures an Issuer. Now has a default.
type IssuerConfig struct {
	Key       secret.Key
	Events    *event.Log
	NewNID    func() int64
	Now       func() time.Time
	PublicURL string // how clients reach this server; without it issuers are did:key
}

// Issuer signs credentials, and keeps their states, in its callers' transactions.
// It is separate because the registry of twins needs it before a Service can be
// made.
type Issuer struct {
	cfg  IssuerConfig
	box  secret.Box
	base *url.URL // of PublicURL; nil without one
}

// NewIssuer makes an Issuer. It ignores a PublicURL that is not a URL.
func NewIssuer(cfg IssuerConfig) *Issuer {
	is := &Issuer{cfg: cfg, box: cfg.Key.Box(sealing)}
	if base, err := url.Parse(cfg.PublicURL); err == nil && cfg.PublicURL != "" {
		is.base = base
	}
	return is
}

func (is *Issuer) now() time.Time {
	if is.cfg.Now != nil {
		return is.cfg.Now()
	}
	return time.Now()
}

// pageLength is the number of characters in the id of a page: 128 bits in
// hexadecimal.
const pageLength = 32

func newID() string {
	b := make([]byte, pageLength/2)
	_, _ = rand.Read(b) // never fails: the program ends instead
	return hex.EncodeToString(b)
}

// pageAddress is the public address of a credential's page.
func (is *Issuer) pageAddress(id string) string {
	return strings.TrimSuffix(is.cfg.PublicURL, "/") + "/c/" + id
}

// uri is the id of a credential in its document.
func (is *Issuer) uri(page string) string {
	if is.base == nil {
		return uuid.New().URN()
	}
	return is.pageAddress(page)
}

// listsAt is the prefix of the addresses of new lists. Without a public URL they are
// names that only this server can resolve.
func (is *Issuer) listsAt() string {
	if is.base == nil {
		return "urn:hearth:status-list:"
	}
	return strings.TrimSuffix(is.cfg.PublicURL, "/") + "/v1/status-lists/"
}

func address(id string) string { return "/v1/credentials/" + url.PathEscape(id) }

func entityAddress(id string) string { return twin.Address(id) }

// places is the size of a list, and tries how often a free place is drawn before a
// new list begins, at about a quarter of the places taken.
const (
	places = vc.MinPlaces
	tries  = 6
)

// Issue signs a credential whose twin was just made, and stores it. Faults:
// CREDENTIAL_INVALID, CREDENTIAL_AMOUNT_INEXACT.
func (is *Issuer) Issue(ctx context.Context, tx *db.Tx, i entity.Issued) error {
	if wrong := vc.CheckForm(i.Options.Cryptosuite, i.Options.Envelope); wrong != nil {
		f := fault.New(fault.Invalid, "CREDENTIAL_INVALID", "The credential cannot be signed.")
		for _, w := range wrong {
			f = f.With(fault.Field{Pointer: "/options" + w.Pointer, Code: w.Code, Detail: w.Detail})
		}
		return f
	}
	k, err := is.current(ctx, tx, i.Issuer)
	if err != nil {
		return err
	}
	r := &row{
		nid: i.Row.NID, ws: i.Row.Workspace, did: i.Row.DID, page: newID(), project: i.Row.Project, subject: i.Subject, claim: i.Claim, issuer: i.Issuer.NID,
		issued: i.Says.IssuedAt.UnixMilli(), salt: make([]byte, 32),
	}
	_, _ = rand.Read(r.salt) // never fails: the program ends instead
	r.uri = is.uri(r.page)
	says, err := json.Marshal(i.Says, json.Deterministic(true))
	if err != nil {
		return err
	}
	r.says = string(says)
	if err := is.insert(ctx, tx, i, k, r); err != nil {
		return err
	}
	is.complete(r, i.Says)
	var members map[string]jsontext.Value // its members go out as they were signed
	if err := json.Unmarshal([]byte(r.document), &members); err != nil {
		return err
	}
	i.Says.VerifiableCredential = make(map[string]any, len(members))
	for name, value := range members {
		i.Says.VerifiableCredential[name] = value
	}
	return is.tell(ctx, tx, "credential.issued", r)
}

// insert signs and stores a credential at its own place in a status list.
func (is *Issuer) insert(ctx context.Context, tx *db.Tx, i entity.Issued, k *key, r *row) error {
	s, err := is.signer(k)
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		if err := is.takeList(ctx, tx, r, try >= tries); err != nil {
			return err
		}
		n, err := rand.Int(rand.Reader, big.NewInt(places))
		if err != nil {
			return fmt.Errorf("draw place: %w", err)
		}
		r.place = int(n.Int64())
		if err := is.sign(i, k, s, r); err != nil {
			return err
		}
		done, err := tx.Exec(ctx, insertCredential, r.nid, r.ws, r.did, r.page, r.uri, r.project, r.subject, r.claim, r.issuer, r.list, r.place, r.issued, r.salt, r.says, r.document)
		if err != nil {
			return db.Wrap("insert credential", err)
		}
		if done > 0 {
			return nil
		}
	}
}

// takeList finds the list for an issuer's new credentials, or begins one. A list keeps
// its address: when the server changes its name, another one begins.
func (is *Issuer) takeList(ctx context.Context, tx *db.Tx, r *row, full bool) error {
	r.listAt = is.listsAt()
	err := tx.QueryRow(ctx, selectList, r.issuer, r.listAt).Scan(&r.list, &r.listID)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return db.Wrap("find status list", err)
	}
	if err == nil && !full {
		return nil
	}
	r.list, r.listID = is.cfg.NewNID(), newID()
	_, err = tx.Exec(ctx, insertList, r.list, r.ws, r.issuer, r.listID, r.listAt, is.now().UnixMilli())
	return db.Wrap("insert status list", err)
}

// sign makes the signed document of a row.
func (is *Issuer) sign(i entity.Issued, k *key, s vc.Signer, r *row) error {
	plain, err := is.build(i, k, r)
	if err != nil {
		return err
	}
	var signed jsontext.Value
	if i.Options.Envelope != "" {
		signed, err = s.Envelop(plain)
	} else {
		signed, err = s.Sign(plain, vc.Proof{Suite: i.Options.Cryptosuite, Created: time.UnixMilli(r.issued)})
	}
	if err != nil {
		return fmt.Errorf("sign credential: %w", err)
	}
	r.document = string(signed)
	return nil
}

// SignFor lets an oracle sign a document about what it issued, such as the manifest of
// a bundle; make writes the document for the id of its key. Faults: ENTITY_NOT_FOUND,
// NOT_AN_ORACLE.
func (s *Service) SignFor(ctx context.Context, oracle string, make func(issuer string) (jsontext.Value, error)) (out jsontext.Value, err error) {
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		r, err := s.cfg.Entities.FindForUpdate(ctx, tx, oracle)
		if err != nil {
			return err
		}
		if r.DomainType != "oracle" {
			return notAnOracle()
		}
		k, err := s.is.current(ctx, tx, r)
		if err != nil {
			return err
		}
		signer, err := s.is.signer(k)
		if err != nil {
			return err
		}
		doc, err := make(k.controller)
		if err != nil {
			return err
		}
		out, err = signer.Sign(doc, vc.Proof{Created: s.is.now()})
		return err
	})
	return out, err
}

// digestOf hashes a document independently of the order of its members.
func digestOf(doc jsontext.Value) (string, error) {
	c := doc.Clone()
	if err := c.Canonicalize(); err != nil {
		return "", err
	}
	sum := sha256.Sum256(c)
	return hex.EncodeToString(sum[:]), nil
}

// Follow records the effect of a new revision of a credential's twin: another status or
// project, or a verdict that revokes it. Only the decision of a dispute reinstates what
// the dispute suspended: CREDENTIAL_DISPUTED.
func (is *Issuer) Follow(ctx context.Context, tx *db.Tx, old, next *entity.Row) error {
	r, err := one(tx.QueryRow(ctx, selectByNID, next.NID))
	if err != nil || r == nil {
		return err
	}
	if old.Project != next.Project {
		if _, err := tx.Exec(ctx, updateProject, r.nid, next.Project); err != nil {
			return db.Wrap("move credential", err)
		}
	}
	e, err := next.Entity()
	if err != nil {
		return err
	}
	before := r.stateOf()
	r.revoked = r.revoked || e.Verification.Status == verdict.Revoked
	if old.Status != next.Status {
		if err := r.follow(next.Status); err != nil {
			return err
		}
	}
	if r.stateOf() == before {
		return nil
	}
	if err := r.store(ctx, tx); err != nil {
		return err
	}
	return is.tell(ctx, tx, eventOf(r.state), r)
}

// follow adopts the status of the twin.
func (r *row) follow(status entity.Status) error {
	switch status {
	case entity.StatusActive:
		if r.disputed != 0 {
			return disputed()
		}
		r.suspended = false
	case entity.StatusSuspended:
		r.suspended = true
	case entity.StatusDeactivated:
		r.revoked = true
	case entity.StatusCompleted:
		r.retired = true
	}
	return nil
}

func disputed() *fault.Error {
	return fault.New(fault.Conflict, "CREDENTIAL_DISPUTED", "The claim of this credential is disputed. The credential can be reinstated after a caller with claims:adjudicate has dismissed the dispute.")
}

// eventOf is the type of the event for a state.
func eventOf(state string) string {
	switch state {
	case Suspended:
		return "credential.suspended"
	case Revoked:
		return "credential.revoked"
	case Retired:
		return "credential.retired"
	}
	return "credential.reinstated"
}

// tell appends an event about a credential.
func (is *Issuer) tell(ctx context.Context, tx *db.Tx, typ string, r *row) error {
	return is.cfg.Events.Append(ctx, tx, event.Event{Workspace: r.ws, Type: typ, Subject: r.did, Data: map[string]any{"status": r.stateOf()}})
}
