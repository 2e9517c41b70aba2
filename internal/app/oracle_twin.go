package app

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"net/http"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/entity/resolve"
	"github.com/hearth-dmrv/hearth/internal/outbound"
)

// oracleTwin makes the twin of the oracle in the operator's workspace, on the
// first start. The owner must exist already.
func (a *App) oracleTwin(ctx context.Context, dids *resolve.Service) error {
	ctx, err := a.Auth.AsOwner(ctx, auth.OperatorWorkspace)
	if err != nil {
		return err
	}
	return dids.EnsureOracle(ctx, a.cfg.Oracle.Name)
}

// oracleKeys knows the one key this server has: that of its oracle.
func oracleKeys(id Identity) func(string) ed25519.PublicKey {
	return func(did string) ed25519.PublicKey {
		if id.Key == nil || did != id.DID.String() {
			return nil
		}
		key, _ := id.Key.Public().(ed25519.PublicKey)
		return key
	}
}

// fetchDocument reads the document of a did:web through the guarded client,
// which bounds its size and follows no redirect.
func fetchDocument(client *outbound.Client) func(ctx context.Context, url string) ([]byte, error) {
	return func(ctx context.Context, url string) ([]byte, error) {
		if _, err := client.CheckURL(url); err != nil {
			return nil, err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, err
		}
		req.Header.Set("Accept", "application/did+json, application/did+ld+json, application/json")
		res, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("the host answers %d", res.StatusCode)
		}
		return io.ReadAll(res.Body)
	}
}
