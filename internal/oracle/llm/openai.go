package llm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
)

// Config configures a Client, which needs BaseURL and HTTP. Zero values of the
// rest are the defaults.
type Config struct {
	BaseURL   string       // such as https://llm.example/v1
	APIKey    string       // sent as bearer token; empty: none
	Default   string       // model when a request names none; empty: what the server offers first
	Fallbacks []string     // models asked when the wanted one fails
	Offered   []string     // models callers may choose besides the default
	HTTP      *http.Client // must have no timeout of its own: a stream may last
	Log       *slog.Logger // nil: silent

	Retries int           // repeats before a first delta, in all; 3; negative: none
	Backoff time.Duration // before the first repeat, doubled each time; 500 ms
	MaxWait time.Duration // the longest wait before a repeat; 15 s
	First   time.Duration // until the server answers at all; 2 min
	Idle    time.Duration // silence within an answer; 3 min, because some models think without a word

	Wait func(ctx context.Context, d time.Duration) error // waits before a repeat; nil: a timer
}

// Client asks a server that speaks the OpenAI chat protocol. It is safe for
// concurrent use.
type Client struct {
	cfg  Config
	once chan struct{} // holds a token while the server is asked for its models
	name atomic.Pointer[string]

	// What the server has refused before is not sent again.
	noStreamOptions  atomic.Bool
	completionTokens atomic.Bool
}

var _ Model = (*Client)(nil)

// New makes the model for a configuration, and the catalogue of what callers
// may choose: a client of the server at BaseURL, or without one the offline
// model.
func New(c Config) (Model, *Catalogue, error) {
	if c.BaseURL == "" {
		list, err := NewCatalogue()
		return Offline{}, list, err
	}
	if c.HTTP == nil {
		return nil, nil, errors.New("a model server needs an HTTP client")
	}
	client := NewClient(c)
	first := client.cfg.Default
	if first == "" {
		first = DefaultID
	}
	list, err := NewCatalogue(append([]string{first}, c.Offered...)...)
	return client, list, err
}

// NewClient makes a client.
func NewClient(c Config) *Client {
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.Retries == 0 {
		c.Retries = 3
	}
	if c.Wait == nil {
		c.Wait = wait
	}
	if c.Default == "" {
		c.Default = hostDefault(c.BaseURL)
	}
	c.Backoff = pick(c.Backoff, 500*time.Millisecond)
	c.MaxWait = pick(c.MaxWait, 15*time.Second)
	c.First = pick(c.First, 2*time.Minute)
	c.Idle = pick(c.Idle, 3*time.Minute)
	return &Client{cfg: c, once: make(chan struct{}, 1)}
}

func pick(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// hostDefault is the model of well-known servers that offer too many to take
// the first.
func hostDefault(base string) string {
	switch {
	case strings.HasPrefix(base, "https://openrouter.ai/"):
		return "openrouter/auto"
	case strings.HasPrefix(base, "https://api.openai.com/"):
		return "gpt-4.1-mini"
	}
	return ""
}

// Stream asks for an answer. Until the first delta it retries what may succeed
// later and moves on to the fallback models; after that, nothing is repeated.
func (c *Client) Stream(ctx context.Context, r Request, each func(Delta) error) error {
	if r.Model == "" || r.Model == DefaultID {
		name, err := c.defaultModel(ctx)
		if err != nil {
			return err
		}
		r.Model = name
	}
	r.Tools, each = aliased(r.Tools, each)
	models := append([]string{r.Model}, c.cfg.Fallbacks...)
	left := max(c.cfg.Retries, 0)
	var err error
	for i, name := range models {
		if i > 0 && name == r.Model {
			continue
		}
		tries := left
		if i < len(models)-1 {
			tries = min(tries, 1) // another model is a better bet than more patience
		}
		used, done, failed := c.attempt(ctx, name, r, each, tries)
		if done {
			return failed
		}
		left -= used
		err = failed
	}
	return err
}

// attempt asks one model. done says that its error, or its success, is final.
func (c *Client) attempt(ctx context.Context, name string, r Request, each func(Delta) error, tries int) (used int, done bool, err error) {
	r.Model = name
	for {
		s := &stream{each: each}
		err = c.ask(ctx, r, s)
		var e *Error
		if err == nil || s.started || ctx.Err() != nil || !errors.As(err, &e) {
			return used, true, err
		}
		c.cfg.Log.Warn("model call failed", "kind", string(e.Kind), "status", e.Status, "attempt", used+1, "err", e)
		switch {
		case e.Kind == Auth || e.Kind == Billing || e.TooLong:
			return used, true, err
		case c.adapt(e):
			continue
		case !e.Retryable || used >= tries || e.RetryAfter > c.cfg.MaxWait:
			return used, false, err
		}
		if stop := c.cfg.Wait(ctx, c.pause(used, e.RetryAfter)); stop != nil {
			return used, true, stop
		}
		used++
	}
}

// adapt learns from a refusal that names a field the server does not know. It
// returns true when the next request will differ.
func (c *Client) adapt(e *Error) bool {
	if e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity || e.Err == nil {
		return false
	}
	text := e.Err.Error()
	switch {
	case strings.Contains(text, "stream_options"):
		return c.noStreamOptions.CompareAndSwap(false, true)
	case strings.Contains(text, "max_completion_tokens"):
		return c.completionTokens.CompareAndSwap(false, true)
	}
	return false
}

// pause is how long to wait before a repeat: what the server asks for, or a
// doubling time, spread so that many callers do not come back together.
func (c *Client) pause(used int, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked
	}
	d := min(c.cfg.Backoff<<min(used, 16), c.cfg.MaxWait)
	return d/2 + rand.N(d/2+1)
}

var errSilent = errors.New("the server fell silent")

// ask sends one request and reads its answer.
func (c *Client) ask(ctx context.Context, r Request, s *stream) error {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(c.cfg.First, func() { cancel(errSilent) })
	defer timer.Stop()
	body := c.encode(r)
	req, err := http.NewRequestWithContext(inner, http.MethodPost, c.cfg.BaseURL+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return &Error{Kind: Unknown, Detail: "The address of the model cannot be used.", Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	resp, err := c.send(req)
	if err != nil {
		return c.broken(ctx, inner, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return c.refused(resp)
	}
	s.silence = func(reading bool) {
		if reading {
			timer.Reset(c.cfg.Idle)
		} else {
			timer.Stop()
		}
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		err = s.whole(resp.Body)
	} else {
		err = s.read(resp.Body)
	}
	var lost *lostError
	if errors.As(err, &lost) {
		return c.broken(ctx, inner, lost.err)
	}
	return err
}

func (c *Client) send(req *http.Request) (*http.Response, error) {
	if c.cfg.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.APIKey)
	}
	return c.cfg.HTTP.Do(req)
}

// broken classifies a failure of the connection: an abort by the caller is
// passed on unchanged, so that it is not taken for a fault of the model.
func (c *Client) broken(ctx, inner context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if cause := context.Cause(inner); errors.Is(cause, errSilent) {
		return &Error{Kind: Timeout, Status: http.StatusGatewayTimeout, Retryable: true, Detail: "The model did not answer in time.", Err: cause}
	}
	return &Error{Kind: Network, Retryable: true, Detail: "The connection to the model failed.", Err: c.clean(err)}
}

// clean takes our key out of a text for the log.
func (c *Client) clean(err error) error {
	if c.cfg.APIKey == "" || !strings.Contains(err.Error(), c.cfg.APIKey) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), c.cfg.APIKey, "[key]"))
}

// defaultModel is the configured model, or the first the server offers.
func (c *Client) defaultModel(ctx context.Context) (string, error) {
	if c.cfg.Default != "" {
		return c.cfg.Default, nil
	}
	select {
	case c.once <- struct{}{}:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	defer func() { <-c.once }()
	if name := c.name.Load(); name != nil {
		return *name, nil
	}
	name, err := c.firstModel(ctx)
	if err != nil {
		return "", err
	}
	c.name.Store(&name)
	return name, nil
}

func (c *Client) firstModel(ctx context.Context) (string, error) {
	inner, cancel := context.WithTimeoutCause(ctx, c.cfg.First, errSilent)
	defer cancel()
	req, err := http.NewRequestWithContext(inner, http.MethodGet, c.cfg.BaseURL+"/models", http.NoBody)
	if err != nil {
		return "", &Error{Kind: Unknown, Detail: "The address of the model cannot be used.", Err: err}
	}
	resp, err := c.send(req)
	if err != nil {
		return "", c.broken(ctx, inner, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return "", c.refused(resp)
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.UnmarshalRead(io.LimitReader(resp.Body, maxLine), &list, lenient()); err != nil || len(list.Data) == 0 {
		return "", &Error{Kind: Server, Retryable: true, Detail: "The model server names no model.", Err: fmt.Errorf("list models: %w", errors.Join(err, errNoModel))}
	}
	return list.Data[0].ID, nil
}

var errNoModel = errors.New("set DEFAULT_MODEL")
