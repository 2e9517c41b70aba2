package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json"
)

const (
	headIdempotency = "Idempotency-Key"
	headRequestID   = "X-Request-Id"
)

// maxAnswer is far above any answer there is: a wrong server must not fill the
// memory.
const maxAnswer = 64 << 20

// call is one request, sent as often as its retries ask for.
type call struct {
	method string
	path   string // escaped, from the root of the server
	query  url.Values
	body   any    // encoded as JSON, []byte sent as they are; nil is none
	media  string // of the body; JSON when empty
	head   http.Header
	meta   *Meta
	keyed  bool // the server keeps the answer under an Idempotency-Key
	safe   bool // doing it twice is like doing it once, whatever the method says
	once   bool // never repeat
	long   bool // a file comes or goes: only the caller's ctx bounds it
	accept int  // a status outside 2xx that is an answer and not a refusal
}

const (
	mediaMerge = "application/merge-patch+json"
	mediaPatch = "application/json-patch+json"
)

func get(path string, query url.Values) call {
	return call{method: http.MethodGet, path: path, query: query}
}

// post is a call that makes something, at most once per Idempotency-Key.
func post(path string, body any) call {
	return call{method: http.MethodPost, path: path, body: body, keyed: true}
}

// put, merge and remove are calls that change something that exists.
func put(path string, body any) call {
	return call{method: http.MethodPut, path: path, body: body}
}

func merge(path string, body any) call {
	return call{method: http.MethodPatch, path: path, body: body, media: mediaMerge}
}

func remove(path string) call { return call{method: http.MethodDelete, path: path} }

// do sends a call and decodes the answer into a T.
func do[T any](ctx context.Context, c *Client, k call, opts []Option) (*T, error) {
	raw, err := c.send(ctx, k, opts)
	if err != nil {
		return nil, err
	}
	out := new(T)
	if err := json.Unmarshal(raw, out); err != nil {
		return nil, fmt.Errorf("read answer of %s %s: %w", k.method, k.path, err)
	}
	return out, nil
}

// send sends a call until there is an answer or no attempts are left.
func (c *Client) send(ctx context.Context, k call, opts []Option) ([]byte, error) {
	k.apply(opts)
	body, err := k.encode()
	if err != nil {
		return nil, err
	}
	for n := 1; ; n++ {
		raw, err := c.attempt(ctx, &k, body, n)
		if err == nil {
			return raw, nil
		}
		wait, again := c.cfg.Retry.next(&k, n, err)
		if ctx.Err() != nil || !again || !enough(ctx, wait) {
			return nil, fmt.Errorf("%s %s: %w", k.method, k.path, err)
		}
		if pause(ctx, wait) != nil {
			return nil, fmt.Errorf("%s %s: %w, after %w", k.method, k.path, ctx.Err(), err)
		}
	}
}

// apply applies the options of the caller and fills in what is missing.
func (k *call) apply(opts []Option) {
	if k.head = k.head.Clone(); k.head == nil {
		k.head = http.Header{}
	}
	for _, o := range opts {
		o(k)
	}
	if k.keyed && k.head.Get(headIdempotency) == "" {
		k.head.Set(headIdempotency, rand.Text())
	}
}

func (k *call) encode() ([]byte, error) {
	switch b := k.body.(type) {
	case nil:
		return nil, nil
	case []byte:
		return b, nil
	}
	// The server compares the bytes of two calls with one Idempotency-Key.
	body, err := json.Marshal(k.body, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("encode body of %s %s: %w", k.method, k.path, err)
	}
	return body, nil
}

// attempt sends a call once and reads the whole answer.
func (c *Client) attempt(ctx context.Context, k *call, body []byte, n int) ([]byte, error) {
	if !k.long {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.cfg.Timeout)
		defer cancel()
	}
	req, err := c.request(ctx, k, body)
	if err != nil {
		return nil, err
	}
	res, err := c.cfg.HTTP.Do(req)
	if err != nil {
		return nil, lost{err}
	}
	defer res.Body.Close()
	k.meta.fill(n, res)
	c.position.note(k.method, res)
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return nil, lost{err}
	}
	if len(raw) > maxAnswer {
		return nil, fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	if res.StatusCode/100 != 2 && res.StatusCode != k.accept {
		return nil, errorOf(res, raw)
	}
	return raw, nil
}

// request makes the HTTP request of a call.
func (c *Client) request(ctx context.Context, k *call, body []byte) (*http.Request, error) {
	u := c.base.String() + k.path
	if len(k.query) > 0 {
		u += "?" + k.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, k.method, u, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range k.head {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", c.cfg.UserAgent)
	if at := c.position.Load(); at != nil && k.method == http.MethodGet && req.Header.Get(headPosition) == "" {
		req.Header.Set(headPosition, *at)
	}
	if c.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.Key)
	}
	switch {
	case k.media != "":
		req.Header.Set("Content-Type", k.media)
	case k.body != nil:
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}
