package resolve

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Oracle describes the oracle of this server, whose twin EnsureOracle keeps.
type Oracle struct {
	DID  string
	Name string
	Base string // URL clients reach it by
	// Guessed says that nobody configured Base: it replaces no address but
	// another guess, one on localhost.
	Guessed bool
	// Once says that Base holds for this start or this instance only, such as
	// a port the system chose: it is written when the twin is made, and never
	// after that.
	Once bool
}

// Services of the oracle's twin, in the form its clients look for.
const (
	apiService, apiType = "#api", "oracleService"
	wsService, wsType   = "#ws", "wsService"
)

// oracleProtocol is what the oracle's twin is made from.
const oracleProtocol = "did:ixo:protocol/oracle"

// ensureTries bounds how often EnsureOracle starts over because another
// instance was faster.
const ensureTries = 5

// EnsureOracle makes the twin of the oracle in the caller's workspace unless it
// is there, and brings its two services up to date when the address has
// changed. It changes nothing else, and nothing at all on most starts. A twin
// somebody deactivated, or gave to another controller, is left alone. Instances
// that start together may all call it.
func (s *Service) EnsureOracle(ctx context.Context, o Oracle) error {
	var err error
	for range ensureTries {
		var again bool
		if again, err = s.ensureOracle(ctx, o); !again {
			return err
		}
	}
	return fmt.Errorf("twin of the oracle: %w", err)
}

// ensureOracle is one try; again says that somebody else changed it meanwhile.
func (s *Service) ensureOracle(ctx context.Context, o Oracle) (again bool, err error) {
	row, err := s.cfg.Entities.Find(ctx, s.db, o.DID)
	if fault.KindOf(err) == fault.NotFound {
		err = s.createOracle(ctx, o)
		return fault.CodeOf(err) == "ENTITY_EXISTS", err
	} else if err != nil {
		return false, err
	}
	r, err := readRecord(row.Body)
	if err != nil {
		return false, fmt.Errorf("read twin of the oracle: %w", err)
	}
	if row.Status == entity.StatusDeactivated || o.keeps(r.Services) || slices.Equal(r.Services, o.services(r.Services)) {
		return false, nil
	}
	_, err = s.cfg.Entities.Patch(ctx, o.DID, web.ETag(row.Revision), entity.Change{
		Reason: "The public address of the server has changed.",
		Edit: func(e *entity.Entity) error {
			e.Services = o.services(e.Services)
			return nil
		},
	})
	switch fault.KindOf(err) {
	case fault.Stale, fault.Conflict:
		return true, err
	case fault.Forbidden:
		s.cfg.Log.WarnContext(ctx, "the oracle's twin has another controller and keeps its old address", "err", err.Error())
		return false, nil
	}
	return false, err
}

// keeps tells whether the address of the twin stays whatever ours is.
func (o Oracle) keeps(have []entity.Endpoint) bool {
	if o.Once {
		return true
	}
	return o.Guessed && slices.ContainsFunc(have, func(e entity.Endpoint) bool {
		u, err := url.Parse(e.Endpoint)
		return e.ID == apiService && (err != nil || u.Hostname() != "localhost")
	})
}

func (s *Service) createOracle(ctx context.Context, o Oracle) error {
	properties, err := web.Encode(map[string]string{"name": o.Name})
	if err != nil {
		return err
	}
	_, err = s.cfg.Entities.Create(ctx, entity.Draft{
		DID: o.DID, Type: "oracle", Protocol: oracleProtocol, Properties: entity.Object{Value: properties}, Services: o.services(nil),
	})
	return err
}

// services are those the twin has with the two of the oracle put right.
func (o Oracle) services(have []entity.Endpoint) []entity.Endpoint {
	out := slices.Clone(have)
	for _, want := range []entity.Endpoint{{ID: apiService, Type: apiType, Endpoint: o.Base}, {ID: wsService, Type: wsType, Endpoint: o.Base}} {
		at := slices.IndexFunc(out, func(e entity.Endpoint) bool { return e.ID == want.ID })
		if at < 0 {
			out = append(out, want)
			continue
		}
		out[at] = want
	}
	return out
}
