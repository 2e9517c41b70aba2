package protocol

import (
	"context"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Names returns the names of the protocols among some DIDs: none without
// protocols:read.
func (s *Service) Names(ctx context.Context, ids []string) ([]api.Name, error) {
	c := web.CallerFrom(ctx)
	if !c.May("protocols:read") {
		return nil, nil
	}
	var out []api.Name
	for _, id := range ids {
		p, err := s.FindAny(ctx, c.Workspace, id, "")
		switch fault.KindOf(err) {
		case fault.NotFound, fault.Unprocessable: // no protocol, or a draft without its parent
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, api.Name{DID: id, Kind: "protocol", Name: p.Name})
	}
	return out, nil
}
