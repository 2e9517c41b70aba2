package resolve

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Services of the oracle, in the form its clients look for.
const (
	apiService, apiType = "#api", "oracleService"
	wsService, wsType   = "#ws", "wsService"
)

// oracleProtocol is the protocol of the oracle's twin.
const oracleProtocol = "did:ixo:protocol/oracle"

// EnsureOracle makes the twin of the oracle in the caller's workspace unless it
// exists. Instances that start together may all call it.
func (s *Service) EnsureOracle(ctx context.Context, name string) error {
	_, err := s.cfg.Entities.Find(ctx, s.db, s.cfg.Oracle)
	if fault.KindOf(err) != fault.NotFound {
		return err
	}
	properties, err := web.Encode(map[string]string{"name": name})
	if err != nil {
		return err
	}
	_, err = s.cfg.Entities.Create(ctx, entity.Draft{
		DID: s.cfg.Oracle, Type: "oracle", Protocol: oracleProtocol, Properties: entity.Object{Value: properties},
	})
	if fault.CodeOf(err) == "ENTITY_EXISTS" {
		return nil // another instance was faster
	}
	return err
}

// served returns the services of a twin as its document shows them. The address
// of the oracle comes from the server and never from the record: anybody who
// could write it there could send its clients to another server.
func (s *Service) served(id string, have []entity.Endpoint) []entity.Endpoint {
	if id != s.cfg.Oracle || s.cfg.Address == nil {
		return have
	}
	base := s.cfg.Address()
	others := slices.DeleteFunc(slices.Clone(have), func(e entity.Endpoint) bool { return e.ID == apiService || e.ID == wsService })
	return append([]entity.Endpoint{{ID: apiService, Type: apiType, Endpoint: base}, {ID: wsService, Type: wsType, Endpoint: base}}, others...)
}
