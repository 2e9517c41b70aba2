package extend

import (
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/plugin"
)

// Tag is the group of plugins' routes in the reference. No other route has it.
const Tag = "plugins"

// routeTime is how long a route of a plugin may take.
const routeTime = 30 * time.Second

// Handler answers a request whose body has been read. The context identifies the
// caller; it is zero on a public route.
type Handler = func(w http.ResponseWriter, r *http.Request, c tool.Context, body []byte) error

// Door admits requests to routes of plugins as the oracle does to its own: with
// its limits, and with authenticated callers.
type Door interface {
	Guarded(h Handler) web.HandlerFunc
	Open(h Handler) web.HandlerFunc
}

// Routes enters the routes of all plugins into a.
func (s *Set) Routes(a *web.API, door Door) {
	for _, m := range s.all {
		for _, r := range m.routes {
			h := m.handler(r)
			serve := door.Guarded(h)
			if r.Public {
				serve = door.Open(h)
			}
			a.Handle(r.Method, r.Path, serve, m.doc(r))
		}
	}
}

// Lines list the routes of all plugins, for the operator at the start.
func (s *Set) Lines() []string {
	var out []string
	if s == nil {
		return nil
	}
	for _, m := range s.all {
		for _, r := range m.routes {
			line := r.Method + " " + r.Path + " of " + m.about.Name
			if r.Public {
				line += ", open to everybody"
			}
			out = append(out, line)
		}
	}
	return out
}

func (m *member) doc(r plugin.Route) web.Doc {
	d := web.Doc{
		Summary: r.Summary, Tag: Tag, Scope: web.Public, UCAN: !r.Public, Answer: r.Answer, Body: r.Body,
		Description: strings.TrimSpace(r.Description + "\n\nA route of the plugin " + m.about.Name + "."),
	}
	if !r.Public {
		d.Description += " Authentication as for every other route of the oracle: `Authorization: Bearer <invocation>` with `X-Auth-Type: ucan`, `x-ucan-delegation` alone, or `X-API-Key`."
	}
	if r.Body != nil {
		d.Consumes, d.Example = "application/json", r.Body
	}
	for _, p := range r.Query {
		d.Query = append(d.Query, web.Param{Name: p.Name, Doc: p.Doc, Example: p.Example})
	}
	return d
}

// handler answers with what a plugin returns.
func (m *member) handler(r plugin.Route) Handler {
	return func(w http.ResponseWriter, req *http.Request, c tool.Context, body []byte) error {
		ctx, cancel := context.WithTimeout(tool.With(req.Context(), c), routeTime)
		defer cancel()
		v, err := m.serve(r, &plugin.Request{Request: req.WithContext(ctx), User: c.User, Content: body})
		var e *plugin.Error
		if errors.As(err, &e) {
			refuse(w, e)
			return nil
		}
		if err != nil {
			return fmt.Errorf("plugin %s: %s %s: %w", m.about.Name, r.Method, r.Path, err)
		}
		reply, ok := v.(plugin.Reply)
		if !ok {
			if reply.Content, err = stdjson.Marshal(v); err != nil {
				return fmt.Errorf("plugin %s: %s %s: %w", m.about.Name, r.Method, r.Path, err)
			}
		}
		send(w, reply)
		return nil
	}
}

func (m *member) serve(r plugin.Route, req *plugin.Request) (v any, err error) {
	defer m.recovered(r.Method+" "+r.Path, &err)
	return r.Serve(req)
}

// bare are the statuses whose refusals have no error member, as clients know them.
var bare = []int{http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests, http.StatusInternalServerError}

// refuse writes an error in the form that the oracle's clients know.
func refuse(w http.ResponseWriter, e *plugin.Error) {
	status, content := refusal(e)
	send(w, plugin.Reply{Status: status, Content: content})
}

// refusal renders an error in the form that the oracle's clients know.
func refusal(e *plugin.Error) (status int, content []byte) {
	status = e.Status
	if status < 400 || status > 599 {
		status = http.StatusInternalServerError
	}
	out := map[string]any{}
	maps.Copy(out, e.Members)
	out["message"], out["statusCode"] = e.Message, status
	if len(e.Details) > 0 {
		out["message"] = e.Details
	}
	delete(out, "error")
	if !slices.Contains(bare, status) {
		out["error"] = http.StatusText(status)
	}
	content, err := stdjson.Marshal(out)
	if err != nil { // a member cannot be encoded
		status, content = http.StatusInternalServerError, []byte(`{"message":"Internal server error","statusCode":500}`)
	}
	return status, content
}

func send(w http.ResponseWriter, r plugin.Reply) {
	h := w.Header()
	if r.Type == "" {
		r.Type = "application/json; charset=utf-8"
	}
	if len(r.Content) == 0 && strings.HasPrefix(r.Type, "application/json") {
		r.Content = []byte("null")
	}
	if r.Status < 200 || r.Status > 599 {
		r.Status = http.StatusOK
	}
	h.Set("Content-Type", r.Type)
	if r.Filename != "" {
		h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": r.Filename}))
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
		h.Set("Cache-Control", "private, no-store")
	}
	h.Set("Content-Length", strconv.Itoa(len(r.Content)))
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Content) // the client is gone when this fails
}
