package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
)

// Answer is a complete HTTP answer.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// JSON decodes the body into v.
func (a *Answer) JSON(v any) error {
	if err := json.Unmarshal(a.Body, v); err != nil {
		return fmt.Errorf("decode answer %d %.200s: %w", a.Status, a.Body, err)
	}
	return nil
}

// Client calls a server and reads whole answers. Without Key it sends no
// bearer token.
type Client struct {
	URL  string       // of the server
	Key  string       // sent as bearer
	HTTP *http.Client // http.DefaultClient
}

// Client returns a client with the owner key that opens and keeps at most conns connections.
func (s *Server) Client(conns int) *Client {
	tr := &http.Transport{MaxIdleConnsPerHost: conns, MaxConnsPerHost: conns, DisableCompression: true}
	return &Client{URL: s.URL, Key: s.Key, HTTP: &http.Client{Transport: tr, Timeout: 30 * time.Second}}
}

// Close closes the idle connections.
func (c *Client) Close() { c.HTTP.CloseIdleConnections() }

// Do sends one request. It sends body as JSON: bytes unchanged, nil as no body,
// anything else encoded. head holds pairs of header name and value.
func (c *Client) Do(ctx context.Context, method, path string, body any, head ...string) (*Answer, error) {
	var data []byte
	switch b := body.(type) {
	case nil:
	case []byte:
		data = b
	default:
		var err error
		if data, err = json.Marshal(b, json.Deterministic(true)); err != nil { // the same again, with the same Idempotency-Key
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(head); i += 2 {
		req.Header.Set(head[i], head[i+1])
	}
	hc := c.HTTP
	if hc == nil {
		hc = http.DefaultClient
	}
	res, err := hc.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	return &Answer{Status: res.StatusCode, Header: res.Header, Body: text}, nil
}
