package client

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json"
)

// maxUpload is the largest file the server takes.
const maxUpload = 64 << 20

// readFile reads a file that is sent. It is held whole, so that it can be sent
// again.
func readFile(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxUpload+1))
	if err != nil {
		return nil, fmt.Errorf("read file: %w", err)
	}
	if len(raw) > maxUpload {
		return nil, fmt.Errorf("the file has more than %d bytes", maxUpload)
	}
	return raw, nil
}

// download sends a call and hands over the body of the answer, which the
// caller closes. It is repeated until an answer begins, not when one is cut.
func (c *Client) download(ctx context.Context, k call, opts []Option) (io.ReadCloser, error) {
	k.apply(opts)
	for n := 1; ; n++ {
		body, err := c.begin(ctx, &k, n)
		if err == nil {
			return body, nil
		}
		wait, again := c.cfg.Retry.next(&k, n, err)
		if !again || !enough(ctx, wait) || pause(ctx, wait) != nil {
			return nil, fmt.Errorf("%s %s: %w", k.method, k.path, err)
		}
	}
}

// begin sends a call once and reads the answer only if it is a refusal.
func (c *Client) begin(ctx context.Context, k *call, n int) (io.ReadCloser, error) {
	req, err := c.request(ctx, k, nil)
	if err != nil {
		return nil, err
	}
	res, err := c.cfg.HTTP.Do(req)
	if err != nil {
		return nil, lost{err}
	}
	k.meta.fill(n, res)
	if res.StatusCode == http.StatusOK {
		return res.Body, nil
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxFrame))
	if err != nil {
		return nil, lost{err}
	}
	if later := (laterOn{}); res.StatusCode == http.StatusAccepted && json.Unmarshal(raw, &later.Job) == nil {
		return nil, later
	}
	return nil, errorOf(res, raw)
}

// laterOn means that a job makes the requested result.
type laterOn struct{ Job }

func (l laterOn) Error() string { return "the job " + l.ID + " makes it" }
