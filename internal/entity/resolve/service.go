package resolve

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Config configures a Service. DB and Entities are needed.
type Config struct {
	DB       *db.DB
	Entities *entity.Service
	Log      *slog.Logger
	Now      func() time.Time

	// PublicURL is how clients reach this server. Without it no did:web is
	// ours, because a name taken from a request could be anybody's.
	PublicURL string
	// Oracle is the DID of the oracle, whose document is the server's.
	Oracle string
	// Address is where clients reach the oracle: PublicURL, or a guess.
	Address func() string
	// Keys finds the key of a DID that is ours; nil, or a nil key, means none.
	Keys func(id string) ed25519.PublicKey
	// Issuing lists the keys, in multibase, that a twin issues credentials with
	// under a DID. Without it no document shows any.
	Issuing func(ctx context.Context, q db.Querier, twin int64, id string) ([]string, error)
	// At reads an earlier revision of a twin, by number or by time. Without it
	// only the newest can be resolved. Of the row it may use NID, Workspace,
	// DID, Revision, CreatedAt, UpdatedAt and Body.
	At func(ctx context.Context, q db.Querier, r *entity.Row, at string) (body []byte, revision int64, err error)
	// Web reads a document of another host. It guards itself against addresses
	// inside our network. Without it no did:web of others resolves.
	Web func(ctx context.Context, url string) ([]byte, error)
}

// Service resolves DIDs. It is safe for many goroutines.
type Service struct {
	cfg  Config
	db   *db.DB
	base *url.URL // of PublicURL; nil without one
	self did.DID  // the did:web of this server; "" without a name
	web  *webCache
}

// New makes a Service over a migrated store. It fails when PublicURL is not a
// URL.
func New(cfg Config) (*Service, error) {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	if cfg.Keys == nil {
		cfg.Keys = func(string) ed25519.PublicKey { return nil }
	}
	s := &Service{cfg: cfg, db: cfg.DB, web: newWebCache(cfg.Now)}
	if cfg.PublicURL == "" {
		return s, nil
	}
	base, err := url.Parse(cfg.PublicURL)
	if err != nil {
		return nil, fmt.Errorf("public URL: %w", err)
	}
	// An address instead of a name is fine for links; it has no did:web.
	if self, err := did.FromWeb(base); err == nil {
		s.base, s.self = base, self
	}
	return s, nil
}

// Version asks for an earlier document. The zero value is the newest.
type Version struct {
	ID   string // revision
	Time string // RFC 3339
}

// at renders the version for Config.At.
func (v Version) at() (string, error) {
	switch {
	case v.ID != "" && v.Time != "":
		return "", fault.New(fault.Invalid, codeOptions, "Give versionId or versionTime, not both.")
	case v.ID != "":
		if n, err := strconv.ParseInt(v.ID, 10, 64); err != nil || n < 1 || strconv.FormatInt(n, 10) != v.ID {
			return "", fault.New(fault.Invalid, codeOptions, "The versionId must be the number of a revision.").
				With(fault.Field{Pointer: "query/versionId", Code: "invalid", Detail: "Give a whole number from 1."})
		}
		return v.ID, nil
	case v.Time != "":
		if _, err := time.Parse(time.RFC3339, v.Time); err != nil {
			return "", fault.New(fault.Invalid, codeOptions, "The versionTime must be a time.").
				With(fault.Field{Pointer: "query/versionTime", Code: "invalid", Detail: "Give a time such as 2026-11-15T06:00:00Z."})
		}
	}
	return v.Time, nil
}

// Codes of faults.
const (
	codeInvalid  = "DID_INVALID"
	codeNotFound = "DID_NOT_FOUND"
	codeMethod   = "DID_METHOD_NOT_SUPPORTED"
	codeOptions  = "DID_OPTIONS_INVALID"
)

func invalidDID(message string) error {
	return fault.New(fault.Invalid, codeInvalid, message).
		With(fault.Field{Pointer: "path/did", Code: "invalid", Detail: message})
}

func notFound() error {
	return fault.New(fault.NotFound, codeNotFound, "This DID cannot be found.")
}

func noMethod(method string) error {
	return fault.New(fault.Invalid, codeMethod, "DIDs of the method "+fault.Echo(method)+" are not resolved here.")
}

// noName says why nothing is found under a did:web of a server without a name.
func noName(kind fault.Kind, code string) error {
	return fault.New(kind, code, "This server has no did:web. Set HEARTH_PUBLIC_URL to the address, with a host name, at which clients reach it.")
}

// Resolve finds the document of any DID for the caller: a did:key from the DID
// itself, a did:web of others from their host, everything else among the twins
// of the caller's workspace. Faults: DID_INVALID, DID_NOT_FOUND,
// DID_METHOD_NOT_SUPPORTED, DID_OPTIONS_INVALID.
func (s *Service) Resolve(ctx context.Context, text string, v Version) (*Result, error) {
	id, err := did.Parse(text)
	if err != nil {
		return nil, invalidDID("This is not a DID.")
	}
	switch id.Method() {
	case "key":
		return s.resolveKey(id, v)
	case "web":
		return s.resolveWeb(ctx, s.asWritten(id), v)
	}
	row, err := s.cfg.Entities.Find(ctx, s.db, text)
	if fault.KindOf(err) == fault.NotFound {
		if id.Method() != "ixo" {
			return nil, noMethod(id.Method())
		}
		return nil, notFound()
	} else if err != nil {
		return nil, err
	}
	return s.show(ctx, row, v, view{id: text, key: s.cfg.Keys(text)})
}

// ResolvePublic finds what everybody may know of a DID: a did:key, a twin of
// the operator's workspace, a twin with a minted DID, or a did:web of this
// server. It calls no other server. The faults are those of Resolve.
func (s *Service) ResolvePublic(ctx context.Context, text string, v Version) (*Result, error) {
	id, err := did.Parse(text)
	if err != nil {
		return nil, invalidDID("This is not a DID.")
	}
	switch id.Method() {
	case "key":
		return s.resolveKey(id, v)
	case "web":
		return s.resolveOwnWeb(ctx, s.asWritten(id), v)
	}
	row, err := s.findPublic(ctx, id)
	if err != nil {
		return nil, err
	}
	if row == nil {
		if id.Method() != "ixo" {
			return nil, noMethod(id.Method())
		}
		return nil, notFound()
	}
	return s.show(ctx, row, v, view{id: text, public: true, key: s.cfg.Keys(text)})
}

// findPublic finds the twin for a DID: the one it was minted for, else, for a
// DID that was not minted here, the operator's; nil when there is neither. A
// copy of a twin in another workspace stays private.
func (s *Service) findPublic(ctx context.Context, id did.DID) (*entity.Row, error) {
	if _, minted := id.EntityID(); minted {
		if row, err := findMinted(ctx, s.db, id.String()); err != nil || row != nil {
			return row, err
		}
	}
	return findNamed(ctx, s.db, id.String(), auth.OperatorWorkspace)
}

// resolveKey resolves a did:key, which has one version and no time of creation.
func (s *Service) resolveKey(id did.DID, v Version) (*Result, error) {
	if v != (Version{}) {
		return nil, fault.New(fault.Invalid, codeOptions, "A did:key has no versions.")
	}
	d, err := keyDocument(id)
	if err != nil {
		return nil, err
	}
	return result(d, DocumentMetadata{})
}

// show makes the document of a twin, in its present or an earlier state. In
// either case it says whether the DID is deactivated today.
func (s *Service) show(ctx context.Context, row *entity.Row, v Version, how view) (*Result, error) {
	at, err := v.at()
	if err != nil {
		return nil, err
	}
	body, meta := row.Body, DocumentMetadata{
		Created: moment(row.CreatedAt), Updated: moment(row.UpdatedAt), VersionID: strconv.FormatInt(row.Revision, 10),
		Deactivated: row.Status == entity.StatusDeactivated,
	}
	if at != "" {
		if body, err = s.earlier(ctx, row, at, &meta); err != nil {
			return nil, err
		}
	}
	r, err := readRecord(body)
	if err != nil {
		return nil, fmt.Errorf("read twin %s: %w", row.DID, err)
	}
	if at != "" {
		meta.Updated = r.Updated.UTC().Format(timeFormat)
	}
	r.Services = s.served(row.DID, r.Services)
	if s.cfg.Issuing != nil && row.DomainType == "oracle" {
		if how.issues, err = s.cfg.Issuing(ctx, s.db, row.NID, how.id); err != nil {
			return nil, err
		}
	}
	how.private = how.public && (private(row.DomainType) || private(r.DomainType))
	return result(r.document(how), meta)
}

// earlier reads a revision and records which one it is.
func (s *Service) earlier(ctx context.Context, row *entity.Row, at string, meta *DocumentMetadata) ([]byte, error) {
	if s.cfg.At == nil {
		return nil, fault.New(fault.Invalid, codeOptions, "Only the newest document is kept here. Leave out versionId and versionTime.")
	}
	body, revision, err := s.cfg.At(ctx, s.db, row, at)
	switch fault.KindOf(err) {
	case fault.NotFound:
		return nil, notFound()
	case fault.Invalid:
		return nil, fault.New(fault.Invalid, codeOptions, "There is no such version.").Wrap(err)
	}
	if err != nil {
		return nil, err
	}
	meta.VersionID = strconv.FormatInt(revision, 10)
	return body, nil
}
