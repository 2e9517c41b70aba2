package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
)

// access is how a command reaches the API of a server.
type access struct{ url, keyFile string }

func (a *access) register(fs *flag.FlagSet, scopes string) {
	fs.StringVar(&a.url, "url", "", "`address` of the server; the one of this configuration by default")
	fs.StringVar(&a.keyFile, "key-file", "", "`file` with the API key; needs "+scopes)
}

// dial reads the key.
func (a *access) dial(c *call) (*remote, error) {
	if a.keyFile == "" {
		return nil, errUsage{"--key-file is needed: a file with an API key"}
	}
	key, err := os.ReadFile(a.keyFile)
	if err != nil {
		return nil, fmt.Errorf("read the API key: %w", err)
	}
	return &remote{call: c, base: strings.TrimSuffix(cmp.Or(a.url, c.ownAddress("a")), "/"), key: strings.TrimSpace(string(key))}, nil
}

// remote is a server that a command talks to.
type remote struct {
	call      *call
	base, key string
}

// upload sends a file and reads the answer.
func (m *remote) upload(ctx context.Context, path, name string, v any) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read the file: %w", err)
	}
	defer f.Close()
	return m.ask(ctx, http.MethodPost, path, f, v)
}

// formatOf is the format of a file: that given, else the end of its name.
func formatOf(given, name string) string {
	return cmp.Or(given, strings.TrimPrefix(strings.ToLower(filepath.Ext(name)), "."))
}

// pollEvery is how often the program looks how far work has come.
const pollEvery = 500 * time.Millisecond

// ending is work that goes on until it is over.
type ending[T any] interface {
	*T
	over() bool
}

// await looks at work until it is over.
func await[T any, P ending[T]](ctx context.Context, m *remote, path string) (P, error) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		v := P(new(T))
		if err := m.ask(ctx, http.MethodGet, path, nil, v); err != nil {
			return nil, err
		}
		if v.over() {
			return v, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("%s goes on without this program: %w", path, ctx.Err())
		}
	}
}

// walk shows the items of a list, page by page.
func walk[T any](ctx context.Context, m *remote, path string, q url.Values, show func(T)) error {
	for {
		var page struct {
			Items []T `json:"items"`
			Page  struct {
				Next string `json:"nextCursor"`
			} `json:"page"`
		}
		if err := m.ask(ctx, http.MethodGet, path+"?"+q.Encode(), nil, &page); err != nil {
			return err
		}
		for _, one := range page.Items {
			show(one)
		}
		if page.Page.Next == "" {
			return nil
		}
		q.Set("cursor", page.Page.Next)
	}
}

// maxAnswer is how many bytes of an answer are read.
const maxAnswer = 8 << 20

// ask sends a request and reads the answer.
func (m *remote) ask(ctx context.Context, method, path string, body io.Reader, v any) error {
	req, err := http.NewRequestWithContext(ctx, method, m.base+path, body)
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+m.key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask the server (--url says where it is): %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if res.StatusCode >= http.StatusBadRequest {
		var problem struct {
			Code, Message string
			Errors        []api.Field
		}
		if json.Unmarshal(text, &problem, json.MatchCaseInsensitiveNames(true)) != nil || problem.Code == "" {
			return fmt.Errorf("the server answers %s", res.Status)
		}
		why := problem.Code + ": " + problem.Message
		for _, e := range problem.Errors {
			why += "\n  " + e.Pointer + ": " + e.Detail
		}
		return errors.New(why)
	}
	if err := json.Unmarshal(text, v, json.MatchCaseInsensitiveNames(true)); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}
