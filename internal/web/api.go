package web

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// Scope says who may call a route: the name of a scope ("entities:read"), several
// of which one is enough ("entities:verify or claims:evaluate"), Public,
// Operator, or Signed.
type Scope string

// Names returns the scopes of which a caller needs one.
func (s Scope) Names() []string { return strings.Split(string(s), " or ") }

// Open reports whether a route is open to a caller whose scopes may reports.
func (s Scope) Open(may func(scope string) bool) bool {
	return s == Signed || slices.ContainsFunc(s.Names(), may)
}

// Scopes that are not names of rights.
const (
	// Public routes ignore credentials.
	Public Scope = "public"
	// Operator routes answer a direct loopback peer or a caller with
	// operations:read; for anybody else they do not exist.
	Operator Scope = "operator"
	// Signed routes need an authenticated caller and no particular right.
	Signed Scope = "signed"
)

// Gate authenticates callers and checks their rights. The auth package has one.
type Gate interface {
	// Admit returns the caller of r, or the fault to refuse it with. It may
	// add headers to the answer, such as what is left of a rate limit.
	Admit(answer http.Header, r *http.Request, scope Scope) (Caller, error)
}

// Doc describes a route for the reference and says who may call it.
type Doc struct {
	Summary     string
	Description string
	Tag         string   // group in the reference; the API's name by default
	Status      int      // of the usual success; 200 by default
	Scope       Scope    // a route without one does not build
	Patch       bool     // the body is application/merge-patch+json
	JSONPatch   bool     // or application/json-patch+json; see IsJSONPatch
	Once        bool     // an Idempotency-Key is honoured
	MaxBody     int64    // bytes; 0: the API's limit
	Example     any      // a body that works, sent by the test of the reference
	Answer      any      // a value of the answer's type, for plain handlers; a pointer where it may be null
	Produces    string   // media types of the answer, comma-separated; application/json by default
	Query       []Param  // query parameters of plain handlers
	Consumes    string   // media types of the body of a plain handler, by commas
	Body        any      // a value of that body's type, as JSON
	UCAN        bool     // a plain handler that asks for a UCAN itself
	Codes       []string // further error codes worth naming, for the reference
	Refusal     any      // a struct of the members that refusals with some of them have; see fault.Error.Showing
	Also        []int    // other statuses with the same body
	Later       any      // a value of the body of 202, which says that a job does the work
	Light       bool     // always served: it costs nothing, or it asks how we are
	Page        bool     // for our own pages, or for programs whose own protocol describes it: left out of the document
	Channel     bool     // more than a request: ChannelDocument describes it
	Quiet       bool     // answers with 200 come by the thousand and say nothing: lines for the log at debug only
}

// Param documents one parameter of a plain handler, in the query unless it is
// a Header.
type Param struct {
	Name, Doc, Example string
	Header             bool
}

// Route is one line of the table.
type Route struct {
	Method, Path string
	Doc          Doc
	In, Out      reflect.Type // nil for plain handlers
}

// APIConfig configures an API.
type APIConfig struct {
	Name    string      // group in the reference
	Errors  ErrorWriter // the dialect
	Gate    Gate
	Log     *slog.Logger
	MaxBody int64    // bytes of a body; 1 MiB by default
	Lenient bool     // ignore members and query parameters we do not know
	Shed    *Shedder // bounds the handlers at work; nil does not
}

// API is the table of an area's routes. Fill it before Mount; it does not
// change afterwards.
type API struct {
	cfg    APIConfig
	routes []Route
	serve  []http.HandlerFunc
	pack   packers
}

// NewAPI makes an empty table.
func NewAPI(cfg APIConfig) *API {
	if cfg.MaxBody == 0 {
		cfg.MaxBody = 1 << 20
	}
	if cfg.Errors == nil {
		cfg.Errors = Problem
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return &API{cfg: cfg}
}

// Routes lists the table, in the order it was filled.
func (a *API) Routes() []Route { return a.routes }

// Mount adds the table to mux.
func (a *API) Mount(mux *http.ServeMux) {
	for i, r := range a.routes {
		mux.HandleFunc(r.Method+" "+r.Path, a.serve[i])
	}
}

// HandlerFunc is an http.HandlerFunc that may return an error before it has
// answered.
type HandlerFunc func(w http.ResponseWriter, r *http.Request) error

// Handle adds a plain handler: USSD text, streams, sockets. It holds a place
// throughout unless it is Light or gives it back with LeavePlace.
func (a *API) Handle(method, path string, h HandlerFunc, d Doc) {
	a.add(Route{Method: method, Path: path, Doc: d}, func(w http.ResponseWriter, r *http.Request) error {
		return a.place(d).work(r, func(r *http.Request) error { return h(w, r) })
	})
}

// place is where a route's handlers get their places, nil when they need none.
func (a *API) place(d Doc) *Shedder {
	if d.Light {
		return nil
	}
	return a.cfg.Shed
}

// Get adds a route that reads.
func Get[I, O any](a *API, path string, h func(context.Context, *I) (O, error), d Doc) {
	typed(a, http.MethodGet, path, h, &d)
}

// Post adds a route that creates or does something.
func Post[I, O any](a *API, path string, h func(context.Context, *I) (O, error), d Doc) {
	typed(a, http.MethodPost, path, h, &d)
}

// Put adds a route that replaces.
func Put[I, O any](a *API, path string, h func(context.Context, *I) (O, error), d Doc) {
	typed(a, http.MethodPut, path, h, &d)
}

// Patch adds a route that changes part of something.
func Patch[I, O any](a *API, path string, h func(context.Context, *I) (O, error), d Doc) {
	typed(a, http.MethodPatch, path, h, &d)
}

// Delete adds a route that removes.
func Delete[I, O any](a *API, path string, h func(context.Context, *I) (O, error), d Doc) {
	typed(a, http.MethodDelete, path, h, &d)
}

// call is a handler once its types are forgotten: in is a pointer to its input, and
// so is out to its output.
type call func(ctx context.Context, in any) (out any, err error)

func typed[I, O any](a *API, method, path string, h func(context.Context, *I) (O, error), d *Doc) {
	a.typed(method, path, d, reflect.TypeOf(h), func(ctx context.Context, in any) (any, error) {
		out, err := h(ctx, in.(*I))
		return &out, err
	})
}

// typed has what routes of all types do alike; t is the type of the handler. The
// compiler writes a generic function again for each of hundreds of routes, so that
// those hold nothing but the call.
func (a *API) typed(method, path string, d *Doc, t reflect.Type, h call) {
	takes := t.In(1).Elem()
	b, shed, status := newBinder(takes, a.limits(*d), path), a.place(*d), d.Status
	a.add(Route{Method: method, Path: path, Doc: *d, In: takes, Out: t.Out(0)}, func(w http.ResponseWriter, r *http.Request) error {
		in := reflect.New(takes)
		r, err := b.bind(w, r, in.Elem())
		if err != nil {
			return err
		}
		var answer any
		err = shed.work(r, func(r *http.Request) (err error) {
			answer, err = h(r.Context(), in.Interface())
			return err
		})
		if err != nil {
			return err
		}
		return reply(w, r, status, partsOf(answer), &a.pack)
	})
}

func (a *API) limits(d Doc) bodyRules {
	rules := bodyRules{max: a.cfg.MaxBody, lenient: a.cfg.Lenient, patch: d.Patch, jsonPatch: d.JSONPatch}
	if d.MaxBody != 0 {
		rules.max = d.MaxBody
	}
	return rules
}

// add enters a route. A route without a rule is a mistake in the program, not
// something that can happen at run time, so it panics.
func (a *API) add(r Route, h HandlerFunc) {
	if r.Doc.Scope == "" {
		panic(fmt.Sprintf("route %s %s has no scope", r.Method, r.Path))
	}
	if r.Doc.Summary == "" {
		panic(fmt.Sprintf("route %s %s has no summary", r.Method, r.Path))
	}
	if r.Doc.Tag == "" {
		r.Doc.Tag = a.cfg.Name
	}
	if r.Doc.Status == 0 {
		r.Doc.Status = http.StatusOK
	}
	a.routes = append(a.routes, r)
	a.serve = append(a.serve, Adapt(a.cfg.Log, a.cfg.Errors, a.admit(r, h)))
}

// admit asks the gate before h runs.
func (a *API) admit(route Route, h HandlerFunc) HandlerFunc {
	scope := route.Doc.Scope
	return func(w http.ResponseWriter, r *http.Request) error {
		seen := find(w)
		if seen == nil {
			seen = new(response) // nobody reads it
		}
		seen.route, seen.quiet = route.Path, route.Doc.Quiet
		if scope == Public {
			return h(w, r)
		}
		c, err := a.cfg.Gate.Admit(w.Header(), r, scope)
		if err != nil {
			return err
		}
		seen.caller = c
		return h(w, fill(r, func(q *request) { q.caller, q.url = c, r.URL }))
	}
}

// Adapt turns a handler that returns errors into an http.Handler. A fault is
// written in the given dialect. Any other error is logged, once, and the caller
// sees only "Internal error.".
func Adapt(log *slog.Logger, write ErrorWriter, h HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			Fail(log, write, w, r, err)
		}
	}
}

// Fail logs err unless it is the caller's mistake, and writes it in a dialect.
func Fail(log *slog.Logger, write ErrorWriter, w http.ResponseWriter, r *http.Request, err error) {
	f := fault.As(err)
	switch {
	case r.Context().Err() != nil && f == nil:
		log.InfoContext(r.Context(), "client left", "err", err.Error())
		f = fault.New(fault.Unavailable, "CLIENT_LEFT", "The request was cancelled.")
	case f == nil || f.Kind == fault.Internal:
		log.ErrorContext(r.Context(), "request failed", "err", err.Error())
		f = internal()
	case f.Kind == fault.Unavailable:
		log.WarnContext(r.Context(), "request refused", "code", f.Code, "err", err.Error())
	}
	if seen := find(w); seen != nil {
		seen.code = f.Code
	}
	if started(w) {
		return // half an answer is out; the connection is all that can end now
	}
	write(w, r, f)
}

// pathNames lists the names in a pattern: "/v1/x/{id}/y/{rest...}".
func pathNames(path string) []string {
	var names []string
	for _, part := range strings.Split(path, "/") {
		if strings.HasPrefix(part, "{") && part != "{$}" {
			names = append(names, strings.TrimSuffix(strings.Trim(part, "{}"), "..."))
		}
	}
	return names
}
