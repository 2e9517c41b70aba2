package app

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/swaggest/swgui/v5/static"

	"github.com/hearth-dmrv/hearth/docs"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/webhook"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle"
	"github.com/hearth-dmrv/hearth/internal/oracle/extend"
	"github.com/hearth-dmrv/hearth/internal/oracle/socket"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// referencePolicy lets the page run only its own scripts. The styles are the
// viewer's own, written into elements at run time.
const referencePolicy = "script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; form-action 'none'"

//go:embed reference.html
var referencePage []byte

//go:embed reference.js
var referenceScript []byte

//go:embed reference.css
var referenceStyle []byte

// reference serves the interactive API reference and its document. Everything
// is in the binary: no request leaves the machine. The document is made on the
// first request for it, not when the server starts.
type reference struct {
	oracle     string        // DID of the server's own twin, which exists from the first start
	more       []web.Message // events of plugins
	json, yaml func() ([]byte, error)
	older      func() ([]byte, error) // OpenAPI 3.0
	events     func() ([]byte, error) // AsyncAPI
}

// describe fills the reference with what tables say, its own included.
func (s *reference) describe(version string, apis ...*web.API) {
	document := sync.OnceValue(func() *huma.OpenAPI {
		return examples{oracle: s.oracle}.explain(web.Document("Hearth", version, apis...))
	})
	s.json = sync.OnceValues(func() (out []byte, err error) {
		sparingly(20, func() { out, err = web.DocumentJSON(document()) }) // more than all the rest of the server takes
		return out, err
	})
	s.older = sync.OnceValues(func() ([]byte, error) { return web.OlderDocument(document()) })
	s.yaml = sync.OnceValues(func() ([]byte, error) { return document().YAML() })
	s.events = sync.OnceValues(func() ([]byte, error) { return web.ChannelDocument("Hearth", version, channels(s.more)...) })
}

// channels are the streams and sockets of all areas; more are events of plugins.
func channels(more []web.Message) []web.Channel {
	return []web.Channel{
		{
			Name: "run", Address: "/runs/{runId}", Title: "The answer of the oracle",
			About: "Server-sent events: the answer to POST /messages/{sessionId} with stream true, and to GET /runs/{runId}, which joins a run again behind the id of a frame. A comment is sent every 15 seconds.",
			Sent:  oracle.Frames(),
		},
		{
			Name: "sockets", Address: "/socket.io/", Title: "Sockets of a session",
			About: "Socket.IO 4 with ?sessionId= and auth {invocation, ucanDelegation}. Plugins send events of their own beside these; list-events names all.",
			Sent:  slices.Concat(socket.Sent(), oracle.SocketEvents(), extend.MintEvents(), more), Taken: socket.Taken(),
		},
		event.Channel(),
		webhook.Channel(),
	}
}

// routes enters the reference itself. It is filled later, because the
// document describes these routes too.
func (s *reference) routes(a *web.API) {
	page := func(path, summary, media string, h web.HandlerFunc, query ...web.Param) {
		a.Handle("GET", path, h, web.Doc{Summary: summary, Scope: web.Public, Produces: media, Light: true, Query: query})
	}
	version := web.Param{Name: "openapi", Doc: "3.0 for tools that do not read 3.1."}
	page("/docs", "Interactive API reference", "text/html", s.servePage)
	page("/docs/{file...}", "Assets and pages of the reference", "text/html", s.serveFile)
	page("/docs-json", "This API as OpenAPI 3.1 JSON", "application/json", s.serveJSON, version)
	page("/docs-yaml", "This API as OpenAPI 3.1 YAML", "text/yaml", s.serveYAML)
	page("/v1/openapi.json", "This API as OpenAPI 3.1 JSON", "application/json", s.serveJSON, version)
}

func (s *reference) servePage(w http.ResponseWriter, r *http.Request) error {
	web.ForPage(w.Header(), r, referencePolicy)
	send(w, "text/html; charset=utf-8", referencePage)
	return nil
}

func (s *reference) serveJSON(w http.ResponseWriter, r *http.Request) error {
	switch version := r.URL.Query().Get("openapi"); version {
	case "", "3.1":
		return write(w, r, "application/json", s.json)
	case "3.0":
		return write(w, r, "application/json", s.older)
	}
	return fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
		With(fault.Field{Pointer: "query/openapi", Code: "not_allowed", Detail: "The value must be 3.0 or 3.1."})
}

func (s *reference) serveYAML(w http.ResponseWriter, r *http.Request) error {
	return write(w, r, "text/yaml; charset=utf-8", s.yaml)
}

func write(w http.ResponseWriter, r *http.Request, media string, document func() ([]byte, error)) error {
	body, err := document()
	if err != nil {
		return fmt.Errorf("encode API document: %w", err)
	}
	send(w, media, web.Packed(w.Header(), r, body))
	return nil
}

// serveFile serves the viewer's files and our two generated pages, by name from
// the embedded files; it never builds a path of the machine.
func (s *reference) serveFile(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("file")
	web.ForPage(w.Header(), r, referencePolicy)
	switch name {
	case "":
		return s.servePage(w, r)
	case "reference.js":
		send(w, "text/javascript; charset=utf-8", referenceScript)
		return nil
	case "reference.css":
		send(w, "text/css; charset=utf-8", referenceStyle)
		return nil
	case importFile:
		return serveImportFile(w)
	case "events.json":
		return write(w, r, "application/json", s.events)
	case "events":
		return sendPage(w, r, "Streams and sockets", web.ChannelPage(channels(s.more)...))
	case "errors":
		return sendPage(w, r, "Error codes", docs.Errors)
	case "configuration":
		return sendPage(w, r, "Configuration", docs.Configuration)
	}
	return serveAsset(w, r, name)
}

// serveAsset sends a file of the viewer: stored compressed, unpacked for the
// rare client that cannot.
func serveAsset(w http.ResponseWriter, r *http.Request, name string) error {
	media := mime.TypeByExtension(path.Ext(name))
	plain, err := static.FS.ReadFile(name)
	if err == nil && !strings.HasSuffix(name, ".gz") {
		send(w, media, plain)
		return nil
	}
	packed, err := static.FS.ReadFile(name + ".gz")
	if err != nil {
		return web.NoRoute(r)
	}
	w.Header().Set("Cache-Control", "public, max-age=3600")
	w.Header().Set("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		send(w, media, packed)
		return nil
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fmt.Errorf("unpack %s: %w", name, err)
	}
	w.Header().Set("Content-Type", media)
	_, _ = io.Copy(w, z) // unpacked while it is sent; an error means that the client is gone
	return nil
}

// sendPage sends a page that is made of Markdown, packed for clients that unpack.
func sendPage(w http.ResponseWriter, r *http.Request, title string, text []byte) error {
	send(w, "text/html; charset=utf-8", web.Packed(w.Header(), r, markdownPage(title, text)))
	return nil
}

func send(w http.ResponseWriter, media string, body []byte) {
	w.Header().Set("Content-Type", media)
	_, _ = w.Write(body) // the client is gone when this fails
}
