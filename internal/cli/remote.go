package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/auth"
)

// access is how a command reaches the API of a server.
type access struct{ url, keyFile string }

func (a *access) register(fs *flag.FlagSet, scopes string) {
	fs.StringVar(&a.url, "url", "", "`address` of the server; the one of this configuration by default")
	fs.StringVar(&a.keyFile, "key-file", "", "`file` with the API key; needs "+scopes+". Without it the command acts as the owner of the data folder")
}

// dial reads the key. Whoever can open the data folder of the server needs none.
func (a *access) dial(ctx context.Context, c *call) (*remote, error) {
	m := &remote{call: c, base: strings.TrimSuffix(cmp.Or(a.url, c.ownAddress("a")), "/"), client: http.DefaultClient}
	if a.keyFile == "" && a.url != "" {
		return nil, errUsage{"--key-file is needed with --url: a file with an API key of that server"}
	} else if a.keyFile == "" {
		return m, m.enter(ctx)
	}
	key, err := os.ReadFile(a.keyFile)
	if err != nil {
		return nil, fmt.Errorf("read the API key: %w", err)
	}
	m.key = strings.TrimSpace(string(key))
	return m, nil
}

// remote is a server that a command talks to, with a key or, without one, with a
// session as browsers have it.
type remote struct {
	call      *call
	base, key string
	client    *http.Client
}

// enter opens a session of the owner for this command, by a code such as printed
// links have: the data folder is what proves the right to it.
func (m *remote) enter(ctx context.Context) error {
	if err := m.call.needStore(); err != nil {
		return fmt.Errorf("%w\n  Run it in the folder of the server, name its --data-dir, or give --key-file and --url", err)
	}
	// A server's leftover file may name an address that belongs to somebody else
	// now.
	if !app.Serves(m.call.cfg) {
		return fmt.Errorf("no server runs on %s. Start it with hearth serve", m.call.cfg.Data.Dir)
	}
	var code string
	err := asOwner(ctx, m.call, auth.OperatorWorkspace, func(ctx context.Context, core *app.Core) (err error) {
		code, err = core.Auth.Sessions().Code(ctx, auth.OperatorWorkspace)
		return err
	})
	if err != nil {
		return err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	// A code signs an owner in: it goes to this address and nowhere else.
	m.client = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if err := m.post(ctx, sessionPath, map[string]string{"code": code}, &struct{}{}); err != nil {
		return err
	}
	m.call.after = append(m.call.after, func() { _ = m.ask(context.WithoutCancel(ctx), http.MethodDelete, sessionPath, nil, &struct{}{}) })
	return nil
}

// sessionPath is where sessions begin and end.
const sessionPath = "/console/session"

// authorise says who asks. A session counts for what pages of the server send.
func (m *remote) authorise(h http.Header) {
	if m.key != "" {
		h.Set("Authorization", "Bearer "+m.key)
		return
	}
	h.Set("Origin", m.base)
	h.Set("X-Hearth-Console", "1")
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

// ending is the status of work, which runs until it is over.
type ending struct {
	Status string `json:"status"`
}

func (e ending) over() bool { return e.Status != "queued" && e.Status != "running" }

// await looks at work until it is over; show is given what is not.
func await[T interface{ over() bool }](ctx context.Context, m *remote, path string, show func(T)) (T, error) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		var v T // a fresh one: an answer leaves out what is empty
		if err := m.ask(ctx, http.MethodGet, path, nil, &v); err != nil || v.over() {
			return v, err
		}
		show(v)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return v, fmt.Errorf("%s goes on without this program: %w", path, ctx.Err())
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

// unreachable says that no server answers, and what to try.
func unreachable(base string, err error) error {
	return fmt.Errorf("no server answers at %s. Start it with hearth serve, or say where it is with --url or --port: %w", base, err)
}

// maxAnswer is how many bytes of an answer are read.
const maxAnswer = 8 << 20

// denial is what a server says to a request that it does not do.
type denial struct{ code, text string }

func (d denial) Error() string { return d.text }

// denied reports whether a server has refused something by this code.
func denied(err error, code string) bool {
	var d denial
	return errors.As(err, &d) && d.code == code
}

// ask sends a request and reads the answer.
func (m *remote) ask(ctx context.Context, method, path string, body io.Reader, v any) error {
	req, err := http.NewRequestWithContext(ctx, method, m.base+path, body)
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	if _, ok := body.(*bytes.Reader); ok { // files say in the query what they are
		req.Header.Set("Content-Type", "application/json")
	}
	return m.do(req, v)
}

// post sends a value as JSON and reads the answer.
func (m *remote) post(ctx context.Context, path string, body, v any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	return m.ask(ctx, http.MethodPost, path, bytes.NewReader(text), v)
}

// do sends a request and reads the answer.
func (m *remote) do(req *http.Request, v any) error {
	m.authorise(req.Header)
	res, err := m.client.Do(req)
	if err != nil {
		return unreachable(m.base, err)
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
		return denial{problem.Code, why}
	}
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, v, json.MatchCaseInsensitiveNames(true)); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}
