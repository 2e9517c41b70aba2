package device

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Config configures a Service. DB, Entities, Protocols, Events and Cursors are
// needed; the zero value of everything else is the sensible default.
type Config struct {
	DB        *db.DB
	Entities  *entity.Service
	Protocols *protocol.Service
	Events    *event.Log
	Cursors   web.Cursors
	Idem      *once.Store // keeps the answers to Idempotency-Keys; none by default
	Now       func() time.Time

	ScanBudget int // readings one request looks at; 100,000
}

// Service is the use cases of households, devices and readings. It is safe for
// many goroutines.
type Service struct {
	*days
	cfg   Config
	db    *db.DB
	files gate
}

// New makes a Service over a migrated store.
func New(cfg Config) *Service {
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	cfg.Idem = cmp.Or(cfg.Idem, once.Plain(cfg.DB))
	if cfg.ScanBudget <= 0 {
		cfg.ScanBudget = scanBudget
	}
	return &Service{days: &days{cfg: cfg, db: cfg.DB}, cfg: cfg, db: cfg.DB}
}

// CreateHousehold makes the twin of a household.
func (s *Service) CreateHousehold(ctx context.Context, d HouseholdDraft) (web.Reply[*Household], error) {
	var none web.Reply[*Household]
	if err := d.Validate(); err != nil {
		return none, err
	}
	draft, err := d.twin()
	if err != nil {
		return none, err
	}
	p, err := s.cfg.Entities.Prepare(ctx, draft)
	if err != nil {
		return none, inWords(err, draft, householdPointer)
	}
	r, err := once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Household], error) {
		row, err := s.cfg.Entities.StoreTx(ctx, tx, p)
		if err != nil {
			return none, err
		}
		e, err := s.seen(ctx, tx, row)
		if err != nil {
			return none, err
		}
		h := householdOf(e)
		return web.Reply[*Household]{Value: h, Status: http.StatusCreated, ETag: web.ETag(row.Revision), Location: h.Links.Self}, nil
	})
	return r, inWords(err, draft, householdPointer)
}

// CreateDevice makes the twin of a device. A serial number identifies one
// device: sending the same registration again returns the existing device,
// unless it is deactivated. A different registration under a serial number that
// is taken is the fault DEVICE_DATA_CONFLICT, with the same text whatever has
// the number.
func (s *Service) CreateDevice(ctx context.Context, d Draft) (web.Reply[*Device], error) {
	var none web.Reply[*Device]
	if err := d.Validate(); err != nil {
		return none, err
	}
	ws := web.CallerFrom(ctx).Workspace
	name, version, _ := strings.Cut(d.protocol(), "@")
	proto, err := s.cfg.Protocols.Find(ctx, ws, name, version)
	if err != nil {
		return none, protocol.At(err, "/protocol", name, version)
	}
	if proto.DomainType() != "device" {
		var c fault.Checks
		c.Add("/protocol", "mismatch", "The protocol is not one of devices.")
		return none, c.Err("ENTITY_INVALID", "The device is not valid.")
	}
	draft, err := d.twin(func(property string) bool { return proto.Kind(property) != "" })
	if err != nil {
		return none, err
	}
	p, err := s.cfg.Entities.Prepare(ctx, draft)
	if err != nil {
		return none, inWords(err, draft, devicePointer)
	}
	r, err := once.Do(ctx, s.cfg.Idem, func(tx *db.Tx) (web.Reply[*Device], error) {
		row, err := s.cfg.Entities.StoreTx(ctx, tx, p)
		if err != nil {
			return none, err
		}
		return s.replyOf(ctx, tx, row, http.StatusCreated)
	})
	if code := fault.CodeOf(err); code == "EXTERNAL_ID_EXISTS" && d.serial() != "" {
		return s.again(ctx, d, draft, err)
	}
	return r, inWords(err, draft, devicePointer)
}

func (s *Service) replyOf(ctx context.Context, q db.Querier, row *entity.Row, status int) (web.Reply[*Device], error) {
	e, err := s.seen(ctx, q, row)
	if err != nil {
		return web.Reply[*Device]{}, err
	}
	d := deviceOf(e, s.cfg.Now())
	return web.Reply[*Device]{Value: d, Status: status, ETag: web.ETag(row.Revision), Location: d.Links.Self}, nil
}

// again answers a registration whose serial number is taken. exists is the
// registry's fault.
func (s *Service) again(ctx context.Context, d Draft, draft entity.Draft, exists error) (web.Reply[*Device], error) {
	var none web.Reply[*Device]
	c := web.CallerFrom(ctx)
	// In a transaction: on SQLite the twin with the number may have been stored
	// a moment ago and be part of a commit that is still under way.
	var row *entity.Row
	err := s.db.InTx(ctx, func(tx *db.Tx) (err error) {
		row, err = bySerial(ctx, tx, c.Workspace, d.serial())
		return err
	})
	if err != nil {
		return none, err
	}
	if row == nil { // the name that is taken is another one
		return none, inWords(exists, draft, devicePointer)
	}
	taken := fault.New(fault.Conflict, "DEVICE_DATA_CONFLICT",
		"This serial number is taken. A device that moved keeps its twin: remove its relationship household and add the next one, with since. GET /v1/entities?externalId= shows what has it to callers who may see that.").
		With(fault.Field{Pointer: "/serial", Code: "conflict", Detail: "The serial number is taken."})
	if !visible(c, row) {
		return none, taken
	}
	e, err := s.seen(ctx, s.db, row)
	if err != nil {
		return none, err
	}
	if !sees(c, e) || e.Status == entity.StatusDeactivated || !d.describes(draft, e, s.cfg.Now()) {
		return none, taken
	}
	return s.replyOf(ctx, s.db, row, http.StatusOK)
}

// seen returns the record of a twin as the caller may see it.
func (s *Service) seen(ctx context.Context, q db.Querier, row *entity.Row) (*entity.Entity, error) {
	e, err := row.Entity()
	if err != nil {
		return nil, err
	}
	return e, s.cfg.Entities.See(ctx).Entity(ctx, q, e)
}

// describes reports whether the draft says the same about a device as its
// record. Members missing in the draft are not compared.
func (d Draft) describes(draft entity.Draft, e *entity.Entity, now time.Time) bool {
	protocol, version, _ := strings.Cut(draft.Protocol, "@")
	for _, pair := range [][2]string{
		{d.DID, e.DID},
		{d.Type, e.Type},
		{protocol, e.Protocol},
		{version, e.ProtocolVersion},
		{d.HouseholdID, target(e, householdRole, now)},
		{d.StoveID, target(e, stoveRole, now)},
		{d.Project, target(e, projectRole, now)},
		{d.Name, nameOf(e)},
	} {
		if said, stored := pair[0], pair[1]; said != "" && said != stored {
			return false
		}
	}
	for scheme, value := range d.ExternalIDs {
		if value != "" && value != e.ExternalIDs[scheme] {
			return false
		}
	}
	var c fault.Checks
	if d.Configuration != nil && d.Configuration.check(&c) != configurationOf(e) {
		return false
	}
	have := members(e.Properties)
	for name, v := range members(d.Properties) {
		if !reflect.DeepEqual(v, have[name]) {
			return false
		}
	}
	return true
}

// subject is a twin the caller may see.
type subject struct {
	*entity.Row
	e *entity.Entity
}

// find reads a twin of a domain type that the caller may see. For any other the
// fault is ENTITY_NOT_FOUND.
func (s *Service) find(ctx context.Context, q db.Querier, id, domainType string) (*subject, error) {
	row, err := s.cfg.Entities.Find(ctx, q, id)
	if err != nil {
		return nil, err
	}
	e, err := row.Entity()
	if err != nil {
		return nil, err
	}
	if row.DomainType != domainType || !sees(web.CallerFrom(ctx), e) {
		return nil, fault.New(fault.NotFound, "ENTITY_NOT_FOUND", "No "+domainType+" has this DID.")
	}
	return &subject{row, e}, nil
}

// visible reports whether a caller's project restriction admits a twin.
func visible(c web.Caller, r *entity.Row) bool {
	return c.Sees(r.Project) || slices.Contains(c.Projects, r.DID)
}

// sees reports whether a caller may know a twin. The key of a device, which
// does not read twins, knows itself and what it controls: a thief who takes the
// key out of a device learns nothing about its neighbours.
func sees(c web.Caller, e *entity.Entity) bool { return c.May("entities:read") || controls(c, e) }

func controls(c web.Caller, e *entity.Entity) bool {
	return c.DID == e.DID || slices.Contains(e.Controllers, c.DID)
}

// inWords rewords a fault of the registry for our drafts.
func inWords(err error, d entity.Draft, say func(d entity.Draft, pointer string) string) error {
	f := fault.As(err)
	if f == nil || len(f.Fields) == 0 {
		return err
	}
	c := *f
	c.Fields = slices.Clone(f.Fields)
	for i := range c.Fields {
		c.Fields[i].Pointer = say(d, c.Fields[i].Pointer)
	}
	return &c
}

func householdPointer(_ entity.Draft, pointer string) string {
	switch name, ok := strings.CutPrefix(pointer, "/properties/"); {
	case strings.HasPrefix(pointer, "/relationships"):
		return "/project"
	case !ok:
		return pointer
	case name == "district":
		return "/location/district"
	case name == "fuelType":
		return "/baseline/fuelType"
	default:
		return "/" + name
	}
}

func devicePointer(d entity.Draft, pointer string) string {
	name, _ := strings.CutPrefix(pointer, "/properties/")
	switch name {
	case "samplingRate", "temperatureThreshold", "transmissionMode", "minimumDuration":
		return "/configuration/" + name
	case "serial":
		return "/serial"
	}
	for i, r := range d.Relationships {
		if !strings.HasPrefix(pointer+"/", "/relationships/"+string(rune('0'+i))+"/") {
			continue
		}
		if r.Role == projectRole {
			return "/project"
		}
		return "/" + r.Role + "Id"
	}
	return pointer
}
