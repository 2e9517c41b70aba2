package credential

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/check"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/vc"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Config configures a Service. Idem has a default.
type Config struct {
	DB       *db.DB
	Entities *entity.Service // made with the Issuer
	Issuer   *Issuer
	Idem     *once.Store
	Cursors  web.Cursors
}

// Service is the use cases of credentials. It is safe for many goroutines.
type Service struct {
	cfg   Config
	db    *db.DB
	is    *Issuer
	lists lists
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	cfg.Idem = cmp.Or(cfg.Idem, once.Plain(cfg.DB))
	return &Service{cfg: cfg, db: cfg.DB, is: cfg.Issuer, lists: lists{kept: map[string]keptList{}}}
}

// Issue is Issuer.Issue.
func (s *Service) Issue(ctx context.Context, tx *db.Tx, i entity.Issued) error {
	return s.is.Issue(ctx, tx, i)
}

// Get reads a credential by the DID of its twin or the id of its page. Fault:
// CREDENTIAL_NOT_FOUND.
func (s *Service) Get(ctx context.Context, id string) (*api.IssuedCredential, error) {
	r, err := find(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	return s.is.view(r, true)
}

// Step takes a credential to another state. Faults: CREDENTIAL_NOT_FOUND,
// CREDENTIAL_RETIRED, CREDENTIAL_DISPUTED, and those of entity.Service.TransitionTx.
func (s *Service) Step(ctx context.Context, id string, to entity.Status, reason string) (web.Reply[*api.IssuedCredential], error) {
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.IssuedCredential], error) {
		var none web.Reply[*api.IssuedCredential]
		r, err := find(ctx, tx, id)
		if err != nil {
			return none, err
		}
		if _, err := s.cfg.Entities.TransitionTx(ctx, tx, r.did, "", entity.Transition{To: to, Reason: reason}); err != nil {
			return none, r.refused(err)
		}
		if r, err = find(ctx, tx, r.did); err != nil {
			return none, err
		}
		out, err := s.is.view(r, true)
		return web.Reply[*api.IssuedCredential]{Value: out}, err
	})
}

// steps is what can be done with a credential in a state.
var steps = map[string]string{
	Active:    "It is active: suspend, revoke or retire it.",
	Suspended: "It is suspended: reinstate or revoke it.",
	Revoked:   "It is revoked, which is final. Its claim can become another credential.",
	Retired:   "It is retired, which is final: it has been counted.",
}

// refused rewords, for credentials, why their twin did not take a step.
func (r *row) refused(err error) error {
	switch code := fault.CodeOf(err); {
	case code == "CLAIM_NOT_VERIFIED" && r.disputed != 0:
		return disputed()
	case code == "NOT_CONTROLLER":
		return fault.New(fault.Forbidden, "NOT_CONTROLLER", "Only a controller of the oracle that issued the credential changes its state. GET /v1/credentials/{credentialId} names it as issuer.")
	case code == "STATE_TRANSITION_INVALID":
		return fault.New(fault.Conflict, "STATE_TRANSITION_INVALID", "The credential cannot take this step.").With(fault.Field{Code: "not_allowed", Detail: steps[r.stateOf()]})
	}
	return err
}

// Filter narrows a list; empty members are ignored.
type Filter struct {
	Status, Kind, Project string
	about                 int64 // number of a twin
	as                    role  // of it
}

// role is how a twin is connected with a credential.
type role int

const (
	_ role = iota
	asSubject
	asClaim
	asIssuer
)

// maxLooked limits how many credentials one page looks at, and chunk how many at
// once.
const (
	maxLooked = 1000
	chunk     = 200
)

// List reads credentials numbered below before, newest first, and returns where the
// list continues: 0 at its end. A page may be short.
func (s *Service) List(ctx context.Context, f Filter, before int64, limit int) (out []*api.IssuedCredential, next int64, err error) {
	c := web.CallerFrom(ctx)
	if before == 0 {
		before = 1<<63 - 1
	}
	for looked := 0; looked < maxLooked; looked += chunk {
		all, err := s.look(ctx, f, before)
		if err != nil {
			return nil, 0, err
		}
		for i := range all {
			r := &all[i]
			if !sees(c, r.project) || f.Project != "" && f.Project != r.project || f.Status != "" && f.Status != r.state {
				continue
			}
			v, err := s.is.view(r, false)
			if err != nil {
				return nil, 0, err
			}
			if f.Kind != "" && !strings.EqualFold(f.Kind, v.Kind) {
				continue
			}
			if len(out) == limit {
				return out, before, nil
			}
			out, before = append(out, v), r.nid
		}
		if len(all) < chunk {
			return out, 0, nil
		}
		before = all[len(all)-1].nid
	}
	return out, before, nil
}

// look reads credentials numbered below before by the index that fits a filter
// best.
func (s *Service) look(ctx context.Context, f Filter, before int64) ([]row, error) {
	ws := web.CallerFrom(ctx).Workspace
	var rows db.Rows
	var err error
	switch {
	case f.as == asSubject:
		rows, err = s.db.Query(ctx, listSubject, ws, before, chunk, f.about)
	case f.as == asClaim:
		rows, err = s.db.Query(ctx, listClaim, ws, before, chunk, f.about)
	case f.as == asIssuer:
		rows, err = s.db.Query(ctx, listIssuer, ws, before, chunk, f.about)
	case f.Project != "":
		rows, err = s.db.Query(ctx, listProject, ws, before, chunk, f.Project)
	case f.Status != "":
		rows, err = s.db.Query(ctx, listState, ws, before, chunk, f.Status)
	default:
		rows, err = s.db.Query(ctx, listAll, ws, before, chunk)
	}
	return db.Collect(rows, err, "list credentials", (*row).scan)
}

// about narrows a list to a twin: a claim's credential, those an oracle issued, those
// of a project, or those about any other subject. Fault: ENTITY_NOT_FOUND.
func (s *Service) about(ctx context.Context, id string) (Filter, error) {
	r, err := s.cfg.Entities.Find(ctx, s.db, id)
	if err != nil {
		return Filter{}, err
	}
	switch r.DomainType {
	case "claim":
		return Filter{about: r.NID, as: asClaim}, nil
	case "oracle":
		return Filter{about: r.NID, as: asIssuer}, nil
	case "project":
		return Filter{Project: r.DID}, nil
	}
	return Filter{about: r.NID, as: asSubject}, nil
}

// Keys returns the keys of an issuer, the newest first. Fault:
// ENTITY_NOT_FOUND.
func (s *Service) Keys(ctx context.Context, id string) ([]api.IssuerKey, error) {
	r, err := s.cfg.Entities.Find(ctx, s.db, id)
	if err != nil {
		return nil, err
	}
	rows, err := s.db.Query(ctx, selectKeys, r.NID, maxKeys)
	all, err := db.Collect(rows, err, "list issuer keys", (*key).scan)
	out := []api.IssuerKey{}
	for i := range all {
		out = append(out, all[i].view())
	}
	return out, err
}

// Rotate gives an issuer a new key. Documents signed by the previous one remain valid,
// unless it was stolen. Faults: ENTITY_NOT_FOUND, NOT_CONTROLLER, NOT_AN_ORACLE,
// ISSUER_KEY_INVALID.
func (s *Service) Rotate(ctx context.Context, id string, d api.IssuerKeyRotation) (web.Reply[*api.IssuerKey], error) {
	return once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*api.IssuerKey], error) {
		var none web.Reply[*api.IssuerKey]
		r, err := s.cfg.Entities.FindForUpdate(ctx, tx, id)
		if err != nil {
			return none, err
		}
		if err := s.cfg.Entities.MayUpdate(ctx, tx, r); err != nil {
			return none, err
		}
		if r.DomainType != "oracle" {
			return none, notAnOracle()
		}
		if err := s.mark(ctx, tx, r, d); err != nil {
			return none, err
		}
		if err := s.is.makeKey(ctx, tx, r, s.is.webName(r.DID)); err != nil {
			return none, err
		}
		k, err := keyOf(tx.QueryRow(ctx, selectKey, r.NID))
		if err != nil {
			return none, err
		}
		tx.AfterCommit(s.forgetLists)
		v := k.view()
		return web.Reply[*api.IssuerKey]{Value: &v, Status: 201}, s.is.cfg.Events.Append(ctx, tx, event.Event{
			Workspace: r.Workspace, Type: "credential.key_rotated", Subject: r.DID, Data: map[string]any{"key": k.method, "compromised": !d.CompromisedSince.IsZero(), "reason": d.Reason},
		})
	})
}

func notAnOracle() error {
	return fault.New(fault.Conflict, "NOT_AN_ORACLE", "Credentials are issued by oracles. This twin is not an oracle and has no keys.")
}

func (s *Service) forgetLists() {
	s.lists.mu.Lock()
	defer s.lists.mu.Unlock()
	clear(s.lists.kept)
}

// mark ends the current key of an issuer, and records which key was stolen.
func (s *Service) mark(ctx context.Context, tx *db.Tx, issuer *entity.Row, d api.IssuerKeyRotation) error {
	var c fault.Checks
	check.Optional(&c, "/reason", d.Reason, check.MaxReason)
	now := s.is.now()
	if d.CompromisedSince.After(now) {
		c.Add("/compromisedSince", "out_of_range", "The moment is in the future.")
	}
	current, err := keyOf(tx.QueryRow(ctx, selectKey, issuer.NID))
	if err != nil {
		return err
	}
	stolen := current
	if d.Key != "" {
		if stolen, err = keyOf(tx.QueryRow(ctx, keyByName, d.Key)); err != nil {
			return err
		}
		if stolen == nil || stolen.issuer != issuer.NID {
			c.Add("/key", "unknown", "The issuer has no such key.")
		}
	}
	if d.Key != "" && d.CompromisedSince.IsZero() {
		c.Add("/compromisedSince", "required", "Say since when the key was in other hands.")
	}
	if err := c.Err("ISSUER_KEY_INVALID", "The rotation is not valid."); err != nil {
		return err
	}
	if current != nil {
		if _, err := tx.Exec(ctx, endKey, current.nid, now.UnixMilli()); err != nil {
			return db.Wrap("end issuer key", err)
		}
	}
	if stolen == nil || d.CompromisedSince.IsZero() {
		return nil
	}
	since := max(d.CompromisedSince.UnixMilli(), 1)
	if stolen.stolen != 0 { // it only gets earlier
		since = min(since, stolen.stolen)
	}
	_, err = tx.Exec(ctx, stealKey, stolen.nid, since)
	return db.Wrap("note stolen key", err)
}

// Method finds a key of an issuer of this server by the name in proofs. It is a
// vc.Lookup.
func (s *Service) Method(ctx context.Context, method string) (vc.Method, bool, error) {
	k, err := keyOf(s.db.QueryRow(ctx, keyByName, method))
	if err != nil || k == nil {
		return vc.Method{}, false, err
	}
	return vc.Method{Controller: k.controller, Key: publicKey(k.public), Purposes: []string{vc.Assertion}}, true, nil
}

// History returns what this server knows about a document that a key of ours has
// signed: documents issued here before a key was stolen stay valid, and a retired
// credential has been used. It is vc.Verifier.History.
func (s *Service) History(ctx context.Context, method string, doc jsontext.Value) (against, worth []vc.Reason, err error) {
	k, err := keyOf(s.db.QueryRow(ctx, keyByName, method))
	if err != nil || k == nil {
		return nil, nil, err
	}
	r, exact, err := s.stored(ctx, doc)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case k.stolen != 0 && (!exact || r.issued >= k.stolen):
		against = append(against, vc.Reason{Pointer: "/proof/verificationMethod", Code: "key_compromised", Detail: "The issuer's key was, or may have been, in other hands by then: this server did not issue the credential before that time."})
	case k.stolen != 0:
		worth = append(worth, vc.Reason{Pointer: "/proof/verificationMethod", Code: "key_compromised_later", Detail: "The issuer's key got into other hands later. This credential was issued here before that."})
	}
	if r != nil && r.stateOf() == Retired {
		worth = append(worth, vc.Reason{Code: Retired, Detail: "The credential is retired: it has been counted, and must not be counted again."})
	}
	return against, worth, nil
}

// stored finds the credential of this server that has the id of a document, nil for none,
// and reports whether it is exactly that document, because members that no proof covers
// can be added.
func (s *Service) stored(ctx context.Context, doc jsontext.Value) (r *row, exact bool, err error) {
	id, err := vc.IDOf(doc)
	if err != nil {
		return nil, false, nil //nolint:nilerr // the verifier has said what is wrong with it
	}
	if r, err = one(s.db.QueryRow(ctx, selectByURI, id)); err != nil || r == nil {
		return nil, false, err
	}
	have, err := digestOf(jsontext.Value(r.document))
	if err != nil {
		return nil, false, err
	}
	given, err := digestOf(doc)
	return r, err == nil && given == have, nil
}

var states = []string{Active, Suspended, Revoked, Retired}

func knownState(s string) bool { return s == "" || slices.Contains(states, s) }
