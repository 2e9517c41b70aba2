// Package fetch offers menu packs data from elsewhere: actions that call another server
// over HTTP, list twins, redeem vouchers, ask surveys, and ask the oracle. They run
// between two transactions, within the time of the step. HTTP leaves through the guarded
// client only. Twins are those of types that the operator grants, or of the caller who is
// logged in, and never include personal data. An answer becomes at most one line of text
// on a screen: it is bounded and never interpreted.
package fetch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/outbound"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/sms"
)

// MaxBytes limits the size of an answer. Config.Client reads no more.
const MaxBytes = 64 << 10

// actHTTP is the action that asks another server.
const actHTTP = "http"

// Arguments of the action; all others are sent.
const (
	argURL           = "url"
	argMethod        = "method"
	argAuthorization = "authorization"
)

const resOK = "ok"

// Config configures the actions. The zero value only describes them.
type Config struct {
	Client *outbound.Client // with a limit of MaxBytes and without redirects
	Log    *slog.Logger     // discards by default
	// AtOnce is how many requests to servers run at a time, 64 by default. Above
	// it the action fails at once: a partner that hangs must not take the places
	// of callers who do not need it.
	AtOnce int

	// Twins lists twins for a reader without the right to personal properties.
	// Without it there are none.
	Twins func(ctx context.Context, q TwinQuery) ([][]byte, error)
	// Types are the types of twins that packs may list: a right to read that
	// only the operator gives.
	Types []string
	// Customer is the DID of an account that is logged in, "" when it is closed.
	Customer func(ctx context.Context, account string) (string, error)

	// Vouchers are the vouchers of the caller who is logged in; without it
	// there are none.
	Vouchers Vouchers

	// Surveys are the surveys asked over menus; without it there are none.
	Surveys Surveys

	// Oracle answers questions; without it, or without a store, none are
	// answered.
	Oracle  Oracle
	DB      *db.DB
	Jobs    *job.Service
	SMS     *sms.Outbox
	PerHour int // questions of a number in an hour; PerHour
}

// Actions are the actions that packs can use for data from elsewhere.
func Actions(c Config) map[string]machine.Action {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	f := &fetcher{Config: c, slots: make(chan struct{}, cmp.Or(c.AtOnce, 64)), asking: make(chan struct{}, cmp.Or(c.AtOnce, 64)), asks: newAsks(c)}
	all := f.twinActions()
	maps.Copy(all, f.oracleActions())
	maps.Copy(all, f.voucherActions())
	maps.Copy(all, f.surveyActions())
	all[actHTTP] = machine.Action{
		About: "asks another server, for 2 seconds at most, and reads values from its JSON (`answer`). All other constants are filled in and sent: in the query, or with POST as a JSON object " +
			"with an `Idempotency-Key`. `empty`: the requested list has no rows; a menu that leaves this out goes where `ok` goes. `refused`: it answered with a status of 4xx; a menu that leaves this out goes where `failed` goes. `failed`: it did not answer in time, or not with JSON",
		Takes: []machine.Param{
			{Name: argURL, About: "address, without variables"},
			{Name: argMethod, About: "`GET` or `POST`; `GET` by default"},
			{Name: argAuthorization, About: "header `Authorization`; may be missing"},
		},
		Any: true, Answers: true, Valid: valid, Effect: true, Outside: f.http, Results: []string{resOK, menu.Empty, menu.Refused, menu.Failed},
	}
	return all
}

type fetcher struct {
	Config
	slots  chan struct{} // of servers
	asking chan struct{} // of the oracle
	asks   *asks         // nil: nothing is asked
}

// valid looks at the constants of a node.
func valid(with map[string]string) error {
	raw := with[argURL]
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		return errors.New("url is missing: the address to ask")
	case strings.ContainsAny(raw, "{}"):
		return errors.New("url shows no variables: give them names of their own beside it, they are sent in the query or the body")
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.Fragment != "":
		return errors.New("url must be an address such as https://example.org/balance")
	}
	if m := with[argMethod]; m != "" && m != http.MethodGet && m != http.MethodPost {
		return fmt.Errorf("method %q is not known; there are GET and POST", m)
	}
	if a := with[argAuthorization]; strings.ContainsAny(a, "{}\r\n") {
		return errors.New("authorization shows no variables and has one line")
	}
	return nil
}

// http asks another server. Whatever goes wrong is a result: the caller has a
// screen to look at.
func (f *fetcher) http(ctx context.Context, c machine.ActionCall) (machine.Result, error) {
	failed := machine.Result{Name: menu.Failed}
	req, err := request(ctx, c)
	if err != nil {
		return failed, nil // a pack that was not checked
	}
	if f.Client == nil || ctx.Err() != nil {
		f.tell(ctx, req, "there was no time left, or there is no client")
		return failed, nil
	}
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	default:
		f.tell(ctx, req, "too many callers wait for servers")
		return failed, nil
	}
	res, err := f.Client.Do(req)
	if err != nil {
		f.tell(ctx, req, reason(err))
		return failed, nil
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, MaxBytes+1))
	switch {
	case err != nil || len(data) > MaxBytes:
		f.tell(ctx, req, "its answer is too large, or did not come in time")
		return failed, nil
	case res.StatusCode >= 400 && res.StatusCode < 500 && res.StatusCode != http.StatusRequestTimeout && res.StatusCode != http.StatusTooManyRequests:
		return machine.Result{Name: menu.Refused}, nil
	case res.StatusCode < 200 || res.StatusCode > 299:
		f.tell(ctx, req, res.Status)
		return failed, nil
	}
	set, err := values(data, c.Answer)
	if err != nil {
		f.tell(ctx, req, "its answer is not JSON")
		return failed, nil
	}
	return machine.Result{Name: outcome(set, c.Answer), Set: set}, nil
}

// request makes the request to send: arguments in the query, or as a JSON
// object.
func request(ctx context.Context, c machine.ActionCall) (*http.Request, error) {
	u, err := url.Parse(c.With[argURL])
	if err != nil {
		return nil, err
	}
	send := maps.Clone(c.With)
	maps.DeleteFunc(send, func(name, _ string) bool { return slices.Contains([]string{argURL, argMethod, argAuthorization}, name) })
	var req *http.Request
	if c.With[argMethod] == http.MethodPost {
		body, err := json.Marshal(send, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		if req, err = http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body)); err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", c.Key)
	} else {
		query := u.Query()
		for name, value := range send {
			query.Set(name, value)
		}
		u.RawQuery = query.Encode()
		if req, err = http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil); err != nil {
			return nil, err
		}
	}
	req.Header.Set("Accept", "application/json")
	if a := c.With[argAuthorization]; a != "" {
		req.Header.Set("Authorization", a)
	}
	return req, nil
}

// tell logs what an operator should know, and nothing about the caller:
// personal data is in the query or the body.
func (f *fetcher) tell(ctx context.Context, req *http.Request, why string) {
	f.Log.WarnContext(ctx, "a server that a menu asks did not answer", "address", req.URL.Host+req.URL.Path, "reason", why)
}

// reason is an error without the address, which has the query in it.
func reason(err error) string {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return err.Error()
}
