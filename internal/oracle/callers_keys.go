package oracle

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/ucan"
)

// IndexerClient sends a request. The guarded client is one.
type IndexerClient interface {
	Do(r *http.Request) (*http.Response, error)
}

// maxDocument is how much of an indexer's answer is read, in bytes.
const maxDocument = 256 << 10

// keyChain is where keys are looked up: the oracle's own, then configured ones,
// then twins held here, then the indexer. A did:web is not looked up, because
// anybody who can send a token could make us call any host. A did:key never
// gets here. Keys of twins are read each time, so that removing one takes
// effect.
type keyChain struct {
	CallersConfig
	outside ucan.Resolver // the indexer, remembered
}

// indexer asks for documents held elsewhere.
type indexer struct{ cfg CallersConfig }

var _, _ ucan.Resolver = (*keyChain)(nil), (*indexer)(nil)

// Resolve finds the keys of id.
func (c *keyChain) Resolve(ctx context.Context, id did.DID) ([]ed25519.PublicKey, error) {
	if id == c.DID && c.Key != nil {
		return []ed25519.PublicKey{c.Key}, nil
	}
	if keys := c.Static[id]; len(keys) > 0 {
		return keys, nil
	}
	if id.Method() == "web" {
		return nil, ucan.ErrUnknownDID
	}
	if c.Local != nil {
		keys, err := c.Local(ctx, id)
		switch {
		case err == nil && len(keys) > 0:
			return keys, nil
		case err != nil && !errors.Is(err, ucan.ErrUnknownDID):
			return nil, err
		}
	}
	return c.outside.Resolve(ctx, id)
}

// Published returns the did:keys of a DID as the indexer publishes them; none
// for an unknown DID. The fault is UCAN_KEYS_UNAVAILABLE.
func (s *Callers) Published(ctx context.Context, id did.DID) ([]string, error) {
	keys, err := (&indexer{s.cfg}).Resolve(ctx, id)
	switch {
	case errors.Is(err, ucan.ErrUnknownDID):
		return nil, nil
	case err != nil:
		return nil, s.Refuse(ctx, &ucan.Error{Kind: ucan.Unavailable, Detail: "keys of " + id.String(), Err: err})
	}
	out := make([]string, len(keys))
	for i, key := range keys {
		out[i] = did.FromEd25519(key).String()
	}
	return out, nil
}

// Resolve asks the indexer, if there is one.
func (c *indexer) Resolve(ctx context.Context, id did.DID) ([]ed25519.PublicKey, error) {
	if c.cfg.Indexer == "" || c.cfg.Client == nil || id.Method() != "ixo" {
		return nil, ucan.ErrUnknownDID
	}
	return c.ask(ctx, id)
}

// indexQuery is what the original asks its indexer.
const indexQuery = `query ($id: String!) { iids(filter: {id: {equalTo: $id}}) { nodes { id verificationMethod } } }`

type indexRequest struct {
	Query     string            `json:"query"`
	Variables map[string]string `json:"variables"`
}

type indexAnswer struct {
	Data struct {
		IIDs struct {
			Nodes []struct {
				ID      string           `json:"id"`
				Methods []ucan.KeyMethod `json:"verificationMethod"`
			} `json:"nodes"`
		} `json:"iids"`
	} `json:"data"`
	Errors []struct{} `json:"errors"`
}

// ask asks the indexer for the document of id.
func (c *indexer) ask(ctx context.Context, id did.DID) ([]ed25519.PublicKey, error) {
	body, err := json.Marshal(indexRequest{indexQuery, map[string]string{"id": id.String()}})
	if err != nil {
		return nil, fmt.Errorf("encode the question: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.cfg.Indexer, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask the indexer: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	res, err := c.cfg.Client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("ask the indexer: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("read the indexer's answer: %w", err)
	}
	if res.StatusCode != http.StatusOK || len(text) > maxDocument {
		return nil, fmt.Errorf("the indexer answers %d with %d bytes", res.StatusCode, len(text))
	}
	return indexKeys(text, id)
}

// indexKeys reads the keys of id out of an indexer's answer.
func indexKeys(text []byte, id did.DID) ([]ed25519.PublicKey, error) {
	var a indexAnswer
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, fmt.Errorf("read the indexer's answer: %w", err)
	}
	for _, n := range a.Data.IIDs.Nodes {
		if n.ID != id.String() {
			continue // an indexer that answers something else must not lend its keys
		}
		if keys := ucan.KeysOf(n.Methods); len(keys) > 0 {
			return keys, nil
		}
	}
	if len(a.Errors) > 0 {
		return nil, errors.New("the indexer has failed")
	}
	return nil, ucan.ErrUnknownDID
}
