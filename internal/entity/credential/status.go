package credential

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/vc"
)

// fresh is how long a signed list is served before it is remade, and validity how
// long others may rely on it.
const (
	fresh    = 20 * time.Second
	validity = 10 * time.Minute
	maxLists = 64 // kept in memory
)

// lists caches signed status lists for a moment.
type lists struct {
	mu   sync.Mutex
	kept map[string]keptList
}

type keptList struct {
	made time.Time
	doc  jsontext.Value
}

// listDocument is the credential of a status list.
type listDocument struct {
	Context []string `json:"@context"`
	ID      string   `json:"id"`
	Type    []string `json:"type"`
	Issuer  string   `json:"issuer"`
	From    string   `json:"validFrom"`
	Until   string   `json:"validUntil"`
	Subject listed   `json:"credentialSubject"`
}

type listed struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Purpose string `json:"statusPurpose"`
	List    string `json:"encodedList"`
}

func noList() error {
	return fault.New(fault.NotFound, "STATUS_LIST_NOT_FOUND", "No status list has this id.")
}

// splitList splits the name of a list into its id and its purpose.
func splitList(name string) (id, purpose string) {
	id, purpose, _ = strings.Cut(name, "-")
	if len(id) != pageLength || purpose != revocation && purpose != suspension {
		return "", ""
	}
	return id, purpose
}

// StatusList returns the signed list of an id and a purpose, at most 20 seconds old.
// Fault: STATUS_LIST_NOT_FOUND.
func (s *Service) StatusList(ctx context.Context, name string) (jsontext.Value, error) {
	id, purpose := splitList(name)
	if id == "" {
		return nil, noList()
	}
	s.lists.mu.Lock()
	defer s.lists.mu.Unlock() // one at a time: the others get what the first has made
	now := s.is.now()
	if have, ok := s.lists.kept[name]; ok && now.Sub(have.made) < fresh {
		return have.doc, nil
	}
	doc, err := s.makeList(ctx, id, purpose, now)
	if err != nil {
		return nil, err
	}
	if len(s.lists.kept) >= maxLists {
		clear(s.lists.kept)
	}
	s.lists.kept[name] = keptList{now, doc}
	return doc, nil
}

// ListNow is StatusList with everything stored so far. It is for use within the
// process: every call signs. Fault: STATUS_LIST_NOT_FOUND.
func (s *Service) ListNow(ctx context.Context, name string) (jsontext.Value, error) {
	id, purpose := splitList(name)
	if id == "" {
		return nil, noList()
	}
	return s.makeList(ctx, id, purpose, s.is.now())
}

func (s *Service) makeList(ctx context.Context, id, purpose string, now time.Time) (jsontext.Value, error) {
	var nid, issuer int64
	var begin string
	err := s.db.QueryRow(ctx, listByID, id).Scan(&nid, &issuer, &begin)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, noList()
	} else if err != nil {
		return nil, db.Wrap("find status list", err)
	}
	var rows db.Rows
	if purpose == suspension {
		rows, err = s.db.Query(ctx, setSuspended, nid)
	} else {
		rows, err = s.db.Query(ctx, setRevoked, nid)
	}
	set, err := db.Collect(rows, err, "read status list", db.Column[int])
	if err != nil {
		return nil, err
	}
	list := vc.NewStatusList(places)
	for _, place := range set {
		list.Set(place, true)
	}
	encoded, err := list.Encode()
	if err != nil {
		return nil, err
	}
	k, err := listKey(ctx, s.db, issuer)
	if err != nil {
		return nil, err
	}
	signer, err := s.is.signer(k)
	if err != nil {
		return nil, err
	}
	at := cmp.Or(begin, s.is.listsAt()) + id + "-" + purpose
	const seconds = "2006-01-02T15:04:05Z"
	doc, err := json.Marshal(listDocument{
		Context: []string{vc.ContextV2}, ID: at, Type: []string{"VerifiableCredential", "BitstringStatusListCredential"}, Issuer: k.controller,
		From: now.UTC().Format(seconds), Until: now.Add(validity).UTC().Format(seconds),
		Subject: listed{ID: at + "#list", Type: "BitstringStatusList", Purpose: purpose, List: encoded},
	})
	if err != nil {
		return nil, err
	}
	return signer.Sign(doc, vc.Proof{Created: now})
}

// listKey finds the key that signs the lists of an issuer.
func listKey(ctx context.Context, q db.Querier, issuer int64) (*key, error) {
	k, err := keyOf(q.QueryRow(ctx, selectKey, issuer))
	if err == nil && k == nil {
		err = errors.New("an issuer of credentials has no key")
	}
	return k, err
}

// Status reports whether a place of a list of this server is set. It is
// vc.Verifier.Status. A place outside the list, and a list of another issuer, give the
// reason status_invalid.
func (s *Service) Status(ctx context.Context, p vc.StatusPlace) (set, known bool, err error) {
	name := p.List[strings.LastIndexAny(p.List, "/:")+1:]
	id, purpose := splitList(name)
	if id == "" || purpose != p.Purpose {
		return false, false, nil
	}
	var list, issuer int64
	var begin string
	err = s.db.QueryRow(ctx, listByID, id).Scan(&list, &issuer, &begin)
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, nil
	} else if err != nil {
		return false, false, db.Wrap("find status list", err)
	}
	if err := p.Within(places); err != nil {
		return false, false, err
	}
	var one int
	err = s.db.QueryRow(ctx, speaksFor, issuer, p.Issuer).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, p.Borrowed()
	} else if err != nil {
		return false, false, db.Wrap("find issuer of a status list", err)
	}
	var revoked, suspended int
	err = s.db.QueryRow(ctx, placeBits, list, p.Place).Scan(&revoked, &suspended)
	if errors.Is(err, sql.ErrNoRows) {
		return false, true, nil
	}
	return revoked == 1 && purpose == revocation || suspended == 1 && purpose == suspension, true, db.Wrap("look up status", err)
}

// Standing returns the DID of a claim's credential unless it is revoked; "" for none.
func Standing(ctx context.Context, q db.Querier, claim int64) (string, error) {
	var id string
	err := q.QueryRow(ctx, selectStanding, claim).Scan(&id)
	return db.Found(id, err, "find credential of a claim")
}

// dispute changes a credential whose claim is disputed. It changes the bits first, so
// that Follow accepts the step of the twin.
func (s *Service) dispute(ctx context.Context, tx *db.Tx, claim int64, change func(r *row) entity.Status) error {
	rows, err := tx.Query(ctx, liveOfClaim, claim)
	all, err := db.Collect(rows, err, "find credential of a claim", (*row).scan)
	if err != nil {
		return err
	}
	for i := range all {
		r := &all[i]
		before := r.stateOf()
		to := change(r)
		if err := r.store(ctx, tx); err != nil {
			return err
		}
		if r.retired { // its twin stays completed
			to = ""
		}
		if to != "" {
			if err := s.cfg.Entities.StepTx(ctx, tx, r.did, entity.Transition{To: to, Reason: "The claim is disputed."}); err != nil && fault.CodeOf(err) != "STATE_TRANSITION_INVALID" {
				return err
			}
		}
		if r.stateOf() != before {
			if err := s.is.tell(ctx, tx, eventOf(r.stateOf()), r); err != nil {
				return err
			}
		}
	}
	return nil
}

// Suspend suspends the credential of a disputed claim, in the transaction of the
// dispute.
func (s *Service) Suspend(ctx context.Context, tx *db.Tx, claim int64) error {
	return s.dispute(ctx, tx, claim, func(r *row) entity.Status {
		if r.disputed == 0 {
			r.disputed = 1 + int(db.Bit(r.suspended))
		}
		r.suspended = true
		return entity.StatusSuspended
	})
}

// Reinstate reverses Suspend: the dispute was dismissed.
func (s *Service) Reinstate(ctx context.Context, tx *db.Tx, claim int64) error {
	return s.dispute(ctx, tx, claim, func(r *row) entity.Status {
		was := r.disputed
		r.disputed = 0
		if was != 1 {
			return "" // suspended for another reason
		}
		r.suspended = false
		return entity.StatusActive
	})
}

// Revoke revokes the credential of a claim for good: the dispute was upheld.
func (s *Service) Revoke(ctx context.Context, tx *db.Tx, claim int64) error {
	return s.dispute(ctx, tx, claim, func(r *row) entity.Status {
		r.revoked, r.disputed = true, 0
		return entity.StatusDeactivated
	})
}
