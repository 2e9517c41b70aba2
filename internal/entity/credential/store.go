package credential

import (
	"context"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// The columns of a credential, in the order scan reads them.
const (
	selectByNID  = `SELECT nid, ws, did, page, uri, project, subject, claim, issuer, list, place, state, suspended, revoked, retired, disputed, issued_at, salt, says, document FROM credentials WHERE nid = $1`
	selectByDID  = `SELECT c.nid, c.ws, c.did, c.page, c.uri, c.project, c.subject, c.claim, c.issuer, c.list, c.place, c.state, c.suspended, c.revoked, c.retired, c.disputed, c.issued_at, c.salt, c.says, c.document FROM entities e JOIN credentials c ON c.nid = e.nid WHERE e.did = $2 AND e.ws = $1`
	selectByPage = `SELECT nid, ws, did, page, uri, project, subject, claim, issuer, list, place, state, suspended, revoked, retired, disputed, issued_at, salt, says, document FROM credentials WHERE page = $1`
	selectByURI  = `SELECT nid, ws, did, page, uri, project, subject, claim, issuer, list, place, state, suspended, revoked, retired, disputed, issued_at, salt, says, document FROM credentials WHERE uri = $1`
	listAll      = `SELECT nid, ws, did, page, uri, project, subject, claim, issuer, list, place, state, suspended, revoked, retired, disputed, issued_at, salt, says, document FROM credentials WHERE ws = $1 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	listState    = `SELECT nid, ws, did, page, uri, project, subject, claim, issuer, list, place, state, suspended, revoked, retired, disputed, issued_at, salt, says, document FROM credentials WHERE ws = $1 AND state = $4 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	listProject  = `SELECT nid, ws, did, page, uri, project, subject, claim, issuer, list, place, state, suspended, revoked, retired, disputed, issued_at, salt, says, document FROM credentials WHERE ws = $1 AND project = $4 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	listSubject  = `SELECT nid, ws, did, page, uri, project, subject, claim, issuer, list, place, state, suspended, revoked, retired, disputed, issued_at, salt, says, document FROM credentials WHERE ws = $1 AND subject = $4 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	listClaim    = `SELECT nid, ws, did, page, uri, project, subject, claim, issuer, list, place, state, suspended, revoked, retired, disputed, issued_at, salt, says, document FROM credentials WHERE ws = $1 AND claim = $4 AND nid < $2 ORDER BY nid DESC LIMIT $3`
	listIssuer   = `SELECT nid, ws, did, page, uri, project, subject, claim, issuer, list, place, state, suspended, revoked, retired, disputed, issued_at, salt, says, document FROM credentials WHERE ws = $1 AND issuer = $4 AND nid < $2 ORDER BY nid DESC LIMIT $3`

	selectStanding = `SELECT did FROM credentials WHERE claim = $1 AND revoked = 0 ORDER BY nid LIMIT 1`
	liveOfClaim    = `SELECT nid, ws, did, page, uri, project, subject, claim, issuer, list, place, state, suspended, revoked, retired, disputed, issued_at, salt, says, document FROM credentials WHERE claim = $1 AND revoked = 0 ORDER BY nid LIMIT 2`

	selectOneOf  = `SELECT 1 FROM credentials WHERE ws = $1 AND project = $2 AND issuer = $3 LIMIT 1`
	selectIssuer = `SELECT issuer FROM credentials WHERE nid = $1`
	selectName   = `SELECT name FROM entities WHERE nid = $1 AND domain_type IN ('oracle', 'project')`
	selectNamed  = `SELECT name FROM entities WHERE ws = $1 AND did = $2 AND domain_type IN ('oracle', 'project')`
	ofSubject    = `SELECT c.nid, c.ws, c.did, c.page, c.uri, c.project, c.subject, c.claim, c.issuer, c.list, c.place, c.state, c.suspended, c.revoked, c.retired, c.disputed, c.issued_at, c.salt, c.says, c.document FROM entities e JOIN credentials c ON c.subject = e.nid WHERE e.did = $2 AND e.ws = $1`
	unname       = `UPDATE credentials SET subject = 0, says = $2 WHERE nid = $1`

	insertCredential = `INSERT INTO credentials (nid, ws, did, page, uri, project, subject, claim, issuer, list, place, state, suspended, revoked, retired, disputed, issued_at, salt, says, document)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'active', 0, 0, 0, 0, $12, $13, $14, $15) ON CONFLICT (list, place) DO NOTHING`
	updateState   = `UPDATE credentials SET state = $2, suspended = $3, revoked = $4, retired = $5, disputed = $6 WHERE nid = $1`
	updateProject = `UPDATE credentials SET project = $2 WHERE nid = $1`
	endState      = `UPDATE credentials SET state = 'revoked', suspended = 0, revoked = 1, disputed = 0 WHERE nid = $1`

	dropIssued = `DELETE FROM credentials WHERE issuer = $1`
	dropLists  = `DELETE FROM status_lists WHERE issuer = $1`
	dropKeys   = `DELETE FROM issuer_keys WHERE issuer = $1`

	insertList   = `INSERT INTO status_lists (nid, ws, issuer, list_id, address, created_at) VALUES ($1, $2, $3, $4, $5, $6)`
	selectList   = `SELECT nid, list_id FROM status_lists WHERE issuer = $1 AND address = $2 ORDER BY nid DESC LIMIT 1`
	listByID     = `SELECT nid, issuer, address FROM status_lists WHERE list_id = $1`
	setRevoked   = `SELECT place FROM credentials WHERE list = $1 AND revoked = 1`
	setSuspended = `SELECT place FROM credentials WHERE list = $1 AND suspended = 1`
	placeBits    = `SELECT revoked, suspended FROM credentials WHERE list = $1 AND place = $2`
)

// row is a stored credential.
type row struct {
	nid, subject, claim, issuer, list int64
	ws, did, page, uri, project       string
	listID, listAt                    string // when issued: the list's id, and the prefix of its address
	place                             int
	state                             string
	suspended, revoked, retired       bool
	disputed                          int // 1: suspended by a dispute; 2: it was suspended before
	issued                            int64
	salt                              []byte
	says, document                    string
}

func (r *row) scan(from db.Row) error {
	var suspended, revoked, retired int
	err := from.Scan(&r.nid, &r.ws, &r.did, &r.page, &r.uri, &r.project, &r.subject, &r.claim, &r.issuer, &r.list, &r.place, &r.state, &suspended, &revoked, &retired, &r.disputed,
		&r.issued, &r.salt, &r.says, &r.document)
	r.suspended, r.revoked, r.retired = suspended == 1, revoked == 1, retired == 1
	return err
}

// Remove removes the rows of a twin that is taken out of the store; see
// entity.Service.Remove. A signed document may have been copied anywhere: it is revoked,
// and stays on its list. If the issuer is removed, everything goes, because nobody is
// left to vouch for it.
func Remove(ctx context.Context, tx *db.Tx, nid int64) error {
	if _, err := tx.Exec(ctx, endState, nid); err != nil {
		return db.Wrap("revoke credential of a removed twin", err)
	}
	if _, err := tx.Exec(ctx, dropIssued, nid); err != nil {
		return db.Wrap("remove what an issuer signed", err)
	}
	if _, err := tx.Exec(ctx, dropLists, nid); err != nil {
		return db.Wrap("remove status lists", err)
	}
	_, err := tx.Exec(ctx, dropKeys, nid)
	return db.Wrap("remove issuer keys", err)
}

// one reads a credential; nil when there is none.
func one(from db.Row) (*row, error) {
	r := new(row)
	return db.Found(r, r.scan(from), "find credential")
}

// IssuerOf returns the number of the oracle that signed a credential; 0 for none. It
// serves as entity.Config.IssuerOf.
func IssuerOf(ctx context.Context, q db.Querier, credential int64) (int64, error) {
	var issuer int64
	err := q.QueryRow(ctx, selectIssuer, credential).Scan(&issuer)
	return db.Found(issuer, err, "find issuer of a credential")
}

// HasIssued reports whether an oracle, given by number, has issued a credential of a
// project.
func HasIssued(ctx context.Context, q db.Querier, ws, project string, oracle int64) (bool, error) {
	return db.Exists(q.QueryRow(ctx, selectOneOf, ws, project, oracle), "find credential of an issuer")
}

// Erase removes the DID of an erased person from the credentials about them. The
// pseudonym of each signed document, which does not change, replaces it.
func (s *Service) Erase(ctx context.Context, tx *db.Tx, ws, id string) (int64, error) {
	rows, err := tx.Query(ctx, ofSubject, ws, id)
	all, err := db.Collect(rows, err, "find credentials about somebody", (*row).scan)
	if err != nil {
		return 0, err
	}
	for i := range all {
		r := &all[i]
		var says api.IssuedCredential
		if err := json.Unmarshal([]byte(r.says), &says); err != nil {
			return 0, db.Wrap("read credential", err)
		}
		says.Subject = pseudonym(r.salt, says.Subject)
		text, err := json.Marshal(says, json.Deterministic(true))
		if err != nil {
			return 0, err
		}
		if _, err := tx.Exec(ctx, unname, r.nid, string(text)); err != nil {
			return 0, db.Wrap("take a name off a credential", err)
		}
	}
	return int64(len(all)), nil
}

// store stores another state.
func (r *row) store(ctx context.Context, tx *db.Tx) error {
	r.state = r.stateOf()
	_, err := tx.Exec(ctx, updateState, r.nid, r.state, db.Bit(r.suspended), db.Bit(r.revoked), db.Bit(r.retired), r.disputed)
	return db.Wrap("note state of credential", err)
}

// sees reports whether a caller can see what belongs to a project.
func sees(c web.Caller, project string) bool {
	return len(c.Projects) == 0 || project != "" && slices.Contains(c.Projects, project)
}

const notFoundCode = "CREDENTIAL_NOT_FOUND"

func notFound() error {
	return fault.New(fault.NotFound, notFoundCode, "No credential has this id.")
}

// find reads a credential the caller sees, by the DID of its twin or by the id of its
// page. The fault is CREDENTIAL_NOT_FOUND.
func find(ctx context.Context, q db.Querier, id string) (*row, error) {
	c := web.CallerFrom(ctx)
	var r *row
	var err error
	if len(id) == pageLength {
		r, err = one(q.QueryRow(ctx, selectByPage, id))
	} else {
		r, err = one(q.QueryRow(ctx, selectByDID, c.Workspace, id))
	}
	if err == nil && (r == nil || r.ws != c.Workspace || !sees(c, r.project)) {
		return nil, notFound()
	}
	return r, err
}

// view renders a credential for the API.
func (is *Issuer) view(r *row, whole bool) (*api.IssuedCredential, error) {
	out := new(api.IssuedCredential)
	if err := json.Unmarshal([]byte(r.says), out); err != nil {
		return nil, db.Wrap("read credential", err)
	}
	is.complete(r, out)
	if whole {
		if err := json.Unmarshal([]byte(r.document), &out.VerifiableCredential); err != nil {
			return nil, db.Wrap("read credential", err)
		}
	}
	return out, nil
}

// complete adds the data of the row.
func (is *Issuer) complete(r *row, out *api.IssuedCredential) {
	out.ID, out.Status, out.Page, out.IssuedAt = r.did, r.stateOf(), is.pageAddress(r.page), time.UnixMilli(r.issued).UTC()
	out.Links = api.ClaimLinks{Self: address(r.did), Entity: entityAddress(r.did)}
}
