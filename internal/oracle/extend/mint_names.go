package extend

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/plugin"
)

const (
	nameLife    = time.Hour       // how long the DID of an address is believed
	nameTime    = 5 * time.Second // to answer with it
	maxDocument = 64 << 10        // bytes of a DID document
)

// names are the DIDs of services by their addresses.
type names struct {
	now   func() time.Time
	mu    sync.Mutex
	known map[string]webName
}

type webName struct {
	did   did.DID
	until time.Time
}

// resolve gives the DID of a service, which is one or an address.
func (n *names) resolve(ctx context.Context, client *http.Client, service string) (did.DID, error) {
	if !strings.HasPrefix(service, "https://") && !strings.HasPrefix(service, "http://") {
		id, err := did.Parse(service)
		if err != nil {
			return "", fmt.Errorf("mint an invocation: the service %q is neither a DID nor an address: %w", service, err)
		}
		return id, nil
	}
	u, err := url.Parse(service)
	if err != nil {
		return "", fmt.Errorf("mint an invocation: %w", err)
	}
	origin := &url.URL{Scheme: u.Scheme, Host: u.Host}
	want, err := did.FromWeb(origin)
	if err != nil {
		return "", fmt.Errorf("mint an invocation: no did:web can stand for %s", origin)
	}
	n.mu.Lock()
	found, ok := n.known[origin.String()]
	n.mu.Unlock()
	if ok && n.now().Before(found.until) {
		return found.did, nil
	}
	if err := n.ask(ctx, client, origin, want); err != nil {
		return "", err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil {
		n.known = map[string]webName{}
	}
	makeRoom(n.known)
	n.known[origin.String()] = webName{want, n.now().Add(nameLife)}
	return want, nil
}

// ask reads the document of an address. It must be that of the address itself: by
// naming another service, one would get tokens that are good there.
func (n *names) ask(ctx context.Context, client *http.Client, origin *url.URL, want did.DID) error {
	if client == nil {
		return plugin.Unavailable("No other server can be reached.")
	}
	ctx, cancel := context.WithTimeout(ctx, nameTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, origin.JoinPath("/.well-known/did.json").String(), http.NoBody)
	if err != nil {
		return fmt.Errorf("ask %s for its DID: %w", origin, err)
	}
	res, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("ask %s for its DID: %w", origin, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxDocument))
	var doc struct {
		ID string `json:"id"`
	}
	switch {
	case err != nil:
		return fmt.Errorf("ask %s for its DID: %w", origin, err)
	case res.StatusCode != http.StatusOK || json.Unmarshal(body, &doc) != nil:
		return plugin.Unavailable("The service %s does not publish its DID.", origin)
	case !strings.EqualFold(doc.ID, want.String()):
		return plugin.Unavailable("The service %s publishes a different DID.", origin)
	}
	return nil
}
